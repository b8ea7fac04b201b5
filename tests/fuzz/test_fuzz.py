"""The fuzzer itself: cases that failed once pass, seeds repeat, a planted fault is found and made small."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from repository import ROOT

from anycsp import native
from anycsp.formats import FORMATS, read_text
from anycsp.fuzz import __main__ as command
from anycsp.fuzz.files.seeds import FILES
from anycsp.fuzz.guarded import Failure, campaign, tried, tried_apart
from anycsp.fuzz.kinds import SECONDS, Kind, kind
from anycsp.fuzz.problems import draw as problems
from anycsp.fuzz.problems.oracle import PARTS, Oracle, evaluate, variables_of
from anycsp.fuzz.problems.post import POST
from anycsp.fuzz.shrink import shrunk
from anycsp.search.options import SearchOptions
from anycsp.search.solve import solve_with

pytestmark = pytest.mark.skipif(not native.available(), reason="compiled search")

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_failed_once_passes(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    outcome = tried_apart(kind(kept["kind"]), kept["case"])
    assert not isinstance(outcome, Failure), outcome.detail


@pytest.mark.parametrize(
    ("name", "trials"), [("problems", 150), ("languages", 100), ("files", 200), ("models", 60), ("faults", 2)]
)
def test_a_short_campaign_finds_nothing(name: str, trials: int) -> None:
    for needed in ("cpmpy", "pycsp3") if name == "languages" else ():
        pytest.importorskip(needed)
    reports = list(campaign(kind(name), 7, 0, 300.0, trials))
    assert [failure.detail for report in reports for _, failure in report.failures] == []
    assert sum(report.tally.total() for report in reports) == trials


@pytest.mark.parametrize("name", SECONDS)
def test_a_trial_is_the_same_alone_as_in_a_campaign(name: str) -> None:
    this = kind(name)
    in_order = [this.case(3, trial) for trial in range(12)]
    assert this.case(3, 11) == in_order[11]
    assert this.case(4, 11) != in_order[11]
    assert json.loads(json.dumps(in_order)) == in_order, "a case is plain data"


def test_every_post_has_a_meaning_and_a_way_to_be_posted() -> None:
    assert set(PARTS) == set(POST) == set(problems.ENTRIES)


@pytest.mark.parametrize("name", FORMATS)
def test_mutations_begin_in_files_of_every_format_that_are_good(name: str) -> None:
    if name == "bqm":
        pytest.importorskip("dimod")
    for data in FILES[f"x{FORMATS[name].extensions[0]}"]:
        problem = read_text(data, format=name)
        assert solve_with(problem, SearchOptions(search="local", steps=10, threads=1)).positions is not None


def test_the_oracle_counts_by_hand() -> None:
    x, y = {"var": 0}, {"var": 1}
    case = {
        "variables": [{"name": "x", "domain": [0, 1]}, {"name": "y", "domain": [0, 2]}],
        "constraints": [
            {"post": "rule", "expression": ["ge", ["div", y, x], 2], "hard": True},
            {"post": "all_different", "scope": [x, y], "weight": 0.1},
        ],
        "objective": {"sense": "minimize", "goals": [["sub", y, x]]},
    }
    counts = {values: Oracle(case).count(values) for values in Oracle(case).enumerate()}
    assert [(c.hard, c.violated, c.weight, c.objective) for c in counts.values()] == [
        (1, 2, 1.1, (0,)),  # 0 / 0 is undefined, so violated
        (1, 1, 1.0, (2,)),
        (1, 1, 1.0, (-1,)),
        (0, 0, 0.0, (1,)),
    ]
    assert evaluate(["div", -7, 2], []) == -3


def test_a_fault_is_found_and_made_small(tmp_path: Path) -> None:
    """A check that dislikes circuits: what is left is one of them, and its variables."""

    def dislikes(case: object) -> str:
        assert isinstance(case, dict)
        if any(entry["post"] == "circuit" for entry in case["constraints"]):
            raise ValueError("a circuit")
        return "fine"

    real = kind("problems")
    broken = Kind("problems", real.draw, dislikes, real.smaller, 5.0)
    trial = next(k for k in range(1000) if isinstance(tried(broken, broken.case(0, k)), Failure))
    failure = tried(broken, broken.case(0, trial))
    assert isinstance(failure, Failure)
    small = shrunk(broken, broken.case(0, trial), failure, seconds=60.0)
    assert [entry["post"] for entry in small["constraints"]] == ["circuit"]
    assert "objective" not in small
    assert variables_of(small["constraints"]) == set(range(len(small["variables"])))


def test_what_hangs_or_dies_is_noticed_and_the_rest_goes_on() -> None:
    def check(case: object) -> str:
        if case == {"n": 2}:
            while True:
                pass
        if case == {"n": 4}:
            os.kill(os.getpid(), signal.SIGKILL)
        if case == {"n": 5}:
            sys.exit(0)  # within a trial, whatever the code
        return "fine"

    broken = Kind("numbers", lambda rng: {"n": rng.randrange(6)}, check, lambda case: iter(()), 1.0)
    expected = [broken.case(1, k)["n"] for k in range(12)]
    assert {2, 4, 5} <= set(expected)
    reports = list(campaign(broken, 1, 0, 120.0, 12))
    failures = {trial: failure.signature for report in reports for trial, failure in report.failures}
    signatures = {2: "hangs", 4: "signal 9", 5: "exit 1"}
    assert failures == {k: signatures[n] for k, n in enumerate(expected) if n in signatures}
    assert sum(report.tally["failed"] for report in reports) == len(failures)


def test_who_looks_at_a_trial_that_is_just_beginning_sees_no_hang() -> None:
    def check(case: object) -> str:
        raise ValueError  # so that the parent looks after every trial

    failing = Kind("none", lambda rng: {}, check, lambda case: iter(()), 0.2)
    failures = [failure for report in campaign(failing, 1, 0, 3.0) for _, failure in report.failures]
    assert {failure.signature for failure in failures} == {"ValueError:  in test_fuzz.py check"}


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    assert (
        command.main(["--kind", "files", "--trials", "20", "--seed", "5", "--out", str(tmp_path), "--log", str(log)])
        == 0
    )
    assert "files: seed 5, 20 trials" in capsys.readouterr().out
    assert json.loads(log.read_text())["trials"] == 20
    assert command.main(["--kind", "problems", "--trial", "3", "--seed", "5"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == problems.draw(Random("problems/5/3"))
    assert command.main([str(path) for path in CORPUS[:1]]) == 0


def test_the_command_line_does_not_import_it() -> None:
    code = "import sys, anycsp.cli.solve, anycsp.search; assert not any('fuzz' in name for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_table_of_the_documentation_is_that_of_the_log() -> None:
    log = (ROOT / "research" / "fuzz-campaigns.jsonl").read_text(encoding="utf-8")
    assert command.table(log) in (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_coverage_counts_functions_and_methods_of_the_readers() -> None:
    """Those that atheris instruments: without them it would see nothing, and mutate at random."""
    from anycsp.fuzz.coverage import functions

    read_text("p cnf 1 1\n1 0\n", format="cnf")
    names = {f"{function.__module__}.{function.__qualname__}" for function in functions()}
    assert {
        "anycsp.formats.cnf.read",
        "anycsp.formats.files.Source.integer",
        "anycsp.model.problem.Problem.add",
    } <= names


@pytest.mark.parametrize("fault", ["SIGINT", "SIGTERM"])
def test_a_signal_that_strikes_a_program_at_its_first_instruction_is_no_finding(fault: str) -> None:
    case = {"command": "convert", "start": "forked", "fault": fault, "bytes": 0, "variables": 50, "seed": 0}
    for moment in range(20):
        tried = tried_apart(kind("faults"), {**case, "moment": 0.001 * moment})
        assert not isinstance(tried, Failure), tried.detail
