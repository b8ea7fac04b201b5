"""Random k-CNF formulas: Ω_3SAT and Ω_MSAT of Appendix B, and the large Max-k-SAT formulas of the experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from anycsp.distributions.base import Distribution, Size, distinct_rows, draw_between, draw_size
from anycsp.distributions.parameters import LARGEST, Kind, as_list, check
from anycsp.errors import ProblemError
from anycsp.model.builders import formula_problem
from anycsp.model.problem import Problem
from anycsp.schema import shown


def random_formula(rng: np.random.Generator, variables: int, clauses: int, arity: int) -> Problem:
    """Uniform k-CNF: distinct variables within a clause, fair signs, clauses with repetition."""
    scope = distinct_rows(rng, clauses, arity, variables)
    sign = rng.integers(2, size=scope.shape) * 2 - 1
    name = f"random {arity}-SAT, {variables} variables, {clauses} clauses"
    return formula_problem(variables, np.arange(clauses + 1) * arity, ((scope + 1) * sign).reshape(-1), name=name)


@dataclass(frozen=True)
class RandomSat(Distribution):
    """Arity drawn from `arity`, clauses per variable uniform in the arity's density range."""

    n: Size = 100
    arity: Sequence[int] = (3,)
    density: Sequence[Sequence[float]] = ((4.0, 5.0),)
    """One [low, high] range of clauses per variable for each arity."""
    validation_n: Size = 200

    def __post_init__(self) -> None:
        if not as_list(self.arity):
            raise ProblemError(f"arity = {shown(self.arity)}: expected a list of whole numbers, such as [3]")
        for arity in self.arity:
            check(Kind.WHOLE, 1, arity=arity)
        if len(as_list(self.density)) != len(self.arity):
            raise ProblemError(
                f"density = {shown(self.density)}: expected a list of ranges [low, high], one for each arity"
            )
        for density in self.density:
            check(Kind.RANGE, 0, density=density)
        # Fewer variables than literals in a clause would be drawn for ever, none being distinct.
        check(Kind.SIZE, max(self.arity), LARGEST, "the largest arity", n=self.n, validation_n=self.validation_n)

    def draw(self, rng: np.random.Generator) -> Problem:
        choice = int(rng.integers(len(self.arity)))
        variables = draw_size(rng, self.n)
        clauses = round(draw_between(rng, self.density[choice]) * variables)
        return random_formula(rng, variables, clauses, self.arity[choice])

    def validation(self) -> RandomSat:
        return replace(self, n=self.validation_n)


sat = RandomSat
"""Ω_3SAT: n = 100, 4 to 5 clauses per variable; validated on n = 200."""
maxsat = partial(RandomSat, arity=(3, 4), density=((5.0, 8.0), (10.0, 16.0)))
"""Ω_MSAT: n = 100, k = 3 at density 5 to 8 or k = 4 at 10 to 16; validated on n = 200."""


def maxsat_10k(arity: int = 3) -> RandomSat:
    """The test formulas of the Max-k-SAT experiment: 10,000 variables; 75K, 150K, 300K clauses for k = 3, 4, 5."""
    check(Kind.WHOLE, 3, 5, arity=arity)
    density = {3: 7.5, 4: 15.0, 5: 30.0}[arity]
    return RandomSat(n=10_000, arity=(arity,), density=((density, density),), validation_n=10_000)
