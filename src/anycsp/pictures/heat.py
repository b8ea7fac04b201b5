"""A heat map of the constraints: what every problem has, and all that can be seen of a large one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anycsp.model.problem import Problem
from anycsp.pictures.picture import Frame, Positions, violated

MOST_CELLS = 1600
"""Cells that are still told apart on a small screen."""


@dataclass(frozen=True)
class Heat:
    """Constraints in the order of the file, row by row; a cell is one of them, or as many as it takes."""

    constraints: int
    cells: int
    kind = "heat"

    @staticmethod
    def of(problem: Problem) -> Heat:
        per_cell = max(1, math.ceil(problem.num_constraints / MOST_CELLS))
        return Heat(problem.num_constraints, max(1, math.ceil(problem.num_constraints / per_cell)))

    @property
    def per_cell(self) -> int:
        return max(1, math.ceil(self.constraints / self.cells))

    @property
    def _square(self) -> str:
        return "one of them" if self.per_cell == 1 else f"{self.per_cell} of them"

    def describe(self) -> dict[str, Any]:
        columns = math.ceil(math.sqrt(1.6 * self.cells))
        return {"kind": self.kind, "cells": self.cells, "columns": columns, "per_cell": self.per_cell}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        hits = np.zeros(self.cells, dtype=np.int64)
        for block, rows in violated(problem, positions):
            np.add.at(hits, block.terms.index[rows] // self.per_cell, 1)
        says = f"{int(hits.sum())} of {self.constraints} constraints violated; a square is {self._square}"
        return {"heat": hits.tolist(), "says": says}
