"""RandCSPBench (arXiv 2602.18419): random colourings around the threshold, an outside judge of neural solvers.

The graphs are those of its test sets: Erdős–Rényi graphs of N vertices and round(cN/2) edges, drawn one after the other
by networkx after `random.seed(1)` for each N and mean degree c.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance
from anycsp.model.builders import coloring_problem
from anycsp.model.problem import Problem

LARGE = 1024
DEGREES = {3: (4.22, 4.40, 4.58), 5: (11.9, 12.3, 12.7, 13.1)}
"""By colours: where systems differ at N = 1024, below the threshold of colourability."""
SMALL = (16, 32, 64, 128, 256)
GRAPHS = {"quick": 1, "standard": 5, "paper": 400}
"""The first so many of each set of 400 at N = 1024."""
SMALL_GRAPHS = {"quick": 1, "standard": 1, "paper": 400}
"""The same for each N up to 256, which has five sizes."""


def graphs(vertices: int, degree: float, count: int) -> Iterator[npt.NDArray[np.int64]]:
    """The edges of the benchmark's graphs 1, 2, …, `count`."""
    import networkx

    state = random.getstate()
    random.seed(1)
    drawn = [networkx.gnm_random_graph(vertices, round(degree * vertices / 2)) for _ in range(count)]
    random.setstate(state)
    for graph in drawn:
        yield np.array(graph.edges, dtype=np.int64).reshape(-1, 2)


def colouring(colors: int, vertices: int, degree: float, number: int) -> Problem:
    *_, edges = graphs(vertices, degree, number)
    return coloring_problem(vertices, edges, colors, name=f"graph {number} of N = {vertices}, c = {degree:g}")


def column(colors: int, degree: float) -> str:
    return f"{colors}-col c={degree:g}"


def small_column(colors: int) -> str:
    return f"{colors}-col N<=256"


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    quick = budget == "quick"
    return [
        Instance(
            f"{colors}-col-N{vertices}-c{degree:g}-{number:03d}",
            column(colors, degree) if vertices == LARGE else small_column(colors),
            partial(colouring, colors, vertices, degree, number),
        )
        for colors, degrees in DEGREES.items()
        for degree in (degrees[:1] if quick else degrees)
        for vertices in (SMALL[-1:] if quick else SMALL) + (LARGE,)
        for number in range(1, (GRAPHS if vertices == LARGE else SMALL_GRAPHS)[budget] + 1)
    ]


RANDCSP = Experiment(
    name="randcsp",
    title="RandCSPBench: random colouring",
    about="Random graphs of N = 1024 vertices just below the threshold of colourability, and smaller ones, some of "
    "which have no colouring: there CaDiCaL's row is how many do, unless it ran out of time.",
    paper="none; the tables of arXiv 2602.18419",
    instances=instances,
    solvers=("anycsp:coloring", "anycsp:universal", "anycsp:local", "anycsp:auto", "cp-sat", "cadical"),
    limits={"quick": Limit(2.0), "standard": STANDARD, "paper": Limit(1200.0)},
    measures={
        **{column(colors, degree): "solved" for colors, degrees in DEGREES.items() for degree in degrees},
        **{small_column(colors): "solved" for colors in DEGREES},
    },
)
