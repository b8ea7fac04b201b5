"""Random graphs as edge arrays [edges, 2], and the greedy colouring that fixes the number of colours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anycsp.distributions.base import IntArray
from anycsp.model.coloring import smallest_free


def edges_of(adjacent: npt.NDArray[np.bool_]) -> IntArray:
    """The pairs that a matrix [n, n] joins above its diagonal."""
    return np.argwhere(np.triu(adjacent, k=1)).astype(np.int64)


def erdos_renyi(rng: np.random.Generator, n: int, p: float) -> IntArray:
    """Every pair is an edge with probability p."""
    return edges_of(rng.random((n, n)) < p)


def barabasi_albert(rng: np.random.Generator, n: int, m: int) -> IntArray:
    """Preferential attachment: a star of m + 1 vertices, then every vertex joins m distinct earlier ones,
    drawn in proportion to their degree."""
    edges = np.empty((m + m * (n - m - 1), 2), dtype=np.int64)
    edges[:m, 0], edges[:m, 1] = 0, np.arange(1, m + 1)
    filled = m
    for vertex in range(m + 1, n):
        ends = edges[:filled].reshape(-1)  # a vertex of degree k occurs k times
        targets: dict[int, None] = {}
        while len(targets) < m:
            for target in ends[rng.integers(len(ends), size=m - len(targets))].tolist():
                targets[target] = None
        edges[filled : filled + m, 0], edges[filled : filled + m, 1] = list(targets), vertex
        filled += m
    return edges


def geometric(rng: np.random.Generator, n: int, radius: float) -> IntArray:
    """Points uniform in the unit square, joined when at most `radius` apart."""
    points = rng.random((n, 2))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    return edges_of(squared <= radius**2)


def greedy_colors(n: int, edges: IntArray) -> int:
    """Colours used by the greedy heuristic in order of decreasing degree (ties by index), in linear time."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    degree = np.bincount(ends[:, 0], minlength=n)
    start = np.concatenate([[0], np.cumsum(degree)]).tolist()
    neighbours = ends[:, 1].tolist()
    color = [-1] * n
    for vertex in np.argsort(-degree, kind="stable").tolist():
        color[vertex] = smallest_free(color, neighbours[start[vertex] : start[vertex + 1]])
    return max(color, default=-1) + 1
