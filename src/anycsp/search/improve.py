"""Optimisation by compiled search, in place: solve, move the objective's bound past the answer, go on.

Every member of the portfolio goes on from where it is against the new bound, and the search ends early where the tree
proves that nothing is better. `search/optimize.py` does the same for a network's search, which is begun anew for every
demand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.engine import ProvingEngine
from anycsp.model.problem import Problem
from anycsp.search.bound import BoundedProblem
from anycsp.search.driver import Callback, Outcome, Positions, Progress, drive
from anycsp.search.exact.beside import BesideExact
from anycsp.search.options import SearchOptions
from anycsp.search.portfolio import Portfolio
from anycsp.search.result import TracePoint


@dataclass
class Descent:
    """The best assignment so far of a problem with an objective."""

    problem: Problem
    options: SearchOptions
    whole: Callable[[Positions], Positions]
    positions: npt.NDArray[np.int32] | None = None
    value: int | None = None
    found_by: str = "initial"
    step: int = 0
    seconds: float = 0.0
    trace: list[TracePoint] = field(default_factory=list)
    proved: bool = False
    """Nothing is better."""


def improve(
    problem: Problem,
    bounded: BoundedProblem,
    engine: Portfolio | BesideExact,
    options: SearchOptions,
    whole: Callable[[Positions], Positions],
) -> tuple[Descent, Outcome]:
    """Drive a started engine from one assignment that satisfies everything to the next better one. `whole` leads from
    its positions to those of the problem that was asked."""
    descent, began = Descent(problem, options, whole), clock.now()
    assert problem.objective is not None
    while True:
        elapsed = clock.now() - began
        outcome = drive(engine, options.limits, _relayed(options.callback, descent, elapsed), whole=whole)
        if outcome.best.violated > 0:
            descent.proved = outcome.refuted
            return descent, outcome
        descent.positions = engine.best_positions()[0].copy()
        variables = problem.num_variables  # the bound may have brought an auxiliary one along, after all others
        value = problem.objective.value(0.0, problem.values(descent.positions[:variables]))
        assert value is not None, "the bound holds where the objective is defined only"
        descent.value = int(value)
        descent.step, descent.seconds = engine.steps, clock.now() - began
        descent.found_by = outcome.best.found_by
        bound = engine.bound if isinstance(engine, ProvingEngine) else None
        found = TracePoint(descent.step, descent.seconds, 0, 0.0, 0, descent.found_by, descent.value, bound)
        descent.trace.append(found)
        if options.callback is not None and options.callback(_progress(descent, descent.seconds, improved=True)):
            options.stop.set()
        if outcome.interrupted:
            return descent, outcome
        bounded.demand_better(descent.value)
        engine.demand_better()


def _progress(descent: Descent, seconds: float, improved: bool) -> Progress:
    assert descent.positions is not None
    best = partial(descent.whole, descent.positions)
    return Progress(descent.step, seconds, 0, 0.0, 0, improved, descent.value, found_by=descent.found_by, best=best)


def _relayed(callback: Callback | None, descent: Descent, before: float) -> Callback | None:
    """What a caller hears while something better is searched for: the best so far, not what the demand lacks."""
    if callback is None:
        return None

    def relay(progress: Progress) -> bool | None:
        seconds = before + progress.seconds
        if descent.value is None:
            return callback(replace(progress, seconds=seconds))
        return callback(replace(_progress(descent, seconds, improved=False), step=progress.step, bound=progress.bound))

    return relay
