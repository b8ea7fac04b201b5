"""networkx graphs as problems: colouring and MaxCut, the nodes being the variables, named by `str(node)`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx
import numpy as np

from anycsp.model.builders import coloring_problem, cut_problem
from anycsp.model.problem import Problem


def coloring(graph: nx.Graph[Any], colors: int) -> Problem:
    """Colour the nodes with 1 … `colors`, no edge between equal ones. Parallel edges count once, loops not at all."""
    index = _index(graph)
    pairs = {tuple(sorted((index[u], index[v]))) for u, v in graph.edges() if u != v}
    edges = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return coloring_problem(len(index), edges, colors, **_labels(graph))


def maxcut(graph: nx.Graph[Any], weight: str | None = "weight") -> Problem:
    """Split the nodes into 0 and 1 so that the edges between them weigh as much as possible. A negative edge costs its
    weight when cut: it is a constraint to be equal."""
    index = _index(graph)
    pairs = [(index[u], index[v]) for u, v in graph.edges()]
    weights = [float(data.get(weight, 1)) if weight is not None else 1.0 for _, _, data in graph.edges(data=True)]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return cut_problem(len(index), edges, np.array(weights, dtype=np.float64), **_labels(graph))


def _index(graph: nx.Graph[Any]) -> dict[Hashable, int]:
    return {node: i for i, node in enumerate(graph.nodes)}


def _labels(graph: nx.Graph[Any]) -> dict[str, Any]:
    return {"name": str(graph.name or ""), "names": [str(node) for node in graph.nodes]}
