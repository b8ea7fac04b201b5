"""Greedy colouring: vertices in a random order, each the smallest colour none of its neighbours has.

The paper does not say which order its Greedy column has. Random order was chosen because it agrees with that
column far better than index order or decreasing degree does (research/neural-search.md has the counts).
"""

from __future__ import annotations

import time

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.baselines.constructive import colored
from anycsp.model.coloring import smallest_free
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph, is_decision


class GreedyColoring(Baseline):
    name = "greedy-coloring"

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and coloring_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        found = coloring_graph(problem)
        assert found is not None
        neighbours = found[0].neighbours()
        color = [-1] * len(neighbours)
        for vertex in np.random.default_rng(seed).permutation(len(neighbours)):
            color[vertex] = smallest_free(color, neighbours[vertex])
        return colored(problem, found[1], color, time.perf_counter() - began)
