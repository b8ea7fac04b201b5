"""Boards: squares of numbers (sudoku, quasigroups, magic squares) and queens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from anycsp.constraints.all_different import AllDifferentBlock
from anycsp.model.problem import Problem
from anycsp.pictures.picture import LARGEST_NODES, Frame, Positions, asked_variables, violated

QUEEN = "♛"
TRIALS = 16
"""Random placements by which queens are recognised: every pair of columns meets on a diagonal in some of them."""


@dataclass(frozen=True)
class Square:
    """n² variables, row by row, with a constraint over every row and every column."""

    side: int
    box: int
    """Side of the boxes that have a constraint of their own; 0 where there are none."""
    fixed: tuple[int, ...]
    """Cells with one value only: what a puzzle gives."""
    colored: bool
    kind = "board"

    @staticmethod
    def of(problem: Problem) -> Square | None:
        variables = asked_variables(problem)
        side = math.isqrt(variables)
        if side < 2 or side * side != variables or variables > LARGEST_NODES:
            return None
        cells = np.arange(variables).reshape(side, side)
        scopes = {
            tuple(sorted(block.scope_of(row).tolist()))
            for block in problem.blocks
            for row in np.flatnonzero(block.arity == side).tolist()
        }
        if not all(tuple(line.tolist()) in scopes for line in (*cells, *cells.T)):
            return None
        box = math.isqrt(side)
        boxes = cells.reshape(box, box, box, box).swapaxes(1, 2).reshape(side, side) if box * box == side else []
        boxed = len(boxes) > 0 and all(tuple(sorted(b.tolist())) in scopes for b in boxes)
        fixed = np.flatnonzero(problem.domain_sizes[:variables] == 1).tolist()
        values = int(problem.domain_sizes[:variables].max())
        return Square(side, box if boxed else 0, tuple(fixed), colored=values <= side and not boxed)

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "rows": self.side, "columns": self.side, "box": self.box, "fixed": list(self.fixed)}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        count = self.side**2
        values = [problem.domain(x).external(int(positions[x])) for x in range(count)]
        bad: set[int] = set()
        broken = 0
        for block, rows in violated(problem, positions):
            broken += len(rows)
            for row in rows:
                scope = [x for x in block.scope_of(row).tolist() if x < count]
                bad.update(_repeated(scope, values) if isinstance(block, AllDifferentBlock) else scope)
        integers = problem.values(positions)[:count].tolist()
        color = [value - min(integers) for value in integers] if self.colored else []
        says = f"{broken} of {problem.num_constraints} lines and boxes violated, {len(bad)} cells in conflict"
        return {"text": [str(value) for value in values], "color": color, "bad": sorted(bad), "says": says}


def _repeated(scope: list[int], values: list[Any]) -> list[int]:
    taken = [values[x] for x in scope]
    return [x for x in scope if taken.count(values[x]) > 1]


@dataclass(frozen=True)
class Queens:
    """n variables with values among n: the row of the queen in each column."""

    side: int
    lowest: int
    """The number of the first row."""
    kind = "board"

    @staticmethod
    def of(problem: Problem) -> Queens | None:
        side = asked_variables(problem)
        if side < 4 or side * side > LARGEST_NODES or side != problem.num_variables:
            return None
        low, high = int(problem.domains.values.min()), int(problem.domains.values.max())
        if high - low >= side or not _attacks_like_queens(problem, side):
            return None
        return Queens(side, low)

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "rows": self.side, "columns": self.side, "box": 0, "fixed": [], "checkered": True}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        rows = (problem.values(positions) - self.lowest).tolist()
        cells = [row * self.side + column for column, row in enumerate(rows)]
        text = [""] * self.side**2
        for cell in cells:
            text[cell] = QUEEN
        attacked = [(a, b) for a, b in combinations(range(self.side), 2) if _attacks(rows[a], rows[b], b - a)]
        bad = sorted({cells[column] for pair in attacked for column in pair})
        return {"text": text, "color": [], "bad": bad, "says": f"{len(attacked)} pairs of queens attack each other"}


def _attacks(a: int, b: int, apart: int) -> bool:
    return a == b or abs(a - b) == apart


def _attacks_like_queens(problem: Problem, side: int) -> bool:
    """Whether, at random placements, constraints over two columns are violated only where those queens attack each
    other, all attacks along diagonals violate one, and attacks along rows violate something."""
    drawn = np.random.default_rng(0)
    columns = np.arange(side)
    apart = np.abs(columns[:, None] - columns[None, :])
    for _ in range(TRIALS):
        positions = (drawn.random(side) * problem.domain_sizes).astype(np.int64)
        rows = problem.values(positions)
        distance = np.abs(rows[:, None] - rows[None, :])
        diagonal, same = (distance == apart) & (apart > 0), (distance == 0) & (apart > 0)
        found = np.zeros((side, side), dtype=np.bool_)
        others = False
        for block in problem.blocks:
            broken = ~block.satisfied(problem.domains, positions)
            pairs = block.scope[np.repeat((block.arity == 2) & broken, block.arity)].reshape(-1, 2)
            found[pairs[:, 0], pairs[:, 1]] = found[pairs[:, 1], pairs[:, 0]] = True
            others = others or bool((broken & (block.arity != 2)).any())
        if (found & ~(diagonal | same)).any() or (diagonal & ~found).any():
            return False
        if bool((same & ~found).any()) != others:
            return False
    return True
