"""Write docs/results.md from the committed records: nothing on that page is typed by hand.

    python benchmarks/results_page.py            # write it
    python benchmarks/results_page.py --check    # write nothing; end with 1 where the page says something else
    python benchmarks/results_page.py --take DIR # and replace the standard records by those of DIR

A section is a folder or file of records, the command that makes them, and a function from records to tables. A section
whose records are missing is left out and named at the end as not measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from textwrap import shorten
from typing import Any

import neighbourhoods
import speed
import structured
import tuned
from randcsp import PUBLISHED

from anycsp.bench.journal import FILE, read_records
from anycsp.bench.report.page import Bullets, Document, Heading, Paragraph, Part, Table, markdown
from anycsp.bench.report.quoted import THE_PAPER, paper_table
from anycsp.bench.report.results import Results, Trial, shown
from anycsp.bench.report.summary import BEST_SYSTEM, NETWORK_ALONE, Comparison, comparisons, not_run
from anycsp.bench.report.tables import main_table, newest_table, size

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "research" / "records"
PAGE = ROOT / "docs" / "results.md"

INTRODUCTION = """
Every table says under which limits and on which commit it was measured, or that the commit was not recorded. Below it
stands the command that repeats it.
Every answer was recounted by code that shares nothing with the search.
"""

SEARCHES = Bullets(
    [
        "*auto* is what you get when you choose nothing: compiled search, and CP-SAT beside it where it is installed.",
        "*local* is compiled search only.",
        "*neural* is the network only.",
        "*hybrid* is compiled search, advised by the network.",
    ]
)

SOURCE = """
This page is written by `benchmarks/results_page.py` from the records in `research/records`. The folder `research`
has everything else that was tried.
"""


@dataclass(frozen=True)
class Section:
    title: str
    records: Path
    commands: Callable[[Path], Sequence[str]]
    """What makes the records: from the records themselves, where those say how they were made."""
    parts: Callable[[Path], Sequence[Part]]

    def repeated_by(self) -> str:
        return ", then ".join(f"`{command}`" for command in self.commands(self.records))


def always(*commands: str) -> Callable[[Path], Sequence[str]]:
    """Commands that depend on no record."""
    return lambda records: commands


def origin(records: Sequence[dict[str, Any]]) -> str:
    """On which commits and machines; runs of a time when that was not written down are counted, not guessed."""
    said, unknown = [], []
    for fact in ("commit", "hardware"):
        known = sorted({record[fact] for record in records if fact in record})
        missing = sum(fact not in record for record in records)
        partly = f", not recorded for {missing} of {len(records)} runs" if missing else ""
        if known:
            said.append(f"{fact} {', '.join(known)}{partly}")
        else:
            unknown.append(fact)
    return "; ".join([*said, f"{' and '.join(unknown)} not recorded"] if unknown else said)


# ── the experiments of `anycsp bench` ────────────────────────────────────────────────────────────


def experiments(folder: Path) -> list[Part]:
    parts: list[Part] = []
    for trial in Results.of(read_records(folder)).trials:
        parts += [Heading(3, trial.experiment.title), Paragraph(trial.experiment.about), *standing(trial)]
        table = main_table(trial)
        parts.append(replace(table, rows=[row for row in table.rows if "not run" not in row]))
        if (newest := newest_table(trial)) is not None:
            parts += [Paragraph("The same from the newest best known cuts:"), newest]
    return parts


STANDARD = ("rb50", "coloring", "gset", "satlib", "max-k-sat", "randcsp")


def standard(folder: Path) -> list[Part]:
    """The experiments of the standard budget, and first which of them are yet to be measured."""
    measured = {record["experiment"] for record in read_records(folder)}
    missing = [f"`{name}`" for name in STANDARD if name not in measured]
    lead: list[Part] = [Paragraph(f"Not measured yet: {', '.join(missing)}.")] if missing else []
    return lead + experiments(folder)


BEHIND, BEHIND_QUOTED = "†", "‡"


def standing(trial: Trial) -> list[Part]:
    """How often we lose, where and to whom, in the first sentence; then every comparison, a row per group."""
    found = comparisons(trial)
    compared = [c for c in found if c.rival_score is not None]
    lost = sum(c.lost for c in compared)
    number = f"{len(compared)} comparison{'s' if len(compared) > 1 else ''}"
    if lost:
        lead = f"We lose {lost} of {number}: {losses(compared)}."
    elif compared:
        lead = f"Nobody is ahead of us in {number}."
    else:
        lead = "Nothing was measured beside us."
    parts: list[Part] = [Paragraph(lead), side_by_side(trial, found)]
    if idle := not_run(trial):
        parts.append(Paragraph(f"Not run, so nothing here says how they would have done: {', '.join(idle)}."))
    return parts


def losses(compared: Sequence[Comparison]) -> str:
    """To the best of those ahead: "the network alone to CP-SAT on 4CNF and 5CNF, and to quoted ANYCSP everywhere"."""
    where: dict[str, dict[str, list[str]]] = {}
    for c in compared:
        if c.lost:
            where.setdefault(c.ours, {}).setdefault(f"quoted {c.rivals}" if c.quoted else c.rivals, []).append(c.group)
    all_groups = {c.group for c in compared}
    said = []
    for ours, to in where.items():
        parts = [
            f"to {rivals} " + ("everywhere" if len(groups) == len(all_groups) > 1 else f"on {_and(groups)}")
            for rivals, groups in to.items()
        ]
        said.append(f"{ours} " + ", and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))))
    return "; ".join(said)


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def side_by_side(trial: Trial, found: Sequence[Comparison]) -> Table:
    """A row per group: what we reach, what the best of the others that ran does, and the best of the quoted rows."""
    rows = []
    for group in dict.fromkeys(c.group for c in found):
        measure = trial.experiment.measures[group]
        mine = [c for c in found if c.group == group]
        reached = {}
        for c in mine:
            mark = (BEHIND_QUOTED if c.quoted else BEHIND) if c.lost else ""
            reached[c.ours] = " ".join(filter(None, (reached.get(c.ours) or shown(c.score, measure), mark)))
        alone = reached.get(NETWORK_ALONE, "–")
        cells = [alone, reached.get(BEST_SYSTEM, alone)]
        for quoted in (False, True):  # the same rivals stand beside both of ours
            rival = next((c for c in mine if c.quoted == quoted and c.rival_score is not None), None)
            cells.append(f"{shown(rival.rival_score, measure)}, {rival.rivals}" if rival else "–")
        rows.append([f"{group} ({size(trial, group)})", *cells])
    source = (paper_table(trial.experiment.name) or {"source": THE_PAPER})["source"]
    header = ["instances", NETWORK_ALONE, BEST_SYSTEM, "best of the others that ran", f"best row quoted from {source}"]
    text = "".join(cell for row in rows for cell in row)
    keys = {BEHIND: "a system that ran is ahead", BEHIND_QUOTED: "a quoted row is ahead"}
    return Table(header, rows, "; ".join(f"{mark} {meaning}" for mark, meaning in keys.items() if mark in text))


# ── structured models ────────────────────────────────────────────────────────────────────────────

NAMES = {"ace": "ACE", "cp-sat": "CP-SAT (CPMpy's translation)", "local": "**local**", "auto": "**auto**"}


def structured_models(folder: Path) -> list[Part]:
    results = structured.Results(list(structured.load_records(folder).values()))
    satisfied, optimised = dict(results.of_kind("csp")), dict(results.of_kind("cop", "wcsp"))
    solvable = {name for name, row in satisfied.items() if any(r["counts"] for r in row.values())}
    best = {
        name: cost
        for name, row in optimised.items()
        if (cost := structured.best_cost([r for r in row.values() if r["counts"]])) is not None
    }
    rows, shares = [], {}
    for system in results.systems:
        mine = {name: row[system] for name, row in results.rows.items() if system in row}
        solved = {name for name in solvable & mine.keys() if mine[name]["counts"]}
        tried = best.keys() & mine.keys()
        reached = {
            name
            for name in tried
            if mine[name]["counts"]
            and mine[name].get("cost") is not None
            and structured.equal(mine[name]["cost"], best[name])
        }
        refuted = sum(r["claim"] == "unsatisfiable" for r in mine.values())
        proved = sum(r["counts"] and r["claim"] == "optimum" for r in mine.values())
        late = sum(structured.late(r) for r in mine.values())
        cells = [structured.share(len(solved), len(solvable & mine.keys())), str(refuted)]
        cells += [structured.share(len(reached), len(tried)), str(proved), str(late)]
        rows.append([NAMES.get(system, system), *cells])
        shares[system] = len(solved)
    missed = sorted(solvable - {n for n in solvable if satisfied[n].get("local", {}).get("counts")})
    limits = {r["limit"] for row in results.rows.values() for r in row.values()}
    disturbed = [r for row in results.rows.values() for r in row.values() if structured.starved(r)]
    starved = sum(not structured.settled(r) for r in disturbed)
    lead = f"Of {len(solvable)} satisfaction files that anyone solves, `local` misses {len(missed)}"
    lead += f": {', '.join(Path(name).stem for name in missed)}." if missed else "."
    header = [
        "system",
        "solved, of the solvable",
        "refuted",
        "best objective, of the answered",
        "optima proved",
        "late",
    ]
    commits = sorted({r["commit"] for row in results.rows.values() for s, r in row.items() if s in ("local", "auto")})
    footer = f"{', '.join(f'{limit:g} s' for limit in sorted(limits))} of wall-clock time, one thread; ours at commit "
    footer += f"{', '.join(commits)}. Of runs without a solution or proof, {starved} had less than 75% of their core."
    return [
        Paragraph(lead),
        Table(header, rows, footer),
        *wrong_answers(list(results.wrong())),
    ]


def wrong_answers(wrong: Sequence[tuple[str, str, str]]) -> list[Part]:
    if not wrong:
        return [Paragraph("Nobody gave a wrong answer.")]
    lines = [f"{NAMES.get(system, system)} on `{name}`: {shorten(why, 80)}" for name, system, why in wrong]
    return [Paragraph("Wrong answers, which were not counted:"), Bullets(lines)]


# ── RandCSPBench, fifty graphs each ──────────────────────────────────────────────────────────────


def fifty_graphs(file: Path) -> list[Part]:
    counted: dict[tuple[int, float], list[bool]] = {}
    limits, searches = set(), set()
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        colors, _, degree, _, search, _, limit, _ = record["key"]
        counted.setdefault((colors, degree), []).append(record["solved"])
        limits.add(limit)
        searches.add(search)
    rows = []
    behind = []
    for (colors, degree), solved in sorted(counted.items()):
        ours, theirs = sum(solved) / len(solved), PUBLISHED[colors][degree]
        if ours < theirs:
            behind.append(f"{colors} colours at c = {degree:g}")
        rows.append(
            [f"{colors} colours, c = {degree:g}", f"{sum(solved)} / {len(solved)}", f"{ours:.1%}", f"{theirs:.1%}"]
        )
    lead = f"We solve a smaller share than its focused search at {_and(behind)}." if behind else ""
    footer = f"N = 1024, {', '.join(searches)} search, {', '.join(f'{limit:g} s' for limit in limits)}, one thread, "
    footer += f"seed 0; {origin(records)}."
    lead = lead or "Its focused search with 625 N² steps solves no larger share."
    header = ["graphs", "solved", "share", "focused search, 625 N² steps, 400 graphs (published)"]
    return [Paragraph(lead), Table(header, rows, footer)]


# ── exact search beside local search ─────────────────────────────────────────────────────────────


def beside(file: Path) -> list[Part]:
    records = [json.loads(line) for line in file.read_text().splitlines()]
    rows, lost = [], []
    for problem in dict.fromkeys(r["problem"] for r in records):
        means = {}
        for system in neighbourhoods.SYSTEMS:
            values = [r["value"] for r in records if (r["problem"], r["system"]) == (problem, system)]
            means[system] = mean(values) if values and None not in values else None
        found = [value for value in means.values() if value is not None]
        if means["auto"] is None or means["auto"] != min(found):
            lost.append(problem)
        best = min(found, default=None)
        cells = ["–" if v is None else f"**{v:.1f}**" if v == best else f"{v:.1f}" for v in means.values()]
        rows.append([problem, *cells])
    lead = (
        f"`auto` is behind one of its partners on {', '.join(lost)}." if lost else "`auto` is never behind a partner."
    )
    missing = [name for name in neighbourhoods.PROBLEMS if name not in {r["problem"] for r in records}]
    if missing:
        lead += f" Not measured yet: {', '.join(missing)}."
    seeds, limits = {r["seed"] for r in records}, {r["limit"] for r in records}
    limit = ", ".join(f"{limit:g} s" for limit in limits)
    footer = f"Mean value of {len(seeds)} seeds, {limit}, one thread; less is better; {origin(records)}."
    return [Paragraph(lead), Table(["problem", *neighbourhoods.SYSTEMS], rows, footer)]


# ── what tuning gains ────────────────────────────────────────────────────────────────────────────


def tuning(file: Path) -> list[Part]:
    rows, slower, records = [], [], tuned.read(file)
    for record in records:
        kind, gained = tuned.KINDS[record["family"]], tuned.gain_of(record)
        if gained.speedup < 1:
            slower.append(kind.title)
        provenance = record["settings"]["provenance"]
        times = [f"{1000 * tuned.seconds_of(record[side]):.1f}" for side in ("default", "tuned")]
        solved = " / ".join(f"{share:.0%}" for share in record["solved"])
        shares = ", ".join(f"{name} {share:g}" for name, share in record["settings"]["shares"].items()) or "as default"
        spent = f"{provenance['minutes']:g} min, {provenance['settings_tried']} tried"
        rows.append([f"{kind.title} (`{record['family']}`)", spent, *times, solved, str(gained), shares])
    lead = f"Tuned settings are slower than the default on {', '.join(slower)}." if slower else ""
    above = sum(tuned.gain_of(record).speedup >= 1.5 for record in records)
    surely = sum(tuned.gain_of(record).low > 1 for record in records)
    gains = f"Tuning gains a factor of 1.5 or more on {above} of {len(records)} families; "
    gains += f"the interval is above 1 on {surely}."
    lead = lead or gains
    header = ["family", "tuning", "default, ms to a target", "tuned, ms", "solved, default / tuned"]
    header += ["times as fast (95% interval)", "shares found"]
    instances, commits = {len(r["default"]) for r in records}, sorted({r["commit"] for r in records})
    footer = (
        f"{', '.join(map(str, sorted(instances)))} instances that tuning never saw × {tuned.SEEDS} seeds, limits of "
    )
    footer += (
        f"{', '.join(f'{s:g} s' for s in sorted({r['seconds'] for r in records}))} per search, processor time of one "
    )
    footer += (
        f"thread, both sides in turns, commit {', '.join(commits)}; a target is what the default had reached after "
    )
    footer += "1/16, …, 1/2 and all of the limit."
    return [Paragraph(lead), Table(header, rows, footer)]


def tuning_commands(file: Path) -> list[str]:
    """A command per time that families were tuned for, on so many instances as judged them."""
    families: dict[tuple[float, int], list[str]] = {}
    for record in tuned.read(file):
        minutes = record["settings"]["provenance"]["minutes"]
        families.setdefault((minutes, len(record["default"])), []).append(record["family"])
    return [
        f"python benchmarks/tuned.py --out DIR --minutes {minutes:g} --instances {instances} --only {' '.join(names)}"
        for (minutes, instances), names in families.items()
    ] or ["python benchmarks/tuned.py --out DIR"]


# ── speed of the network ─────────────────────────────────────────────────────────────────────────


def step_speed(folder: Path) -> list[Part]:
    rows, below, commits = [], [], set()
    records = [record for file in sorted(folder.glob("*.json")) for record in json.loads(file.read_text())]
    for row in records:
        ratio = row["native"] / row["plain"]
        title = f"{speed.WORKLOADS[row['workload']].title}, d = {row['d']}, {row['threads']} thread"
        machine = row["hardware"].split(",")[0]
        commits.add(f"{machine}: commit {row['commit']}")
        if ratio < 10 and row["d"] == 32:
            below.append(f"{title}, on {machine}")
        memory = f"{row['plain_mb'] / row['native_mb']:.1f}"
        rows.append([title, machine, f"{row['native']:.1f}", f"{row['plain']:.1f}", f"{ratio:.1f}", memory])
    lead = f"Less than ten times the plain transcription: {'; '.join(below)}." if below else ""
    header = [
        "workload",
        "machine",
        "native steps/s",
        "plain steps/s",
        "native : plain",
        "plain memory : native memory",
    ]
    footer = (
        f"{'; '.join(sorted(commits))}. Processor time. "
        "Plain is the paper transcribed directly to PyTorch (`benchmarks/plain_transcription.py`)."
    )
    return [Paragraph(lead or "Ten times the plain transcription or more everywhere."), Table(header, rows, footer)]


SECTIONS = (
    Section(
        "Structured models",
        RECORDS / "structured",
        always("python benchmarks/structured.py --out research/records/structured"),
        structured_models,
    ),
    Section(
        "Everybody on the same footing: 30 s, one thread",
        RECORDS / "standard",
        always(
            f"anycsp bench {' '.join(STANDARD)} --budget standard --jobs 1 --data DATA "
            "--models benchmarks/models --out research/records/standard"
        ),
        standard,
    ),
    Section(
        "RandCSPBench: fifty graphs each",
        RECORDS / "randcsp.jsonl",
        always(
            "python benchmarks/randcsp.py --colors 3 --degrees 4.40 4.58 --out research/records/randcsp.jsonl",
            "python benchmarks/randcsp.py --colors 5 --degrees 12.7 13.1 --out research/records/randcsp.jsonl",
        ),
        fifty_graphs,
    ),
    Section(
        "Exact search beside local search",
        RECORDS / "neighbourhoods.jsonl",
        always("taskset -c 1 python benchmarks/neighbourhoods.py --out research/records/neighbourhoods.jsonl"),
        beside,
    ),
    Section(
        "What tuning gains",
        RECORDS / "tuned.jsonl",
        tuning_commands,
        tuning,
    ),
    Section(
        "Speed of the network's step",
        RECORDS / "speed",
        always("python benchmarks/speed.py --hidden 32 --threads 1 --json research/records/speed/MACHINE.json"),
        step_speed,
    ),
    Section(
        "The paper's budget",
        ROOT / "research" / "reports" / "paper",
        always("anycsp bench rb50 coloring gset satlib --budget paper --data DATA --out research/reports/paper"),
        experiments,
    ),
)


def page() -> str:
    document = Document()
    document.add(Heading(1, "Results"), Paragraph(INTRODUCTION.strip()), SEARCHES, Paragraph(SOURCE.strip()))
    absent = []
    for section in SECTIONS:
        if not section.records.exists():
            absent.append(f"{section.title}: {section.repeated_by()}")
            continue
        document.add(Heading(2, section.title), *section.parts(section.records))
        document.add(Paragraph(f"To repeat it: {section.repeated_by()}"))
    if absent:
        document.add(Heading(2, "Not measured yet"), Bullets(absent))
    return markdown(document)


def take(folder: Path) -> None:
    """The records of a benchmark, without their traces: the tables need none, and they are nine tenths of the size."""
    records = [{k: v for k, v in record.items() if k != "trace"} for record in read_records(folder)]
    (RECORDS / "standard").mkdir(parents=True, exist_ok=True)
    (RECORDS / "standard" / FILE).write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the page is what the records say")
    parser.add_argument("--take", type=Path, metavar="DIR", help="a folder of `anycsp bench --budget standard`")
    args = parser.parse_args()
    if args.take:
        take(args.take)
    if not args.check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is not what the records say: run benchmarks/results_page.py")


if __name__ == "__main__":
    main()
