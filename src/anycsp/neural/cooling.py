"""Cool the policy's softmax through a range of temperatures, cycle after cycle.

A policy trained on small instances changes a fixed share of the variables at random in every step, which on a large one
keeps many constraints violated. Cooling from `hot` to `cold` moves far first and settles at the end. Cycle follows
cycle, hot again and longer each time; where the end of the search is known, the last one is stretched to end with it.
Some problems order only if cooled slowly, others are solved by trying again, and no one knows which beforehand: so the
cycles of every other run stop growing at a modest length, and from there on each is a new try from a random assignment.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.deadline import NEVER, Deadline
from anycsp.engine import Improvement, Incomplete, TemperedEngine

FIRST_CYCLE = 200
"""Steps."""
GROWTH = 2
"""How much longer each cycle is than the one before."""
LONGEST_CYCLES = (3200, math.inf)
"""Steps, of the runs in turn: run 0, run 1, run 2 as run 0, … A single run has the last."""
HOLD = 8
"""Steps at one temperature."""


class Cycles:
    """Where a run stands: `share` of the present cycle is done."""

    def __init__(self, longest: float, last_step: float, deadline: float) -> None:
        self._longest, self._last_step, self._deadline = longest, last_step, deadline
        self._length = FIRST_CYCLE / GROWTH  # the first cycle grows too
        self._new_try = False
        self._begin(0, seconds_a_step=0.0)

    def share(self, step: int) -> float:
        """0 to 1; one that is over makes place for the next. By the clock where it is to end with the time limit."""
        if self._end < math.inf:
            share = (time.perf_counter() - self._began) / max(self._end - self._began, 1e-9)
        else:
            share = (step - self._began_at) / self._length
        if share < 1:
            return share
        self._begin(step, (time.perf_counter() - self._began) / max(step - self._began_at, 1))
        return 0.0

    def is_new_try(self) -> bool:
        """Whether a cycle began that can be no longer than the one before. Says so once."""
        is_new, self._new_try = self._new_try, False
        return is_new

    def steps_left(self, step: int) -> float:
        return math.inf if self._end < math.inf else self._began_at + self._length - step

    def _begin(self, step: int, seconds_a_step: float) -> None:
        """One that leaves no room for an even longer one takes all the room there is."""
        self._began, self._began_at = time.perf_counter(), step
        self._new_try = self._length >= self._longest
        self._length = min(self._length * GROWTH, self._longest)
        self._end: float = math.inf
        room = self._last_step - step
        if self._length * (1 + GROWTH) > room:
            self._length = max(room, 1)
        elif self._length * (1 + GROWTH) * seconds_a_step > self._deadline - self._began:
            self._end = self._deadline


class CoolingEngine(Incomplete):
    """A network's engine whose temperature falls from hot to cold, again and again; see `Engine` for the face."""

    def __init__(
        self, engine: TemperedEngine, runs: int, hot: float, cold: float, steps: int | None, deadline: Deadline = NEVER
    ) -> None:
        self.engine, self._runs = engine, runs
        self._hot, self._cold = hot, cold
        self._last_step = math.inf if steps is None else steps
        self._deadline = deadline

    @property
    def steps(self) -> int:
        return self.engine.steps

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self.engine.start(positions)
        self._held = 0
        """Steps still to go at the present temperature. A call may end within them, at any moment, and must not change
        when the next temperature comes."""
        self._cycles = [
            Cycles(longest, self._last_step, self._deadline.at) for longest in LONGEST_CYCLES[-self._runs :]
        ]

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        first, until = self.steps, time.perf_counter() + seconds
        while True:
            left = first + max_steps - self.steps
            if self._held == 0:
                self._held = self._set_temperature(left)
            asked = min(self._held, left)
            taken = self.engine.advance(asked, until - time.perf_counter())
            self._held -= taken
            if taken < asked or self.steps - first >= max_steps or time.perf_counter() >= until:
                return self.steps - first

    def _set_temperature(self, most: int) -> int:
        """That of the present step; how many steps it is to be held, at most so many."""
        share = np.array([cycles.share(self.steps) for cycles in self._cycles])
        for first_run, cycles in enumerate(self._cycles):
            if cycles.is_new_try():
                self.engine.restart(range(first_run, self._runs, len(self._cycles)))
        temperature = self._hot * (self._cold / self._hot) ** share
        self.engine.set_temperature(np.resize(temperature, self._runs))
        return int(min(HOLD, most, *(cycles.steps_left(self.steps) for cycles in self._cycles)))

    @property
    def positions(self) -> npt.NDArray[np.integer[Any]]:
        return self.engine.positions

    def improvements(self) -> list[Improvement]:
        return self.engine.improvements()

    def best_score(self) -> npt.NDArray[np.int64]:
        return self.engine.best_score()

    def best_positions(self) -> npt.NDArray[np.int32]:
        return self.engine.best_positions()
