"""A first assignment for problems of ≠-like constraints, built variable by variable as DSATUR colours a graph.

Graphs of register allocation or timetables are full of cliques that need every colour. Built in the right order they
are easy; a local search that starts at random tangles them and hardly comes loose.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anycsp.constraints.table import TableBlock
from anycsp.deadline import NEVER, Deadline
from anycsp.model.coloring import Neighbour, most_constrained_first
from anycsp.model.problem import Problem
from anycsp.model.structure import Kind, kind_of

MOST_CONSTRAINTS = 100_000
"""Building takes about 8 µs per constraint, which belong to the search: a second at most."""


def constructed(problem: Problem, deadline: Deadline = NEVER) -> npt.NDArray[np.int64] | None:
    """The positions built; None for problems of any other kind."""
    if kind_of(problem) is not Kind.COLORING or problem.num_constraints > MOST_CONSTRAINTS:
        return None
    sizes, around = problem.domains.sizes.tolist(), _neighbours(problem)
    return np.array(most_constrained_first(sizes, around, ties_by_open=False, deadline=deadline), dtype=np.int64)


def _neighbours(problem: Problem) -> list[list[Neighbour]]:
    """By variable: the constraints on it."""
    around: list[list[Neighbour]] = [[] for _ in range(problem.num_variables)]
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
