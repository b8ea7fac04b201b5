"""What constructive colouring heuristics share: they always colour without conflict, in as many colours as it takes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.model.problem import Problem
from anycsp.model.structure import WeightedGraph, coloring_graph, is_decision


class ConstructiveColoring(Baseline):
    @abstractmethod
    def color(self, graph: WeightedGraph, seed: int) -> Sequence[int]:
        """A colour for every vertex, no two neighbours alike."""

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and coloring_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        found = coloring_graph(problem)
        assert found is not None
        graph, colors = found
        color = self.color(graph, seed)
        return colored(problem, colors, color, time.perf_counter() - began)


def colored(problem: Problem, colors: int, color: Sequence[int], seconds: float, steps: int = 0) -> BaselineResult:
    """A conflict-free colouring as an answer to the decision problem: one that needs more colours than there
    are is cut down to them, with the conflicts that makes, and its own number goes into the note."""
    used = max(color, default=-1) + 1
    positions = np.minimum(np.array(color, dtype=np.int32), colors - 1)
    violated = problem.violation_of_positions(positions).weight
    return BaselineResult(
        [Point(steps or len(color), seconds, violated)], positions, seconds, steps or len(color), f"{used} colours"
    )
