"""Model RB: random binary constraints that each forbid a fixed number of value pairs (Appendix B)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anycsp.constraints.base import Terms
from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock
from anycsp.distributions.base import Distribution, IntArray, Size, distinct_rows, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.problem import Problem


def binary_problem(n: int, domain: int, scopes: IntArray, forbidden: Sequence[IntArray], name: str) -> Problem:
    """Constraint i forbids the value pairs with codes `forbidden[i]`, code = first · domain + second."""
    problem = Problem(name)
    problem.add_variables(n, range(domain))
    relations = tuple(Relation((domain, domain), np.stack([c // domain, c % domain], axis=1), False) for c in forbidden)
    start = np.arange(len(scopes) + 1, dtype=np.int64) * 2
    terms = Terms.of(0, 1.0, False, len(scopes))
    problem.add_block(TableBlock(terms, start, scopes.reshape(-1), np.arange(len(scopes)), relations))
    return problem


def distinct_codes(rng: np.random.Generator, rows: int, count: int, below: int) -> IntArray:
    """[rows, count] distinct numbers below a bound, ascending in each row."""
    keys = rng.random((rows, below))
    return (
        np.sort(np.argpartition(keys, count, axis=1)[:, :count], axis=1)
        if count < below
        else np.tile(np.arange(below), (rows, 1))
    )


@dataclass(frozen=True)
class ModelRB(Distribution):
    """Arity 2: domain size d in (√n, 2√n], m in [n log₂ d, 2n log₂ d] scopes with repetition,
    p = tightness · p_cr of the pairs forbidden, p_cr = 1 − exp(−α/r) = 1 − exp(−n ln d / m)."""

    n: Size = 30
    tightness: float = 0.9

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, n=self.n)
        check(Kind.NUMBER, 0, tightness=self.tightness)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.n)
        domain = int(rng.integers(math.floor(math.sqrt(n)) + 1, math.floor(2 * math.sqrt(n)), endpoint=True))
        bound = n * math.log2(domain)
        constraints = int(rng.integers(math.ceil(bound), math.floor(2 * bound), endpoint=True))
        critical = 1 - math.exp(-n * math.log(domain) / constraints)
        pairs = math.floor(self.tightness * critical * domain**2)
        scopes = distinct_rows(rng, constraints, 2, n)
        codes = distinct_codes(rng, constraints, pairs, domain**2)
        return binary_problem(n, domain, scopes, list(codes), f"Model RB, {n} variables, domain {domain}")


@dataclass(frozen=True)
class ForcedRB(Distribution):
    """Satisfiable Model RB by planting, as in the benchmark set of the paper (n = 50, d = 23, m = 587, 121 pairs):
    no constraint forbids the planted solution; constraints on equal scopes are merged."""

    n: int = 50
    domain: int = 23
    constraints: int = 587
    forbidden: int = 121

    def __post_init__(self) -> None:
        check(Kind.WHOLE, 2, n=self.n, domain=self.domain)
        check(Kind.WHOLE, 1, constraints=self.constraints)
        check(Kind.WHOLE, 0, self.domain**2 - 1, "all pairs but the planted one", forbidden=self.forbidden)

    def draw(self, rng: np.random.Generator) -> Problem:
        solution = rng.integers(self.domain, size=self.n)
        scopes = np.sort(distinct_rows(rng, self.constraints, 2, self.n), axis=1)
        # Draw among the d² − 1 other pairs and step over the planted one.
        codes = distinct_codes(rng, self.constraints, self.forbidden, self.domain**2 - 1)
        planted = solution[scopes[:, 0]] * self.domain + solution[scopes[:, 1]]
        codes = codes + (codes >= planted[:, None])
        unique, group = np.unique(scopes, axis=0, return_inverse=True)
        order = np.argsort(group.reshape(-1), kind="stable")
        members = np.split(order, np.searchsorted(group.reshape(-1)[order], np.arange(1, len(unique))))
        merged = [np.unique(codes[rows]) for rows in members]
        return binary_problem(self.n, self.domain, unique, merged, f"forced Model RB, {self.n} variables")
