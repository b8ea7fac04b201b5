"""Network and compiled search together.

Two sides take turns:

* the *free* side is the compiled search alone, never disturbed;
* the *jumping* side: a policy step draws a whole new assignment, a burst of compiled search polishes it, and the
  polished assignment is the α that the next labelled graph is built from; recurrent states carry on. A run that is
  behind jumps on from the free side's best. Bursts take several times as long as the policy step before them, double
  when jumps have brought no new best for a while, and halve when one has.

The jumping side gets time in proportion to what it gained per second lately, and never less than a share of it.
Annealing is the exception where a time limit is known: its schedule spoils when interrupted, so it ends a little before
the limit, and the network jumps from where it got to.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anycsp.deadline import NEVER, Deadline
from anycsp.engine import WORST, Improvement, Incomplete
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.engine import neural_engine
from anycsp.neural.temperature import Temperature
from anycsp.search.local import FOREVER, LocalSearch

if TYPE_CHECKING:
    from anycsp.neural.models import Model

LEAST_SHARE = 0.05
"""The share of the time that either side gets however little it finds: enough to notice when that changes."""
WARM_UP = 0.1
"""Seconds the free side has to itself at first: what is solved by then needs no network."""
MEMORY = 2.0
"""Seconds after which a gain counts half: several turns of either side, yet short beside a search of ten seconds."""
TURN = 0.01
"""Seconds of the free side's turn: short beside a callback's 50 ms, long beside the cost of switching."""
PATIENCE = 16
"""Jumps without a new best after which bursts double. Jumps differ by luck, so one alone says little."""
POLISH_FACTOR = 8
"""A burst lasts at least so many times as long as the policy step: moves find more per second than steps do."""
SHORTEST_BURST = 8
"""Moves (for annealing: proposals) per value of the problem in the shortest burst: fewer leave it unpolished."""
LONGEST_BURST = 256
"""How many shortest bursts the longest has: beyond, a jump would be a search of its own."""


class Side:
    """What one of the two has cost and gained, old gains counting less."""

    def __init__(self) -> None:
        self.seconds = self.gain = 0.0
        self.spent = 0.0

    def book(self, seconds: float, gain: float) -> None:
        fade = 0.5 ** (seconds / MEMORY)
        self.seconds = self.seconds * fade + seconds
        self.gain = self.gain * fade + gain
        self.spent += seconds

    @property
    def rate(self) -> float:
        return self.gain / max(self.seconds, 1e-9)


class HybridSearch(Incomplete):
    """See `Engine` for the face. A step is a policy step. Runs 0 … R−1 jump, the free side's follow them.

    Turns go by the clock. With a limit of steps and none of time they have fixed lengths instead, so that the same
    seed gives the same answer.
    """

    def __init__(
        self,
        graph: ConstraintValueGraph,
        model: Model,
        strategy: str,
        runs: int,
        seed: int,
        temperature: Temperature,
        threads: int,
        *,
        device: str = "cpu",
        steps: int | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        self.graph = graph
        self._network = neural_engine(
            graph, model, runs, seed, temperature, threads, device=device, steps=steps, deadline=deadline
        )
        self._scheduled = strategy == "annealing" and deadline != NEVER
        self._deadline = deadline
        self._free_ends = deadline if deadline == NEVER else deadline.earlier(LEAST_SHARE * deadline.left)
        self._free = LocalSearch(graph, strategy, threads, seed, threads, deadline=self._free_ends)
        self._polish: LocalSearch | None = None
        self._seed, self._threads = seed, threads
        self._runs = range(runs)
        self._timed = deadline != NEVER or steps is None
        self._shortest = SHORTEST_BURST * max(graph.num_values, 64)

    @property
    def steps(self) -> int:
        return self._network.steps

    @property
    def concluded(self) -> bool:
        """Only what no move can change is violated, or there is no move."""
        return self._free.concluded or self._best <= int(self.graph.constant[0, 3])

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        """The free side begins where the first runs begin."""
        self._began = time.perf_counter()
        self._network.start(positions)
        first = self._current()
        self._free_began = time.perf_counter() - self._began
        self._free.start(first[np.arange(self._threads) % len(first)])
        self._improvements: list[Improvement] = []
        self._best = WORST
        self._jumps, self._roaming = Side(), Side()
        self._burst, self._idle = self._shortest, 0
        self._burst_left = 0
        """Moves that the burst under way has still to make."""
        self._step_seconds = 0.0
        """How long the last policy step took."""
        self._collect()

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        until, first = time.perf_counter() + seconds, self.steps
        while self._best > 0 and (self._burst_left > 0 or self.steps - first < max_steps):
            began, before = time.perf_counter(), self._best
            jumping = self._burst_left > 0 or self._jump_is_due()
            if jumping:
                self._jump(until)
            else:
                self._roam(until)
            self._collect()
            elapsed = time.perf_counter() - began if self._timed else TURN
            side = self._jumps if jumping else self._roaming
            side.book(elapsed, before - self._best if before < WORST else 0)
            if jumping and self._burst_left == 0:
                self._adapt()
            if time.perf_counter() >= until:
                break
        return self.steps - first

    def _jump_is_due(self) -> bool:
        if self._roaming.spent < WARM_UP or (self._free.strategy == "annealing" and not any(self._free.temperatures)):
            return False  # annealing bursts need the free side's temperatures
        if time.perf_counter() + max(2 * self._step_seconds, WARM_UP) > self._deadline.at:
            return False  # a policy step cannot be cut short
        if self._scheduled:
            return self._free_ends.passed
        total = self._jumps.rate + self._roaming.rate
        share = min(max(self._jumps.rate / max(total, 1e-300), LEAST_SHARE), 1 - LEAST_SHARE)
        return self._jumps.spent <= share * (self._jumps.spent + self._roaming.spent)

    def _jump(self, until: float) -> None:
        """Policy step, burst (which may go on in the next turn), and the polished assignment back to the network."""
        polish = self._polisher()
        if self._burst_left == 0:
            self._follow()
            self._best_before_jump = self._best
            began = time.perf_counter()
            self._network.advance(1, math.inf)
            self._step_seconds = time.perf_counter() - began
            self._burst_seconds = 0.0
            self._burst_left = self._burst
            polish.start(self._current(), self._burst)
        began = time.perf_counter()
        made = polish.advance(self._burst_left, max(0.0, until - began))
        self._burst_seconds += time.perf_counter() - began
        self._burst_left -= made
        if polish.best_score().min() <= 0 or (made == 0 and began < until):
            self._burst_left = 0
        if self._burst_left <= 0 or polish.best_score().min() < self._best:
            self._network.place(polish.best_positions(), "polish")

    def _follow(self) -> None:
        """The run that is furthest behind continues from the free side's best, where that is better; all that are
        behind, where the free side has ended."""
        leader = int(self._free.best_score()[:, 0].argmin())
        seen = self._network.best_score()[:, 0]
        behind = seen > self._free.best_score()[leader, 0]
        if behind.any():
            if not self._scheduled:
                behind = np.arange(len(seen)) == seen.argmax()
            positions = self._current()
            positions[behind] = self._free.best_positions()[leader]
            self._network.place(positions, "polish")

    def _roam(self, until: float) -> None:
        if self._timed:
            self._free.advance(FOREVER, min(TURN, max(0.0, until - time.perf_counter())))
        else:
            self._free.advance(self._shortest, math.inf)

    def _current(self) -> npt.NDArray[np.int32]:
        return np.array(self._network.positions, dtype=np.int32)

    def _adapt(self) -> None:
        """Bursts double while they are short beside the policy step or bring nothing, and halve when one has paid."""
        self._idle += 1
        longer = self._timed and self._burst_seconds < POLISH_FACTOR * self._step_seconds
        if self._best < self._best_before_jump:
            self._idle = 0
            if not longer:
                self._burst = max(self._burst // 2, self._shortest)
        elif longer or self._idle >= PATIENCE:
            self._burst, self._idle = min(2 * self._burst, LONGEST_BURST * self._shortest), 0

    def _polisher(self) -> LocalSearch:
        """The free side's strategy; annealing from the middle of its range, where order survives."""
        if self._polish is None:
            annealing: dict[str, Any] = {}
            if self._free.strategy == "annealing":
                hot, cold = self._free.temperatures
                annealing = {"hot": math.sqrt(hot * cold), "cold": cold}
            strategy, runs = self._free.strategy, len(self._runs)
            self._polish = LocalSearch(self.graph, strategy, runs, self._seed + 1, self._threads, **annealing)
        return self._polish

    def _collect(self) -> None:
        """Both sides' improvements as this engine's: seconds from its start, steps the network's."""
        found = self._network.improvements()
        for i in self._free.improvements():
            found.append(i._replace(run=len(self._runs) + i.run, step=self.steps, seconds=self._free_began + i.seconds))
        # By score, not by time: the same seed is to give the same trace, and clocks differ.
        new: list[Improvement] = []
        for improvement in sorted(found, key=lambda i: -i.score):
            if improvement.score < self._best:
                self._best = improvement.score
                new.append(improvement)
        # What another run found after something better counts as found together with it.
        for worse in range(len(new) - 2, -1, -1):
            new[worse] = new[worse]._replace(seconds=min(new[worse].seconds, new[worse + 1].seconds))
        self._improvements += new

    def improvements(self) -> list[Improvement]:
        new, self._improvements = self._improvements, []
        return new

    def best_score(self) -> npt.NDArray[np.int64]:
        return np.concatenate([self._network.best_score(), self._free.best_score()])

    def best_positions(self) -> npt.NDArray[np.int32]:
        return np.concatenate([self._network.best_positions(), self._free.best_positions()])
