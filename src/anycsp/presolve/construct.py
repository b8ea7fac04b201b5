"""A first assignment for problems of ≠-like constraints, built variable by variable as DSATUR colours a graph.

Graphs of register allocation or timetables are full of cliques that need every colour. Built in the right order they
are easy; a local search that starts at random tangles them and hardly comes loose.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from anycsp.constraints.table import TableBlock
from anycsp.model.problem import Problem
from anycsp.neural.models.choose import kind_of

MOST_CONSTRAINTS = 100_000
"""Building takes about 8 µs a constraint before the clock of the search starts: a second at most."""


def constructed(problem: Problem) -> npt.NDArray[np.int64] | None:
    """Next the variable with the fewest values free of conflict, of equals the one with most constraints; it takes the
    value that costs least. None for problems of any other kind."""
    if kind_of(problem) != "coloring" or problem.num_constraints > MOST_CONSTRAINTS:
        return None
    around = _neighbours(problem)
    sizes = problem.domains.sizes.tolist()
    cost = [[0.0] * size for size in sizes]
    free = list(sizes)
    position = [-1] * len(sizes)
    # Entries grow stale as values are ruled out; a stale one is dropped when it surfaces.
    heap = [(free[x], -len(around[x]), x) for x in range(len(sizes))]
    heapq.heapify(heap)
    while heap:
        left, _, x = heapq.heappop(heap)
        if position[x] >= 0 or left != free[x]:
            continue
        chosen = min(range(sizes[x]), key=cost[x].__getitem__)
        position[x] = chosen
        for y, conflicting, weight in around[x]:
            ruled_out = conflicting[chosen]
            if ruled_out < 0 or position[y] >= 0:
                continue
            if cost[y][ruled_out] == 0:
                free[y] -= 1
                heapq.heappush(heap, (free[y], -len(around[y]), y))
            cost[y][ruled_out] += weight
    return np.array(position, dtype=np.int64)


def _neighbours(problem: Problem) -> list[list[tuple[int, list[int], float]]]:
    """Of every variable: the other one of each constraint, its conflicting position by one's own, and the weight."""
    around: list[list[tuple[int, list[int], float]]] = [[] for _ in range(problem.num_variables)]
    for block in problem.blocks:
        if not isinstance(block, TableBlock):
            continue
        # A hard constraint outweighs all soft ones together.
        weight = np.where(block.terms.hard, 1.0 + problem.num_constraints, 1.0) * block.terms.weight
        tables = [[side.tolist() for side in relation.conflict] for relation in block.relations]
        pairs = zip(block.scope.reshape(-1, 2).tolist(), block.relation.tolist(), weight.tolist(), strict=True)
        for (x, y), relation, w in pairs:
            of_first, of_second = tables[relation]
            around[x].append((y, of_second, w))
            around[y].append((x, of_first, w))
    return around
