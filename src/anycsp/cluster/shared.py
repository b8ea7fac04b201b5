"""One of several searches of the same problem, which tell each other of their best assignments.

Every few seconds a search posts what it has. It ends where another has settled the problem, and begins anew from the
best assignment of all where it is behind and has not got anywhere for a while. The first of them is never moved, so
that together they are as good as that one alone, at least.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from anycsp.cluster.board import Exchange, Positions, Post
from anycsp.deadline import Deadline
from anycsp.model.problem import Problem
from anycsp.search.driver import Progress
from anycsp.search.result import BEST_EFFORT, INTERRUPTED, SATISFIED, Result
from anycsp.search.solve import solve
from anycsp.search.together import Rank, is_settled, later, rank, rank_of_positions, together

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
    found: list[Result] = []
    start: Positions | None = None
    while True:
        begins_at = None if start is None else rank_of_positions(problem, start)
        watch = _Watch(problem, group, began, begins_at)
        hint = None if start is None else problem.assignment(start)
        before = time.perf_counter() - began
        result = solve(problem, time_limit=deadline, seed=seed + len(found), hint=hint, callback=watch, **options)
        found.append(later(result, before))
        best = together([(rank(problem, one), one) for one in found], seed)
        group.board.exchange(group.key, Post(rank(problem, best), best.positions, is_settled(problem, best)))
        if watch.better is None or watch.settled or deadline.passed:
            return replace(best, status=_ended(problem, best), runs=found[0].runs)
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
        now, own = time.perf_counter(), rank(self._problem, progress)
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


def _ended(problem: Problem, result: Result) -> str:
    """Its status, where it was interrupted by nobody but the others."""
    if result.status != INTERRUPTED:
        return result.status
    defined = problem.objective is None or result.objective is not None
    return SATISFIED if result.violated == 0 and defined else BEST_EFFORT
