"""Compiled search with advice from a network.

Two sides take turns:

* the *free* side is compiled search as `local` has it, never disturbed;
* the *advised* side: a few steps of the policy from a random assignment, then a burst of compiled moves from where they
  end, in the time that the steps took; then the same again from another one.

A network step takes as long as thousands of moves, so it is paid for rarely. The first advice may cost as much time as
the free side has had; each one in vain halves the share of the next, down to a twentieth, and one that brings a new
best doubles it again.

Annealing that cools towards a time limit gets no advice: its schedule spoils when interrupted, and it forgets where it
began.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.deadline import NEVER, Deadline
from anycsp.engine import WORST, Engine, Improvement, NeuralEngine
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.engine import neural_engine
from anycsp.neural.temperature import Temperature
from anycsp.search.local import LocalSearch

if TYPE_CHECKING:
    from anycsp.neural.models import Model

ADVICE_STEPS = 32
"""Policy steps of one advice. Trained policies have settled by then: what more steps gain, moves gain sooner."""
FIRST_SHARE = 0.5
"""The share of the time that goes into advice at first."""
LEAST_SHARE = 0.05
"""The share that it keeps however little it brings: enough to notice when that changes."""
WARM_UP = 0.1
"""Seconds the free side has to itself at first: what is solved by then needs no network."""
TURN = 0.01
"""Seconds of the free side's turn: short beside a callback's 50 ms, long beside the cost of switching."""
NETWORK_SECONDS = 2e-6
"""Per value of the problem: what the network takes to be made and to make its first step, which cannot be cut short."""
TURN_MOVES = 8
"""Moves per value of the problem in a turn, and in a burst, where only steps are limited and no clock decides."""


class HybridSearch:
    """See `Engine` for the face. A step is a policy step. The free side's runs come first, the advised ones follow;
    until there is advice they are where the free ones began.

    Turns go by the clock. With a limit of steps and none of time they have fixed lengths instead, so that the same
    seed gives the same answer.
    """

    def __init__(
        self,
        graph: ConstraintValueGraph,
        free: Engine,
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
        """`strategy` is that of the bursts."""
        self._free = free
        self._make_network = partial(
            neural_engine, graph, model, runs, seed, temperature, threads,
            device=device, steps=ADVICE_STEPS, deadline=deadline,
        )  # fmt: skip
        self._make_burst = partial(LocalSearch, graph, strategy, runs, seed + 1, threads)
        self._network: NeuralEngine | None = None
        """Not made before it is needed: most searches end before."""
        self._deadline = deadline
        cools = isinstance(free, LocalSearch) and free.strategy == "annealing"
        self._undisturbed = cools and deadline != NEVER and steps is None
        self._rng = np.random.default_rng([seed & (2**64 - 1), 2])
        self._sizes, self._runs = graph.domains.sizes, runs
        self._constant = int(graph.constant[0, 3])
        self._timed = deadline != NEVER or steps is None
        self._first_seconds = NETWORK_SECONDS * graph.num_values
        self._turn_moves = TURN_MOVES * max(graph.num_values, 64)

    @property
    def steps(self) -> int:
        return self._earlier + (self._network.steps if self._network is not None else 0)

    @property
    def concluded(self) -> bool:
        """Nothing better can be found by going on."""
        return self._free.concluded or self._best <= self._constant

    @property
    def refuted(self) -> bool:
        return self._free.refuted

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        """Both sides begin there, the advised one when its time comes."""
        self._began = clock.now()
        self._earlier = 0
        self._network = None
        self._stepped = False
        """Whether the network has made a step since somebody asked for its advice."""
        self._begins = None if positions is None else np.asarray(positions, dtype=np.int32)
        self._step_seconds = 0.0
        self._improvements: list[Improvement] = []
        self._best = WORST
        first = self._begins
        if first is not None and isinstance(self._free, LocalSearch):
            first = first[np.arange(self._free.runs) % len(first)]
        self._free.start(first)
        self._collect(self._free, 0.0)
        rows = np.arange(self._runs) % len(self._free.best_score())
        self._scores, self._positions = self._free.best_score()[rows], self._free.best_positions()[rows]
        self.spent = {"free": 0.0, "advice": 0.0}
        """Seconds of either side; where no clock decides, turns."""
        self._share = FIRST_SHARE
        self._polishing = False
        self._of_advice = 0.0
        """Seconds that the steps of the advice under way have taken."""
        self._left = 0.0
        """Seconds, or moves where no clock decides, that its burst has still to go."""
        self._best_before = self._best

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        until, first = clock.now() + seconds, self.steps
        while not self.concluded and (self._polishing or self.steps - first < max_steps):
            began = clock.now()
            side = "advice" if self._advice_is_due() else "free"
            if side == "free":
                self._roam(until)
            elif self._polishing:
                self._polish(until)
            else:
                self._advise()
            self.spent[side] += clock.now() - began if self._timed else TURN
            if clock.now() >= until:
                break
        return self.steps - first

    def _advice_is_due(self) -> bool:
        if self._polishing and not self._timed:
            return True
        needed = 2 * self._step_seconds if self._network is not None else self._first_seconds
        if self._undisturbed or clock.now() + needed > self._deadline.at:
            return False  # a policy step cannot be cut short
        free, advice = self.spent["free"], self.spent["advice"]
        return free >= WARM_UP and advice <= self._share * (advice + free)

    def _roam(self, until: float) -> None:
        if self._timed:
            self._free.advance(1 << 62, min(TURN, max(0.0, until - clock.now())))
        else:
            self._free.advance(self._turn_moves, math.inf)
        self._collect(self._free, 0.0)

    def _advise(self) -> None:
        """One step of the policy; after the last one the burst begins."""
        if self._network is None or self._network.steps >= ADVICE_STEPS:
            self._begin_advice()
        assert self._network is not None
        began = clock.now()
        self._network.advance(1, math.inf)
        self._step_seconds = clock.now() - began
        self._of_advice += self._step_seconds
        self._stepped = True
        self._collect(self._network, self._network_began)
        if self._network.steps >= ADVICE_STEPS:
            self._burst_began = clock.now() - self._began
            self._burst.start(self._network.best_positions())
            self._polishing, self._left = True, self._of_advice if self._timed else self._turn_moves

    def _begin_advice(self) -> None:
        """At the hint or wherever else the search began, later at random."""
        start = self._begins
        if self._network is None:
            self._network, self._burst = self._make_network(), self._make_burst()
        else:
            self._earlier += self._network.steps
            start = (self._rng.random((self._runs, len(self._sizes))) * self._sizes).astype(np.int32)
        self._network_began = clock.now() - self._began
        self._network.start(None if start is None else start[np.arange(self._runs) % len(start)])
        self._of_advice, self._best_before = 0.0, self._best

    def _polish(self, until: float) -> None:
        if self._timed:
            began = clock.now()
            self._burst.advance(1 << 62, max(0.0, min(TURN, self._left, until - began)))
            self._left -= clock.now() - began
        else:
            self._left -= max(1, self._burst.advance(int(self._left)))
        self._collect(self._burst, self._burst_began)
        if self._left <= 0 or self._burst.concluded:
            self._polishing = False
            in_vain = self._best >= self._best_before
            self._share = max(LEAST_SHARE, self._share / 2) if in_vain else min(FIRST_SHARE, 2 * self._share)

    def _collect(self, engine: Engine, began: float) -> None:
        """What an engine improved upon the best of all; its clock started `began` seconds after this one's."""
        # By score, not by time: the same seed is to give the same trace, and clocks differ.
        new: list[Improvement] = []
        for found in sorted(engine.improvements(), key=lambda improvement: -improvement.score):
            if found.score < self._best:
                self._best = found.score
                run = found.run + (0 if engine is self._free else len(self._free.best_score()))
                new.append(found._replace(run=run, step=self.steps, seconds=began + found.seconds))
        # What another run found after something better counts as found together with it.
        for worse in range(len(new) - 2, -1, -1):
            new[worse] = new[worse]._replace(seconds=min(new[worse].seconds, new[worse + 1].seconds))
        self._improvements += new
        if engine is not self._free:
            scores = engine.best_score()
            better = scores[:, 0] < self._scores[:, 0]
            self._scores[better] = scores[better]
            self._positions[better] = engine.best_positions()[better]

    def advice(self) -> NeuralEngine | None:
        """The network, where it has made a step since this was last asked."""
        stepped, self._stepped = self._stepped, False
        return self._network if stepped else None

    def improvements(self) -> list[Improvement]:
        new, self._improvements = self._improvements, []
        return new

    def best_score(self) -> npt.NDArray[np.int64]:
        return np.concatenate([self._free.best_score(), self._scores])

    def best_positions(self) -> npt.NDArray[np.int32]:
        return np.concatenate([self._free.best_positions(), self._positions])
