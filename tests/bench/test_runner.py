"""The harness: lies are caught, a kill -9 loses and repeats nothing, what is not installed is a row and not a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from anycsp import Problem
from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.baselines import BASELINES, ours
from anycsp.bench.baselines.run_csp import MOST_VALUES, training_seconds
from anycsp.bench.experiment import Instance
from anycsp.bench.experiments import EXPERIMENTS, randcsp
from anycsp.bench.journal import FILE, Journal, read_records
from anycsp.bench.report import write_report
from anycsp.bench.run import Task, execute
from anycsp.bench.runner import plan, run
from anycsp.cli.bench import bench
from anycsp.errors import AnyCSPError
from anycsp.neural.models import Model, save_model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.weights import PolicyConfig

COLORING = EXPERIMENTS["coloring"]


def triangle() -> Problem:
    problem = Problem("triangle")
    problem.add_variables(3, (1, 2))
    problem.add_not_equal(np.array([[0, 1], [1, 2], [0, 2]]))
    return problem


class Scripted(Baseline):
    """Answers what it is told to, and claims what it is told to."""

    name = "scripted"

    def __init__(self, positions: list[int], claim: float, seconds: float = 0.1) -> None:
        self.positions, self.claim, self.seconds = positions, claim, seconds

    def supports(self, problem: Problem) -> bool:
        return True

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        return BaselineResult([Point(1, self.seconds, self.claim)], np.array(self.positions, np.int32), self.seconds, 1)


INSTANCE = Instance("triangle", "chi<10", triangle, best=3.0)
TASK = Task("coloring", "triangle", "chi<10", "scripted", "", 0, "quick", Limit(1.0))


def status_of(baseline: Baseline) -> tuple[str, str]:
    entry = execute(TASK, INSTANCE, COLORING, baseline)
    return entry["status"], entry.get("note", "")


def test_an_honest_answer_counts() -> None:
    assert status_of(Scripted([0, 1, 0], claim=1.0))[0] == "ok"


@pytest.mark.parametrize(
    ("positions", "claim", "reason"),
    [
        ([0, 1, 0], 0.0, "claims a violated weight of 0, recounted 1"),
        ([0, 0, 0], 1.0, "recounted 3"),
        ([0, 1, 2], 0.0, "outside its domain"),
        ([0, 1, -1], 0.0, "outside its domain"),
        ([0, 1], 0.0, "2 values for 3 variables"),
    ],
)
def test_a_lying_solver_is_caught_and_reported(positions: list[int], claim: float, reason: str, tmp_path: Path) -> None:
    entry = execute(TASK, INSTANCE, COLORING, Scripted(positions, claim))
    assert entry["status"] == "wrong answer"
    assert reason in entry["note"]
    with Journal(tmp_path) as journal:
        journal.append({**entry, "commit": "c", "hardware": "h", "software": "s", "when": ""})
    text = write_report(tmp_path)[0].read_text()
    assert "**Wrong answer**: scripted on triangle" in text
    assert "0/1 **1 WRONG**" in text


def test_an_answer_after_the_limit_is_no_solution() -> None:
    assert status_of(Scripted([0, 1, 0], claim=1.0, seconds=3.0))[0] == "late"


def test_a_crash_in_a_solver_is_a_record() -> None:
    class Crashing(Scripted):
        def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
            raise ZeroDivisionError("of all things")

    assert status_of(Crashing([], 0.0)) == ("error", "ZeroDivisionError: of all things")


# ── a folder of small graphs, so that nothing here needs the benchmark files ─────────────────────


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "col"
    folder.mkdir(parents=True)
    rows = ["graph,vertices,edges,chi,split"]
    rng = np.random.default_rng(0)
    for i in range(7):
        edges = np.argwhere(np.triu(rng.random((30, 30)) < 0.3, 1)) + 1
        lines = [f"p edge 30 {len(edges)}", *(f"e {u} {v}" for u, v in edges)]
        (folder / f"g{i}.col").write_text("\n".join(lines) + "\n")
        rows.append(f"g{i},30,{len(edges)},6,<10")
    (folder / "chromatic.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "data"


SOLVERS = ("greedy-coloring", "dsatur")
_SCRIPT = """
import sys
from pathlib import Path
from anycsp.bench.experiments import experiment
from anycsp.bench.runner import run
if __name__ == "__main__":
    run([experiment("coloring")], Path(sys.argv[1]), Path(sys.argv[2]), "quick", solvers=("greedy-coloring", "dsatur"),
        jobs=1, finished=lambda task, record: __import__("time").sleep(0.2))
"""


def test_a_run_killed_at_any_moment_is_resumed_without_losing_or_repeating(graphs: Path, tmp_path: Path) -> None:
    out, script = tmp_path / "out", tmp_path / "script.py"
    script.write_text(_SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(graphs), str(out)], env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    until = time.monotonic() + 300  # a busy machine may take long to start
    while time.monotonic() < until and (not (out / FILE).exists() or (out / FILE).read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = read_records(out)
    assert 3 <= len(before) < 14
    with open(out / FILE, "ab") as file:
        file.write(b'{"key": "torn by the ki')  # what a kill in the middle of a write leaves
    assert read_records(out) == before

    after = run([COLORING], graphs, out, "quick", solvers=SOLVERS, jobs=1)
    assert after[: len(before)] == before
    assert set(Counter(r["key"] for r in after).values()) == {1}
    assert len(after) == 14
    assert {r["status"] for r in after} == {"ok"}
    assert [json.loads(line) for line in (out / FILE).read_bytes().splitlines()] == after
    assert run([COLORING], graphs, out, "quick", solvers=SOLVERS, jobs=1) == after


def test_a_missing_dependency_is_a_row_and_never_a_crash(
    graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsatur = type(BASELINES["dsatur"])
    monkeypatch.setattr(dsatur, "requires", ("no_such_package",))
    out = tmp_path / "out"
    for _ in range(2):
        records = run([COLORING], graphs, out, "quick", solvers=["dsatur"], jobs=1)
        assert [r["status"] for r in records] == ["not installed (no_such_package)"] * 7
    assert "| DSATUR | measured | not installed (no_such_package) |" in write_report(out)[0].read_text()

    monkeypatch.setattr(dsatur, "requires", ())
    records = run([COLORING], graphs, out, "quick", solvers=["dsatur"], jobs=1)
    assert [r["status"] for r in records[7:]] == ["ok"] * 7


def test_models_that_are_not_there_are_rows_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "SHIPPED", tmp_path)
    records = run([EXPERIMENTS["grid"]], tmp_path, tmp_path / "out", "quick", jobs=1)
    assert [r["status"] for r in records] == ["not shipped (--models)"] * 2
    assert (
        "| **anycsp neural (coloring)** | measured | not shipped (--models) |"
        in write_report(tmp_path / "out")[0].read_text()
    )


def test_our_own_search_runs_from_a_folder_of_models_and_a_new_model_is_a_new_run(tmp_path: Path) -> None:
    policy = PolicyNetwork(PolicyConfig(hidden=8))
    for _ in range(2):
        with torch.no_grad():
            policy.initial_state += 1.0
        save_model(Model("coloring", policy.weights()), tmp_path / "coloring")
        records = run(
            [EXPERIMENTS["grid"]],
            tmp_path,
            tmp_path / "out",
            "quick",
            solvers=["anycsp:coloring"],
            models=tmp_path,
            jobs=1,
        )
    assert [r["status"] for r in records] == ["ok", "ok"]
    assert records[0]["version"] != records[1]["version"]
    assert len(records[0]["frames"]) == 9
    assert records[0]["steps"] <= 200


def test_a_run_that_does_not_end_is_ended(graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anycsp.bench.runner.GRACE_SECONDS", -100.0)  # every run is overdue at once
    monkeypatch.setattr("anycsp.cluster.on_processes.LOOK_SECONDS", 0.0)  # and seen to be, before a process has started
    records = run([COLORING], graphs, tmp_path / "out", "quick", solvers=["dsatur"], jobs=2)
    assert [r["status"] for r in records] == ["timeout"] * 7


def test_two_benchmarks_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(AnyCSPError, match="another benchmark"):
        Journal(tmp_path)


@pytest.mark.parametrize("line", ["not json", '{"broken": 1}', "[1]"])
def test_a_damaged_journal_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / FILE).write_text('{"key": 1, "experiment": "gset", "status": "ok"}\n' + line + "\n")
    with pytest.raises(AnyCSPError, match=r"runs\.jsonl:2"):
        read_records(tmp_path)


def test_a_folder_without_an_experiments_instances_is_an_error(tmp_path: Path) -> None:
    for name, experiment in EXPERIMENTS.items():
        if name not in ("max-k-sat", "grid", "randcsp", "rb50"):  # generated
            with pytest.raises(AnyCSPError, match=r"--data or \$ANYCSP_DATA"):
                plan([experiment], tmp_path, "quick")


def test_more_graphs_of_randcsp_repeat_none_of_those_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> list[str]:
        todo = plan([EXPERIMENTS["randcsp"]], tmp_path, "standard", solvers=["cp-sat"])
        return [task.key for task, _ in todo.to_run] + [task.key for task, _, _ in todo.absent]

    raised = keys()
    monkeypatch.setitem(randcsp.GRAPHS, "standard", 5)
    done = [{"key": key, "status": "ok"} for key in keys()]
    monkeypatch.undo()
    assert (len(done), len(raised)) == (7 * 5 + 100, 7 * 10 + 100)
    assert plan([EXPERIMENTS["randcsp"]], tmp_path, "standard", done, solvers=["cp-sat"]).done == len(done)


def test_a_solver_that_no_chosen_experiment_has_is_an_error(tmp_path: Path) -> None:
    for name in ("foo", "anycsp:colouring", "cadical", ""):
        result = CliRunner().invoke(bench, ["grid", "--out", str(tmp_path / "out"), "--solvers", name])
        assert isinstance(result.exception, AnyCSPError)
        assert "anycsp:coloring" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_an_instance_that_cannot_be_read_is_an_error_record(graphs: Path, tmp_path: Path) -> None:
    (graphs / "col" / "g3.col").write_text("p edge 30 1\ne 1 99\n")
    records = run([COLORING], graphs, tmp_path / "out", "quick", solvers=["dsatur"], jobs=1)
    assert Counter(r["status"] for r in records) == {"ok": 6, "error": 1}
    assert "g3.col" in next(r["note"] for r in records if r["status"] == "error")


def test_every_solver_an_experiment_names_exists_and_every_baseline_is_used() -> None:
    named = {name for experiment in EXPERIMENTS.values() for name in experiment.solvers}
    assert {name for name in named if not name.startswith("anycsp:")} == set(BASELINES)


def test_the_quick_budget_fits_half_an_hour_on_two_cores_even_if_every_run_takes_its_limit(data: Path) -> None:
    todo = plan(list(EXPERIMENTS.values()), data, "quick")
    runs = [task for task, _ in todo.to_run] + [task for task, _, _ in todo.absent]
    networks = MOST_VALUES - 2  # RUN-CSP trains one for 2 and one for each of 4 … 9 colours
    training = networks * training_seconds(EXPERIMENTS["gset"].limits["quick"])
    assert sum(task.limit.seconds for task in runs) + training <= 0.97 * 2 * 30 * 60
