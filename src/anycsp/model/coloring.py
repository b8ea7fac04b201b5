"""Colouring a graph by hand: a large clique bounds the colours from below, a greedy colouring from above.

A graph is a number of vertices and a list of edges (u, v), vertices counted from 0.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from anycsp.deadline import NEVER, Deadline

IntArray = npt.NDArray[np.int64]
Edges = Sequence[Sequence[int]]
Neighbour = tuple[int, Sequence[int] | None, float]
"""A constraint as one of its two variables sees it: the other variable, which value of the other conflicts with each
of one's own (−1: none; None in place of the list: the same value), and the constraint's weight."""

_CLIQUE_WORK = 20_000_000
"""Pairs of candidates the clique heuristic looks at: about a second's worth."""


def neighbours(vertices: int, edges: Edges) -> list[set[int]]:
    result: list[set[int]] = [set() for _ in range(vertices)]
    for u, v in edges:
        result[u].add(v)
        result[v].add(u)
    return result


def large_clique(vertices: int, edges: Edges, enough: float = math.inf, deadline: Deadline = NEVER) -> list[int]:
    """A clique, large but not surely the largest: grown greedily from each vertex, those of high degree first, until
    one has `enough` vertices or the time is up."""
    around: dict[int, set[int]] = defaultdict(set)  # only of vertices with an edge: files claim a million without
    for u, v in edges:
        around[u].add(v)
        around[v].add(u)
    best: list[int] = [0] if vertices else []
    work = 0
    for start in sorted(around, key=lambda v: (-len(around[v]), v)):
        if len(around[start]) < len(best) or len(best) >= enough or work > _CLIQUE_WORK or deadline.passed:
            break
        clique, candidates = [start], around[start]
        while candidates and not deadline.passed:
            work += len(candidates) ** 2
            clique.append(_most_connected(candidates, around))
            candidates = candidates & around[clique[-1]]
        if len(clique) > len(best):
            best = clique
    return sorted(best)


def _most_connected(candidates: set[int], around: Mapping[int, set[int]]) -> int:
    return max(candidates, key=lambda v: (len(around[v] & candidates), -v))


def smallest_free(color: Sequence[int], vertices: Iterable[int]) -> int:
    """The smallest colour that none of some vertices has."""
    taken = {color[u] for u in vertices}
    smallest = 0
    while smallest in taken:
        smallest += 1
    return smallest


def dsatur(vertices: int, edges: Edges, deadline: Deadline = NEVER) -> list[int]:
    """Brélaz's greedy colouring (1979), colours from 0: next the vertex that sees most colours, ties by uncoloured
    neighbours, then by index."""
    colors = [0] * vertices
    joined = sorted({v for edge in edges for v in edge})  # of those without an edge a file may claim a million
    if len(joined) < vertices:
        place = {v: i for i, v in enumerate(joined)}
        within = dsatur(len(joined), [(place[u], place[v]) for u, v in edges], deadline) if joined else []
        for v, color in zip(joined, within, strict=True):
            colors[v] = color
        return colors
    around: list[list[Neighbour]] = [[(w, None, 1.0) for w in near] for near in neighbours(vertices, edges)]
    return most_constrained_first([vertices] * vertices, around, ties_by_open=True, deadline=deadline)


def by_independent_sets(vertices: int, edges: IntArray, deadline: Deadline = NEVER) -> IntArray:
    """A greedy colouring for graphs too large for DSATUR's time, colours from 0: independent sets that no vertex can be
    added to (Luby 1986), a colour each. Once the time is up the rest takes one colour more, conflicts or not."""
    rng = np.random.default_rng(0)
    colors = np.full(vertices, -1, dtype=np.int64)
    color = 0
    while len(edges) and not deadline.passed:
        candidate = colors < 0
        inner = edges
        while len(inner) and not deadline.passed:
            rank = rng.permutation(vertices)
            lower = np.where(rank[inner[:, 0]] < rank[inner[:, 1]], inner[:, 0], inner[:, 1])
            chosen = candidate.copy()
            chosen[lower] = False  # of two neighbours the one of higher rank
            near = np.concatenate([inner[chosen[inner[:, 0]], 1], inner[chosen[inner[:, 1]], 0]])
            candidate[near] = False
            inner = inner[candidate[inner].all(axis=1)]
        if len(inner):
            break  # not yet independent
        colors[candidate] = color
        color += 1
        edges = edges[(colors[edges] < 0).all(axis=1)]
    colors[colors < 0] = color
    return colors


def most_constrained_first(
    sizes: Sequence[int], around: Sequence[Sequence[Neighbour]], *, ties_by_open: bool, deadline: Deadline = NEVER
) -> list[int]:
    """DSATUR for any ≠-like constraints: next the variable with fewest values free of conflict; it takes the first of
    them, or where there is none the one that costs least. Ties go to the variable with most constraints, counting
    with `ties_by_open` only those whose other variable has no value yet, then to the first. Once the time is up
    the order of the rest is not kept up any more."""
    position = [-1 if near else 0 for near in around]
    cost: list[dict[int, float]] = [{} for _ in sizes]  # of each variable: what its values in conflict cost
    counted = [len(near) for near in around]
    # Entries grow stale as values are ruled out; a stale one is dropped when it surfaces.
    heap = [(sizes[x], -counted[x], x) for x in range(len(sizes)) if around[x]]
    heapq.heapify(heap)
    hurry = False
    while heap:
        free, rank, x = heapq.heappop(heap)
        if position[x] >= 0 or (not hurry and (free, rank) != (sizes[x] - len(cost[x]), -counted[x])):
            continue
        hurry = hurry or deadline.passed
        chosen = position[x] = _cheapest(sizes[x], cost[x])
        for y, conflicting, weight in around[x]:
            if position[y] >= 0:
                continue
            before = len(cost[y]), counted[y]
            ruled_out = chosen if conflicting is None else conflicting[chosen]
            if ruled_out >= 0:
                cost[y][ruled_out] = cost[y].get(ruled_out, 0.0) + weight
            counted[y] -= ties_by_open
            if not hurry and before != (len(cost[y]), counted[y]):
                heapq.heappush(heap, (sizes[y] - len(cost[y]), -counted[y], y))
    return position


def _cheapest(size: int, cost: dict[int, float]) -> int:
    """The first value that costs nothing, otherwise the first of the cheapest."""
    if len(cost) < size:
        return next(value for value in range(size) if value not in cost)
    return min(cost, key=lambda value: (cost[value], value))
