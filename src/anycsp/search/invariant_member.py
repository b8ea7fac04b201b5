"""The search over an invariant graph as a member of the portfolio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.engine import Improvement
from anycsp.search.invariants import NAME, InvariantSearch
from anycsp.search.member import Member


class InvariantMember(Member):
    """It anneals on from turn to turn, and is built in its first one, so that a problem solved before costs nothing."""

    def __init__(self, make: Callable[[], InvariantSearch | None], share: float, *, optimises: bool) -> None:
        super().__init__(NAME, share)
        self._make, self._optimises = make, optimises
        self._search: InvariantSearch | None = None
        self._too_late = False
        """There was no time to build it."""
        self._start: npt.NDArray[np.integer[Any]] | None = None
        self._best: npt.NDArray[np.integer[Any]] | None = None

    @property
    def steps(self) -> int:
        return 0 if self._search is None else self._search.steps

    def begin(self, positions: npt.NDArray[np.integer[Any]] | None) -> None:
        """[runs, variables]: where the first turn begins."""
        self._start = positions

    def run(self, steps: int, seconds: float) -> None:
        if self._search is None:
            self._search = self._make()
            if self._search is None:
                self._too_late = True
                return
            self._search.start(self._start)
            if self._best is not None:
                self._search.learn(self._best)
        self._search.advance(steps, seconds)

    @property
    def over(self) -> bool:
        """Nothing is left to decide, or no time to begin."""
        return self._too_late or (self._search is not None and not self._search.model.decisions)

    def take(self) -> tuple[Improvement, npt.NDArray[np.int32]] | None:
        """The best of the last turn, if it is better than all before; with an objective only if nothing is violated."""
        if self._search is None:
            return None
        found = min(self._search.improvements(), key=lambda improvement: improvement.score, default=None)
        if found is None or (self._optimises and self._search.best_objective() is None):
            return None
        self.best = min(self.best, found.score)
        return found, self._search.best_positions()[0]

    def learn(self, positions: npt.NDArray[np.integer[Any]]) -> None:
        """The best assignment of all members, which violates nothing but the new bound of the objective."""
        self._best = positions
        if self._search is not None:
            self._search.learn(positions)
