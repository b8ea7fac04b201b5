"""Exact search: OR-Tools' CP-SAT behind the face of an engine. It proves what it says.

CP-SAT runs in a thread of its own, with the interpreter's lock released; every solution it finds is handed over as it
comes. The thread ends with the search: `close` tells it to, and waits.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.engine import WORST, Improvement
from anycsp.model.problem import Problem
from anycsp.randomness import initial_positions
from anycsp.search.exact_model import cp_model
from anycsp.search.exact_translation import Positions, Translation, translated

FOREVER = 1e9
STOPPING = 0.01
"""Seconds between two requests to stop: one that comes before CP-SAT listens is lost."""


class CpSatRun:
    """One solve of a model in a thread. `solutions` grows while it runs; what it proved stands once it is over."""

    def __init__(self, translation: Translation, model: Any, *, seconds: float, threads: int, seed: int) -> None:
        self._cp, self._translation, self._model = cp_model(), translation, model
        self._solver = self._cp.CpSolver()
        self._solver.parameters.max_time_in_seconds = max(seconds, 0.001)
        self._solver.parameters.num_workers = threads
        self._solver.parameters.random_seed = seed % 2**31
        self.changed = threading.Condition()
        self.solutions: list[Positions] = []
        self.bound: float | None = None
        """No solution is better than this, in the model's own objective."""
        self.over = self.proved = self.infeasible = False
        self.error: BaseException | None = None
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="cp-sat", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        status = None
        try:
            callback = self._callback()
            if self._translation.optimises:
                self._solver.best_bound_callback = self._take_bound
            status = self._solver.solve(self._model, callback)
        except BaseException as error:  # told to whoever waits for the answer, in its own thread
            self.error = error
        with self.changed:
            self.infeasible = status == self._cp.INFEASIBLE
            self.proved = status == self._cp.OPTIMAL
            if self.proved and self._translation.optimises:
                self.bound = self._solver.objective_value
            self.over = True
            self.changed.notify_all()

    def _callback(self) -> Any:
        run = self

        class Anytime(self._cp.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]
            def on_solution_callback(self) -> None:
                solution = np.array(self.response_proto.solution, dtype=np.int64)
                positions = run._translation.positions(solution)
                with run.changed:
                    run.solutions.append(positions)
                    run.changed.notify_all()
                if run._stop:
                    self.stop_search()

        return Anytime()

    def _take_bound(self, bound: float) -> None:
        with self.changed:
            self.bound = bound

    @property
    def branches(self) -> int:
        return int(self._solver.num_branches) if self.over and self.error is None else 0

    def close(self) -> None:
        """End it, and wait until it has."""
        self._stop = True
        while self._thread.is_alive():
            self._solver.stop_search()
            self._thread.join(STOPPING)


class ExactSearch:
    """CP-SAT on one problem; see `Engine` for the face. A step is an assignment that it finds, each better than the
    last. With an objective of the problem's own the score of a solution is how far it is from the objective's bound."""

    def __init__(
        self, problem: Problem, seed: int = 0, threads: int = 1, *, steps: int | None = None, seconds: float | None
    ) -> None:
        self._problem, self._seed = problem, seed
        # Several workers race, so that which solution comes next is chance: not where steps are counted.
        self._threads = 1 if steps is not None else threads
        self._seconds = FOREVER if seconds is None else seconds
        self._run: CpSatRun | None = None
        self._taken = 0
        self._improvements: list[Improvement] = []
        self._score = WORST
        self.value: int | None = None
        """The best value of the problem's own objective."""
        self._began = time.perf_counter()

    # ── the face of an engine ────────────────────────────────────────────────────────────────────────

    @property
    def steps(self) -> int:
        return self._taken

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self._began = time.perf_counter()
        if positions is None:
            positions = initial_positions(self._problem.domain_sizes, self._seed, range(1))
        self._positions = positions[0].astype(np.int32)
        self._keep(self._positions, "initial")

    def advance(self, max_steps: int, seconds: float) -> int:
        if self.concluded or max_steps <= 0:
            return 0
        before, deadline = self._taken, time.perf_counter() + seconds
        run = self._run or self._begin()
        while not self.concluded and self._taken - before < max_steps:
            with run.changed:
                if len(run.solutions) == self._taken and not run.over:
                    run.changed.wait(max(0.0, deadline - time.perf_counter()))
                found = run.solutions[self._taken : self._taken + 1]
            if run.error is not None:
                raise run.error
            if found:
                self._taken += 1
                self._keep(found[0], "exact")
            elif time.perf_counter() >= deadline:
                break
        return self._taken - before

    def _begin(self) -> CpSatRun:
        translation = translated(self._problem)
        translation.hinted(self._positions)
        left = self._seconds - (time.perf_counter() - self._began)
        self._run = CpSatRun(translation, translation.model, seconds=left, threads=self._threads, seed=self._seed)
        self._run.begin()
        return self._run

    def close(self) -> None:
        if self._run is not None:
            self._run.close()

    @property
    def _told_all(self) -> bool:
        return self._run is not None and self._run.over and self._taken == len(self._run.solutions)

    @property
    def concluded(self) -> bool:
        return (self._score == 0 and not self._optimises) or self._told_all

    @property
    def refuted(self) -> bool:
        return self._told_all and self._run is not None and self._run.infeasible

    @property
    def proved(self) -> bool:
        """Nothing is better than the best."""
        return self._told_all and self._run is not None and self._run.proved

    @property
    def bound(self) -> float | None:
        """What no assignment is better than: violated weight, or a value of the problem's own objective."""
        if self._run is None or self._run.bound is None:
            return None
        return self._run.bound if self._optimises else self._run.bound / self._problem.scoring.units

    def improvements(self) -> list[Improvement]:
        found, self._improvements = self._improvements, []
        return found

    def best_score(self) -> npt.NDArray[np.int64]:
        return np.array([[self._score]], dtype=np.int64)

    def best_positions(self) -> npt.NDArray[np.int32]:
        return self._positions[None, :]

    # ── keeping the best ─────────────────────────────────────────────────────────────────────────────

    @property
    def _optimises(self) -> bool:
        return self._problem.objective is not None and self._problem.objective.expression is not None

    def _keep(self, positions: Positions, found_by: str) -> None:
        """Count an assignment, and keep it where it is better."""
        score, value, violation = scored(self._problem, positions)
        if found_by != "initial" and score >= self._score:
            return
        self._positions, self._score, self.value = positions, score, value
        seconds = time.perf_counter() - self._began
        self._improvements.append(Improvement(self._taken, seconds, 0, 0, *violation, score, found_by))


def scored(problem: Problem, positions: Positions) -> tuple[int, int | None, tuple[int, float, int]]:
    """What exact search minimises, the value of the problem's own objective, and what is violated."""
    violation = problem.violation_of_positions(positions)
    objective = problem.objective
    if objective is None or objective.expression is None:
        score = 0
        for block in problem.blocks:
            violated = ~block.satisfied(problem.domains, positions)
            score += sum(problem.scoring.score[block.terms.index[violated]].tolist())
        return score, None, tuple(violation)
    value = objective.value(0.0, problem.values(positions)) if violation.violated == 0 else None
    if value is None:
        return WORST, None, tuple(violation)
    # At least 1: a score of 0 would end the search, and whether nothing is better is CP-SAT's to prove.
    distance = int(value) if objective.kind == "minimize" else -int(value)
    return distance + 2**62, int(value), tuple(violation)
