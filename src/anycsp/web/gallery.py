"""The ready examples of the page: drawn or built when they are asked for, the same every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from anycsp.distributions import draw, get
from anycsp.distributions.graphs import erdos_renyi
from anycsp.model.builders import coloring_problem
from anycsp.model.expressions import element, total
from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Example:
    title: str
    text: str
    build: Callable[[], Problem]
    search: str = "neural"
    """What shows it best: compiled search has most of them before a second frame could be drawn."""
    seconds: int = 10


def _drawn(name: str, seed: int, **parameters: object) -> Problem:
    return draw(get(name, **parameters), seed, 0)


def _grid(side: int) -> Problem:
    cells = np.arange(side * side).reshape(side, side)
    across = np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], axis=1)
    down = np.stack([cells[:-1].ravel(), cells[1:].ravel()], axis=1)
    return coloring_problem(side * side, np.concatenate([across, down]), 2, name=f"grid of {side} by {side}")


def _threshold_graph(vertices: int, degree: float, colors: int) -> Problem:
    edges = erdos_renyi(np.random.default_rng(7), vertices, degree / (vertices - 1))
    return coloring_problem(vertices, edges, colors, name=f"random graph of {vertices} vertices")


def _tour(cities: int) -> Problem:
    points = np.random.default_rng(4).random((cities, 2)) * 100
    distance = np.rint(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))).astype(int).tolist()
    problem = Problem(f"a tour of {cities} cities")
    after = problem.add_variables(cities, 0, cities - 1, prefix="after")
    problem.add_circuit(after, self_loops=False)
    problem.minimize(total([element(distance[city], after[city]) for city in range(cities)]))
    return problem


EXAMPLES: dict[str, Example] = {
    "grid": Example(
        "Grid", "Two colours on a grid of 32 by 32, by the network: regions grow until one is left.",
        partial(_grid, 32),
    ),
    "coloring": Example(
        "Graph colouring", "300 vertices, 3 colours, near the density where colourings vanish.",
        partial(_threshold_graph, 300, 4.4, 3),
    ),
    "maxcut": Example(
        "Maximum cut", "100 vertices in two camps, as many edges as possible between them.",
        partial(_drawn, "maxcut", 1, n=100),
    ),
    "queens": Example("Queens", "24 queens, none attacking another.", partial(_drawn, "queens", 1, n=24)),
    "sudoku": Example(
        "Sudoku", "A sudoku of 16 by 16, more than half of it to be found.",
        partial(_drawn, "sudoku", 2, box=4, holes=[0.55, 0.55]),
    ),
    "quasigroup": Example(
        "Quasigroup", "A latin square of order 20, four of ten cells to be found.",
        partial(_drawn, "quasigroup", 3, order=20),
    ),
    "jobshop": Example(
        "Job shop", "10 jobs on 10 machines, done as early as possible.",
        partial(_drawn, "jobshop", 1, jobs=10, machines=10, longest=30, minimize=True), "auto",
    ),
    "tour": Example("Round trip", "The shortest tour through 30 cities.", partial(_tour, 30), "auto"),
    "sat": Example(
        "3-SAT", "200 variables and 840 clauses: satisfiable, but barely.",
        partial(_drawn, "sat", 5, n=200, density=[[4.2, 4.2]]),
    ),
    "maxsat": Example(
        "Max-SAT", "150 variables, far more clauses than can hold together.",
        partial(_drawn, "maxsat", 0, n=150), "local",
    ),
    "timetable": Example("Timetable", "Lectures, rooms and hours.", partial(_drawn, "timetable", 0), "auto"),
}  # fmt: skip
