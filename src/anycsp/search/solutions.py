"""All solutions of a satisfaction problem, one after another.

The first is found by whatever search is asked for. From there the tree goes on: it finds the next one where it stands,
which takes no more than a few decisions where solutions are many. Where it finds none for as long as that search took,
the search is asked once more, for something that is not among those found; so a problem that is hard for the tree is
enumerated too, only more slowly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.deadline import Deadline, OutOfTime
from anycsp.errors import AnyCSPError
from anycsp.graph import compile_graph
from anycsp.model.expressions import Variable, any_of, operation
from anycsp.model.problem import Problem
from anycsp.presolve.network import tree_search
from anycsp.search.result import Result

LEAST_PATIENCE = 1.0
"""Seconds for which the tree may find nothing: a search with CP-SAT beside it takes as long to begin."""
SLICE = 0.05
"""Seconds between two looks at whether to stop."""
NODES = 1 << 30
"""Decisions per slice: the clock ends it."""

Positions = npt.NDArray[np.int32]


class Solutions:
    """Iterate over it for domain positions; `proved` then says whether there are no more."""

    def __init__(
        self,
        problem: Problem,
        variables: Sequence[Variable],
        search: Callable[[Problem], Result],
        deadline: Deadline,
        stop: threading.Event | None = None,
    ) -> None:
        """Solutions differ from one another in one of the `variables`; `search` finds one of a problem that has those
        of `problem` first."""
        self._problem, self._search = problem, search
        self._scope = np.array(list(dict.fromkeys(x.index for x in variables)), dtype=np.int64)
        self._deadline, self._stop = deadline, stop or threading.Event()
        self._seen: set[bytes] = set()
        self._pending: list[Positions] = []
        """Solutions that the search has not been told of."""
        self._demanded = problem
        self.proved = False
        self.result: Result | None = None
        """That of the last search."""

    def __iter__(self) -> Iterator[Positions]:
        tree = None
        while self.result is None or not self._over():
            began = clock.now()
            self.result = self._search(self._asked())
            if not self.result.satisfied:
                self.proved = self.result.status == "unsatisfiable"
                return
            positions = self.result.positions[: self._problem.num_variables]
            if self._is_new(positions):
                yield positions
            if not len(self._scope):
                self.proved = True
                return
            patience = max(LEAST_PATIENCE, clock.now() - began)
            if tree is None:
                tree = self._tree()
            if tree is not None:
                yield from self._from_tree(tree, patience)
                if tree.exhausted:
                    self.proved = True
                    return

    def _over(self) -> bool:
        return self._stop.is_set() or self._deadline.passed

    def _from_tree(self, tree: Any, patience: float) -> Iterator[Positions]:
        """What the tree finds until it has found nothing for so long."""
        until = self._deadline.within(patience)
        told = tree.solutions
        while not (tree.exhausted or until.passed or self._over()):
            tree.advance(NODES, min(SLICE, until.left))
            if tree.solutions == told:
                continue
            told = tree.solutions
            positions = tree.solution()
            if self._is_new(positions):
                yield positions
                until = self._deadline.within(patience)

    def _tree(self) -> Any:
        """Over the problem as it is: presolve may keep one solution of many. None where it is too large."""
        try:
            graph = compile_graph(self._problem, deadline=self._deadline)
            tree = tree_search(graph, deadline=self._deadline, built_by=self._deadline)
        except (OutOfTime, AnyCSPError):
            return None
        flags = np.zeros(self._problem.num_variables, dtype=np.uint8)
        flags[self._scope] = 1
        tree.enumerate(flags)
        return tree

    def _is_new(self, positions: Positions) -> bool:
        """Whether it is a solution, counted anew, and none that was found before."""
        key = positions[self._scope].tobytes()
        if key in self._seen or self._problem.violation_of_positions(positions).violated:
            return False
        self._seen.add(key)
        self._pending.append(positions.copy())
        return True

    def _asked(self) -> Problem:
        """The problem, and that an answer is none of those before."""
        if self._pending:
            self._demanded = self._demanded.copy()
            for positions in self._pending:
                values = self._problem.values(positions)
                variables = [self._demanded.variables[i] for i in self._scope.tolist()]
                self._demanded.add(any_of([operation("ne", x, int(values[x.index])) for x in variables]))
            self._pending.clear()
        return self._demanded
