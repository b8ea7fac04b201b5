"""Magic squares with some numbers given, and magic sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.expressions import total
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class MagicSquare(Distribution):
    """The numbers 1 … n² in a square, all rows, columns and both diagonals with one sum."""

    order: Size = (3, 6)
    given: tuple[float, float] = (0.0, 0.3)
    """Share of the cells whose number is given, from a square made by a classical construction."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 3, 40, order=self.order)
        check(Kind.RANGE, 0, 1, given=self.given)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.order)
        square = turned(rng, constructed_square(n))
        given = np.zeros(n * n, dtype=bool)
        given[rng.permutation(n * n)[: round(draw_between(rng, self.given) * n * n)]] = True
        problem = Problem(f"magic square of order {n}, {int(given.sum())} numbers given")
        cells = [
            problem.add_variable([int(value)] if known else range(1, n * n + 1))
            for known, value in zip(given, square.flat, strict=True)
        ]
        problem.add_all_different(cells)
        rows = [cells[n * k : n * (k + 1)] for k in range(n)]
        diagonals = [cells[:: n + 1], cells[n - 1 : n * n - 1 : n - 1]]
        for line in [*rows, *(cells[k::n] for k in range(n)), *diagonals]:
            problem.add_linear(line, [1] * n, "==", n * (n * n + 1) // 2)
        return problem


def constructed_square(n: int) -> IntArray:
    """A magic square: de la Loubère's steps for odd orders, crossed diagonals for multiples of four, Strachey's
    exchange of the quarters of an odd one for the rest."""
    if n % 2 == 1:
        row, column = np.indices((n, n))
        return n * ((row + column + n // 2 + 1) % n) + (row + 2 * column + 1) % n + 1
    if n % 4 == 0:
        numbers = np.arange(1, n * n + 1).reshape(n, n)
        row, column = np.indices((n, n)) % 4
        return np.where((row == column) | (row + column == 3), n * n + 1 - numbers, numbers)
    half, k = n // 2, (n - 2) // 4
    quarter = constructed_square(half)
    square = np.block([[quarter, quarter + 2 * half**2], [quarter + 3 * half**2, quarter + half**2]])
    swapped = np.zeros((half, n), dtype=bool)
    swapped[:, :k] = True
    swapped[half // 2, :k] = False
    swapped[half // 2, 1 : k + 1] = True
    swapped[:, n - k + 1 :] = True
    upper, lower = square[:half], square[half:]
    return np.concatenate([np.where(swapped, lower, upper), np.where(swapped, upper, lower)])


def turned(rng: np.random.Generator, square: IntArray) -> IntArray:
    """One of the eight squares that turning and mirroring give."""
    square = np.rot90(square, int(rng.integers(4)))
    return square.T if rng.integers(2) else square


@dataclass(frozen=True)
class MagicSequence(Distribution):
    """x_0 … x_{n−1} where x_i is how often i occurs in it (Van Hentenryck, 1989). Only the length is drawn."""

    n: Size = (8, 30)

    def __post_init__(self) -> None:
        check(Kind.SIZE, 7, 1000, "shorter ones may have no solution", n=self.n)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.n)
        problem = Problem(f"magic sequence of length {n}")
        sequence = problem.add_variables(n, range(n))
        for value, occurs in enumerate(sequence):
            problem.add(total([x == value for x in sequence]) == occurs)
        problem.add_linear(sequence, [1] * n, "==", n)  # implied, as is the next: both help propagation
        problem.add_linear(sequence, list(range(n)), "==", n)
        return problem
