"""One solve by CP-SAT that other threads can watch and stop; the interpreter's lock is released meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anycsp.deadline import NEVER, Deadline
from anycsp.search.exact.model import cp_model
from anycsp.search.exact.translation import Positions, Translation

FOREVER = 1e9
"""Seconds of a solve without a deadline."""


class CpSat:
    """`solve` returns when CP-SAT has an answer, or was stopped, or its time is over."""

    def __init__(
        self,
        translation: Translation,
        found: Callable[[Positions], None],
        *,
        model: Any = None,
        deadline: Deadline = NEVER,
        workers: int = 1,
        seed: int = 0,
        guided: bool = False,
        brief: bool = False,
    ) -> None:
        """`model` is a variant of the translation's own; `found` hears every solution, in the solving thread. `guided`:
        the model has an order of variables and values, which is followed. `brief`: it takes a fraction of a second, of
        which presolve that pays later is half (rosters: 0.035 s in place of 0.076 s)."""
        self._cp, self._translation, self._found = cp_model(), translation, found
        self._model = translation.model if model is None else model
        self._solver = self._cp.CpSolver()
        self._solver.parameters.max_time_in_seconds = min(max(deadline.left, 0.001), FOREVER)
        self._solver.parameters.num_workers = workers
        self._solver.parameters.random_seed = seed % 2**31
        if guided:
            self._solver.parameters.search_branching = self._cp.FIXED_SEARCH
        if brief:
            self._solver.parameters.cp_model_probing_level = 0
            self._solver.parameters.symmetry_level = 0
        self.bound: float | None = None
        """No solution is better than this, in the model's own objective."""
        self.proved = self.infeasible = False
        self._stopped = False

    def solve(self) -> None:
        if self._stopped:
            return
        if self._translation.optimises:
            self._solver.best_bound_callback = self._take_bound
        status = self._solver.solve(self._model, self._callback())
        self.infeasible = status == self._cp.INFEASIBLE
        self.proved = status == self._cp.OPTIMAL
        if self.proved and self._translation.optimises:
            self.bound = self._solver.objective_value

    def _callback(self) -> Any:
        run = self

        class Watch(self._cp.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]
            def on_solution_callback(self) -> None:
                run._found(run._translation.positions(np.array(self.response_proto.solution, dtype=np.int64)))
                if run._stopped:
                    self.stop_search()

        return Watch()

    def _take_bound(self, bound: float) -> None:
        self.bound = bound

    def request_stop(self) -> None:
        self._stopped = True
        self._solver.stop_search()
