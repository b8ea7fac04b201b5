"""The picture of the paper: a 12 × 12 grid is two-coloured, a frame for every step."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance
from anycsp.model.builders import coloring_problem
from anycsp.model.problem import Problem

SIDE = 12
FRAMES = 9
"""Steps 0 to 8."""


def grid(side: int) -> Problem:
    """Two-colouring of the side × side grid; it has two solutions, the chessboards."""
    vertex = np.arange(side * side, dtype=np.int64).reshape(side, side)
    right = np.stack([vertex[:, :-1], vertex[:, 1:]], axis=2).reshape(-1, 2)
    down = np.stack([vertex[:-1], vertex[1:]], axis=2).reshape(-1, 2)
    return coloring_problem(side * side, np.concatenate([right, down]), 2, name=f"grid {side} × {side}")


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    return [Instance(f"grid-{SIDE}x{SIDE}", "grid", partial(grid, SIDE))]


GRID = Experiment(
    name="grid",
    title="A search, step by step",
    about="Two-colouring of a 12 × 12 grid, the assignment after every step; conflicting edges are red.",
    paper="Figure vis",
    instances=instances,
    solvers=("anycsp:coloring", "anycsp:maxcut"),
    limits={"quick": Limit(5.0, steps=200, runs=1), "standard": STANDARD, "paper": Limit(60.0, steps=2000, runs=1)},
    measures={"grid": "solved"},
    frames=FRAMES,
)
