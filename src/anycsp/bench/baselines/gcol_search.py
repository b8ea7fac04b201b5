"""HybridEA (Galinier & Hao 1999) and TabuCol (Hertz & de Werra 1987) of gcol, by the author of the program the
paper used.

gcol counts iterations, not seconds: a run repeats with growing iteration limits, each chosen from the measured
speed so that it fits what is left of the time.
"""

from __future__ import annotations

import random
import time
from typing import ClassVar

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph, is_decision

FIRST_ITERATIONS = 200


class _Gcol(Baseline):
    requires = ("gcol", "networkx")
    algorithm: ClassVar[int]
    """gcol's number for it."""

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and coloring_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        import gcol
        import networkx as nx

        began = time.perf_counter()
        found = coloring_graph(problem)
        assert found is not None
        graph = nx.Graph()
        graph.add_nodes_from(range(found[0].vertices))
        graph.add_edges_from(found[0].edges.tolist())
        random.seed(seed)
        iterations, total = FIRST_ITERATIONS, 0
        while iterations > 0:
            attempt = time.perf_counter()
            try:
                color = gcol.node_k_coloring(graph, found[1], opt_alg=self.algorithm, it_limit=iterations)
            except ValueError as error:  # how gcol says that it found none
                if "clique" in str(error):
                    return BaselineResult([], None, time.perf_counter() - began, total, str(error))
            else:
                positions = np.array([color[v] for v in range(len(color))], dtype=np.int32)
                seconds = time.perf_counter() - began
                return BaselineResult([Point(total + iterations, seconds, 0.0)], positions, seconds, total + iterations)
            total += iterations
            now = time.perf_counter()
            rate = iterations / (now - attempt)
            iterations = min(4 * iterations, int(rate * (limit.seconds - (now - began))))
        return BaselineResult([], None, time.perf_counter() - began, total)


class HybridEA(_Gcol):
    name = "hybrid-ea"
    algorithm = 4


class TabuCol(_Gcol):
    name = "tabucol"
    algorithm = 2
