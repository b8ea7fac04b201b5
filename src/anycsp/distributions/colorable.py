"""Graphs that are surely colourable with the colours asked for: a hidden colouring, or overlapping intervals.

Timetables have a solution hidden in them, and variables of a program that are live at the same time overlap as
intervals do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.coloring import named_coloring
from anycsp.distributions.graphs import edges_of
from anycsp.distributions.parameters import Kind, check
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Colorable(Distribution):
    """Both kinds in equal parts."""

    n: Size = (50, 120)
    colors: Sequence[int] = (4, 30)
    """Colours of a hidden colouring, or the expected overlap of intervals."""
    tightness: Sequence[float] = (0.7, 1.3)
    """Mean degree of hidden colourings relative to 2k·ln k, about where random graphs cease to be k-colourable; at
    most 0.7 of all edges a colouring allows."""
    lasting: float = 0.05
    """Share of intervals that last for half of the time or longer."""
    validation_n: Size = 150

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, n=self.n, validation_n=self.validation_n)
        check(Kind.WHOLE_RANGE, 1, colors=self.colors)
        check(Kind.RANGE, 0, tightness=self.tightness)
        check(Kind.NUMBER, 0, 1, lasting=self.lasting)

    def draw(self, rng: np.random.Generator) -> Problem:
        hidden, n, k = bool(rng.integers(2)), draw_size(rng, self.n), draw_size(rng, self.colors)
        if hidden:
            degree = draw_between(rng, self.tightness) * 2 * k * math.log(k)
            return named_coloring(n, hidden_coloring(rng, n, k, min(degree / max(n - n / k, 1), 0.7)), k)
        edges, overlap = intervals(rng, n, k / n, self.lasting)
        return named_coloring(n, edges, overlap)

    def validation(self) -> Colorable:
        return replace(self, n=self.validation_n)


def hidden_coloring(rng: np.random.Generator, n: int, k: int, p: float) -> IntArray:
    """Classes of equal size; every pair from different ones is an edge with probability p."""
    color = rng.permutation(n) % k
    return edges_of((color[:, None] != color[None]) & (rng.random((n, n)) < p))


def intervals(rng: np.random.Generator, n: int, length: float, lasting: float) -> tuple[IntArray, int]:
    """Edges between intervals that overlap, and how many do at most: as interval graphs are perfect, so many colours
    suffice. Starts uniform in [0, 1], lengths exponential with this mean."""
    begin = rng.random(n)
    end = begin + np.where(rng.random(n) < lasting, rng.uniform(0.5, 1.0, n), rng.exponential(length, n))
    overlap = (begin[:, None] <= begin[None]) & (begin[None] < end[:, None])  # [i, j]: i lasts when j begins
    return edges_of(overlap | overlap.T), max(int(overlap.sum(axis=0).max()), 2)
