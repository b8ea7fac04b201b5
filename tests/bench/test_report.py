"""The report: the paper's numbers beside ours, conditions under every table, and losses said plainly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from anycsp.bench.experiment import SOLVING
from anycsp.bench.experiments import EXPERIMENTS
from anycsp.bench.journal import Journal
from anycsp.bench.report import figures, write_report
from anycsp.bench.report.quoted import paper_instances, paper_table, quoted_on
from anycsp.errors import AnyCSPError

pytest.importorskip("matplotlib")


def entry(experiment: str, group: str, instance: str, solver: str, violated: float, **facts: Any) -> dict[str, Any]:
    """A record as a run leaves it."""
    return {
        "key": f"{experiment} {instance} {solver}",
        "experiment": experiment,
        "instance": instance,
        "group": group,
        "solver": solver,
        "version": "0123456789ab" if solver.startswith("anycsp") else "",
        "seed": 0,
        "budget": "quick",
        "limit": {"seconds": 5.0, "steps": None, "runs": None, "threads": 1},
        "status": "ok",
        "best_known": 100.0,
        "newest_best_known": 101.0,
        "violated": int(violated),
        "violated_weight": violated,
        "objective": 100.0 - violated,
        "seconds": 2.0,
        "best_seconds": 1.0,
        "best_step": 10,
        "steps": 20,
        "trace": [[0, 0.1, violated + 5], [10, 1.0, violated]],
        "note": "",
        "commit": "abcdef0123",
        "hardware": "a machine",
        "software": "Python",
        "when": "",
        **facts,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a run of everything."""
    folder = tmp_path_factory.mktemp("report")
    with Journal(folder) as journal:
        for experiment in EXPERIMENTS.values():
            for group in experiment.groups:
                for rank, solver in enumerate(experiment.solvers):
                    # The later a system is listed, the better it is: ours, listed first, lose.
                    violated = 0.0 if experiment.measures[group] in SOLVING and rank else float(20 - rank)
                    journal.append(entry(experiment.name, group, f"instance of {group}", solver, violated))
        frames = [[(i + j + t) % 2 for i in range(4) for j in range(4)] for t in range(5)]
        journal.append(entry("grid", "grid", "instance of grid", "anycsp:coloring", 0.0, frames=frames))
    assert [path.name for path in write_report(folder)] == ["report.md", "report.html"]
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> str:
    return (folder / "report.md").read_text()


def section(report: str, heading: str) -> str:
    return report.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_every_figure_is_there_as_png_and_svg(report: str, folder: Path) -> None:
    for name in (
        "rb50-quick-survival",
        "gset-quick-anytime",
        "gset-quick-time-to-target",
        "max-k-sat-quick-steps-to-best",
        "ablation-quick-curves",
        "grid-quick-frames",
    ):
        assert f"figures/{name}.png" in report
        for ending in (".png", ".svg"):
            assert (folder / "figures" / f"{name}{ending}").stat().st_size > 1000
    page = (folder / "report.html").read_text()
    assert "<table>" in page
    assert 'src="figures/rb50-quick-survival.png"' in page


def test_systems_that_are_only_quoted_have_their_rows(report: str) -> None:
    for system in ("Picat", "ECO-DQN", "ECORD", "RLSAT", "PDP"):
        assert f"| {system} | quoted |" in report
    assert "| ANYCSP | quoted | 1.22 | 2.44 | 13.11 | 51.63 |" in report


def test_quoted_counts_say_out_of_how_many(report: str) -> None:
    assert "| HybridEA | quoted | 50/50 | 40/50 |" in report
    assert "| Picat | quoted | – |" in section(report, "Model RB (quick)")


def test_the_papers_systems_are_scored_on_the_graphs_that_were_run() -> None:
    assert quoted_on("gset", ["G1", "G14", "G15"])["ANYCSP"] == 1.0
    many = quoted_on("coloring", ["queen12_12", "queen9_9", "r250.5"])
    assert (many["ANYCSP"], many["HybridEA"], many["DSATUR"]) == (2, 2, 0)
    assert "RUN-CSP" not in many  # not in that table of the paper
    assert quoted_on("gset", ["G1", "no such graph"]) == {}
    assert "SDP" not in quoted_on("gset", ["G1", "G22"])  # not printed for the second
    assert quoted_on("rb50", ["forced-rb-00"]) == {}


def test_losses_are_said_plainly(report: str) -> None:
    # Of our two networks, the second one listed is the better.
    assert "**We lose.** 800: the network alone reaches 19 (anycsp neural (paper-maxcut))" in report


def test_a_loss_to_a_system_that_is_only_quoted_is_said_too(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(entry("coloring", "chi>=10", "r250.5", "anycsp:coloring", 3.0))
        journal.append(entry("coloring", "chi<10", "myciel3", "anycsp:coloring", 0.0))
        journal.append(entry("satlib", "SL250", "uf250-01", "anycsp:sat", 1.0))
    text = write_report(tmp_path)[0].read_text()
    alone = "the network alone reaches"
    best = "the best quoted row 1 of 1 (ANYCSP, Picat, HybridEA) on the same graphs"
    assert f"**We lose.** chi>=10: {alone} 0 of 1 (anycsp neural (coloring)), {best}; ahead of ours: ANYCSP 1" in text
    assert "ahead of ours: ANYCSP 1, Picat 1, HybridEA 1 (quoted from the paper, with its budget)." in text
    assert f"- chi<10: {alone} 1 of 1 (anycsp neural (coloring)), the best quoted row 1 of 1 (ANYCSP, " in text
    best = "the best quoted row 0.99 of 1 (ANYCSP) on its own instances"
    assert f"**We lose.** SL250: {alone} 0 of 1 (anycsp neural (sat)), {best}; ahead of ours" in text


def test_systems_without_a_record_keep_a_row_and_are_named(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(entry("coloring", "chi<10", "myciel3", "anycsp:coloring", 0.0))
        journal.append(entry("coloring", "chi<10", "myciel3", "dsatur", 1.0))
    text = write_report(tmp_path)[0].read_text()
    assert "| HybridEA (gcol) | measured | not run |" in text
    assert "ahead of all others that ran; next DSATUR" in text
    assert "Not run, so not compared with: anycsp hybrid (coloring), anycsp local, Greedy, HybridEA (gcol)" in text


def test_a_row_of_two_versions_of_a_model_says_so(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(entry("gset", "800", "G1", "anycsp:maxcut", 1.0, version="old"))
        journal.append(entry("gset", "800", "G2", "anycsp:maxcut", 1.0, version="new"))
        journal.append(entry("gset", "800", "G1", "anycsp:maxcut:hybrid", 1.0, version="new"))
    text = write_report(tmp_path)[0].read_text()
    assert "| **anycsp neural (maxcut)** (2 versions: see below) |" in text
    assert "models maxcut new, maxcut old, maxcut:hybrid new" in text


def test_instance_tables_say_what_their_numbers_are(report: str) -> None:
    assert "Deviations from the best known cut of 2013. Budget" in section(
        report, "Expressiveness: regular graphs (quick)"
    )
    assert "Seconds to a solution" not in section(report, "MaxCut on Gset (quick)")


def test_emphasis_is_rendered_in_html(folder: Path) -> None:
    assert "<i>neural</i>" in (folder / "report.html").read_text()


def test_every_table_states_its_conditions(report: str) -> None:
    tables = report.count("\n| --- |")
    assert tables >= 2 * len(EXPERIMENTS)
    assert (
        report.count("Budget quick: 5 s, 1 thread. seeds 0. hardware a machine. Python. commit abcdef0123.") == tables
    )
    assert "models coloring 0123456789ab" in report


def test_the_newest_record_of_a_run_is_the_one_that_counts(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(entry("gset", "800", "G1", "greedy-cut", 50.0))
        journal.append(entry("gset", "800", "G1", "greedy-cut", 7.0))
    text = write_report(tmp_path)[0].read_text()
    assert "| Greedy | measured | 7.00 |" in text
    assert "| Greedy | 8.00 |" in text  # from the newest best known


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AnyCSPError, match="anycsp bench"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_there_is_a_report_without_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "available", lambda: False)
    with Journal(tmp_path) as journal:
        journal.append(entry("gset", "800", "G1", "greedy-cut", 50.0))
    text = write_report(tmp_path)[0].read_text()
    assert "they need matplotlib" in text
    assert "figures/" not in text


def test_the_papers_instance_tables_give_its_summary_tables() -> None:
    """The transcription checks itself: counts and means over the instances are the printed ones."""
    graphs = paper_instances("coloring").values()
    summary = paper_table("coloring")
    assert summary is not None
    for column, split in enumerate(("<10", ">=10")):
        rows = [row for row in graphs if row["split"] == split]
        assert len(rows) == 50
        for system, key in (("ANYCSP", "anycsp_seconds"), ("Picat", "picat_seconds"), ("CoSoCo", "cosoco_seconds")):
            assert sum(bool(row[key]) for row in rows) == summary["rows"][system][column]
        for system, key in (("HybridEA", "hybrid_ea_colors"), ("DSATUR", "dsatur_colors"), ("Greedy", "greedy_colors")):
            assert sum(row[key] == row["chi"] for row in rows) == summary["rows"][system][column]
    cuts = list(paper_instances("gset").values())
    summary = paper_table("gset")
    assert summary is not None
    sizes = ([800], [1000], [2000], [3000, 5000, 7000, 10000])
    systems = {"Greedy": "greedy", "SDP": "sdp", "RUN-CSP": "run_csp", "ECO-DQN": "eco_dqn", "ECORD": "ecord"}
    # The two cells in which the paper's tables contradict each other.
    odd = {("ANYCSP", "800"): 1.0, ("RUN-CSP", "1K"): 163.22}
    for group, size in zip(summary["columns"], sizes, strict=True):
        rows = [row for row in cuts if int(row["vertices"]) in size]
        for system, key in {**systems, "ANYCSP": "anycsp"}.items():
            printed = dict(zip(summary["columns"], summary["rows"][system], strict=True))[group]
            values = [float(row[key]) for row in rows if row[key]]
            if printed is None:
                assert not values
            else:
                assert sum(values) / len(values) == pytest.approx(odd.get((system, group), printed), abs=0.006)


# ── RandCSPBench, where not every instance has a solution ────────────────────────────────────────


def colourings(solved: dict[str, Iterable[int]], group: str, count: int) -> list[dict[str, Any]]:
    """Records of some systems on `count` graphs, of which each colours those named."""
    return [
        entry("randcsp", group, f"graph {number}", system, 0.0 if number in mine else 2.0)
        for system, mine in solved.items()
        for number in range(1, count + 1)
    ]


@pytest.fixture
def randcsp(tmp_path: Path) -> Path:
    with Journal(tmp_path) as journal:
        for record in [
            *colourings({"anycsp:coloring": [1], "anycsp:local": [1, 2, 3, 4]}, "3-col c=4.58", 5),
            *colourings({"anycsp:coloring": [1], "anycsp:local": [1, 2], "cadical": [2, 3]}, "3-col N<=256", 5),
            *colourings({"anycsp:coloring": [], "cadical": []}, "5-col N<=256", 5),
        ]:
            journal.append(record)
        note = {"status": "no answer", "note": "claims there is no solution"}
        for number in (2, 4):  # others have coloured the first, nobody the second
            journal.append(entry("randcsp", "3-col N<=256", f"graph {number}", "cp-sat", 2.0, **note))
    return tmp_path


def test_shares_are_percentages_with_their_count_beside_quoted_percentages(randcsp: Path) -> None:
    text = section(write_report(randcsp)[0].read_text(), "RandCSPBench: random colouring (quick)")
    assert (
        "| system |  | 3-col c=4.58 (solved, 5 instances) | 3-col N<=256 (solved, of the 3 of 5 instances that" in text
    )
    assert "| **anycsp neural (coloring)** | measured | 20% (1/5) | 33.3% (1/3) | none solvable |" in text
    assert "| **anycsp local** | measured | 80% (4/5) | 66.7% (2/3) | – |" in text
    assert "| CaDiCaL | measured | – | 66.7% (2/3) | none solvable |" in text
    assert "| focused search (FMS) | quoted | 85% | 100% | 100% | 100% | 99.8% |" in text
    assert "| best network | quoted | 0% | – | – |" in text
    assert "| rPI-GNN | quoted | – | 92.5% | 73.2% |" in text
    assert "Quoted rows are from RandCSPBench (arXiv 2602.18419), on its hardware" in text
    assert "from the paper" not in text


def test_losses_to_every_quoted_row_of_another_source_are_said(randcsp: Path) -> None:
    text = write_report(randcsp)[0].read_text()
    source = "(quoted from RandCSPBench (arXiv 2602.18419), with its budget)"
    assert f"ahead of ours: focused search (FMS) 100%, annealing 90.3%, rPI-GNN 92.5% {source}." in text
    best = (
        "the best quoted row 85% (focused search (FMS)) on its own instances; ahead of ours: focused search (FMS) 85%"
    )
    assert f"**We lose.** 3-col c=4.58: our best system reaches 80% (anycsp local), {best} {source}." in text
    assert "- 5-col N<=256: none of our systems has a result." in text


def test_a_refutation_is_a_wrong_claim_only_where_somebody_has_a_solution(randcsp: Path) -> None:
    text = write_report(randcsp)[0].read_text()
    assert (
        "**Wrong claim**: CP-SAT on graph 2 (randcsp, quick) says that there is no solution, but there is one." in text
    )
    assert "on graph 4" not in text


# ── the page of results ──────────────────────────────────────────────────────────────────────────


def test_the_page_says_first_where_we_lose_and_to_whom(
    randcsp: Path, tmp_path: Path, script: Callable[[str], ModuleType]
) -> None:
    page = script("results_page")
    _, _, lead, table, _, all_systems = page.experiments(randcsp)
    assert lead.text == (
        "We lose 5 of 6 comparisons: the network alone to CaDiCaL on 3-col N<=256, and to quoted focused search (FMS) "
        "everywhere; our best system to quoted focused search (FMS) everywhere."
    )
    assert table.header[-1] == "best row quoted from RandCSPBench (arXiv 2602.18419)"
    cells = ["33.3% † ‡", "66.7% ‡", "66.7%, CaDiCaL", "100%, focused search (FMS)"]
    assert table.rows[1] == ["3-col N<=256 (solved, of the 3 of 5 instances that any system here solves)", *cells]
    assert [row[0] for row in all_systems.rows][-1] == "rPI-GNN"


def test_the_page_names_a_single_loss_by_its_column(tmp_path: Path, script: Callable[[str], ModuleType]) -> None:
    with Journal(tmp_path) as journal:
        for group, violated in (("4CNF", 1000.0), ("5CNF", 2000.0)):
            journal.append(entry("max-k-sat", group, group, "anycsp:maxsat", violated))
            journal.append(entry("max-k-sat", group, group, "satlike", 1500.0))
    lead = script("results_page").experiments(tmp_path)[2]
    where = "the network alone to SATLike-style on 5CNF, and to quoted ANYCSP on 5CNF"
    assert lead.text == f"We lose 2 of 4 comparisons: {where}."


def test_the_page_says_what_was_not_recorded(script: Callable[[str], ModuleType]) -> None:
    origin = script("results_page").origin
    old, new = {"solved": True}, {"commit": "abc", "hardware": "a machine"}
    assert origin([old, old]) == "commit and hardware not recorded"
    assert origin([new, new]) == "commit abc; hardware a machine"
    mixed = "commit abc, not recorded for 1 of 2 runs; hardware a machine, not recorded for 1 of 2 runs"
    assert origin([old, new]) == mixed


def test_the_command_of_tuning_has_the_minutes_of_its_records(
    tmp_path: Path, script: Callable[[str], ModuleType]
) -> None:
    page = script("results_page")
    command = "python benchmarks/tuned.py --out DIR"
    assert page.tuning_commands(tmp_path / "none") == [command]
    spent = {"sat-250": 1.8, "knapsack": 0.27, "jobshop": 1.8}
    lines = [
        json.dumps({"family": name, "default": [[0.0]] * 20, "settings": {"provenance": {"minutes": minutes}}})
        for name, minutes in spent.items()
    ]
    (tmp_path / "tuned.jsonl").write_text("\n".join(lines))
    assert page.tuning_commands(tmp_path / "tuned.jsonl") == [
        f"{command} --minutes 1.8 --instances 20 --only sat-250 jobshop",
        f"{command} --minutes 0.27 --instances 20 --only knapsack",
    ]


@pytest.mark.parametrize(("name", "facts"), [("randcsp", {"commit", "hardware"}), ("other", {"hardware"})])
def test_randcsp_records_say_where_they_come_from(
    name: str, facts: set[str], script: Callable[[str], ModuleType]
) -> None:
    module = script("randcsp")
    assert set(module.origin(module.OWN if name == "randcsp" else "anycsp-of-another-checkout")) == facts
