"""Exact search beside another one: CP-SAT proves and repairs in threads of its own, and the best passes both ways.

The other search has the first fraction of a second for itself: most problems it solves are solved by then, and the
import of OR-Tools takes as long. Then one thread gives CP-SAT the whole problem and, where that is not settled soon,
another one improves the best assignment in large neighbourhoods. With one thread to spend they share its time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.deadline import Deadline
from anycsp.engine import WORST, Engine, Improvement
from anycsp.errors import AnyCSPError
from anycsp.model.problem import Problem
from anycsp.search.bound import BoundedProblem
from anycsp.search.branching import Branching, guide
from anycsp.search.exact.cp_sat import STOPPING, CpSat
from anycsp.search.exact.engine import bound_of, has_objective, score_of_value, scored
from anycsp.search.exact.model import cp_model
from anycsp.search.exact.neighbourhoods import Neighbourhoods, machines_of, restricted
from anycsp.search.exact.translation import Positions, Stopped, Translation, translated
from anycsp.search.portfolio import Portfolio

ALONE = 0.3
"""Seconds before CP-SAT begins."""
REPAIR_AFTER = 1.0
"""Seconds that CP-SAT has for the whole problem before the large neighbourhoods begin."""
GUIDED = 0.25
"""The part of the time left in which CP-SAT follows an order that the user knows, where there is one: a model's own
order finds first solutions of rostering and sport leagues that CP-SAT's own did not find in twice the time."""
LONGEST_GUIDED = 240.0
"""Seconds of a search of which that is a part; one without a limit follows the order for a minute."""
SLICE = 0.5
"""Seconds of one neighbourhood."""
TRAILING = 0.15
"""The part of the time in which the other search runs too where all share one thread and CP-SAT has the best
assignment; while it leads itself it always runs."""
LATELY = 8
"""Neighbourhoods of which one has to have paid for the next to follow at once; otherwise as long a pause comes first as
the last one took, since what they cost is the others' time."""
ENDING = 0.02
"""The part of the time that CP-SAT ends early, so that it has ended when the others do."""


class Partner:
    """CP-SAT on a problem, in threads of its own: `best` is what it shares."""

    def __init__(
        self,
        problem: Problem,
        seed: int,
        workers: int,
        deadline: Deadline,
        *,
        decision: bool,
        branching: Sequence[Branching] = (),
    ) -> None:
        """`decision`: whether everything is meant to be satisfied. `branching`: an order to begin with."""
        self._decision, self._branching = decision, tuple(branching)
        self.problem, self._seed, self._workers = problem, seed, workers
        self._deadline = deadline.earlier(ENDING * min(deadline.left, 60.0))
        self._stopped = threading.Event()
        self._lock = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._running: dict[threading.Thread, CpSat] = {}
        self._importing = False
        self.positions: Positions | None = None
        """The best assignment that anyone has found."""
        self.score = WORST
        self.news: list[Positions] = []
        """What CP-SAT found and nobody has taken yet, each better than all before."""
        self.proved = self.infeasible = False
        self._prover: CpSat | None = None

    # ── called by the other search ───────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        self._start(self._prove)

    def offer(self, positions: Positions, score: int) -> None:
        """An assignment of the other search, and what `scored` says of it."""
        with self._lock:
            if score < self.score or self.positions is None:
                self.positions, self.score = positions, score

    def take(self, seconds: float) -> list[Positions]:
        """What is new, after waiting for it this long."""
        with self._lock:
            if not self.news and not self.settled:
                self._lock.wait(seconds)
            news, self.news = self.news, []
        return news

    @property
    def settled(self) -> bool:
        return self.proved or self.infeasible

    @property
    def bound(self) -> float | None:
        return None if self._prover is None else bound_of(self.problem, self._prover)

    def close(self) -> None:
        """End the threads and wait for them; one that still imports OR-Tools ends by itself right after."""
        self._stopped.set()
        while any(thread.is_alive() for thread in self._threads) and not self._importing:
            with self._lock:
                self._lock.notify_all()
                running = list(self._running.values())
            for solver in running:
                solver.request_stop()
            for thread in self._threads:
                thread.join(STOPPING)

    # ── the threads ──────────────────────────────────────────────────────────────────────────────────

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, name="cp-sat", daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def _hear(self, positions: Positions) -> None:
        score = scored(self.problem, positions)[0]
        with self._lock:
            if score < self.score:
                self.positions, self.score = positions, score
                self.news.append(positions)
                self._lock.notify_all()

    def _solve(self, solver: CpSat) -> bool:
        """Whether it was not told to stop before or meanwhile."""
        with self._lock:
            if self._stopped.is_set():
                return False
            self._running[threading.current_thread()] = solver
        solver.solve()
        with self._lock:
            del self._running[threading.current_thread()]
        return not self._stopped.is_set()

    def _prove(self) -> None:
        """The whole problem."""
        if self._stopped.wait(ALONE):
            return
        self._importing = True
        cp_model()
        self._importing = False
        try:
            translation = translated(self.problem, self._stopped.is_set, self._decision)
        except (Stopped, AnyCSPError):  # what cannot be translated is left to the other search
            return
        with self._lock:
            if self.positions is not None:
                translation.hint(self.positions)
        variant = translation.model.clone()
        guided = guide(translation, self._branching) if self._branching else None
        self._start(self._repair, translation)
        if guided is not None:
            soon = self._deadline.within(GUIDED * min(self._deadline.left, LONGEST_GUIDED))
            self._settle(CpSat(translation, self._hear, model=guided, deadline=soon, seed=self._seed, guided=True))
        if not self.settled:
            self._settle(
                CpSat(
                    translation, self._hear, model=variant, deadline=self._deadline, workers=self._workers,
                    seed=self._seed,
                )
            )  # fmt: skip

    def _settle(self, solver: CpSat) -> None:
        self._prover = solver
        if self._solve(solver):
            with self._lock:
                self.proved, self.infeasible = solver.proved, solver.infeasible
                self._lock.notify_all()

    def _repair(self, translation: Translation) -> None:
        """One neighbourhood of the best assignment after another."""
        if self._stopped.wait(REPAIR_AFTER):
            return
        neighbourhoods = Neighbourhoods(self.problem, np.random.default_rng([self._seed & (2**64 - 1), 2]))
        rounds, paid, machines = 0, 0, machines_of(self.problem)
        while not self._stopped.is_set() and not self.settled and not self._deadline.passed:
            began = time.perf_counter()
            with self._lock:
                positions, score = self.positions, self.score
            if positions is None:  # the other search is still counting its first assignment
                self._stopped.wait(REPAIR_AFTER)
                continue
            free, rounds = neighbourhoods.draw(positions), rounds + 1
            translation.hint(positions)
            model = restricted(translation, positions, free, self._to_beat(translation, positions), machines)
            solver = CpSat(
                translation, self._hear, model=model, deadline=self._deadline.within(SLICE), seed=self._seed + rounds
            )
            if not self._solve(solver):
                return
            improved = self.score < score
            neighbourhoods.book(improved=improved, settled=solver.proved or solver.infeasible)
            paid = rounds if improved else paid
            if rounds - paid >= LATELY and self._stopped.wait(time.perf_counter() - began):
                return

    def _to_beat(self, translation: Translation, positions: Positions) -> float | None:
        """The model's objective at an assignment; None where it has none, or the assignment is no solution."""
        score, value, violation = scored(self.problem, positions)
        if not translation.optimises:
            return None
        if has_objective(self.problem):
            return value
        return None if violation.hard and not self.problem.scoring.all_required else float(score)


class BesideExact:
    """Another search and its partner as one engine; see `Engine` for the face. Steps are those of the other search."""

    def __init__(self, engine: Engine, partner: Partner, *, alone: bool, bounded: BoundedProblem | None = None) -> None:
        """`alone`: one thread has to do for both. `bounded`: the other search satisfies the bound of an objective."""
        self._engine, self._partner, self._alone, self._bounded = engine, partner, alone, bounded
        self._improvements: list[Improvement] = []
        self._score = WORST
        self._leads = False
        """Whether CP-SAT has the best assignment."""
        self.value: int | None = None
        self._candidate: int | None = None
        """The objective's value at the best assignment, which `value` becomes once it is demanded to be beaten."""

    @property
    def steps(self) -> int:
        return self._engine.steps

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self._began = time.perf_counter()
        self._partner.begin()  # it waits by itself: the other search may take long to count its first assignment
        self._engine.start(positions)
        self._collect()

    def advance(self, max_steps: int, seconds: float) -> int:
        began = time.perf_counter()
        partner, share = self._partner, 1.0
        if self._leads and self._alone and not partner.settled:
            share = TRAILING
        before = self._engine.steps
        if not self._settled:
            self._engine.advance(max_steps, share * seconds)
        self._collect()
        rest = 0.0 if self._score <= 0 else max(0.0, seconds - (time.perf_counter() - began))
        news = partner.take(rest if share < 1.0 or self._settled else 0.0)
        if news:  # each is better than those before
            self._adopt(news[-1])
        return self._engine.steps - before

    @property
    def _settled(self) -> bool:
        return self._partner.settled and not self._partner.news

    @property
    def concluded(self) -> bool:
        return self._engine.concluded or self._settled

    @property
    def refuted(self) -> bool:
        """With an objective: nothing satisfies its bound any more."""
        if self._bounded is not None:
            return self._engine.refuted or self._settled
        return self._engine.refuted or (self._partner.infeasible and self._settled)

    @property
    def proved(self) -> bool:
        if self._bounded is not None:
            return self.refuted and self.value is not None
        return self._partner.proved and self._settled

    @property
    def bound(self) -> float | None:
        return self._partner.bound

    def improvements(self) -> list[Improvement]:
        found, self._improvements = self._improvements, []
        return found

    def best_score(self) -> npt.NDArray[np.int64]:
        return np.array([[self._score]], dtype=np.int64)

    def best_positions(self) -> npt.NDArray[np.int32]:
        rows: npt.NDArray[np.int32] = self._positions[None, :]
        return rows

    def close(self) -> None:
        self._partner.close()

    # ── one best assignment ──────────────────────────────────────────────────────────────────────────

    def _collect(self) -> None:
        """What the other search found."""
        for found in self._engine.improvements():
            if found.score < self._score or self._score == WORST:
                self._score, self._leads = found.score, False
                self._positions = self._engine.best_positions()[found.run].copy()
                self._improvements.append(found)
                self._offer(found)

    def _offer(self, found: Improvement) -> None:
        """The other search's best, counted as CP-SAT's are."""
        problem, score = self._partner.problem, found.score
        positions = self._positions[: problem.num_variables]
        if self._bounded is not None:
            score, self._candidate = WORST, None
            if found.violated == 0:
                assert problem.objective is not None
                value = problem.objective.value(0.0, problem.values(positions))
                if value is not None:
                    score, self._candidate = score_of_value(problem.objective, int(value)), int(value)
        self._partner.offer(positions, score)

    def _adopt(self, positions: Positions) -> None:
        """What CP-SAT found: the other search goes on from there, where it can."""
        score, value, violation = scored(self._partner.problem, positions)
        if self._bounded is None:
            if score >= self._score:
                return
        else:
            if value is None or (self.value is not None and not self._bounded.is_better(value, self.value)):
                return
            score, positions, self._candidate = 0, self._bounded.extended(positions), value
        self._positions, self._score, self._leads = positions, score, True
        seconds = time.perf_counter() - self._began
        self._improvements.append(Improvement(self.steps, seconds, 0, 0, *violation, score, "exact"))
        if isinstance(self._engine, Portfolio):
            self._engine.adopt(self._improvements[-1], positions)

    def demand_better(self) -> None:
        """The bound of the objective has moved past the best assignment, which satisfies it no more."""
        assert isinstance(self._engine, Portfolio)
        self.value, self._score = self._candidate, WORST
        self._engine.demand_better()
        self._improvements += self._engine.improvements()
