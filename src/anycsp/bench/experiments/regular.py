"""Expressiveness: 4-regular toroidal graphs, where every vertex looks like every other.

A deterministic message-passing network gives all vertices the same value; sampling breaks the symmetry. G48 is
a file, a torus of 50 × 60. G49 and G50 are used where their files are; beside them, two tori of as many vertices are
generated, one with an odd side (25 × 120: each of its 120 cycles of length 25 must leave an edge uncut).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance
from anycsp.bench.experiments import gset
from anycsp.model.builders import cut_problem
from anycsp.model.problem import Problem

FILES = ("G48", "G49", "G50")


def torus(rows: int, columns: int) -> Problem:
    """The rows × columns grid with both borders joined; 4-regular."""
    vertex = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    right = np.stack([vertex, np.roll(vertex, -1, axis=1)], axis=2)
    down = np.stack([vertex, np.roll(vertex, -1, axis=0)], axis=2)
    edges = np.concatenate([right.reshape(-1, 2), down.reshape(-1, 2)])
    return cut_problem(rows * columns, edges, name=f"torus {rows} × {columns}")


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    files = [i for i in gset.graphs(data) if i.name in FILES]
    return [
        *(Instance(i.name, i.name, i.load, best=i.best) for i in files),
        Instance("torus-30x100", "torus-30x100", partial(torus, 30, 100), best=6000.0),
        Instance("torus-25x120", "torus-25x120", partial(torus, 25, 120), best=5880.0),
    ]


REGULAR = Experiment(
    name="regular",
    title="Expressiveness: regular graphs",
    about="Toroidal grids of 3000 vertices and 6000 edges; a deviation of 0 is a conflict-free 2-colouring "
    "(torus-25x120: the fewest conflicts an odd torus allows).",
    paper="the section on expressiveness (G48, G49, and G50)",
    instances=instances,
    solvers=("anycsp:maxcut", "anycsp:maxcut:hybrid", "anycsp:coloring", "greedy-cut", "run-csp", "dwave-annealing"),
    limits={"quick": Limit(5.0), "standard": STANDARD, "paper": Limit(180.0, runs=20)},
    measures=dict.fromkeys((*FILES, "torus-30x100", "torus-25x120"), "deviation"),
)
