"""Optimisation: solve, demand something better than the answer, and go on from it until the time is up.

The demand is one more constraint on the objective. How much better is asked for doubles with every success, so that
wide objectives are not descended one by one, and shrinks when a share of the time brings nothing; the next share then
starts elsewhere, since the neighbourhood of the best assignment had its turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from anycsp.model.problem import Problem
from anycsp.search.driver import Callback, Progress
from anycsp.search.result import Result, TracePoint, objective_of

SHARE = 0.15
"""Of the time left, what one demand gets before it is made smaller."""
SHORTEST = 0.5
"""Seconds a demand gets at least."""


def optimize(
    problem: Problem,
    run: Callable[..., Result],
    *,
    time_limit: float | None,
    steps: int | None,
    callback: Callback | None = None,
    hint: Any = None,
    stop: threading.Event | None = None,
    seed: int = 0,
    **options: Any,
) -> Result:
    """`run` solves a problem without objective. Ends with the best assignment that violates nothing, or, where none
    was found, with the one that violates least."""
    objective = problem.objective
    assert objective is not None
    stop = stop or threading.Event()
    began, spent = time.perf_counter(), 0
    best: Result | None = None
    trace: list[TracePoint] = []
    gain = 1
    failures = attempts = 0
    while True:
        demanded = problem.copy()
        demanded.objective = None
        if best is not None:
            value = int(best.objective["value"])  # type: ignore[index]
            worst_accepted = value - (gain - 1) if objective.kind == "minimize" else value + (gain - 1)
            demanded.add(objective.better_than(worst_accepted), hard=True)
        elapsed = time.perf_counter() - began
        left = None if time_limit is None else max(0.0, time_limit - elapsed)
        share = left if best is None or left is None else min(left, max(SHORTEST, SHARE * left))
        found = run(
            demanded,
            time_limit=share,
            steps=None if steps is None else steps - spent,
            callback=_relayed(callback, spent, elapsed, best, stop),
            hint=None if failures % 2 else hint,
            stop=stop,
            seed=seed + attempts,
            **options,
        )
        attempts += 1
        spent += found.steps
        seconds = time.perf_counter() - began
        if found.violated == 0:
            best = replace(
                found,
                constraints=problem.num_constraints,
                objective=objective_of(problem, 0.0, found.positions),
                best_step=spent,
                best_seconds=seconds,
            )
            trace.append(TracePoint(spent, seconds, 0, 0.0, 0, found.found_by))
            names = problem.names
            hint = {names[x]: problem.domain(x).external(int(p)) for x, p in enumerate(found.positions)}
            gain, failures = gain * 2, 0
            if callback is not None and callback(_progress(spent, seconds, best, improved=True)):
                stop.set()
        elif best is None:
            return replace(found, objective=objective_of(problem, found.violated_weight, found.positions))
        else:
            gain, failures = max(1, gain // 4), failures + 1
        out_of_time = time_limit is not None and seconds >= time_limit
        out_of_steps = steps is not None and spent >= steps
        if stop.is_set() or out_of_time or out_of_steps:
            status = "interrupted" if stop.is_set() else "satisfied"
            return replace(best, status=status, steps=spent, seconds=seconds, seed=seed, trace=trace)


def _progress(step: int, seconds: float, best: Result, improved: bool) -> Progress:
    assert best.objective is not None
    return Progress(step, seconds, 0, 0.0, 0, improved, best.objective["value"])


def _relayed(
    callback: Callback | None, spent: int, before: float, best: Result | None, stop: threading.Event
) -> Callback | None:
    """What a caller hears while a demand is searched for: the best so far, not what the demand lacks. A caller who has
    heard enough ends all of it."""
    if callback is None:
        return None

    def relay(progress: Progress) -> bool | None:
        step, seconds = spent + progress.step, before + progress.seconds
        mine = replace(progress, step=step, seconds=seconds)
        enough = callback(mine if best is None else _progress(step, seconds, best, improved=False))
        if enough:
            stop.set()
        return enough

    return relay
