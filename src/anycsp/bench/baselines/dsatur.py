"""DSATUR (Brélaz 1979): always colour the vertex that sees most colours, ties by uncoloured neighbours."""

from __future__ import annotations

import time

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.baselines.constructive import colored
from anycsp.model.coloring import dsatur
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph, is_decision


class Dsatur(Baseline):
    name = "dsatur"

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and coloring_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        found = coloring_graph(problem)
        assert found is not None
        graph, colors = found
        color = dsatur(graph.vertices, graph.edges.tolist())
        return colored(problem, colors, color, time.perf_counter() - began)
