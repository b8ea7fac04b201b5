"""DSATUR (Brélaz 1979): always colour the vertex that sees most colours, ties by uncoloured neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from anycsp.bench.baselines.constructive import ConstructiveColoring
from anycsp.model.coloring import dsatur
from anycsp.model.structure import WeightedGraph


class Dsatur(ConstructiveColoring):
    name = "dsatur"

    def color(self, graph: WeightedGraph, seed: int) -> Sequence[int]:
        return dsatur(graph.vertices, graph.edges.tolist())
