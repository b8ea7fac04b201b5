"""What solvers of one problem class see in a general `Problem`: a weighted graph, a formula, a list of tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.table import Relation, TableBlock
from anycsp.model.problem import Problem
from anycsp.neural.models.choose import kind_of

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Vertices are the problem's variables."""

    vertices: int
    edges: IntArray
    """[edges, 2]"""
    weight: npt.NDArray[np.float64]
    """[edges]: positive wants the ends apart, negative together."""

    def adjacency(self) -> tuple[IntArray, IntArray, npt.NDArray[np.float64]]:
        """(start, neighbour, weight): the neighbours of v are rows start[v] … start[v+1]."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=self.vertices))]).astype(np.int64)
        return start, ends[order, 1], np.tile(self.weight, 2)[order]

    def neighbours(self) -> list[list[int]]:
        start, neighbour, _ = self.adjacency()
        return [neighbour[start[v] : start[v + 1]].tolist() for v in range(self.vertices)]


def cut_graph(problem: Problem) -> Graph | None:
    """The weighted graph of a MaxCut problem: two values, every constraint an ≠ or (negative weight) an =."""
    block = _only_block(problem, TableBlock)
    if block is None or (problem.domains.sizes != 2).any():
        return None
    sign = {"≠": 1.0, "=": -1.0}
    signs = np.array([sign.get(_pair_kind(relation), 0.0) for relation in block.relations])
    if (signs == 0).any():
        return None
    return Graph(problem.num_variables, block.scope.reshape(-1, 2), block.terms.weight * signs[block.relation])


def coloring_graph(problem: Problem) -> tuple[Graph, int] | None:
    """The graph and the number of colours, where every constraint is ≠ over one domain size."""
    block = _only_block(problem, TableBlock)
    sizes = problem.domains.sizes
    if block is None or len(np.unique(sizes)) != 1 or any(_pair_kind(r) != "≠" for r in block.relations):
        return None
    return Graph(problem.num_variables, block.scope.reshape(-1, 2), block.terms.weight), int(sizes[0])


def formula(problem: Problem) -> ClauseBlock | None:
    """The clauses of a problem that has nothing else, over two values each."""
    block = _only_block(problem, ClauseBlock)
    return None if block is None or (problem.domains.sizes != 2).any() else block


def dimacs_clauses(block: ClauseBlock) -> list[list[int]]:
    """Literals ±(variable + 1), positive for the second value; tautologies left out."""
    signed = np.where(block.forbidden == 1, -1, 1) * (block.scope + 1)
    parts = np.split(signed, block.scope_start[1:-1])
    return [part.tolist() for part, tautology in zip(parts, block.tautology, strict=True) if not tautology]


def is_tabular(problem: Problem) -> bool:
    """Only tables and clauses, which every constraint solver can express."""
    return all(isinstance(block, TableBlock | ClauseBlock) for block in problem.blocks)


def is_decision(problem: Problem) -> bool:
    """Whether everything is meant to be satisfied: not a cut, and not a formula too dense to be satisfiable."""
    return kind_of(problem) not in ("maxcut", "maxsat")


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


BlockType = TypeVar("BlockType", bound=Block)


def _only_block(problem: Problem, family: type[BlockType]) -> BlockType | None:
    """The problem's one block, where all its constraints are of one family."""
    blocks = [block for block in problem.blocks if len(block)]
    return blocks[0] if len(blocks) == 1 and isinstance(blocks[0], family) else None


def _pair_kind(relation: Relation) -> str:
    """ "≠" or "=" for a binary relation over equal domain sizes that is just that on positions; "" otherwise."""
    if len(relation.sizes) != 2 or relation.sizes[0] != relation.sizes[1]:
        return ""
    truth, diagonal = relation.truth.reshape(relation.sizes), np.eye(relation.sizes[0], dtype=np.uint8)
    return "≠" if (truth == 1 - diagonal).all() else "=" if (truth == diagonal).all() else ""
