"""Colouring with as many colours as some clique has vertices: the clique's colours can be given beforehand.

Its vertices need a colour each, and colours are interchangeable, so it does not matter which has which. Their
neighbours lose those colours, a vertex left with one takes it, and so on: graphs of register allocation, which tangle
any search that begins at random, all but dissolve. A colouring without conflict is there afterwards if it was before.
The least number of conflicts of a graph that has none may be a little larger, as the clique has none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Terms
from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock
from anycsp.deadline import NEVER, Deadline
from anycsp.model.coloring import large_clique, neighbours
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph

IntArray = npt.NDArray[np.int64]

MOST_EDGES = 200_000
"""A larger graph is not searched for a clique: this many take about a second, which belongs to the search."""


@dataclass(frozen=True)
class CliqueFixed:
    problem: Problem
    """What is left: the vertices that still have a choice, each over the colours left to it."""
    kept: IntArray
    """These vertices' places in the whole problem."""
    colors: list[IntArray]
    """For each of them the positions left to it, as positions of its domain in the whole problem."""
    fixed: npt.NDArray[np.int32]
    """[vertices of the whole problem]: the positions of the others."""

    @property
    def seconds(self) -> float:
        """What the way back will take, roughly."""
        return 1e-6 * len(self.kept)

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Positions of the vertices kept → of all."""
        result: npt.NDArray[np.int32] = self.fixed.copy()
        for x, left, position in zip(self.kept.tolist(), self.colors, positions.tolist(), strict=True):
            result[x] = left[position]
        return result


def clique_fixed(problem: Problem, deadline: Deadline = NEVER) -> CliqueFixed | None:
    """None where no such clique is found in time, or the problem is no plain colouring."""
    found = coloring_graph(problem)
    if found is None or problem.definitions:
        return None
    graph, colors = found
    if colors < 3 or len(graph.edges) > MOST_EDGES or (graph.weights != graph.weights[0]).any():
        return None
    vertices, pairs = graph.vertices, graph.edges.tolist()
    clique = large_clique(vertices, pairs, enough=colors, deadline=deadline)
    if len(clique) != colors or deadline.passed:
        return None
    left = _colors_left(neighbours(vertices, pairs), colors, clique)
    return None if left is None else _restricted(problem, graph.edges, left)


def _colors_left(around: list[set[int]], colors: int, clique: list[int]) -> list[int] | None:
    """For each vertex a bit mask of the colours it can have; None where one can have none."""
    left = [(1 << colors) - 1] * len(around)
    for color, x in enumerate(clique):
        left[x] = 1 << color
    decided = list(clique)
    while decided:
        x = decided.pop()
        for y in around[x]:
            if left[y] & left[x]:
                left[y] &= ~left[x]
                if left[y] == 0:
                    return None
                if left[y].bit_count() == 1:
                    decided.append(y)
    return left


def _restricted(problem: Problem, edges: IntArray, left: list[int]) -> CliqueFixed:
    """The problem of the vertices with a choice; the first vertex stays in any case, so that there is one."""
    positions = {mask: np.array([i for i in range(mask.bit_length()) if mask >> i & 1]) for mask in set(left)}
    kept = np.array([x for x, mask in enumerate(left) if mask & (mask - 1)] or [0])
    part = Problem(problem.name)
    for x in kept.tolist():
        part.add_variable(problem.domain(x).subset(positions[left[x]]), problem.names[x])
    new_index = np.full(problem.num_variables, -1)
    new_index[kept] = np.arange(len(kept))

    relations: dict[tuple[int, int], int] = {}
    rows, relation = [], []
    for row, (x, y) in enumerate(edges.tolist()):
        if new_index[x] >= 0 and new_index[y] >= 0 and left[x] & left[y]:  # all others hold whatever is chosen
            rows.append(row)
            relation.append(relations.setdefault((left[x], left[y]), len(relations)))
    if rows:
        terms = Terms.concat([block.terms for block in problem.blocks])
        terms = terms.take(np.argsort(terms.index)[rows])
        part.add_block(
            TableBlock(
                Terms(np.arange(len(rows)), terms.weight, terms.hard),
                np.arange(len(rows) + 1) * 2,
                new_index[edges[rows]].reshape(-1),
                np.array(relation),
                tuple(_not_equal(positions[a], positions[b]) for a, b in relations),
            )
        )
    fixed = np.array([positions[mask][0] for mask in left], dtype=np.int32)
    return CliqueFixed(part, kept, [positions[left[x]] for x in kept.tolist()], fixed)


def _not_equal(first: IntArray, second: IntArray) -> Relation:
    place = np.full(max(first[-1], second[-1]) + 1, -1)
    place[second] = np.arange(len(second))
    common = np.flatnonzero(place[first] >= 0)
    return Relation((len(first), len(second)), np.stack([common, place[first[common]]], axis=1), False)
