"""Bounds for graph colouring: a clique from below, a greedy colouring from above."""

from __future__ import annotations

import math
from collections.abc import Sequence

Edges = Sequence[Sequence[int]]
_CLIQUE_WORK = 20_000_000
"""Pairs of candidates looked at by the clique heuristic, about a second's worth."""


def neighbours(vertices: int, edges: Edges) -> list[set[int]]:
    result: list[set[int]] = [set() for _ in range(vertices)]
    for u, v in edges:
        result[u].add(v)
        result[v].add(u)
    return result


def large_clique(vertices: int, edges: Edges, enough: float = math.inf) -> list[int]:
    """A clique, large but not surely the largest: grown greedily from each vertex, those of high degree first, until
    one has `enough` vertices."""
    around = neighbours(vertices, edges)
    best: list[int] = [0] if vertices else []
    work = 0
    for start in sorted(range(vertices), key=lambda v: -len(around[v])):
        if len(around[start]) < len(best) or len(best) >= enough or work > _CLIQUE_WORK:
            break
        clique, candidates = [start], around[start]
        while candidates:
            work += len(candidates) ** 2
            clique.append(_most_connected(candidates, around))
            candidates = candidates & around[clique[-1]]
        if len(clique) > len(best):
            best = clique
    return sorted(best)


def _most_connected(candidates: set[int], around: list[set[int]]) -> int:
    return max(candidates, key=lambda v: (len(around[v] & candidates), -v))


def dsatur(vertices: int, edges: Edges) -> list[int]:
    """Brélaz's greedy colouring (1979), colours from 0: next the vertex that sees most colours, ties by uncoloured
    neighbours, then by index."""
    import heapq

    around = neighbours(vertices, edges)
    color = [-1] * vertices
    seen: list[set[int]] = [set() for _ in range(vertices)]
    uncolored = [len(near) for near in around]
    # Entries of the heap grow stale as neighbours are coloured; a stale one is dropped when it surfaces.
    heap = [(0, -uncolored[v], v) for v in range(vertices)]
    heapq.heapify(heap)
    while heap:
        saturation, degree, v = heapq.heappop(heap)
        if color[v] >= 0 or (-saturation, -degree) != (len(seen[v]), uncolored[v]):
            continue
        color[v] = next(c for c in range(vertices) if c not in seen[v])
        for w in around[v]:
            if color[w] < 0:
                seen[w].add(color[v])
                uncolored[w] -= 1
                heapq.heappush(heap, (-len(seen[w]), -uncolored[w], w))
    return color
