"""The instances that settings are tuned and judged on, and the searches on them, in this process or in several."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.cluster.workers import Here, Workers
from anycsp.distributions import draw, get
from anycsp.distributions.files import Files
from anycsp.errors import AnyCSPError
from anycsp.model.problem import Problem
from anycsp.tuning.measure import PATIENCE, Curve, Searcher, cost, search_curve, targets
from anycsp.tuning.race import Pair

REFERENCE_SEED = 7
"""The seed of the default's search that makes the targets; no other search has it."""
JUDGING_SEED = 5000
"""First seed of the searches that settings are judged by."""
SEPARATE = 1_000_003
"""Added to the seed for held-out instances of a generator."""


@dataclass(frozen=True)
class Family:
    """Where instances come from; small, so that it can be sent to other processes."""

    name: str
    """The name of a distribution, or files:DIR."""
    settings: Mapping[str, Any]
    seed: int
    count: int
    held_out: bool = False
    solvable_in: float | None = None
    """Leave out what the default search does not solve in so many seconds; a generator draws others instead."""

    @cached_property
    def problems(self) -> list[Problem]:
        """As many as asked for, or as there are."""
        source = get(self.name, **self.settings)
        if isinstance(source, Files):
            found = (source.validation() if self.held_out else source).sample(self.seed, self.count)
            return [problem for problem in found if self._wanted(problem)]
        seed, index, problems = self.seed + (SEPARATE if self.held_out else 0), 0, list[Problem]()
        while len(problems) < self.count:
            problem = draw(source, seed, index)
            if self._wanted(problem):
                problems.append(problem)
            index += 1
            if index == 20 * self.count:
                raise AnyCSPError(f"{self.name}: hardly any instance is solved in {self.solvable_in} s")
        return problems

    def _wanted(self, problem: Problem) -> bool:
        if self.solvable_in is None:
            return True
        with clock.cpu_time():
            return search_curve(problem, None, REFERENCE_SEED, self.solvable_in).time_to(0.0) is not None

    def to_judge(self, count: int) -> Family:
        """Other instances, that nothing was tuned on."""
        return replace(self, held_out=True, count=count)

    @property
    def named(self) -> Family:
        """Without the instances that were drawn: small, for another process to draw them again."""
        return replace(self)

    @property
    def hash(self) -> str:
        """Tells one set of instances from another."""
        digest = hashlib.sha256()
        for problem in self.problems:
            digest.update(repr((problem.domains.sizes.tolist(), list(problem.describe_constraints()))).encode())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Measured:
    """What one searcher reached, all [instances, seeds]."""

    costs: npt.NDArray[np.float64]
    solved: npt.NDArray[np.float64]
    quality: npt.NDArray[np.float64]
    """In the end: violated weight, or the value of an objective."""


class Laboratory:
    """Searches on the instances of a family, each of one thread, its processor time counted."""

    def __init__(self, family: Family, limit: float, workers: Workers | None = None) -> None:
        """`limit`: the seconds that a search has. Without workers all is done in this process."""
        self.family, self.limit = family, limit
        self._workers, self._seconds = workers or Here(), 0.0
        self.ladders: list[list[float]] = []

    def make_ladders(self) -> None:
        """The targets of every instance, by one search of the default."""
        curves = self._curves([(i, REFERENCE_SEED, None, -math.inf, math.inf) for i in range(self.size)])
        self.ladders = [targets(p, curve, self.limit) for p, curve in zip(self.family.problems, curves, strict=True)]
        if all(math.isinf(ladder[-1]) for ladder in self.ladders):
            raise AnyCSPError(f"the default search reaches nothing in {self.limit:g} s: give more --seconds")

    @property
    def minutes(self) -> float:
        """Processor time that every core has searched for. On a machine that others use, more pass meanwhile."""
        return self._seconds / self._workers.cores / 60

    @property
    def size(self) -> int:
        return len(self.family.problems)

    def measure(self, searcher: Searcher, pairs: Sequence[Pair], champion: Sequence[float]) -> list[float]:
        """The costs of searches; `champion`: seconds beyond which one is given up, PATIENCE times over."""
        waits = [PATIENCE * s + 0.05 for s in champion]
        tasks = [(i, s, searcher, self.ladders[i][-1], wait) for (i, s), wait in zip(pairs, waits, strict=True)]
        curves = self._curves(tasks)
        return [
            cost(curve, self.ladders[i], min(self.limit, wait))
            for (i, _), wait, curve in zip(pairs, waits, curves, strict=True)
        ]

    def judge(self, searchers: Sequence[Searcher], seeds: int) -> list[Measured]:
        """All of them on all instances, in turns, so that what else the machine does meets them alike. Each has all of
        its time, unless it solves the instance."""
        self.make_ladders()
        costs = np.zeros((len(searchers), self.size, seeds))
        solved, quality = np.zeros_like(costs), np.zeros_like(costs)
        for i, s, k in product(range(self.size), range(seeds), range(len(searchers))):
            at = (k + i + s) % len(searchers)  # who comes first changes
            target = min(self.ladders[i][-1], 0.0)
            (curve,) = self._curves([(i, JUDGING_SEED + s, searchers[at], target, math.inf)])
            costs[at, i, s] = cost(curve, self.ladders[i], self.limit)
            solved[at, i, s], quality[at, i, s] = curve.solved, curve.qualities[-1]
        return [Measured(*three) for three in zip(costs, solved, quality, strict=True)]

    def _curves(self, tasks: Sequence[tuple[int, int, Searcher, float, float]]) -> list[Curve]:
        if isinstance(self._workers, Here):  # which has the instances already
            results = [_search(self.family, self.limit, task) for task in tasks]
        else:
            results = self._workers.map(_search_there, [(self.family.named, self.limit, task) for task in tasks])
        self._seconds += sum(seconds for _, seconds in results)
        return [curve for curve, _ in results]


def _search(family: Family, limit: float, task: tuple[int, int, Searcher, float, float]) -> tuple[Curve, float]:
    index, seed, searcher, target, patience = task
    with clock.cpu_time():
        began = clock.now()
        curve = search_curve(family.problems[index], searcher, seed, limit, target, patience)
        return curve, clock.now() - began


_drawn: dict[str, Family] = {}
"""In another process: the families whose instances it has drawn for itself."""


def _search_there(family: Family, limit: float, task: tuple[int, int, Searcher, float, float]) -> tuple[Curve, float]:
    return _search(_drawn.setdefault(repr(family), family), limit, task)
