"""Goemans–Williamson: the MaxCut relaxation in unit vectors, then random hyperplanes.

The semidefinite programme is solved in Burer–Monteiro form, rank ⌈√(2n)⌉ (at that rank no spurious local
optimum remains), by the mixing method: every vector in turn becomes the best one given its neighbours.
"""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.model.problem import Problem
from anycsp.model.structure import WeightedGraph, cut_graph

TOLERANCE = 1e-5
"""A sweep that gains less than this part of the objective ends the relaxation."""
HYPERPLANES = 500


class GoemansWilliamson(Baseline):
    name = "goemans-williamson"

    def supports(self, problem: Problem) -> bool:
        return cut_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        graph = cut_graph(problem)
        assert graph is not None
        rng = np.random.default_rng(seed)
        vectors, bound = _relax(graph, rng, began + 0.9 * limit.seconds)
        first, second = graph.edges.T
        # Violated weight = positive weight − cut for ≠, |negative weight| cut for =.
        positive = graph.weights[graph.weights > 0].sum()
        trace: list[Point] = []
        best: npt.NDArray[np.int32] | None = None
        for draw in range(HYPERPLANES):
            side = (vectors @ rng.standard_normal(vectors.shape[1]) > 0).astype(np.int32)
            violated = float(positive - graph.weights[side[first] != side[second]].sum())
            seconds = time.perf_counter() - began
            if not trace or violated < trace[-1].violated_weight:
                trace.append(Point(draw + 1, seconds, violated))
                best = side
            if seconds > limit.seconds:
                break
        seconds = time.perf_counter() - began
        return BaselineResult(trace, best, seconds, draw + 1, f"relaxation's cut {bound:.1f}")


def _relax(graph: WeightedGraph, rng: np.random.Generator, until: float) -> tuple[npt.NDArray[np.float64], float]:
    """Unit vectors minimising Σ w·⟨v_i, v_j⟩, and Σ w·(1 − ⟨v_i, v_j⟩)/2."""
    rank = math.ceil(math.sqrt(2 * graph.vertices)) + 1
    vectors = rng.standard_normal((graph.vertices, rank))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    start, neighbour, weight = graph.adjacency()
    rows = [slice(start[v], start[v + 1]) for v in range(graph.vertices)]
    linked = [(v, neighbour[row], weight[row]) for v, row in enumerate(rows) if row.stop > row.start]
    first, second = graph.edges.T
    inner = float((graph.weights * np.einsum("ij,ij->i", vectors[first], vectors[second])).sum())
    while time.perf_counter() < until:
        for v, near, w in linked:
            pull = w @ vectors[near]
            norm = math.sqrt(pull @ pull)
            if norm > 0:
                vectors[v] = pull / -norm
        before, inner = inner, float((graph.weights * np.einsum("ij,ij->i", vectors[first], vectors[second])).sum())
        if before - inner <= TOLERANCE * abs(inner):
            break
    return vectors, float((graph.weights.sum() - inner) / 2)
