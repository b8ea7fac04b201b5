"""Ω_MCUT of Appendix B: maximum cut of Erdős–Rényi graphs, as two-colouring with as few conflicts as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anycsp.distributions.base import Distribution, Size, draw_between, draw_size
from anycsp.distributions.graphs import erdos_renyi
from anycsp.distributions.parameters import Kind, check
from anycsp.model.builders import cut_problem
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class MaxCut(Distribution):
    n: Size = 100
    p: Sequence[float] = (0.05, 0.3)
    """Edge probability, uniform in this range."""
    degree: Sequence[float] | None = None
    """Expected degree, uniform in this range, in place of p; for graphs of many sizes."""
    validation_n: Size = 500

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, n=self.n, validation_n=self.validation_n)
        check(Kind.RANGE, 0, 1, p=self.p)
        if self.degree is not None:
            check(Kind.RANGE, 0, degree=self.degree)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.n)
        p = draw_between(rng, self.p) if self.degree is None else min(1.0, draw_between(rng, self.degree) / (n - 1))
        edges = erdos_renyi(rng, n, p)
        return cut_problem(n, edges, name=f"maximum cut of {n} vertices, {len(edges)} edges")

    def validation(self) -> MaxCut:
        return replace(self, n=self.validation_n)
