"""Drive an engine to its limits: time, steps, a solution, or a request to stop; keep the trace of the best."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from anycsp.deadline import NEVER, Deadline
from anycsp.engine import Engine, Improvement
from anycsp.search.result import TracePoint

SLICE_SECONDS = 0.05
"""How long an engine runs before the driver looks at clock, callback and stop request."""


@dataclass(frozen=True)
class Progress:
    """What a callback gets, about every 50 ms and at every improvement of the best."""

    step: int
    """Steps taken so far."""
    seconds: float
    """Seconds since the search began."""
    violated: int
    """How many constraints the best assignment violates."""
    violated_weight: float
    """The sum of their weights."""
    hard_violated: int
    """How many of them are hard."""
    improved: bool
    """Whether the best got better since the last call."""
    objective: float | None = None
    """The best value of a problem's own objective, where a search for one has an assignment that violates nothing."""


Callback = Callable[[Progress], bool | None]
"""Return True to stop the search."""


@dataclass(frozen=True)
class Limits:
    """A search ends at the first of these."""

    deadline: Deadline = NEVER
    steps: int | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    """Set from anywhere (a signal handler, another thread) to end the search with the best so far."""


@dataclass(frozen=True)
class Outcome:
    best: Improvement
    trace: list[TracePoint]
    seconds: float
    interrupted: bool
    refuted: bool
    """Nothing satisfies all that is required."""


def drive(engine: Engine, limits: Limits, callback: Callback | None = None) -> Outcome:
    """Run a started engine of one instance."""
    began = time.perf_counter()
    best: Improvement | None = None
    trace: list[TracePoint] = []
    interrupted = False
    step_seconds = 0.0  # of the last steps: none can be cut short, so none is begun that would end too late
    while True:
        improved = False
        for candidate in engine.improvements():
            if best is None or candidate.score < best.score:
                best, improved = candidate, True
                trace.append(TracePoint(best.step, best.seconds, best.violated, best.weight, best.hard, best.found_by))
        assert best is not None, "an engine reports its starting assignment as its first improvement"
        elapsed = time.perf_counter() - began
        if callback is not None:
            state = Progress(engine.steps, elapsed, best.violated, best.weight, best.hard, improved)
            interrupted = callback(state) is True
        interrupted = interrupted or limits.stop.is_set()
        seconds_left = limits.deadline.left
        steps_left = 1 << 62 if limits.steps is None else limits.steps - engine.steps
        if best.score <= 0 or engine.concluded or interrupted or seconds_left <= step_seconds or steps_left <= 0:
            return Outcome(best, trace, elapsed, interrupted, engine.refuted)
        try:
            asked = time.perf_counter()
            taken = engine.advance(steps_left, min(SLICE_SECONDS, seconds_left))
            step_seconds = (time.perf_counter() - asked) / taken if taken else 0.0
        except KeyboardInterrupt:
            limits.stop.set()
