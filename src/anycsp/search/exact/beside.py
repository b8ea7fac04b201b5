"""Exact search beside another one: CP-SAT proves and repairs in threads of its own, and the best passes both ways.

The other search has the first fraction of a second for itself: most problems it solves are solved by then, and the
import of OR-Tools takes as long. Then one thread gives CP-SAT the whole problem and, where that is not settled soon,
another one improves the best assignment in large neighbourhoods. With one thread to spend they share its time by what
they bring (`pace.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.deadline import Deadline
from anycsp.ending import end
from anycsp.engine import WORST, Engine, Improvement, OneBest
from anycsp.errors import AnyCSPError
from anycsp.model.problem import Problem
from anycsp.search.bound import BoundedProblem
from anycsp.search.branching import Branching, guide
from anycsp.search.exact.cp_sat import CpSat
from anycsp.search.exact.engine import bound_of, has_objective, score_of_value, scored
from anycsp.search.exact.model import cp_model
from anycsp.search.exact.neighbourhoods import Neighbourhoods, machines_of, restricted
from anycsp.search.exact.pace import OTHER, PROVER, REPAIRS, TRIAL, Pace, lower_priority
from anycsp.search.exact.translation import Positions, Stopped, Translation, must_hold, translated
from anycsp.search.portfolio import Portfolio

ALONE = 0.3
"""Seconds before CP-SAT begins."""
GUIDED = 0.25
"""The part of the time left in which CP-SAT follows an order that the user knows, where there is one: a model's own
order finds first solutions of rostering and sport leagues that CP-SAT's own did not find in twice the time."""
LONGEST_GUIDED = 240.0
"""Seconds of a search of which that is a part; one without a limit follows the order for a minute."""
SLICE = 0.5
"""Seconds of one neighbourhood."""
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
        alone: bool,
        branching: Sequence[Branching] = (),
    ) -> None:
        """`decision`: whether everything is meant to be satisfied. `alone`: there is but one core, so that the prover
        stays in the background and a repair waits for its turn. `branching`: an order to begin with."""
        self.decision, self._alone, self._branching = decision, alone, tuple(branching)
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
        self.news: list[tuple[str, Positions]] = []
        """What CP-SAT found and nobody has taken yet, each better than all before, and which part of it did."""
        self.proved = self.infeasible = False
        self._prover: CpSat | None = None
        self._translation: Translation | None = None
        self._translated = threading.Event()
        """Set when there is a translation, or will be none."""
        self.began: float | None = None
        """When the prover did."""
        self.background = 0.0
        """Its part of the core beside a thread that works."""
        self.parties = {OTHER}
        """Who can use a turn."""
        self.repairing = False
        """Whether a repair has the turn."""

    # ── called by the other search ───────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        for part in (self._prove, self._repairs):  # both from here: a thread inherits the priority of who starts it
            self._threads.append(threading.Thread(target=part, name="cp-sat", daemon=True))
            self._threads[-1].start()

    def offer(self, positions: Positions, score: int) -> None:
        """An assignment of the other search, and what `scored` says of it."""
        with self._lock:
            if score < self.score or self.positions is None:
                self.positions, self.score = positions, score
                self._lock.notify_all()

    def repair(self) -> None:
        """One neighbourhood has the turn, until `repairing` ends."""
        with self._lock:
            self.repairing = REPAIRS in self.parties
            self._lock.notify_all()

    def take(self, seconds: float) -> list[tuple[str, Positions]]:
        """What is new, after waiting for it, or for the end of a repair, this long."""
        with self._lock:
            if seconds > 0.0:
                repairing = self.repairing
                self._lock.wait_for(lambda: self.news or self.settled or repairing > self.repairing, seconds)
            news, self.news = self.news, []
        return news

    @property
    def settled(self) -> bool:
        return self.proved or self.infeasible

    @property
    def bound(self) -> float | None:
        return None if self._prover is None else bound_of(self.problem, self._prover)

    def close(self) -> None:
        """End the threads; one that still imports OR-Tools ends by itself right after."""
        self._stopped.set()
        if not self._importing:
            end(self._threads, self._request_stop)

    def _request_stop(self) -> None:
        with self._lock:
            self._lock.notify_all()
            running = list(self._running.values())
        for solver in running:
            solver.request_stop()

    # ── the threads ──────────────────────────────────────────────────────────────────────────────────

    def _hear(self, party: str, positions: Positions) -> None:
        score = scored(self.problem, positions)[0]
        with self._lock:
            if score < self.score:
                self.positions, self.score = positions, score
                self.news.append((party, positions))
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
            self._translated.set()
            return
        self._importing = True
        cp_model()
        self._importing = False
        if self._alone:
            self.background = lower_priority()
        self.began = time.perf_counter()
        self.parties.add(PROVER)
        try:
            self._search(translated(self.problem, self._stopped.is_set, self.decision))
        except (Stopped, AnyCSPError):  # what cannot be translated is left to the other search
            return
        finally:
            self.parties.discard(PROVER)
            self._translated.set()

    def _search(self, translation: Translation) -> None:
        with self._lock:
            if self.positions is not None:
                translation.hint(self.positions)
        variant = translation.model.clone()
        guided = guide(translation, self._branching) if self._branching else None
        hear = partial(self._hear, PROVER)
        self._translation = translation
        self._translated.set()
        if guided is not None:
            soon = self._deadline.within(GUIDED * min(self._deadline.left, LONGEST_GUIDED))
            self._settle(CpSat(translation, hear, model=guided, deadline=soon, seed=self._seed, guided=True))
        if not self.settled:
            self._settle(
                CpSat(translation, hear, model=variant, deadline=self._deadline, workers=self._workers, seed=self._seed)
            )

    def _settle(self, solver: CpSat) -> None:
        self._prover = solver
        if self._solve(solver):
            with self._lock:
                self.proved, self.infeasible = solver.proved, solver.infeasible
                self._lock.notify_all()

    def _repairs(self) -> None:
        """One neighbourhood of the best assignment after another, each when it is its turn."""
        self._translated.wait()
        translation = self._translation
        if translation is None or self._stopped.wait(TRIAL):
            return
        neighbourhoods = Neighbourhoods(self.problem, np.random.default_rng([self._seed & (2**64 - 1), 2]))
        rounds, machines = 0, machines_of(self.problem)
        self.parties.add(REPAIRS)
        while not self.settled and not self._deadline.passed and self._has_turn():
            with self._lock:
                positions, score = self.positions, self.score
            assert positions is not None
            free, rounds = neighbourhoods.draw(positions), rounds + 1
            translation.hint(positions)
            model = restricted(translation, positions, free, self._to_beat(translation, positions), machines)
            soon, seed = self._deadline.within(SLICE), self._seed + rounds
            solver = CpSat(translation, partial(self._hear, REPAIRS), model=model, deadline=soon, seed=seed, brief=True)
            if not self._solve(solver):
                break
            neighbourhoods.book(improved=self.score < score, settled=solver.proved or solver.infeasible)
            self._end_turn()
        self.parties.discard(REPAIRS)
        self._end_turn()

    def _has_turn(self) -> bool:
        """Wait for it, and for the other search to have counted a first assignment; False where none comes any more."""
        with self._lock:
            self._lock.wait_for(lambda: self._stopped.is_set() or (self.positions is not None and self._may_repair))
        return not self._stopped.is_set()

    @property
    def _may_repair(self) -> bool:
        return self.repairing or not self._alone

    def _end_turn(self) -> None:
        with self._lock:
            self.repairing = False
            self._lock.notify_all()

    def _to_beat(self, translation: Translation, positions: Positions) -> float | None:
        """The model's objective at an assignment; None where it has none, or the assignment is no solution."""
        score, value, violation = scored(self.problem, positions)
        if not translation.optimises:
            return None
        if has_objective(self.problem):
            return value
        return None if violation.hard and not self.problem.scoring.all_required else float(score)


class BesideExact(OneBest):
    """Another search and its partner as one engine; see `Engine` for the face. Steps are those of the other search."""

    def __init__(self, engine: Engine, partner: Partner, *, alone: bool, bounded: BoundedProblem | None = None) -> None:
        """`alone`: one thread has to do for both. `bounded`: the other search satisfies the bound of an objective."""
        self._engine, self._partner, self._alone, self._bounded = engine, partner, alone, bounded
        self._pace = Pace(decides=bounded is None and bool(must_hold(partner.problem, partner.decision).all()))
        self._improvements: list[Improvement] = []
        self._score = WORST
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
        before, party = self._engine.steps, self._next()
        began = time.perf_counter()
        if party == OTHER and not self._settled:
            self._engine.advance(max_steps, seconds)
            self._collect()
        elif party == REPAIRS and not self._partner.repairing:
            self._partner.repair()
        news = self._partner.take(seconds if party != OTHER else 0.0)
        if self._partner.began is not None:
            self._pace.book(party, time.perf_counter() - began, self._elapsed, self._partner.background)
        if news:  # each is better than those before
            finder, positions = news[-1]
            self._adopt(positions)
            self._pace.improved(finder, self._elapsed)
        return self._engine.steps - before

    def _next(self) -> str:
        """Whose turn it is: one of CP-SAT's threads has its own where there are several."""
        if not self._alone or self._partner.began is None:
            return OTHER
        if self._partner.repairing:
            return REPAIRS
        return self._pace.next(tuple(self._partner.parties), self._elapsed)

    @property
    def _elapsed(self) -> float:
        """Seconds since the prover began."""
        began = self._partner.began
        return 0.0 if began is None else time.perf_counter() - began

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

    def close(self) -> None:
        self._partner.close()

    # ── one best assignment ──────────────────────────────────────────────────────────────────────────

    def _collect(self) -> None:
        """What the other search found."""
        for found in self._engine.improvements():
            if found.score < self._score or self._score == WORST:
                self._score = found.score
                self._positions = self._engine.best_positions()[found.run].copy()
                self._improvements.append(found)
                self._offer(found)
                if self._bounded is None or self._candidate is not None or self.value is None:
                    self._pace.improved(OTHER, self._elapsed)

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
        self._positions, self._score = positions, score
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
