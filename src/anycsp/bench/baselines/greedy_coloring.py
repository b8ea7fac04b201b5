"""Greedy colouring: vertices in index order, each the smallest colour none of its neighbours has."""

from __future__ import annotations

import time

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.baselines.constructive import colored, smallest_free
from anycsp.bench.structure import coloring_graph
from anycsp.problem import Problem


class GreedyColoring(Baseline):
    name = "greedy-coloring"

    def supports(self, problem: Problem) -> bool:
        return coloring_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        found = coloring_graph(problem)
        assert found is not None
        neighbours = found[0].neighbours()
        color = [-1] * len(neighbours)
        for vertex, near in enumerate(neighbours):
            color[vertex] = smallest_free(color, near)
        return colored(problem, found[1], color, time.perf_counter() - began)
