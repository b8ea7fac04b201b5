"""DSATUR (Brélaz 1979): always colour the vertex that sees most colours, ties by uncoloured neighbours."""

from __future__ import annotations

import heapq
import time

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.baselines.constructive import colored, smallest_free
from anycsp.bench.structure import coloring_graph, is_decision
from anycsp.problem import Problem


class Dsatur(Baseline):
    name = "dsatur"

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and coloring_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        found = coloring_graph(problem)
        assert found is not None
        color = dsatur(found[0].neighbours())
        return colored(problem, found[1], color, time.perf_counter() - began)


def dsatur(neighbours: list[list[int]]) -> list[int]:
    color = [-1] * len(neighbours)
    seen: list[set[int]] = [set() for _ in neighbours]
    uncolored = [len(near) for near in neighbours]
    # Entries of the heap grow stale as vertices see more colours; a stale one is dropped when it surfaces.
    heap = [(0, -uncolored[v], v) for v in range(len(neighbours))]
    heapq.heapify(heap)
    while heap:
        saturation, degree, vertex = heapq.heappop(heap)
        if color[vertex] >= 0 or (-saturation, -degree) != (len(seen[vertex]), uncolored[vertex]):
            continue
        color[vertex] = smallest_free(color, neighbours[vertex])
        for near in neighbours[vertex]:
            if color[near] < 0:
                seen[near].add(color[vertex])
                uncolored[near] -= 1
                heapq.heappush(heap, (-len(seen[near]), -uncolored[near], near))
    return color
