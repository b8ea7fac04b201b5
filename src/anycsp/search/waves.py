"""More runs than memory holds at once: some now, the others after them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from anycsp.model.problem import Problem
from anycsp.search.driver import Callback, Progress
from anycsp.search.options import SearchOptions
from anycsp.search.result import Result
from anycsp.search.together import is_settled, later, rank, together

NEXT_WAVE = 7_368_787
"""Added to the seed from wave to wave: far from the seeds that a user counts up by hand."""
SLACK = 20
"""One in so many of the runs that memory holds waits for a later wave: others may take memory in the meantime."""


def in_waves(
    problem: Problem,
    options: SearchOptions,
    runs: int,
    at_once: int,
    search: Callable[[Problem, SearchOptions], Result],
) -> Result:
    """The best of all runs. Waves share the time evenly, and there are no more of them once it is up; steps hold for
    each run, as ever."""
    began, found, left = time.perf_counter(), list[Result](), runs
    at_once -= at_once // SLACK
    callback = _without_setbacks(problem, options.callback)
    while left > 0:
        waves = -(-left // at_once)
        now = -(-left // waves)
        wave = replace(
            options,
            runs=now,
            seed=options.seed + NEXT_WAVE * len(found),
            time_limit=options.deadline.within(options.deadline.left / waves),
            callback=callback,
        )
        before = time.perf_counter() - began
        found.append(later(search(problem, wave), before))
        left -= now
        if is_settled(problem, found[-1]) or options.stop.is_set() or options.deadline.passed:
            break
    return together([(rank(problem, result), result) for result in found], options.seed)


def _without_setbacks(problem: Problem, callback: Callback | None) -> Callback | None:
    """A caller hears of the best of all waves."""
    if callback is None:
        return None
    best: Progress | None = None

    def relay(progress: Progress) -> bool | None:
        nonlocal best
        if best is None or rank(problem, progress) < rank(problem, best):
            best = progress
            return callback(progress)
        return callback(replace(best, step=progress.step, seconds=progress.seconds, improved=False))

    return relay
