"""Queens and all-interval series: permutations with all differences distinct, some values ruled out.

Both have well-known solutions; what makes one draw differ from another is which other values are ruled out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_between, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Queens(Distribution):
    """A queen in every row, none attacking another; some squares are blocked."""

    n: Size = (8, 30)
    blocked: tuple[float, float] = (0.0, 0.5)
    """Share of the squares; those of one solution stay free."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 4, 2000, "smaller boards have no solution", n=self.n)
        check(Kind.RANGE, 0, 1, blocked=self.blocked)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.n)
        domains = allowed(rng, placed_queens(rng, n), draw_between(rng, self.blocked))
        problem = Problem(f"queens on a board of {n} by {n}")
        queens = [problem.add_variable(domain) for domain in domains]
        problem.add_all_different(queens)
        problem.add_all_different([q + i for i, q in enumerate(queens)])
        problem.add_all_different([q - i for i, q in enumerate(queens)])
        return problem


@dataclass(frozen=True)
class AllInterval(Distribution):
    """A permutation of 0 … n − 1 whose neighbours are at n − 1 different distances."""

    n: Size = (8, 16)
    blocked: tuple[float, float] = (0.0, 0.3)
    """Share of the values ruled out at each place; those of one solution stay."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 2, 1000, n=self.n)
        check(Kind.RANGE, 0, 1, blocked=self.blocked)

    def draw(self, rng: np.random.Generator) -> Problem:
        n = draw_size(rng, self.n)
        domains = allowed(rng, zigzag(rng, n), draw_between(rng, self.blocked))
        problem = Problem(f"all-interval series of {n}")
        notes = [problem.add_variable(domain, f"note_{i}") for i, domain in enumerate(domains)]
        steps = problem.add_variables(n - 1, range(1, n), "step_")
        problem.add_all_different(notes)
        problem.add_all_different(steps)
        for k, step in enumerate(steps):
            problem.add(step == abs(notes[k + 1] - notes[k]))
        return problem


def allowed(rng: np.random.Generator, solution: IntArray, blocked: float) -> list[list[int]]:
    """The values that are left at each place."""
    n = len(solution)
    free = rng.random((n, n)) >= blocked
    free[np.arange(n), solution] = True
    return [np.flatnonzero(row).tolist() for row in free]


def placed_queens(rng: np.random.Generator, n: int) -> IntArray:
    """The column of the queen in each row: a regular solution, turned. Knight's steps, moved around the torus, where n
    is no multiple of two or three; Pauls' even columns before odd ones for the others."""
    if n % 2 and n % 3:
        columns = (2 * np.arange(n) + int(rng.integers(n))) % n
    else:
        even, odd = list(range(2, n + 1, 2)), list(range(1, n + 1, 2))
        if n % 6 == 2:
            odd = [3, 1, *odd[3:], 5] if n > 2 else odd
        elif n % 6 == 3:
            even, odd = [*even[1:], 2], [*odd[2:], 1, 3]
        columns = np.array(even + odd) - 1
    board = np.zeros((n, n), dtype=np.int64)
    board[np.arange(n), columns] = 1
    board = np.rot90(board, int(rng.integers(4)))
    turned: IntArray = np.argmax(board.T if rng.integers(2) else board, axis=1)
    return turned


def zigzag(rng: np.random.Generator, n: int) -> IntArray:
    """0, n − 1, 1, n − 2, …, perhaps mirrored or backwards."""
    notes = np.arange(n)
    series = np.where(notes % 2 == 0, notes // 2, n - 1 - notes // 2)
    series = n - 1 - series if rng.integers(2) else series
    return series[::-1].copy() if rng.integers(2) else series
