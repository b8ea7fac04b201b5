"""Weighted graphs as MaxCut problems, and back: what the rudy and MatrixMarket formats share."""

from __future__ import annotations

import numpy as np

from anycsp.constraints.table import TableBlock
from anycsp.errors import ConversionError
from anycsp.model.builders import cut_problem
from anycsp.model.problem import Problem
from anycsp.model.structure import WeightedGraph, pair_graph, pair_signs


def maxcut(graph: WeightedGraph, comments: list[str]) -> Problem:
    """The problem of a file's graph, with comments on what it leaves out."""
    loops, zero = graph.edges[:, 0] == graph.edges[:, 1], graph.weights == 0
    if loops.any():
        comments.append(f"dropped {int(loops.sum())} self-loops: they are never cut")
    if (zero & ~loops).any():
        comments.append(f"dropped {int((zero & ~loops).sum())} edges of weight 0")
    problem = cut_problem(graph.vertices, graph.edges, graph.weights)
    problem.comments = comments
    return problem


def graph_of(problem: Problem, format_name: str) -> WeightedGraph:
    """The graph of a MaxCut problem; refuses any other."""
    if problem.objective is None or problem.objective.kind != "cut":
        raise ConversionError(f"{format_name} holds MaxCut problems only, this problem has no cut as its objective")
    for name, domain in zip(problem.names, problem.domain_list, strict=True):
        if domain.labels is not None or domain.values.tolist() != [0, 1]:
            raise ConversionError(f"{format_name} has sides 0 and 1 only, variable {name!r} has {domain.summary()}")
    graph = soft_pairs(problem, format_name)
    constant = float(graph.weights[graph.weights > 0].sum())
    if not np.isclose(constant, problem.objective.constant, rtol=1e-9):
        raise ConversionError(f"{format_name} cannot hold a cut with another constant than its positive weights' sum")
    return graph


def soft_pairs(problem: Problem, format_name: str) -> WeightedGraph:
    """The edges in constraint order, of negative weight for X = Y; refuses all but soft binary ≠ and =."""
    for block in problem.blocks:
        other = block.terms.index[pair_signs(block) == 0]
        if len(other):
            what = "neither ≠ nor =" if isinstance(block, TableBlock) else f"a {block.kind}"
            raise ConversionError(f"{format_name} has edges only, constraint {int(other[0]) + 1} is {what}")
        if block.terms.hard.any() and not problem.scoring.all_required:
            raise ConversionError(f"{format_name} has no hard constraints beside soft ones")
    nothing = WeightedGraph(problem.num_variables, np.zeros((0, 2), dtype=np.int64), np.zeros(0))
    return pair_graph(problem) or nothing
