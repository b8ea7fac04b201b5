"""Ω_COL of Appendix B: Erdős–Rényi, Barabási–Albert and geometric graphs, one colour less than greedy needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.graphs import barabasi_albert, erdos_renyi, geometric, greedy_colors
from anycsp.distributions.parameters import LARGEST, Kind, check
from anycsp.model.builders import coloring_problem
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Coloring(Distribution):
    """The three kinds of graph in equal parts; k = greedy − 1, at least 3 and at most 10."""

    n: Size = 50
    p: Sequence[float] = (0.1, 0.3)
    """Edge probability of Erdős–Rényi graphs."""
    attachment: Sequence[int] = (2, 10)
    """Edges a new vertex brings to a Barabási–Albert graph."""
    radius: Sequence[float] = (0.15, 0.3)
    """Edge threshold of geometric graphs."""
    colors: Sequence[int] = (3, 10)
    """Bounds on k."""
    validation_n: Size = 200

    def __post_init__(self) -> None:
        check(Kind.RANGE, 0, 1, p=self.p)
        check(Kind.RANGE, 0, radius=self.radius)
        check(Kind.WHOLE_RANGE, 1, attachment=self.attachment, colors=self.colors)
        smallest, why = max(self.attachment) + 1, "one more than the largest attachment"
        check(Kind.SIZE, smallest, LARGEST, why, n=self.n, validation_n=self.validation_n)

    def draw(self, rng: np.random.Generator) -> Problem:
        kind, n = int(rng.integers(3)), draw_size(rng, self.n)
        if kind == 0:
            edges = erdos_renyi(rng, n, draw_between(rng, self.p))
        elif kind == 1:
            edges = barabasi_albert(rng, n, draw_size(rng, self.attachment))
        else:
            edges = geometric(rng, n, draw_between(rng, self.radius))
        low, high = self.colors
        return named_coloring(n, edges, min(max(greedy_colors(n, edges) - 1, low), high))

    def validation(self) -> Coloring:
        return replace(self, n=self.validation_n)


def named_coloring(n: int, edges: IntArray, colors: int) -> Problem:
    """A colouring problem called after its size."""
    name = f"colouring of {n} vertices, {len(edges)} edges, with {colors} colours"
    return coloring_problem(n, edges, colors, name=name)
