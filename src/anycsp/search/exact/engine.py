"""Exact search: OR-Tools' CP-SAT behind the face of an engine. It proves what it says.

CP-SAT runs in a thread of its own, and every solution is handed over as it comes. The thread ends with the search:
`close` tells it to (`anycsp.ending`).
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.deadline import NEVER, Deadline
from anycsp.ending import end
from anycsp.engine import WORST, Improvement, OneBest
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem, Violation
from anycsp.randomness import initial_positions
from anycsp.search.exact.cp_sat import CpSat
from anycsp.search.exact.translation import Positions, translated


class ExactSearch(OneBest):
    """CP-SAT on one problem; see `Engine` for the face. A step is an assignment that it finds, each better than the
    last."""

    def __init__(
        self,
        problem: Problem,
        seed: int = 0,
        threads: int = 1,
        *,
        steps: int | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        self._problem, self._seed = problem, seed
        # Several workers race, so that which solution comes next is chance: not where steps are counted.
        self._workers = 1 if steps is not None else threads
        self._deadline = deadline
        self._solver: CpSat | None = None
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._found: list[Positions] = []
        self._over = False
        self._told_all = False
        """One more was asked for, and there is none. Where the steps are used up nothing more is asked for: whether the
        thread has ended by then is chance, and the answer must not depend on it."""
        self._error: BaseException | None = None
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
        self._keep(positions[0].astype(np.int32), "initial")

    def advance(self, max_steps: int, seconds: float) -> int:
        before, slice_ = self._taken, Deadline.after(seconds)
        if self._thread is None and not self.concluded and max_steps > 0:
            self._begin()
        while not self.concluded and self._taken - before < max_steps:
            with self._changed:
                if len(self._found) == self._taken and not self._over:
                    self._changed.wait(min(slice_.left, threading.TIMEOUT_MAX))
                new = self._found[self._taken : self._taken + 1]
                self._told_all = self._over and not new
            if self._error is not None:
                raise self._error
            if new:
                self._taken += 1
                self._keep(new[0], "exact")
            elif slice_.passed:
                break
        return self._taken - before

    @property
    def concluded(self) -> bool:
        return (self._score == 0 and not has_objective(self._problem)) or self._told_all

    @property
    def refuted(self) -> bool:
        return self._told_all and self._solver is not None and self._solver.infeasible

    @property
    def proved(self) -> bool:
        return self._told_all and self._solver is not None and self._solver.proved

    @property
    def bound(self) -> float | None:
        return None if self._solver is None else bound_of(self._problem, self._solver)

    def close(self) -> None:
        if self._thread is not None and self._solver is not None:
            end([self._thread], self._solver.request_stop)

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> None:
        translation = translated(self._problem)
        translation.hint(self._positions)
        self._solver = CpSat(translation, self._hear, deadline=self._deadline, workers=self._workers, seed=self._seed)
        self._thread = threading.Thread(target=self._solve, name="cp-sat", daemon=True)
        self._thread.start()

    def _solve(self) -> None:
        assert self._solver is not None
        try:
            self._solver.solve()
        except BaseException as error:  # raised again where the answer is waited for
            self._error = error
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _hear(self, positions: Positions) -> None:
        with self._changed:
            self._found.append(positions)
            self._changed.notify_all()

    def _keep(self, positions: Positions, found_by: str) -> None:
        """Count an assignment, and keep it where it is better."""
        score, value, violation = scored(self._problem, positions)
        if found_by != "initial" and score >= self._score:
            return
        self._positions, self._score, self.value = positions, score, value
        seconds = time.perf_counter() - self._began
        self._improvements.append(Improvement(self._taken, seconds, 0, 0, *violation, score, found_by))


def has_objective(problem: Problem) -> bool:
    """Whether it has an objective of its own beside its constraints."""
    return problem.objective is not None and problem.objective.expression is not None


def bound_of(problem: Problem, solver: CpSat) -> float | None:
    """What a solver has proved no assignment to be better than, as the user counts it."""
    if solver.bound is None or has_objective(problem):
        return solver.bound
    return solver.bound / problem.scoring.units


def scored(problem: Problem, positions: Positions) -> tuple[int, int | None, Violation]:
    """What exact search minimises, the value of the problem's own objective, and what is violated."""
    violation, objective = problem.violation_of_positions(positions), problem.objective
    if objective is None or objective.expression is None:
        return score_of(problem, positions), None, violation
    value = objective.value(0.0, problem.values(positions)) if violation.violated == 0 else None
    if value is None:
        return WORST, None, violation
    return score_of_value(objective, int(value)), int(value), violation


def score_of_value(objective: Objective, value: int) -> int:
    """Never 0, which would end the search: whether nothing is better is CP-SAT's to prove."""
    return 2**62 + (value if objective.kind == "minimize" else -value)


def score_of(problem: Problem, positions: Positions) -> int:
    """The score of `model/score.py`."""
    total = 0
    for block in problem.blocks:
        violated = ~block.satisfied(problem.domains, positions)
        total += sum(problem.scoring.score[block.terms.index[violated]].tolist())
    return total
