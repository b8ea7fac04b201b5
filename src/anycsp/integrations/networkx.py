"""networkx graphs as problems: colouring and MaxCut, the nodes being the variables."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx
import numpy as np

from anycsp.model.objective import Objective
from anycsp.model.problem import Problem


def coloring(graph: nx.Graph[Any], colors: int) -> Problem:
    """Colour the nodes with 1 … `colors`, no edge between equal ones. Variables are named by `str(node)`."""
    problem, index = _nodes(graph, range(1, colors + 1))
    problem.add_not_equal(_edges(graph, index))
    problem.objective = Objective("colors")
    return problem


def maxcut(graph: nx.Graph[Any], weight: str | None = "weight") -> Problem:
    """Split the nodes into 0 and 1 so that the edges between them weigh as much as possible. A negative edge costs its
    weight when cut: it is a constraint to be equal."""
    problem, index = _nodes(graph, (0, 1))
    constant = 0.0
    for u, v, data in graph.edges(data=True):
        value = float(data.get(weight, 1)) if weight is not None else 1.0
        if u == v or value == 0:
            continue
        pair = [index[u], index[v]]
        problem.add_table(pair, [(0, 0), (1, 1)], allowed=value < 0, weight=abs(value))
        constant += max(value, 0.0)
    problem.objective = Objective("cut", constant)
    return problem


def _nodes(graph: nx.Graph[Any], domain: Any) -> tuple[Problem, dict[Hashable, int]]:
    problem = Problem(str(graph.name or ""))
    nodes = list(graph.nodes)
    problem.add_variables(len(nodes), domain, names=[str(node) for node in nodes])
    return problem, {node: i for i, node in enumerate(nodes)}


def _edges(graph: nx.Graph[Any], index: dict[Hashable, int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Each edge once, loops dropped."""
    pairs = {tuple(sorted((index[u], index[v]))) for u, v in graph.edges() if u != v}
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
