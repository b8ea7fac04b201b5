"""More runs than fit into memory at once are done in waves."""

from __future__ import annotations

import numpy as np
import pytest

from anycsp import Problem, solve
from anycsp.errors import TooLargeError
from anycsp.footprint import estimate_bytes, fitting_runs
from anycsp.model.builders import formula_problem
from anycsp.search.driver import Progress
from anycsp.search.waves import NEXT_WAVE


@pytest.fixture
def problem() -> Problem:
    """A formula with more clauses than can be satisfied."""
    rng = np.random.default_rng(0)
    literals = rng.integers(1, 51, 1200) * rng.choice([-1, 1], 1200)
    return formula_problem(50, np.arange(401) * 3, literals)


def hold(monkeypatch: pytest.MonkeyPatch, problem: Problem, runs: int) -> None:
    """Let memory be just enough for so many."""
    monkeypatch.setattr("anycsp.footprint.available_bytes", lambda: estimate_bytes(problem, runs, hidden=1))


def test_runs_that_do_not_fit_come_later_and_all_are_made(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"search": "local", "steps": 300, "threads": 1}
    waves = [
        solve(problem, runs=runs, seed=4 + wave * NEXT_WAVE, **options)  # type: ignore[arg-type]
        for wave, runs in enumerate((2, 2, 1))
    ]
    hold(monkeypatch, problem, 2)
    heard: list[Progress] = []
    with pytest.warns(UserWarning, match="memory holds 2 of the 5 runs at once"):
        found = solve(problem, runs=5, seed=4, callback=lambda progress: heard.append(progress), **options)  # type: ignore[arg-type]
    assert (found.runs, found.seed) == (5, 4)
    assert found.best_per_run == [score for wave in waves for score in wave.best_per_run]
    assert found.violated == min(wave.violated for wave in waves)
    best = [progress.violated for progress in heard]
    assert best == sorted(best, reverse=True)
    assert best[-1] == found.violated


def test_waves_share_the_time(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, problem, 1)
    with pytest.warns(UserWarning, match="share the time"):
        found = solve(problem, runs=4, time_limit=0.4, search="local", threads=1)
    assert found.runs == 4
    assert found.seconds < 5
    assert len(found.best_per_run) == 4


def test_there_are_no_more_waves_once_the_time_is_up(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, problem, 1)
    with pytest.warns(UserWarning, match="share the time"):
        found = solve(problem, runs=20_000, time_limit=0.2, search="local", threads=1)
    assert 0 < found.runs < 20_000


def test_a_wave_leaves_some_memory_to_others(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is free when the runs are counted may be taken a moment later."""
    free = iter([estimate_bytes(problem, 100, hidden=1)])
    monkeypatch.setattr("anycsp.footprint.available_bytes", lambda: next(free, estimate_bytes(problem, 96, hidden=1)))
    with pytest.warns(UserWarning, match="memory holds 100 of the 190 runs") as warned:
        found = solve(problem, runs=190, steps=10, search="local", threads=1)
    assert found.runs == 190
    assert len(warned) == 1


def test_a_number_of_runs_that_nobody_asked_for_is_what_fits(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, problem, 1)
    assert solve(problem, time_limit=0.1, search="local", threads=3).runs == 1


def test_what_does_not_fit_once_is_refused(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, problem, 0)
    assert fitting_runs(problem, 5, hidden=1) == 0
    with pytest.raises(TooLargeError, match="edges"):
        solve(problem, runs=5, time_limit=0.1, search="local")
