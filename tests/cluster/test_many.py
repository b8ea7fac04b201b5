"""Many problems at once: the answers of `solve`, a folder of them, and searches that share what they find."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anycsp import Problem, solve, solve_many
from anycsp.cli import run
from anycsp.cluster import shared
from anycsp.cluster.board import Board, Post
from anycsp.cluster.many import NEXT_GROUP
from anycsp.cluster.shared import Group, searched_together
from anycsp.errors import AnyCSPError
from anycsp.formats import write
from anycsp.model.builders import formula_problem
from anycsp.search.driver import Progress
from anycsp.search.result import Result
from anycsp.search.together import rank_of_positions


def formula(seed: int, variables: int = 30, clauses: int = 240) -> Problem:
    """A formula with more clauses than can be satisfied."""
    rng = np.random.default_rng(seed)
    literals = rng.integers(1, variables + 1, clauses * 3) * rng.choice([-1, 1], clauses * 3)
    return formula_problem(variables, np.arange(clauses + 1) * 3, literals)


def planted(variables: int, clauses: int) -> Problem:
    """A satisfiable formula that takes a while; true everywhere satisfies it."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], (clauses, 3))
    signs[(signs < 0).all(axis=1), 0] = 1
    chosen = np.argsort(rng.random((clauses, variables)), axis=1)[:, :3] + 1
    return formula_problem(variables, np.arange(clauses + 1) * 3, (chosen * signs).ravel())


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "cube.rud").write_text("4 4\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n")
    (folder / "path.col").write_text("p edge 3 2\ne 1 2\ne 2 3\n")
    (folder / "small.cnf").write_text("p cnf 2 2\n1 2 0\n-1 -2 0\n")
    return [str(path) for path in sorted(folder.iterdir())]


# ── solve_many ───────────────────────────────────────────────────────────────────────────────────


def test_processes_find_what_this_process_finds_and_solve_would() -> None:
    problems = [formula(seed) for seed in range(3)]
    options = {"steps": 2000, "seed": 5, "runs": 2, "search": "local"}
    alone = [solve(problem, **options, threads=1) for problem in problems]  # type: ignore[arg-type]
    for on in (None, "processes"):
        found = solve_many(problems, on=on, processes=2, **options)
        assert [r.assignment for r in found] == [r.assignment for r in alone]
        assert [r.best_per_run for r in found] == [r.best_per_run for r in alone]
        assert [r.problem for r in found] == problems


def test_groups_are_searches_with_other_seeds_and_the_best_of_them_counts() -> None:
    problem = formula(1)
    options = {"steps": 60, "search": "local", "runs": 1}
    each = [solve(problem, seed=3 + group * NEXT_GROUP, threads=1, **options) for group in range(3)]  # type: ignore[arg-type]
    (found,) = solve_many([problem], on=None, groups=3, seed=3, **options)
    best = min(each, key=lambda r: r.violated_weight)
    assert (found.assignment, found.violated) == (best.assignment, best.violated)
    assert (found.runs, found.seed) == (3, 3)
    assert found.best_per_run == [score for r in each for score in r.best_per_run]


def test_what_many_searches_cannot_have_is_refused() -> None:
    with pytest.raises(AnyCSPError, match="callback is not an option"):
        solve_many([formula(0)], callback=lambda progress: None)
    with pytest.raises(AnyCSPError, match="groups = 0"):
        solve_many([formula(0)], groups=0)
    with pytest.raises(AnyCSPError, match="unknown search"):
        solve_many([formula(0)], search="quantum")
    with pytest.raises(AnyCSPError, match="problem 0: a problem without variables"):
        solve_many([Problem()], on=None)


# ── sharing ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "EXCHANGE_SECONDS", 0.02)


@pytest.mark.usefixtures("often")
def test_a_search_ends_where_another_has_settled_the_problem() -> None:
    problem, board = formula(2), Board()
    nothing = np.zeros(problem.num_variables, dtype=np.int32)
    board.exchange("key", Post(rank_of_positions(problem, nothing), nothing, settled=True))
    result = searched_together(problem, Group(0, "key", board), time_limit=60.0, seed=0, search="local", threads=1)
    assert result.seconds < 30
    assert result.status == "best-effort"


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(("number", "moved"), [(0, False), (1, True)])
def test_a_search_that_is_stuck_goes_on_from_the_best_of_all_but_the_first_is_left_alone(
    number: int, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, board, hints = planted(60, 200), Board(), list[Any]()
    best = np.ones(problem.num_variables, dtype=np.int32)
    nothing = np.zeros(problem.num_variables, dtype=np.int32)
    board.exchange("key", Post(rank_of_positions(problem, best), best))

    def finds_nothing(problem: Problem, *, hint: Any, callback: Any, **options: Any) -> Result:
        """Until it is told to end, or for half a second."""
        hints.append(hint)
        counted = problem.violation_of_positions(nothing)
        state = Progress(1, 0.0, counted.violated, counted.weight, counted.hard, False, best=lambda: nothing)
        until = time.monotonic() + 0.5
        while hint is None and time.monotonic() < until and not callback(state):
            time.sleep(0.005)
        return solve(problem, hint=hint, steps=0, search="local", threads=1)

    monkeypatch.setattr(shared, "solve", finds_nothing)
    result = searched_together(problem, Group(number, "key", board), time_limit=60.0, seed=0)
    assert hints == [None, *([problem.assignment(best)] if moved else [])]
    assert result.satisfied == moved


def test_searches_of_one_problem_end_together() -> None:
    (found,) = solve_many([planted(60, 200)], on="processes", processes=2, groups=2, time_limit=50.0, search="local")
    assert found.satisfied
    assert found.runs == 2
    assert found.seconds < 30


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_files_become_answers_that_check_and_a_second_call_searches_nothing(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answers"
    command = ["solve", *files, "--steps", "2000", "--out", str(out), "--processes", "1"]
    assert run(command) == 0
    printed = capsys.readouterr().out.splitlines()
    assert sorted(line.partition(":")[0] for line in printed) == ["cube.rud", "path.col", "small.cnf"]
    for file in files:
        colors = ["--colors", "2"] if file.endswith(".col") else []
        assert run(["check", file, str(out / f"{Path(file).name}.json"), *colors]) == 0
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.json")}
    capsys.readouterr()
    assert run(command) == 0
    assert capsys.readouterr().out == ""
    assert {path: path.stat().st_mtime_ns for path in out.glob("*.json")} == before
    lines = [json.loads(line) for line in (out / "summary.jsonl").read_text().splitlines()]
    assert sorted(line["file"] for line in lines) == ["cube.rud", "path.col", "small.cnf"]
    assert next(line["objective"] for line in lines if line["file"] == "cube.rud") == {"kind": "cut", "value": 4}


def test_a_folder_of_answers_says_what_is_wrong(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, bad = tmp_path / "answers", tmp_path / "bad.cnf"
    bad.write_text("p cnf 1 1\n7 0\n")
    command = ["solve", files[2], str(bad), "--steps", "50", "--out", str(out), "--processes", "1"]
    assert run(command) == 2
    assert "bad.cnf: error, " in capsys.readouterr().out
    assert not (out / "bad.cnf.json").exists()
    bad.write_text("p cnf 1 1\n1 0\n")  # mended, it is tried again
    assert run([*command, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["status"] == "satisfied"
    lines = [json.loads(line)["file"] for line in (out / "summary.jsonl").read_text().splitlines()]
    assert sorted(lines) == ["bad.cnf", "small.cnf"]

    refusals = {
        "found with another seed": [*command, "--seed", "1"],
        "has the same name": [*command[:2], files[2], "--out", str(out)],
        "--hint is for one file": [*command, "--hint", "x"],
        "need --out": ["solve", *files],
        "no workers on": [*command, "--on", "mars"],
    }
    for message, wrong in refusals.items():
        assert run(wrong) == 2, wrong
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("moment", [0.0, 0.3])
def test_a_run_killed_in_the_middle_goes_on_without_losing_or_repeating(tmp_path: Path, moment: float) -> None:
    folder, out = tmp_path / "files", tmp_path / "answers"
    folder.mkdir()
    for i in range(6):
        write(formula(i), folder / f"f{i}.cnf")
    files = [str(path) for path in sorted(folder.iterdir())]
    command = ["solve", *files, "--time-limit", "0.3", "--search", "neural", "--out", str(out), "--processes", "1"]
    process = subprocess.Popen([sys.executable, "-m", "anycsp", *command], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while len(list(out.glob("f*.json"))) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(moment)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with (out / "summary.jsonl").open("a") as file:
        file.write('{"file": "torn')
    before = {path.name: path.read_text() for path in out.glob("f*.json")}
    assert run([*command, "--quiet"]) == 0
    after = {path.name: path.read_text() for path in out.glob("f*.json")}
    assert len(after) == 6
    assert before.items() <= after.items()
    assert len((out / "summary.jsonl").read_text().splitlines()) == 6


def test_what_is_no_problem_is_named() -> None:
    with pytest.raises(AnyCSPError, match="solve_many takes problems, not 1"):
        solve_many([1])  # type: ignore[list-item]
