"""Tiny problems: every assignment is looked at, so that the answer is the best there is and the search ends at once.

The assignments are visited in a reflected Gray code, one variable moving by one position at a time, so that each costs
a move and not a recount.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.deadline import Deadline
from anycsp.engine import Improvement
from anycsp.graph import ConstraintValueGraph
from anycsp.presolve.network import required
from anycsp.search.local import LocalSearch

MOST_ASSIGNMENTS = 1 << 14
"""A few hundredths of a second, which is what starting any other search costs."""


STEPS_PER_LOOK = 16
"""Assignments between two looks at the clock."""


def is_tiny(sizes: npt.NDArray[np.int64], steps: int | None = None) -> bool:
    """Whether domains of these sizes have few assignments, and no more than `steps` allow to be looked at; they are not
    multiplied out where they are many."""
    most = MOST_ASSIGNMENTS if steps is None else min(MOST_ASSIGNMENTS, max(1, steps))
    choices = sizes[sizes > 1]
    return len(choices) < MOST_ASSIGNMENTS.bit_length() and math.prod(choices.tolist()) <= most


class Enumeration:
    """All assignments of the graph of one instance; see `Engine` for the face. A step is an assignment."""

    def __init__(
        self, graph: ConstraintValueGraph, seed: int = 0, *, decides: bool = True, claims: bool = False
    ) -> None:
        """`decides`: everything is meant to be satisfied, so that a violation that cannot be avoided is an answer.
        `claims`: a proof that nothing is better was asked for."""
        self._graph, self._decides, self._claims = graph, decides, claims
        self._counter = LocalSearch(graph, "walksat", 1, seed)
        """Counts an assignment as every engine does."""
        self._state = native.module().LocalState(graph.native_problem, False, False, graph.external_labels)
        self._improvements: list[Improvement] = []
        self.steps = 0
        self._rest: Iterator[tuple[int, int]] = iter(())
        self._over = False

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self._counter.start(None if positions is None else positions[:1])
        self._improvements = self._counter.improvements()
        self._best: npt.NDArray[np.int32] = self._counter.best_positions()[0].copy()
        self._state.place(self._best[None, :], self._state.score_weights())
        self._least = self._state.score()
        # The code begins where all positions are 0; either that or the start may be better.
        self._now = np.zeros_like(self._best)
        self._state.place(self._now[None, :], self._state.score_weights())
        self.steps, self._over = 0, False
        self._look()
        self._report()
        self._rest = gray_code(self._graph.domains.sizes.tolist())

    def advance(self, max_steps: int, seconds: float) -> int:
        """So few assignments are looked at in no time, unless a constraint takes long."""
        taken, until = 0, Deadline.after(seconds)
        for taken, (x, position) in enumerate(self._rest, start=1):
            self._state.move(x, position)
            self._now[x] = position
            self._look()
            if taken >= max_steps or (taken % STEPS_PER_LOOK == 0 and until.passed):
                break
        else:
            self._over = True
        self.steps += taken
        self._report()
        return taken

    @property
    def proved(self) -> bool:
        """All have been seen, so nothing is better than the best, which violates nothing hard: with that it is no
        answer."""
        return self._over and self._claims and not self.refuted and not self._hard

    @property
    def bound(self) -> float | None:
        return None

    @property
    def value(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing runs."""

    def _look(self) -> None:
        if self._state.score() < self._least:
            self._least, self._best = self._state.score(), self._now.copy()

    def _report(self) -> None:
        self._counter.start(self._best[None, :])
        for found in self._counter.improvements():
            self._hard = found.hard
            self._improvements.append(found._replace(step=self.steps, found_by="enumeration"))

    def improvements(self) -> list[Improvement]:
        found, self._improvements = self._improvements, []
        return found

    def best_score(self) -> npt.NDArray[np.int64]:
        return self._counter.best_score()

    def best_positions(self) -> npt.NDArray[np.int32]:
        return self._best[None, :]

    @property
    def concluded(self) -> bool:
        return self._over

    @property
    def refuted(self) -> bool:
        """All have been seen, and each violates something that must hold."""
        constant = self._graph.constant[0]
        must_hold = bool(required(self._graph).all()) and self._graph.num_constraints > 0
        return self._over and self._decides and must_hold and int(self.best_score()[0, 0]) > constant[3]


def gray_code(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """(variable, its next position) from all positions 0 through every assignment once."""
    positions, directions = [0] * len(sizes), [1] * len(sizes)
    while True:
        for x, size in enumerate(sizes):
            following = positions[x] + directions[x]
            if 0 <= following < size:
                positions[x] = following
                yield x, following
                break
            directions[x] = -directions[x]
        else:
            return
