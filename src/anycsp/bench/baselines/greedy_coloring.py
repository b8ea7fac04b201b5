"""Greedy colouring: vertices in a random order, each the smallest colour none of its neighbours has.

The paper does not say which order its Greedy column has. Random order was chosen because it agrees with that
column far better than index order or decreasing degree does (research/neural-search.md has the counts).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anycsp.bench.baselines.constructive import ConstructiveColoring
from anycsp.model.coloring import smallest_free
from anycsp.model.structure import WeightedGraph


class GreedyColoring(ConstructiveColoring):
    name = "greedy-coloring"

    def color(self, graph: WeightedGraph, seed: int) -> Sequence[int]:
        neighbours = graph.neighbours()
        color = [-1] * len(neighbours)
        for vertex in np.random.default_rng(seed).permutation(len(neighbours)):
            color[vertex] = smallest_free(color, neighbours[vertex])
        return color
