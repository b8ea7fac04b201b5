"""Several searches of one problem as one: which answer is better, and what they come to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anycsp.model.problem import Problem
from anycsp.search.driver import Positions, Progress
from anycsp.search.result import OPTIMAL, UNSATISFIABLE, Result

Rank = tuple[float, ...]
"""What orders the assignments of one problem; smaller is better."""


def rank(problem: Problem, answer: Result | Progress) -> Rank:
    """What is required comes first, then weight, then the objective."""
    value = answer.objective["value"] if isinstance(answer.objective, dict) else answer.objective
    return _rank(problem, answer.hard_violated, answer.violated_weight, None if answer.violated else value)


def rank_of_positions(problem: Problem, positions: Positions) -> Rank:
    counted = problem.violation_of_positions(positions)
    value = None
    if optimises(problem) and counted.violated == 0:
        assert problem.objective is not None
        value = problem.objective.value(counted.weight, problem.values(positions))
    return _rank(problem, counted.hard, counted.weight, value)


def _rank(problem: Problem, hard: int, weight: float, value: float | None) -> Rank:
    if not optimises(problem):
        return (hard, weight)
    assert problem.objective is not None
    if value is None:
        return (hard, weight, float("inf"))
    return (hard, weight, -value if problem.objective.kind == "maximize" else value)


def optimises(problem: Problem) -> bool:
    """Whether there is an objective beside what is violated."""
    return problem.objective is not None and problem.objective.expression is not None


def is_proved(result: Result) -> bool:
    return result.status in (OPTIMAL, UNSATISFIABLE)


def is_settled(problem: Problem, result: Result) -> bool:
    """Whether nothing better is to be looked for."""
    return is_proved(result) or (result.violated == 0 and not optimises(problem))


def later(result: Result, seconds: float) -> Result:
    """The same of a search that began so many seconds after the first."""
    return replace(
        result,
        seconds=seconds + result.seconds,
        best_seconds=seconds + result.best_seconds,
        trace=[point._replace(seconds=seconds + point.seconds) for point in result.trace],
    )


def together(ranked: Sequence[tuple[Rank, Result]], seed: int) -> Result:
    """The best of them, the first where several are alike, with the proof of any."""
    _, best = min(ranked, key=lambda pair: (pair[0], not is_proved(pair[1])))
    results = [result for _, result in ranked]
    proof = next((r.status for r in results if r.status == UNSATISFIABLE), best.status)
    return replace(
        best,
        status=proof,
        runs=sum(r.runs for r in results),
        seed=seed,
        steps=max(r.steps for r in results),
        seconds=max(r.seconds for r in results),
        best_per_run=[score for r in results for score in r.best_per_run],
    )
