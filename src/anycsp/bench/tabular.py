"""A general `Problem` in the words of other solvers: lists of DIMACS clauses, lists of tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.table import TableBlock
from anycsp.model.problem import Problem

IntArray = npt.NDArray[np.int64]


def dimacs_clauses(block: ClauseBlock) -> list[list[int]]:
    """Literals ±(variable + 1), positive for the second value; tautologies left out."""
    parts = np.split(block.literals, block.scope_start[1:-1])
    return [part.tolist() for part, tautology in zip(parts, block.tautology, strict=True) if not tautology]


def is_tabular(problem: Problem) -> bool:
    """Only tables and clauses, which every constraint solver can express."""
    return all(isinstance(block, TableBlock | ClauseBlock) for block in problem.blocks)


def tables(problem: Problem) -> Iterator[tuple[IntArray, IntArray, bool, float]]:
    """Every constraint as (scope, tuples of positions, allowed, weight); a clause forbids its one tuple."""
    for block in problem.blocks:
        for row in range(len(block)):
            scope, weight = block.scope_of(row), float(block.terms.weight[row])
            if isinstance(block, TableBlock):
                relation = block.relations[block.relation[row]]
                yield scope, relation.tuples, relation.allowed, weight
            elif isinstance(block, ClauseBlock) and not block.tautology[row]:
                forbidden = block.forbidden[block.scope_start[row] : block.scope_start[row + 1]]
                yield scope, forbidden[None, :], False, weight
