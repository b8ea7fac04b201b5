"""Greedy MaxCut: vertices in index order, each to the side that cuts more weight to those placed before it."""

from __future__ import annotations

import time

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.model.problem import Problem
from anycsp.model.structure import cut_graph


class GreedyCut(Baseline):
    name = "greedy-cut"

    def supports(self, problem: Problem) -> bool:
        return cut_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        graph = cut_graph(problem)
        assert graph is not None
        start, neighbour, weight = graph.adjacency()
        side = np.zeros(graph.vertices, dtype=np.int32)
        for v in range(graph.vertices):
            placed = neighbour[start[v] : start[v + 1]]
            pull = weight[start[v] : start[v + 1]] * (1 - 2 * side[placed]) * (placed < v)
            side[v] = pull.sum() > 0  # positive: side 0 holds more of the neighbours' weight
        seconds = time.perf_counter() - began
        violated = problem.violation_of_positions(side).weight
        return BaselineResult([Point(graph.vertices, seconds, violated)], side, seconds, graph.vertices)
