"""Linear equations in a few whole numbers each, and knapsacks: sums that have to come out right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, distinct_rows, draw_between, draw_size
from anycsp.distributions.parameters import LARGEST, Kind, check
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Equations(Distribution):
    """Random sparse equations that a hidden assignment satisfies."""

    n: Size = (20, 40)
    arity: int = 4
    domain: int = 10
    """Variables take 0 … domain − 1."""
    coefficient: int = 9
    """Coefficients are drawn from ±1 … ±this."""
    density: tuple[float, float] = (0.3, 0.7)
    """Equations per variable. There are many solutions below about log(domain) / log(spread of a sum), ≈ 0.5 here."""

    def __post_init__(self) -> None:
        check(Kind.WHOLE, 1, arity=self.arity)
        check(Kind.WHOLE, 2, 10_000, domain=self.domain)
        check(Kind.WHOLE, 1, 10_000, coefficient=self.coefficient)
        check(Kind.SIZE, self.arity, LARGEST, "the arity", n=self.n)
        check(Kind.RANGE, 0, density=self.density)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.n)
        count = max(1, round(draw_between(rng, self.density) * n))
        hidden = rng.integers(self.domain, size=n)
        scopes = distinct_rows(rng, count, self.arity, n)
        factors = rng.integers(1, self.coefficient + 1, size=scopes.shape) * rng.choice([-1, 1], size=scopes.shape)
        problem = Problem(f"{count} equations in {n} variables")
        problem.add_variables(n, range(self.domain))
        for scope, factor in zip(scopes, factors, strict=True):
            problem.add_linear(scope.tolist(), factor.tolist(), "==", int(factor @ hidden[scope]))
        return problem


@dataclass(frozen=True)
class Knapsack(Distribution):
    """Items of a size in several dimensions, and of a worth that goes with it (Chu and Beasley, 1998): is there a
    choice within all capacities worth at least what a greedy packing with exchanges reaches?"""

    items: Size = (40, 80)
    dimensions: Size = (1, 5)
    tightness: tuple[float, float] = (0.25, 0.75)
    """Capacity over the size of all items."""
    largest: int = 100
    """Sizes are 1 … this."""
    maximize: bool = False
    """The worth is an objective instead."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, 10_000, items=self.items)
        check(Kind.SIZE, 1, 100, dimensions=self.dimensions)
        check(Kind.RANGE, 0, 1, tightness=self.tightness)
        check(Kind.WHOLE, 1, 10_000, largest=self.largest)

    def draw(self, rng: np.random.Generator) -> Problem:
        n, dimensions = draw_size(rng, self.items), draw_size(rng, self.dimensions)
        size = rng.integers(1, self.largest, size=(dimensions, n), endpoint=True)
        worth = np.maximum(1, size.mean(axis=0) + rng.integers(0, self.largest // 2, size=n, endpoint=True)).astype(int)
        capacity = (draw_between(rng, self.tightness) * size.sum(axis=1)).astype(int)
        problem = Problem(f"knapsack of {n} items, {dimensions} dimensions")
        taken = problem.add_variables(n, (0, 1))
        for row, limit in zip(size, capacity, strict=True):
            problem.add_linear(taken, row.tolist(), "<=", int(limit), hard=self.maximize)
        if self.maximize:
            problem.maximize(sum((int(w) * x for w, x in zip(worth, taken, strict=True)), start=0 * taken[0]))
        else:
            problem.add_linear(taken, worth.tolist(), ">=", int(worth @ packed(size, worth, capacity)))
        return problem


def packed(size: IntArray, worth: IntArray, capacity: IntArray) -> IntArray:
    """[items] of zeros and ones: by worth per share of the capacities; then an item out and a dearer one in, or one
    more in, while that helps."""
    taken = np.zeros(len(worth), dtype=np.int64)
    share = (size / np.maximum(capacity, 1)[:, None]).sum(axis=0)
    for item in np.argsort(-worth / share, kind="stable"):
        taken[item] = (size @ taken + size[:, item] <= capacity).all()
    improved = True
    while improved:
        improved = False
        for out in [*np.flatnonzero(taken).tolist(), None]:
            room = capacity - size @ taken + (0 if out is None else size[:, out])
            gain = worth - (0 if out is None else worth[out])
            fits = (size <= room[:, None]).all(axis=0) & (taken == 0) & (gain > 0)
            if fits.any():
                if out is not None:
                    taken[out] = 0
                taken[np.argmax(np.where(fits, gain, -1))] = 1
                improved = True
                break
    return taken
