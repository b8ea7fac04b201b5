"""Weighted graphs as MaxCut problems, and back: what the rudy and MatrixMarket formats share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anycsp.constraints.table import Relation, TableBlock
from anycsp.errors import ConversionError
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Vertices 0 … vertices−1, and edges [edges, 2] with a weight each."""

    vertices: int
    edges: IntArray
    weights: npt.NDArray[np.float64]


def maxcut(graph: Graph, comments: list[str]) -> Problem:
    """Every vertex on side 0 or 1. An edge of weight w > 0 wants its ends apart, one of w < 0 together, each at
    weight |w|; so the cut is the sum of the positive weights minus the violated weight."""
    problem = Problem()
    problem.comments = comments
    loops, zero = graph.edges[:, 0] == graph.edges[:, 1], graph.weights == 0
    if loops.any():
        comments.append(f"dropped {int(loops.sum())} self-loops: they are never cut")
    if (zero & ~loops).any():
        comments.append(f"dropped {int((zero & ~loops).sum())} edges of weight 0")
    keep = ~(loops | zero)
    edges, weights = graph.edges[keep], graph.weights[keep]
    problem.add_variables(graph.vertices, (0, 1), names=[str(i) for i in range(1, graph.vertices + 1)])
    apart, together = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
    equal = [[0, 0], [1, 1]]
    problem.add_tables(edges[apart], equal, allowed=False, weight=weights[apart])
    problem.add_tables(edges[together], equal, allowed=True, weight=-weights[together])
    problem.renumber(np.concatenate([apart, together]))
    problem.objective = Objective("cut", constant=float(weights[apart].sum()))
    return problem


def graph_of(problem: Problem, format_name: str) -> Graph:
    """The graph of a MaxCut problem; refuses any other."""
    if problem.objective is None or problem.objective.kind != "cut":
        raise ConversionError(f"{format_name} holds MaxCut problems only, this problem has no cut as its objective")
    for name, domain in zip(problem.names, map(problem.domain, range(problem.num_variables)), strict=True):
        if domain.labels is not None or domain.values.tolist() != [0, 1]:
            raise ConversionError(f"{format_name} has sides 0 and 1 only, variable {name!r} has {domain.summary()}")
    edges, weights, _ = binary_edges(problem, format_name)
    constant = float(weights[weights > 0].sum())
    if not np.isclose(constant, problem.objective.constant, rtol=1e-9):
        raise ConversionError(f"{format_name} cannot hold a cut with another constant than its positive weights' sum")
    return Graph(problem.num_variables, edges, weights)


def binary_edges(problem: Problem, format_name: str) -> tuple[IntArray, npt.NDArray[np.float64], bool]:
    """Edges in constraint order with weights, negative for X = Y; refuses all but soft binary ≠ and =.
    Last, whether every one is a ≠."""
    edges = np.zeros((problem.num_constraints, 2), dtype=np.int64)
    weights = np.zeros(problem.num_constraints)
    for block in problem.blocks:
        first = int(block.terms.index[0]) + 1 if len(block) else 0
        if not isinstance(block, TableBlock):
            raise ConversionError(f"{format_name} has edges only, constraint {first} is a {block.kind}")
        sign = np.array([_sign(relation) for relation in block.relations])[block.relation]
        if (sign == 0).any():
            index = int(block.terms.index[np.flatnonzero(sign == 0)[0]])
            raise ConversionError(f"{format_name} has edges only, constraint {index + 1} is neither ≠ nor =")
        if block.terms.hard.any():
            raise ConversionError(f"{format_name} has no hard constraints")
        edges[block.terms.index] = block.scope.reshape(-1, 2)
        weights[block.terms.index] = sign * block.terms.weight
    return edges, weights, bool((weights > 0).all())


def _sign(relation: Relation) -> int:
    """1 for ≠, −1 for =, 0 for anything else."""
    if len(relation.sizes) != 2 or relation.sizes[0] != relation.sizes[1]:
        return 0
    if relation.is_diagonal:
        return -1 if relation.allowed else 1
    if (
        relation.sizes == (2, 2)
        and len(relation.tuples) == 2
        and (relation.tuples[:, 0] != relation.tuples[:, 1]).all()
    ):
        return 1 if relation.allowed else -1
    return 0
