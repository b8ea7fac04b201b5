"""Drive an engine to its limits: time, steps, a solution, or a request to stop; keep the trace of the best."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.deadline import NEVER, Deadline, OutOfTime
from anycsp.engine import Engine, Improvement, ProvingEngine
from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.model.variables import Value
from anycsp.search.result import Answer, TracePoint

SLICE_SECONDS = 0.05
"""How long an engine runs before the driver looks at clock, callback and stop request."""
FIRST_SLICE, SLICE_SHARE = 0.002, 0.125
"""Where a network is watched it runs for this share of the seconds so far, and no shorter than this: a small problem is
solved within one of the slices above, and whoever watches wants to see how."""


Positions = npt.NDArray[np.int32]


class Leaning(NamedTuple):
    """The soft assignment of a network's run: for every variable the likeliest value, and how likely that is."""

    positions: Positions
    """[variables]"""
    confidence: npt.NDArray[np.float32]
    """[variables]: 1 where presolve left no choice."""


@dataclass(frozen=True)
class Progress(Answer):
    """What a callback gets, about every 50 ms and at every improvement of the best: `progress[x]` is the value of a
    variable in the best assignment so far."""

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
    bound: float | None = None
    """What no assignment is better than, where exact search knows: of the objective, or else of the violated weight."""
    found_by: str = "initial"
    """Which part of the search found the best assignment."""
    improvements: tuple[Improvement, ...] = field(default=(), repr=False)
    """What every run found since the last call that is better than all it had seen. None of them where a search for an
    objective has an assignment that violates nothing: they are about its next demand then."""
    leaning: Callable[[], Leaning] | None = field(default=None, repr=False, compare=False)
    """Gives what a network leans to now; None where none has made a step since the last call."""
    problem: Problem | None = field(default=None, repr=False, compare=False)
    """What is searched."""
    best: Callable[[], Positions] | None = field(default=None, repr=False, compare=False)
    """Gives the domain positions of the best assignment."""

    @cached_property
    def positions(self) -> Positions:  # type: ignore[override]
        """The domain position of every variable in the best assignment so far."""
        if self.best is None:
            raise ProblemError("this progress carries no assignment")
        return self.best()

    @property
    def assignment(self) -> dict[str, Value]:
        """The best assignment so far: the value or label of every variable by its name."""
        return {} if self.problem is None else self.problem.assignment(self.positions)


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
    proved: bool = False
    """Nothing is better than the best."""


def drive(
    engine: Engine,
    limits: Limits,
    callback: Callback | None = None,
    *,
    whole: Callable[[Positions], Positions] = lambda positions: positions,
    all_required: bool = False,
    leaning: Callable[[int], Callable[[], Leaning] | None] | None = None,
) -> Outcome:
    """Run a started engine of one instance. `whole` leads from its positions to those of the problem, for a callback
    that asks for them; `leaning` leads to what a network leans to, given the run with the best. Where everything is
    required the engine knows nothing hard, and each violated constraint is a hard one."""
    began = clock.now()
    best: Improvement | None = None
    trace: list[TracePoint] = []
    interrupted = False
    step_seconds = 0.0  # of the last steps: none can be cut short, so none is begun that would end too late
    proving = engine if isinstance(engine, ProvingEngine) else None
    unwatched = callback is None or leaning is None
    while True:
        improved = False
        value, bound = (None, None) if proving is None else (proving.value, proving.bound)
        news = engine.improvements()
        for candidate in news:
            if best is None or candidate.score < best.score:
                best, improved = candidate, True
                if all_required:
                    best = best._replace(hard=best.violated)
                trace.append(trace_point(best, bound))
            elif candidate.score == best.score and (candidate.step, candidate.run) < (best.step, best.run):
                # Of equals the one after fewer steps: which of them is heard of first is up to the clock.
                best = candidate._replace(hard=best.hard)
                trace[-1], improved = trace_point(best, bound), True
        assert best is not None, "an engine reports its starting assignment as its first improvement"
        # An engine's clock starts before this one: nothing was found after the end.
        elapsed = max(clock.now() - began, best.seconds)
        if callback is not None:
            if improved:
                found = partial(whole, engine.best_positions()[best.run].copy())
            state = Progress(
                engine.steps, elapsed, best.violated, best.weight, best.hard, improved, value, bound, best.found_by,
                tuple(news), None if leaning is None else leaning(best.run), best=found,
            )  # fmt: skip
            interrupted = callback(state) is True
        interrupted = interrupted or limits.stop.is_set()
        seconds_left = limits.deadline.left
        steps_left = 1 << 62 if limits.steps is None else limits.steps - engine.steps
        if best.score <= 0 or engine.concluded or interrupted or seconds_left <= step_seconds or steps_left <= 0:
            proved = proving is not None and proving.proved
            return Outcome(best, trace, elapsed, interrupted, engine.refuted, proved)
        try:
            asked = clock.now()
            taken = engine.advance(steps_left, min(seconds_left, SLICE_SECONDS if unwatched else _early(elapsed)))
            step_seconds = (clock.now() - asked) / taken if taken else 0.0
        except KeyboardInterrupt:
            limits.stop.set()
        except OutOfTime:
            step_seconds = math.inf  # a constraint took too long: what was found before is the answer


def _early(elapsed: float) -> float:
    """Seconds until the next look at a network."""
    return min(SLICE_SECONDS, max(FIRST_SLICE, SLICE_SHARE * elapsed))


def trace_point(best: Improvement, bound: float | None = None) -> TracePoint:
    return TracePoint(best.step, best.seconds, best.violated, best.weight, best.hard, best.found_by, bound=bound)
