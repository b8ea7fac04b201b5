"""Quasigroups with holes: a latin square of which some cells are to be found again (Gomes and Selman, 1997)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Quasigroup(Distribution):
    """Every draw has a solution: the square that the holes were made in."""

    order: Size = (10, 20)
    holes: tuple[float, float] = (0.38, 0.46)
    """Share of the cells to be found. The hardest squares have about 0.42: with fewer holes propagation finds them,
    with more there are many solutions."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, 100, "the walk over squares takes order³ steps", order=self.order)
        check(Kind.RANGE, 0, 1, holes=self.holes)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.order)
        square = latin_square(rng, n)
        empty = np.zeros(n * n, dtype=bool)
        empty[rng.permutation(n * n)[: round(draw_between(rng, self.holes) * n * n)]] = True
        problem = Problem(f"quasigroup of order {n}, {int(empty.sum())} holes")
        cells = [
            problem.add_variable(range(n) if hole else [int(value)])
            for hole, value in zip(empty, square.flat, strict=True)
        ]
        for k in range(n):
            problem.add_all_different(cells[n * k : n * (k + 1)])
            problem.add_all_different(cells[k::n])
        return problem


def latin_square(rng: np.random.Generator, n: int) -> IntArray:
    """[n, n], drawn nearly uniformly: Jacobson and Matthews' walk over latin squares, of about n³ steps.

    The square is a cube of zeros and ones with one 1 on every line. A step moves a 1 and mends the lines through it;
    that may leave a −1, which is where the next step then begins."""
    cube = np.zeros((n, n, n), dtype=np.int64)
    rows, columns = np.indices((n, n))
    cube[rows, columns, (rows + columns) % n] = 1
    improper: tuple[int, int, int] | None = None
    steps = 0
    while improper is not None or steps < n**3:
        steps += 1
        r, c, s = improper or _zero(rng, cube)
        r2, c2, s2 = (_one(rng, line) for line in (cube[:, c, s], cube[r, :, s], cube[r, c, :]))
        for x, y, z in product((r, r2), (c, c2), (s, s2)):
            moved = (x == r2) + (y == c2) + (z == s2)
            cube[x, y, z] += 1 if moved % 2 == 0 else -1
        improper = (r2, c2, s2) if cube[r2, c2, s2] < 0 else None
    square: IntArray = np.argmax(cube, axis=2)
    return square


def _zero(rng: np.random.Generator, cube: IntArray) -> tuple[int, int, int]:
    while True:
        r, c, s = rng.integers(len(cube), size=3).tolist()
        if cube[r, c, s] == 0:
            return r, c, s


def _one(rng: np.random.Generator, line: IntArray) -> int:
    """A place of a 1: there are two where the line is improper."""
    places = np.flatnonzero(line == 1)
    return int(places[rng.integers(len(places))])
