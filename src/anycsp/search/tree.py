"""The constructive search: assigns one variable after another, propagates, and steps back where a domain is empty.

It is complete: given time it finds an assignment that satisfies everything required, or knows that there is none.
Tight and structured problems are its own; on large, loose or over-constrained ones the local strategies are ahead, so
it is one member of the portfolio among others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.deadline import NEVER, Deadline
from anycsp.graph import ConstraintValueGraph
from anycsp.presolve.network import required, tree_search

BUILDING_SHARE = 0.25
"""The part of the time left that its propagators may take to build: where that does not suffice the problem is one for
moves, which should have begun."""


class TreeSearch:
    """One tree over the graph of one instance. A step is a decision."""

    def __init__(
        self,
        graph: ConstraintValueGraph,
        seed: int = 0,
        *,
        defined: Iterable[int] = (),
        objective: int = -1,
        deadline: Deadline = NEVER,
    ) -> None:
        """`defined` variables follow from the others; `objective` is the constraint that bounds one. Raises OutOfTime
        where the problem is too large to be built in time."""
        self._tree = tree_search(
            graph,
            defined=defined,
            objective=objective,
            seed=seed,
            deadline=deadline,
            built_by=deadline if deadline == NEVER else deadline.within(BUILDING_SHARE * deadline.left),
        )
        self._told = 0
        self.satisfies_all = bool(required(graph).all())
        """Whether a solution violates nothing, and not only nothing that is hard."""
        violated, _, hard, _ = graph.constant[0]
        self.impossible = bool((hard if graph.terms.hard.any() else violated) > 0)

    @property
    def steps(self) -> int:
        return int(self._tree.nodes)

    def advance(self, max_steps: int, seconds: float) -> int:
        return int(self._tree.advance(max_steps, seconds))

    def take_solution(self) -> npt.NDArray[np.int32] | None:
        """The last solution, where it has not been taken yet."""
        if self._tree.solutions == self._told:
            return None
        self._told = self._tree.solutions
        positions: npt.NDArray[np.int32] = self._tree.solution()
        return positions

    @property
    def keeps_required(self) -> bool:
        """Whether it has found an assignment that violates soft constraints only, so that more of the tree says nothing
        about what is required."""
        return self._tree.solutions > 0 and not self.satisfies_all

    def suggest(self, positions: npt.NDArray[np.integer[Any]], solution: bool = False) -> None:
        """Values to try first; with `solution` an assignment that the next one has to be better than."""
        self._tree.suggest(np.ascontiguousarray(positions, dtype=np.int32), solution)
        self._told = self._tree.solutions

    @property
    def exhausted(self) -> bool:
        """Nothing (better) is left to be found."""
        return bool(self._tree.exhausted) or self.impossible

    @property
    def over(self) -> bool:
        """Nothing comes of more turns: the tree is exhausted, or its time is."""
        return self.exhausted or bool(self._tree.late)
