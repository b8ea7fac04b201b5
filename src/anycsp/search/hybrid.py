"""Network and compiled search together.

Two sides take turns:

* the *jumping* side: a policy step draws a whole new assignment, a burst of compiled search polishes it, and the
  polished assignment is the α that the next labelled graph is built from; recurrent states carry on. Bursts double
  when jumps have brought no new best for a while, and halve when one has.
* the *free* side: the compiled search alone, never interrupted. Where its best is better than what a jumping run has
  seen, that run jumps on from there.

Each side gets time in proportion to what it gained per second lately, and neither less than a tenth.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anycsp.graph import ConstraintValueGraph
from anycsp.search.engine import Improvement
from anycsp.search.local import LocalSearch
from anycsp.search.neural import neural_engine
from anycsp.temperature import Temperature

if TYPE_CHECKING:
    from anycsp.models import Model

LEAST_SHARE = 0.1
"""Of the time, what either side gets however little it finds."""
MEMORY = 2.0
"""Seconds after which a gain counts half."""
PATIENCE = 16
"""Jumps without a new best after which bursts double."""
TURN = 0.01
"""Seconds of the free side's turn; the other's is one jump."""
LONGEST_TURN = 0.5
"""Seconds beyond which a burst does not double."""
LONGEST_BURST = 1024
"""Beyond so many times the shortest it does not either."""


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


class HybridSearch:
    """See `Engine` for the face. A step is a policy step. Runs 0 … R−1 jump, the free side's follow them.

    Turns go by the clock. With a limit of steps and none of time they have fixed lengths instead, so that the same
    seed gives the same answer.
    """

    def __init__(
        self,
        graph: ConstraintValueGraph,
        model: Model,
        runs: int,
        seed: int,
        temperature: Temperature,
        threads: int,
        *,
        steps: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self.graph = graph
        self._network = neural_engine(graph, model, runs, seed, temperature, threads, steps=steps, seconds=seconds)
        self._free = LocalSearch(graph, "auto", threads, seed, threads, seconds=seconds)
        self._polish: LocalSearch | None = None
        self._seed, self._threads = seed, threads
        self._runs = range(runs)
        self._timed = seconds is not None or steps is None
        # A sweep of proposals for annealing, as many moves as there are variables otherwise.
        self._shortest = max(graph.num_variables, 64) * (4 if self._free.strategy == "annealing" else 1)

    @property
    def steps(self) -> int:
        return self._network.steps

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        """The free side begins where the first runs begin."""
        self._began = time.perf_counter()
        self._network.start(positions)
        first = self._current()
        self._free_began = time.perf_counter() - self._began
        self._free.start(first[np.arange(self._threads) % len(first)])
        self._improvements: list[Improvement] = []
        self._best = math.inf
        self._sides = {"jump": Side(), "free": Side()}
        self._burst, self._idle = self._shortest, 0
        self._collect()

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        until, first = time.perf_counter() + seconds, self.steps
        while self.steps - first < max_steps and self._best > 0:
            began, before = time.perf_counter(), self._best
            name = "jump" if self._jump_is_due() else "free"
            self._jump(until) if name == "jump" else self._roam(until)
            self._collect()
            elapsed = time.perf_counter() - began if self._timed else TURN
            gain = before - self._best if math.isfinite(before) else 0.0
            self._sides[name].book(elapsed, gain)
            if name == "jump":
                self._adapt(elapsed, self._best < before)
            if time.perf_counter() >= until:
                break
        return self.steps - first

    def _jump_is_due(self) -> bool:
        jump, free = self._sides["jump"], self._sides["free"]
        if self._free.strategy == "annealing" and not any(self._free.temperatures):
            return False  # bursts need its temperatures
        total = jump.rate + free.rate
        share = 0.5 if total == 0 else min(max(jump.rate / total, LEAST_SHARE), 1 - LEAST_SHARE)
        return jump.spent <= share * (jump.spent + free.spent)

    def _jump(self, until: float) -> None:
        """Policy step, burst, and the polished assignment back to the network."""
        self._network.advance(1, math.inf)
        polished = self._polisher().burst(self._current(), self._burst, max(0.0, until - time.perf_counter()))
        self._network.place(polished, "polish")

    def _roam(self, until: float) -> None:
        if self._timed:
            self._free.advance(1 << 62, min(TURN, max(0.0, until - time.perf_counter())))
        else:
            self._free.advance(64 * self._shortest, math.inf)
        leader = int(self._free.best_score()[:, 0].argmin())
        seen = self._network.best_score()[:, 0]
        behind = int(seen.argmax())
        if self._free.best_score()[leader, 0] < seen[behind]:
            positions = self._current()
            positions[behind] = self._free.best_positions()[leader]
            self._network.place(positions, "polish")

    def _current(self) -> npt.NDArray[np.int32]:
        return np.array(self._network.positions, dtype=np.int32)

    def _adapt(self, elapsed: float, improved: bool) -> None:
        if improved:
            self._burst, self._idle = max(self._burst // 2, self._shortest), 0
        else:
            self._idle += 1
            longest = elapsed >= LONGEST_TURN or self._burst >= LONGEST_BURST * self._shortest
            if self._idle >= PATIENCE and not longest:
                self._burst, self._idle = self._burst * 2, 0

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
        for improvement in sorted(found, key=lambda i: -i.score):
            if improvement.score < self._best:
                self._best = improvement.score
                self._improvements.append(improvement)

    def improvements(self) -> list[Improvement]:
        new, self._improvements = self._improvements, []
        return new

    def best_score(self) -> npt.NDArray[np.float64]:
        return np.concatenate([self._network.best_score(), self._free.best_score()])

    def best_positions(self) -> npt.NDArray[np.int32]:
        return np.concatenate([self._network.best_positions(), self._free.best_positions()])
