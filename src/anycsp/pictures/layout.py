"""Where the nodes of a graph stand: at distances that are those in the graph, as far as a plane allows.

Distances from some pivots place the nodes at first (Brandes and Pich's pivot MDS), which draws grids and rings as such.
Then every node moves to where its distances to the pivots and to its neighbours would have it (stress majorisation).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST_PIVOTS = 200
"""Nodes from which distances are measured: more change little, and cost a search of the graph each."""
ROUNDS = 60
"""Rounds of moving; the picture hardly changes after half of them."""


APART = 0.7
"""Where a part that cannot be reached stands, over the distance of what is furthest: beside the rest, but near."""


def placed(nodes: int, links: IntArray) -> FloatArray:
    """[nodes, 2], from 0 to 1; the same for the same graph."""
    if nodes == 1:
        return np.full((1, 2), 0.5)
    start, neighbour = _adjacency(nodes, links)
    pivots, distances = _distances(nodes, start, neighbour)
    return _framed(_upright(_relaxed(_by_pivots(distances), links, pivots, distances), links))


def _adjacency(nodes: int, links: IntArray) -> tuple[IntArray, IntArray]:
    ends = np.concatenate([links, links[:, ::-1]])
    order = np.argsort(ends[:, 0], kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=nodes))])
    return start.astype(np.int64), ends[order, 1]


def _distances(nodes: int, start: IntArray, neighbour: IntArray) -> tuple[IntArray, FloatArray]:
    """Pivots, and [nodes, pivots]: each pivot is the node furthest from those before it."""
    pivots, columns = [], []
    nearest, pivot = np.full(nodes, np.inf), 0
    for _ in range(min(MOST_PIVOTS, nodes)):
        distance = np.full(nodes, -1.0)
        front, depth = np.array([pivot]), 0
        while len(front):
            distance[front] = depth
            count = start[front + 1] - start[front]
            ahead = np.repeat(start[front] - np.cumsum(count) + count, count) + np.arange(count.sum())
            reached = neighbour[ahead]
            front, depth = np.unique(reached[distance[reached] < 0]), depth + 1
        distance[distance < 0] = 1 + APART * distance.max()
        pivots.append(pivot)
        columns.append(distance)
        nearest = np.minimum(nearest, distance)
        pivot = int(np.argmax(nearest))
    return np.array(pivots), np.stack(columns, axis=1)


def _by_pivots(distances: FloatArray) -> FloatArray:
    squared = distances**2
    centred = squared - squared.mean(0) - squared.mean(1, keepdims=True) + squared.mean()
    _, vectors = np.linalg.eigh(centred.T @ centred)
    places = centred @ vectors[:, -2:]
    # The same place twice would leave no direction to move apart in.
    spread = np.abs(places).max() or 1.0
    return np.asarray(places / spread + np.random.default_rng(0).normal(scale=0.01, size=places.shape))


def _relaxed(places: FloatArray, links: IntArray, pivots: IntArray, distances: FloatArray) -> FloatArray:
    weight = np.where(distances > 0, 1.0 / np.maximum(distances, 1.0) ** 2, 0.0)
    degree = np.bincount(links.ravel(), minlength=len(places)).astype(np.float64)
    total = (weight.sum(axis=1) + degree)[:, None]
    apart = places[:, None, :] - places[pivots][None, :, :]
    length = np.sqrt((apart**2).sum(axis=2))
    places = places * ((weight * distances * length).sum() / max(float((weight * length**2).sum()), 1e-12))
    for _ in range(ROUNDS):
        apart = places[:, None, :] - places[pivots][None, :, :]
        length = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-9)
        wanted = np.einsum("np,pk->nk", weight, places[pivots])
        wanted += np.einsum("np,npk->nk", weight * distances / length, apart)
        a, b = links[:, 0], links[:, 1]
        side = places[a] - places[b]
        side /= np.maximum(np.sqrt((side**2).sum(axis=1, keepdims=True)), 1e-9)
        np.add.at(wanted, a, places[b] + side)
        np.add.at(wanted, b, places[a] - side)
        places = wanted / total
    return places


def _upright(places: FloatArray, links: IntArray) -> FloatArray:
    """Turned so that links run across and down where most of them are at right angles, as those of a grid."""
    along = places[links[:, 1]] - places[links[:, 0]]
    # Four times the angle is the same for all four directions of a grid, so these do not cancel out.
    turned = np.exp(4j * np.arctan2(along[:, 1], along[:, 0])).sum()
    angle = -np.angle(turned) / 4
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(places @ rotation)


def _framed(places: FloatArray) -> FloatArray:
    """Moved and scaled to the unit square, both axes alike."""
    low, high = places.min(axis=0), places.max(axis=0)
    return np.asarray((places - (low + high) / 2) / max(float((high - low).max()), 1e-9) + 0.5)


def by_distances(matrix: FloatArray) -> FloatArray:
    """[n, 2]: points whose distances are as near to a table of distances as a plane allows (classical scaling)."""
    squared = ((matrix + matrix.T) / 2) ** 2
    centred = -0.5 * (squared - squared.mean(0) - squared.mean(1, keepdims=True) + squared.mean())
    values, vectors = np.linalg.eigh(centred)
    return _framed(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)))


def on_a_circle(nodes: int) -> FloatArray:
    angle = 2 * np.pi * np.arange(nodes) / nodes
    return np.stack([0.5 + 0.5 * np.sin(angle), 0.5 - 0.5 * np.cos(angle)], axis=1)
