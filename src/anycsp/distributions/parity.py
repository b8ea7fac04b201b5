"""Long-range order: neighbours on a grid, a torus, a ring or a tree are to be equal, or different, over two values.

A hidden assignment says which pairs are to be equal, so that it and its opposite are the solutions; where all are to
differ, that is a two-colouring. Every constraint is easily satisfied, but what suits one corner has to be agreed upon
with the opposite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_size
from anycsp.distributions.parameters import Kind, as_list, check
from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.schema import shown

SHAPES = ("grid", "torus", "ring", "tree")


@dataclass(frozen=True)
class Parity(Distribution):
    """The shapes in equal parts."""

    shapes: Sequence[str] = SHAPES
    """Those drawn. Opposite ends of a grid are its sides apart, those of a ring twice as far."""
    side: Size = (4, 12)
    """The side of a grid or a torus; a ring or a tree has four times as many vertices. Tori have an even one: their
    colours alternate."""
    different: float = 0.5
    """Share of the draws in which all neighbours are to differ."""
    validation_side: Size = 12

    def __post_init__(self) -> None:
        if not as_list(self.shapes) or not all(shape in SHAPES for shape in self.shapes):
            raise ProblemError(f"shapes = {shown(self.shapes)}: expected some of {', '.join(SHAPES)}")
        check(Kind.SIZE, 2, 1000, side=self.side, validation_side=self.validation_side)
        check(Kind.NUMBER, 0, 1, different=self.different)

    def draw(self, rng: np.random.Generator) -> Problem:
        shape = self.shapes[int(rng.integers(len(self.shapes)))]
        side = draw_size(rng, self.side)
        edges, alternating = neighbours(rng, shape, side)
        all_differ = rng.random() < self.different
        hidden = alternating if all_differ else rng.integers(2, size=len(alternating))
        differ = hidden[edges[:, 0]] != hidden[edges[:, 1]]
        problem = Problem(f"parity on a {shape} of {len(hidden)}")
        problem.add_numbered(len(hidden), range(2))
        for pairs, tuples in ((edges[differ], [(0, 1), (1, 0)]), (edges[~differ], [(0, 0), (1, 1)])):
            if len(pairs) > 0:
                problem.add_tables(pairs, tuples)
        return problem

    def validation(self) -> Parity:
        return replace(self, side=self.validation_side)


def neighbours(rng: np.random.Generator, shape: str, side: int) -> tuple[IntArray, IntArray]:
    """Edges [count, 2], and a two-colouring of the vertices."""
    if shape == "tree":
        parent = np.array([rng.integers(i) for i in range(1, 4 * side)])
        color = np.zeros(4 * side, dtype=np.int64)
        for child, above in enumerate(parent, start=1):
            color[child] = 1 - color[above]
        return np.stack([parent, np.arange(1, 4 * side)], axis=1), color
    if shape == "ring":
        ring = np.arange(4 * side)
        return np.stack([ring, (ring + 1) % len(ring)], axis=1), ring % 2
    side += side % 2 if shape == "torus" else 0
    place = np.arange(side * side).reshape(side, side)
    last = side if shape == "torus" and side > 2 else side - 1  # a torus of two by two has no second edges
    right = np.stack([place[:, :last], np.roll(place, -1, axis=1)[:, :last]], axis=2).reshape(-1, 2)
    down = np.stack([place[:last], np.roll(place, -1, axis=0)[:last]], axis=2).reshape(-1, 2)
    row, column = np.indices((side, side))
    return np.concatenate([right, down]), ((row + column) % 2).reshape(-1)
