"""Sudoku-like squares: rows, columns and boxes of all different numbers, some of them given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Sudoku(Distribution):
    """Every draw has a solution: the square that numbers were taken from. It may have others."""

    box: Size = 3
    """Side of a box; a square has box⁴ cells."""
    holes: tuple[float, float] = (0.3, 0.7)
    """Share of the cells to be found."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, 10, box=self.box)
        check(Kind.RANGE, 0, 1, holes=self.holes)

    def draw(self, rng: np.random.Generator) -> Problem:
        box = draw_size(rng, self.box)
        n = box * box
        square = filled_square(rng, box)
        empty = np.zeros(n * n, dtype=bool)
        empty[rng.permutation(n * n)[: round(draw_between(rng, self.holes) * n * n)]] = True
        problem = Problem(f"sudoku with boxes of {box} by {box}, {int(empty.sum())} holes")
        cells = np.array(
            [
                problem.add_variable(range(1, n + 1) if hole else [int(value)]).index
                for hole, value in zip(empty, square.flat, strict=True)
            ]
        ).reshape(n, n)
        boxes = cells.reshape(box, box, box, box).swapaxes(1, 2).reshape(n, n)
        for unit in [*cells, *cells.T, *boxes]:
            problem.add_all_different(unit.tolist())
        return problem


def filled_square(rng: np.random.Generator, box: int) -> IntArray:
    """The pattern of shifted rows under everything that keeps a sudoku one: numbers renamed, bands, stacks and the
    lines within each in another order, perhaps transposed. Not uniform, but no pattern is left to be seen."""
    n = box * box
    rows, columns = (_within_bands(rng, box) for _ in range(2))
    pattern = (box * (rows % box) + rows // box)[:, None] + columns[None, :]
    square: IntArray = rng.permutation(n)[pattern % n] + 1
    return square.T if rng.integers(2) else square


def _within_bands(rng: np.random.Generator, box: int) -> IntArray:
    """A permutation of the lines that takes bands to bands."""
    lines = rng.permuted(np.tile(np.arange(box), (box, 1)), axis=1)
    order: IntArray = (rng.permutation(box)[:, None] * box + lines).reshape(-1)
    return order
