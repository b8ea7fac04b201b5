"""One of several searches of the same problem, which tell each other of their best assignments.

Every few seconds a search posts what it has. It ends where another has settled the problem, and begins anew from the
best assignment of all where it is behind and has not got anywhere for a while. The first of them is never moved, so
that together they are as good as that one alone, at least.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from anycsp.cluster.board import Exchange, Positions, Post, Rank
from anycsp.deadline import Deadline
from anycsp.model.problem import Problem
from anycsp.search.driver import Progress
from anycsp.search.result import BEST_EFFORT, INTERRUPTED, OPTIMAL, SATISFIED, UNSATISFIABLE, Result
from anycsp.search.solve import solve

EXCHANGE_SECONDS = 2.0
"""Between two looks at the board: an assignment of a million variables takes a small part of that to send."""
PATIENCE = 0.2
"""A search is stuck where it has found nothing better for this part of its time; early on, for three looks."""


@dataclass(frozen=True)
class Group:
    """Which of the searches of a problem this is, and where they meet."""

    number: int
    key: str
    board: Exchange


def searched_together(problem: Problem, group: Group, *, time_limit: float, seed: int, **options: Any) -> Result:
    """`solve`, as one of the group. Ends `time_limit` seconds after the call."""
    deadline, began = Deadline.after(time_limit), time.perf_counter()
    best: Result | None = None
    start: Positions | None = None
    rounds = 0
    while True:
        watch = _Watch(problem, group, began, begins_at=None if start is None else rank_of_positions(problem, start))
        hint = None if start is None else problem.assignment(start)
        before = time.perf_counter() - began
        found = solve(problem, time_limit=deadline, seed=seed + rounds, hint=hint, callback=watch, **options)
        found = replace(
            found,
            seconds=before + found.seconds,
            best_seconds=before + found.best_seconds,
            trace=[point._replace(seconds=before + point.seconds) for point in found.trace],
        )
        if best is None or _order(found) < _order(best):
            best = found
        elif found.status in (OPTIMAL, UNSATISFIABLE):
            best = replace(best, status=found.status)
        rounds += 1
        group.board.exchange(group.key, Post(rank(best), best.positions, is_settled(best)))
        if watch.better is None or watch.settled or deadline.passed:
            return replace(best, status=_ended(best), seed=seed, seconds=time.perf_counter() - began)
        start = watch.better


class _Watch:
    """The callback of one search: asks the board now and then, and ends the search where it should be elsewhere."""

    def __init__(self, problem: Problem, group: Group, began: float, begins_at: Rank | None) -> None:
        self._problem, self._group, self._began = problem, group, began
        self._asked = self._improved = time.perf_counter()
        self._best: Rank | None = begins_at
        self.better: Positions | None = None
        """What another search has, and this one is to go on from."""
        self.settled = False

    def __call__(self, progress: Progress) -> bool:
        now, own = time.perf_counter(), rank(progress, self._problem)
        if self._best is None or own < self._best:
            self._best, self._improved = own, now
        if now - self._asked < EXCHANGE_SECONDS:
            return False
        self._asked = now
        news = self._group.board.exchange(self._group.key, Post(own, progress.positions))
        if news is None:
            return False
        self.settled = news.settled
        stuck = now - self._improved > max(3 * EXCHANGE_SECONDS, PATIENCE * (now - self._began))
        if news.rank < own and stuck and self._group.number > 0:
            self.better = news.positions
        return self.settled or self.better is not None


def rank(answer: Result | Progress, problem: Problem | None = None) -> Rank:
    """What makes one answer better than another: what is required, then weight, then the objective."""
    problem = problem or answer.problem
    value = answer.objective["value"] if isinstance(answer.objective, dict) else answer.objective
    asked = None if problem is None else problem.objective
    if asked is None or asked.expression is None:
        return (answer.hard_violated, answer.violated_weight)
    if value is None or answer.violated:
        return (answer.hard_violated, answer.violated_weight, float("inf"))
    return (answer.hard_violated, answer.violated_weight, -value if asked.kind == "maximize" else value)


def rank_of_positions(problem: Problem, positions: Positions) -> Rank:
    """The same of an assignment."""
    counted = problem.violation_of_positions(positions)
    if problem.objective is None or problem.objective.expression is None:
        return (counted.hard, counted.weight)
    value = problem.objective.value(counted.weight, problem.values(positions))
    if value is None or counted.violated:
        return (counted.hard, counted.weight, float("inf"))
    return (counted.hard, counted.weight, -value if problem.objective.kind == "maximize" else value)


def is_settled(result: Result) -> bool:
    """Whether nothing better is to be looked for."""
    own = result.problem is not None and result.problem.objective is not None
    optimises = own and result.problem.objective.expression is not None  # type: ignore[union-attr]
    return result.status in (OPTIMAL, UNSATISFIABLE) or (result.violated == 0 and not optimises)


def _ended(result: Result) -> str:
    """Its status, where it was interrupted by nobody but the others."""
    if result.status != INTERRUPTED:
        return result.status
    defined = result.problem is None or result.problem.objective is None or result.objective is not None
    return SATISFIED if result.violated == 0 and defined else BEST_EFFORT


def _order(result: Result) -> tuple[Rank, bool]:
    """Of two that are alike the one that is proved."""
    return rank(result), result.status not in (OPTIMAL, UNSATISFIABLE)


def together(results: list[Result], seed: int) -> Result:
    """What the groups of one problem have found: the best of them, with the proof of any."""
    best = min(results, key=_order)  # the first of them where several are alike
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
