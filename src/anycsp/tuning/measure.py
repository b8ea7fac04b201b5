"""How good is a setting on an instance? The anytime cost of one search: mean log time to a ladder of targets.

The targets are what the default search had reached when 1/16, 1/8, … and all of its time had passed; where everything
is meant to be satisfied, the last is a solution. So the cost of the default is about the mean log of those times, and
the difference of two costs is the log of how many times faster the one gets to where the other does, early and late.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anycsp import clock
from anycsp.model.problem import Problem
from anycsp.model.structure import is_decision
from anycsp.neural.models import Model
from anycsp.search.driver import Progress
from anycsp.search.heuristic import Heuristic
from anycsp.search.options import SearchOptions
from anycsp.search.solve import solve_with

RUNGS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
"""Parts of the time limit at which the default's quality is a target."""
SHORTEST = 1e-3
"""Seconds: what is below is not the search but the making of it."""
UNREACHED = 2.0
"""A target that was not reached counts as reached at this many times the limit (PAR2 of the solver competitions)."""
PATIENCE = 10.0
"""A setting that takes so many times as long as the best one so far is given up: it is known to be worse."""


@dataclass(frozen=True)
class Curve:
    """What one search had reached, and when: seconds of processor time, qualities, smaller ones better."""

    seconds: Sequence[float]
    qualities: Sequence[float]
    optimises: bool = False
    """Whether there is an objective of its own, which qualities are then values of."""

    def time_to(self, target: float) -> float | None:
        return next((s for s, q in zip(self.seconds, self.qualities, strict=True) if q <= target), None)

    @property
    def solved(self) -> bool:
        """Whether nothing is violated in the end; with an objective, whether there is an answer."""
        return self.qualities[-1] == 0 or (self.optimises and math.isfinite(self.qualities[-1]))

    def at(self, seconds: float) -> float:
        return min((q for s, q in zip(self.seconds, self.qualities, strict=True) if s <= seconds), default=math.inf)


Searcher = Heuristic | Model | None
"""Settings of compiled search, a network's search, or (None) compiled search as it is by default."""


def search_curve(
    problem: Problem,
    searcher: Searcher,
    seed: int,
    limit: float,
    target: float = -math.inf,
    patience: float = math.inf,
) -> Curve:
    """One search of one thread with that time limit. Ends early where the target is reached, or after `patience`
    seconds: the search itself still believes in its limit, and cools down to it."""
    points: list[tuple[float, float]] = []
    began, offset = clock.now(), 0.0

    def listen(progress: Progress) -> bool:
        nonlocal offset
        now = clock.now() - began
        if not points:
            offset = now - progress.seconds  # presolving and compiling, which the search's own clock leaves out
        points.append((now, quality(problem, progress)))
        return points[-1][1] <= target or now >= patience

    model, search = "auto" if searcher is None else searcher, "neural" if isinstance(searcher, Model) else "local"
    result = solve_with(problem, SearchOptions(model, search, limit, seed=seed, threads=1, callback=listen))
    if not _optimises(problem):  # then the search knows to the microsecond when it found what
        points += [(offset + p.seconds, _violation(p.hard_violated, p.violated_weight)) for p in result.trace]
    if not points:  # the time was up before there was anything to search
        points.append((clock.now() - began, math.inf))
    points.sort()
    return Curve([s for s, _ in points], [q for _, q in points], _optimises(problem))


def quality(problem: Problem, progress: Progress) -> float:
    """Smaller is better. With an objective of its own only what violates nothing has any."""
    if not _optimises(problem):
        return _violation(progress.hard_violated, progress.violated_weight)
    if progress.objective is None:
        return math.inf
    assert problem.objective is not None
    return -progress.objective if problem.objective.kind == "maximize" else progress.objective


def _optimises(problem: Problem) -> bool:
    return problem.objective is not None and problem.objective.expression is not None


def _violation(hard: int, weight: float) -> float:
    return hard * 1e12 + weight  # no sum of soft weights in our files comes near


def targets(problem: Problem, default: Curve, limit: float) -> list[float]:
    """The ladder that a reference search of the default makes."""
    ladder = [default.at(rung * limit) for rung in RUNGS]
    if is_decision(problem) and not _optimises(problem):
        ladder[-1] = 0.0
    return ladder


def cost(curve: Curve, ladder: Sequence[float], limit: float) -> float:
    """Mean log seconds to the targets."""
    times = [curve.time_to(target) for target in ladder]
    return float(
        np.mean([math.log(UNREACHED * limit if t is None else min(max(t, SHORTEST), UNREACHED * limit)) for t in times])
    )


@dataclass(frozen=True)
class Gain:
    """How many times faster one setting is than another: geometric mean over instances, and its interval."""

    speedup: float
    low: float
    high: float
    instances: int

    def __str__(self) -> str:
        return f"{self.speedup:.2f}× ({self.low:.2f}–{self.high:.2f})"


def gain(before: np.ndarray, after: np.ndarray, seed: int = 0) -> Gain:
    """The gain between two arrays of costs [instances, seeds].

    The interval of 95% is a bootstrap over instances, which are what a user has more of; seeds of one instance are
    averaged."""
    difference = (before - after).mean(axis=1)
    rng = np.random.default_rng(seed)
    drawn = difference[rng.integers(len(difference), size=(4000, len(difference)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Gain(math.exp(difference.mean()), math.exp(low), math.exp(high), len(difference))
