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
SMALL = (256, 128, 64, 32, 16)
SMALL_DEGREES = {
    3: (3.32, 3.50, 3.68, 3.86, 4.04, 4.22, 4.40, 4.58, 4.76, 4.94),
    5: (9.9, 10.3, 10.7, 11.1, 11.5, 11.9, 12.3, 12.7, 13.1, 13.5),
}
"""All of the benchmark: its published share of the graphs up to N = 256 is of all of them together."""
GRAPHS = {"quick": 1, "standard": 10, "paper": 400}
"""The first so many of each set of 400 at N = 1024. Ten tell shares 10% apart; with 30 s for each of six systems, the
seven sets take at most 3.5 hours of one core. A graph keeps its number, so raising it repeats no run."""
SMALL_GRAPHS = {"quick": 1, "standard": 1, "paper": 400}
"""The same for each N up to 256: with five sizes and ten mean degrees, 50 graphs for each number of colours."""


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
    most = 1 if budget == "quick" else None
    large = [(colors, LARGE, degree) for colors, degrees in DEGREES.items() for degree in degrees[:most]]
    small = [
        (colors, vertices, degree)
        for colors, degrees in SMALL_DEGREES.items()
        for vertices in SMALL[:most]
        for degree in degrees[:most]
    ]
    return [
        Instance(
            f"{colors}-col-N{vertices}-c{degree:g}-{number:03d}",
            column(colors, degree) if vertices == LARGE else small_column(colors),
            partial(colouring, colors, vertices, degree, number),
        )
        for colors, vertices, degree in large + small
        for number in range(1, (GRAPHS if vertices == LARGE else SMALL_GRAPHS)[budget] + 1)
    ]


RANDCSP = Experiment(
    name="randcsp",
    title="RandCSPBench: random colouring",
    about="Random graphs of N = 1024 vertices just below the threshold of colourability: the share of all graphs that "
    "a system colours. Smaller ones, many of which have no colouring: the share of those that any system here colours.",
    paper="nothing; the quoted rows are of RandCSPBench (arXiv 2602.18419)",
    instances=instances,
    solvers=("anycsp:coloring", "anycsp:universal", "anycsp:local", "anycsp:auto", "cp-sat", "cadical"),
    limits={"quick": Limit(2.0), "standard": STANDARD, "paper": Limit(1200.0)},
    measures={
        **{column(colors, degree): "share" for colors, degrees in DEGREES.items() for degree in degrees},
        **{small_column(colors): "share of solvable" for colors in DEGREES},
    },
)
