"""What kind of problem is this? The one place that recognises it; everything that depends on the kind asks here.

The choice of search, strategy and model (`search/choose.py`), presolve, the formats of one problem class and the
baselines that solve one all see the same kinds.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock
from anycsp.model.problem import Problem
from anycsp.model.score import as_written

IntArray = npt.NDArray[np.int64]


class Kind(Enum):
    """What all the constraints of a problem have in common."""

    FORMULA = "clauses over two-valued variables"
    CUT = "pairs of two-valued variables, each value in conflict with at most one of the other's"
    COLORING = "the same over larger domains: ≠, and what is like it"
    BINARY = "other tables over two variables"
    TABLES = "tables over any number of variables"
    STRUCTURED = "anything else: sums, all-different, rules, …"


def kind_of(problem: Problem) -> Kind:
    """The first kind that fits."""
    blocks = _nonempty(problem)
    if blocks and all(isinstance(block, ClauseBlock) for block in blocks) and is_boolean(problem):
        return Kind.FORMULA
    if not blocks or not all(isinstance(block, TableBlock) for block in blocks):
        return Kind.STRUCTURED
    relations = _relations(problem)
    if any(len(r.sizes) != 2 for r in relations):
        return Kind.TABLES
    if any(r.layout != "matching" for r in relations):
        return Kind.BINARY
    return Kind.CUT if max(max(r.sizes) for r in relations) == 2 else Kind.COLORING


def has_long_tables(problem: Problem) -> bool:
    """Whether some table is too large to be looked up cell by cell, so that its tuples are gone through."""
    return any(relation.layout == "tuples" for relation in _relations(problem))


def is_boolean(problem: Problem) -> bool:
    """Whether no variable has more than two values."""
    return bool((problem.domains.sizes <= 2).all())


ONE_LENGTH = 0.9
"""The part of clauses that have the longest's length in a formula drawn with one length: a literal drawn twice makes
some of them shorter."""


def is_modelled(problem: Problem) -> bool:
    """Whether a formula was written, not drawn: long clauses among shorter ones, as in "at least one of these, and no
    two of them", or nothing but literals."""
    lengths = np.concatenate([block.arity for block in problem.blocks])
    longest = int(lengths.max(initial=0))
    return longest <= 1 or (longest > 2 and bool((lengths == longest).mean() < ONE_LENGTH))


def may_be_satisfiable(problem: Problem) -> bool:
    """Whether a formula is meant to be satisfied and not too dense for it; otherwise it is Max-SAT.

    Somebody's model is never too dense. Of others, which may be drawn at random or be cuts, dense means beyond the
    first-moment bound: a random assignment satisfies a clause of length k with probability 1 − 2^−k, so above
    Σ −ln(1 − 2^−k) = n ln 2 a random formula has less than one satisfying assignment on average
    (3-SAT: 5.19 clauses per variable; the threshold itself, 4.27, is known for few lengths and for no mixture of them).
    Clauses of unequal weight or hardness say that not all of them are expected to hold.
    """
    blocks = _nonempty(problem)
    weights = np.concatenate([block.terms.weight for block in blocks]) if blocks else np.ones(1)
    if (weights != 1).any() or (any(block.terms.hard.any() for block in blocks) and not problem.scoring.all_required):
        return False
    if is_modelled(problem):
        return True
    expected = sum(float(-np.log1p(-(0.5 ** block.arity[block.arity > 0])).sum()) for block in blocks)
    return expected < problem.num_variables * math.log(2)


def is_decision(problem: Problem) -> bool:
    """Whether everything is meant to be satisfied: where all is required. Otherwise not where violated weight is what
    is optimised (a cut, a cost), not a formula too dense to be satisfiable, and not wishes alone. Formulas, colourings
    and binary tables also come from files that know no required constraints, so there a weight of 1 does not tell."""
    if problem.scoring.all_required:
        return True
    if problem.objective is not None and problem.objective.is_violated_weight:
        return False
    kind = kind_of(problem)
    if kind in (Kind.TABLES, Kind.STRUCTURED):
        blocks = _nonempty(problem)
        return not blocks or any(block.terms.hard.any() for block in blocks)
    if kind is Kind.FORMULA:
        return may_be_satisfiable(problem)
    hard = any(block.terms.hard.any() for block in problem.blocks)
    return kind is not Kind.CUT and (hard or all((block.terms.weight == 1).all() for block in problem.blocks))


# ── the objects of one problem class, seen in a general problem ──────────────────────────────────────


@dataclass(frozen=True)
class WeightedGraph:
    """Vertices 0 … vertices−1, which are variables, and edges [edges, 2], which are constraints in their order."""

    vertices: int
    edges: IntArray
    weights: npt.NDArray[np.float64]
    """[edges]: positive wants the ends apart, negative together."""

    def adjacency(self) -> tuple[IntArray, IntArray, npt.NDArray[np.float64]]:
        """(start, neighbour, weight): the neighbours of v are rows start[v] … start[v+1]."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=self.vertices))]).astype(np.int64)
        return start, ends[order, 1], np.tile(self.weights, 2)[order]

    def neighbours(self) -> list[list[int]]:
        start, neighbour, _ = self.adjacency()
        return [neighbour[start[v] : start[v + 1]].tolist() for v in range(self.vertices)]


def cut_graph(problem: Problem) -> WeightedGraph | None:
    """The weighted graph of a MaxCut problem: two values, every constraint a ≠ or (negative weight) an =."""
    return None if (problem.domains.sizes != 2).any() else pair_graph(problem)


def coloring_graph(problem: Problem) -> tuple[WeightedGraph, int] | None:
    """The graph and the number of colours, where every constraint is a ≠ over one domain size."""
    graph, sizes = pair_graph(problem), np.unique(problem.domains.sizes)
    return None if graph is None or len(sizes) != 1 or (graph.weights < 0).any() else (graph, int(sizes[0]))


def pair_graph(problem: Problem) -> WeightedGraph | None:
    """The graph of a problem whose constraints are all X ≠ Y or X = Y; None for any other, and without constraints."""
    blocks = _nonempty(problem)
    if not blocks:
        return None
    edges, weights = np.zeros((problem.num_constraints, 2), dtype=np.int64), np.zeros(problem.num_constraints)
    for block in blocks:
        signs = pair_signs(block)
        if (signs == 0).any():
            return None
        edges[block.terms.index] = block.scope.reshape(-1, 2)
        weights[block.terms.index] = signs * block.terms.weight
    return WeightedGraph(problem.num_variables, edges, weights)


def pair_signs(block: Block) -> IntArray:
    """[constraints]: 1 where it is X ≠ Y, −1 where it is X = Y, 0 where it is neither."""
    if not isinstance(block, TableBlock) or not len(block):
        return np.zeros(len(block), dtype=np.int64)
    return np.array([_sign(relation) for relation in block.relations], dtype=np.int64)[block.relation]


def _sign(relation: Relation) -> int:
    """1 for ≠, −1 for =, 0 for neither; either may list the pairs (v, v) or all the others."""
    if len(relation.sizes) != 2 or relation.sizes[0] != relation.sizes[1]:
        return 0
    size = relation.sizes[0]
    if relation.is_diagonal:
        return -1 if relation.allowed else 1
    if len(relation.tuples) == size * size - size and (relation.tuples[:, 0] != relation.tuples[:, 1]).all():
        return 1 if relation.allowed else -1
    return 0


def formula(problem: Problem) -> ClauseBlock | None:
    """The clauses of a problem that has nothing else, over two values each."""
    blocks = _nonempty(problem)
    if len(blocks) != 1 or not isinstance(blocks[0], ClauseBlock) or (problem.domains.sizes != 2).any():
        return None
    return blocks[0]


def quadratic_form(problem: Problem) -> tuple[dict[tuple[int, ...], Fraction], Fraction] | None:
    """Coefficients by the one or two variables of a product, and the constant: what the problem minimises, where it is
    soft tables over at most two variables that are 0 or 1. A cut or gain is minimised by its negative."""
    objective = problem.objective
    weighed = objective is not None and objective.is_violated_weight
    if not weighed or any(domain.values.tolist() != [0, 1] for domain in problem.domain_list):
        return None
    assert objective is not None
    constant = as_written(objective.constant) * (1 if objective.kind == "cost" else -1)
    terms: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for block in _nonempty(problem):
        if not isinstance(block, TableBlock) or block.terms.hard.any() or (block.arity > 2).any():
            return None
        violated = [1 - relation.truth.astype(np.int64) for relation in block.relations]
        for row, (relation, weight) in enumerate(zip(block.relation, block.terms.weight, strict=True)):
            scope, cost, w = sorted(block.scope_of(row).tolist()), violated[relation], as_written(weight)
            if block.scope_of(row).tolist() != scope:  # 01 and 10 change places
                cost = cost[[0, 2, 1, 3]]
            constant += w * int(cost[0])
            if len(scope) == 1:
                terms[scope[0],] += w * int(cost[1] - cost[0])
            elif scope:
                terms[scope[0],] += w * int(cost[2] - cost[0])
                terms[scope[1],] += w * int(cost[1] - cost[0])
                terms[scope[0], scope[1]] += w * int(cost[3] - cost[2] - cost[1] + cost[0])
    return {scope: c for scope, c in terms.items() if c}, constant


def _relations(problem: Problem) -> list[Relation]:
    return [r for block in problem.blocks if isinstance(block, TableBlock) for r in block.relations]


def _nonempty(problem: Problem) -> list[Block]:
    return [block for block in problem.blocks if len(block)]
