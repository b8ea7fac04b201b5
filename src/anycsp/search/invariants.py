"""Local search over an invariant graph: some variables follow from others, and moves keep what can be kept.

A constraint that determines a variable defines it: the variable is not searched but computed (cpp/invariants/). A
permutation moves by swaps, values that occur a given number of times too, a circuit by reconnections; the constraints
that this keeps cost nothing. The objective is part of the cost of every move.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.deadline import NEVER, Deadline, OutOfTime
from anycsp.engine import Improvement, Incomplete
from anycsp.errors import AnyCSPError
from anycsp.graph import ConstraintValueGraph
from anycsp.presolve.network import propagation_network

NAME = "invariants"
"""What `found_by` says."""

PROPAGATION_SECONDS = 0.5
"""At most for shrinking the domains before the search; what is found by then is sound."""


def possible_values(graph: ConstraintValueGraph, deadline: Deadline = NEVER) -> npt.NDArray[np.uint8]:
    """[values]: 1 for those that propagation leaves; all where there is no time for it, or where it finds a
    contradiction, since then something is violated whatever is searched."""
    with suppress(OutOfTime):
        network = propagation_network(graph, deadline.within(PROPAGATION_SECONDS))
        if network.propagate():
            kept: npt.NDArray[np.uint8] = network.domains()
            return kept
    return np.ones(graph.num_values, dtype=np.uint8)


class InvariantSearch(Incomplete):
    """R runs on the graph of one instance, one after another; see `Engine` for the face. A step is a proposed move."""

    def __init__(
        self,
        graph: ConstraintValueGraph,
        enforced: npt.NDArray[np.uint8],
        runs: int = 1,
        seed: int = 0,
        *,
        defined: Iterable[int] = (),
        objective: int = -1,
        kept: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """`enforced`: [constraints], 1 for those that must hold; only they define variables and are kept by moves.
        `defined`: variables made to follow from others. `objective`: the constraint that bounds one, whose left side is
        optimised. `kept`: [values], 1 for those that may occur."""
        if not native.available():
            raise AnyCSPError(f"local search needs the native module, which is {native.why_not()}")
        auxiliary = np.zeros(graph.num_variables, dtype=np.uint8)
        auxiliary[list(defined)] = 1
        possible = np.ones(graph.num_values, dtype=np.uint8) if kept is None else kept
        self.graph, self.runs = graph, runs
        self._constant, self._units = graph.constant[0], float(graph.units[0])
        self.model: Any = native.module().InvariantModel(
            graph.native_problem, graph.native_families, enforced, auxiliary, possible, objective, graph.external_labels
        )
        make = native.module().InvariantSearch
        self._searches = [make(self.model, seed & (2**64 - 1), run) for run in range(runs)]

    @property
    def steps(self) -> int:
        return int(max(search.moves for search in self._searches))

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        for run, search in enumerate(self._searches):
            search.start(None if positions is None else np.ascontiguousarray(positions[run], dtype=np.int32))

    def advance(self, max_steps: int, seconds: float) -> int:
        before = self.steps
        for search in self._searches:
            if self.solved:
                break
            search.advance(min(max_steps, 1 << 62), seconds / self.runs)
        return self.steps - before

    @property
    def solved(self) -> bool:
        return any(search.solved for search in self._searches)

    @property
    def concluded(self) -> bool:
        return not self.model.decisions or self.solved

    def improvements(self) -> list[Improvement]:
        violated, weight, hard, score = self._constant.tolist()
        return [
            Improvement(
                step, seconds, run, 0, v + violated, (w + weight) / self._units, h + hard, s + score,
                NAME if step else "initial",
            )
            for run, search in enumerate(self._searches)
            for step, seconds, v, w, h, s in search.improvements()
        ]  # fmt: skip

    def best_score(self) -> npt.NDArray[np.int64]:
        scores = [[search.best[3] + int(self._constant[3])] for search in self._searches]
        return np.array(scores, dtype=np.int64)

    def best_positions(self) -> npt.NDArray[np.int32]:
        return np.stack([search.best_positions() for search in self._searches])

    def best_objective(self) -> int | None:
        """The least value of the objective's left side (its negative, where larger is better) with nothing violated."""
        best = min(int(search.best_objective) for search in self._searches)
        return None if best == 2**63 - 1 else best

    def learn(self, positions: npt.NDArray[np.integer[Any]]) -> None:
        """Somebody else has an assignment that violates nothing: only better ones count from now on."""
        for search in self._searches:
            search.learn(np.ascontiguousarray(positions, dtype=np.int32))

    def verify(self) -> None:
        """Raise unless every run's values and counts equal those computed afresh."""
        for search in self._searches:
            search.verify()
