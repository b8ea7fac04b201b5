"""Propagation before search: what the required constraints rule out is taken from the problem once, for every engine.

Domains shrink to a fixpoint of all propagators, and by probing, which tries values one at a time. What is left is the
same problem over smaller domains: the constraints are said again without the values that are gone and without most of
the variables that are fixed, those that always hold are left out, and variables that equal others are merged. Names and
numbers of variables stay, so objectives, definitions and answers keep their meaning, and the way back is a lookup.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.constraints.base import Block, Restriction
from anycsp.constraints.comparison import OPERATORS
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.relation import Relation, relation_of_truth
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.table import TableBlock
from anycsp.deadline import NEVER, Deadline
from anycsp.graph import ConstraintValueGraph
from anycsp.model.expressions import scope_of
from anycsp.model.lowering import TABLE_LIMIT
from anycsp.model.problem import Problem
from anycsp.model.program import Program
from anycsp.model.structure import Kind, is_decision, is_modelled, kind_of
from anycsp.presolve.equations import restrict_by_equations
from anycsp.presolve.network import propagation_network, required

IntArray = npt.NDArray[np.int64]

LARGEST = 1_000_000
"""Edges beyond which nothing is propagated beforehand: the search's own tree does it, without a second copy."""
LARGEST_FORMULA = 5_000_000
"""The same for formulas: their propagators are the clauses, and literals by themselves often decide most variables."""
SHARE = 0.05
"""The part of the time limit that propagation and probing may take together."""
PROBED = (Kind.STRUCTURED, Kind.TABLES)
"""Kinds that are propagated whatever they look like, and probed."""
BARREN = 200
"""Values tried in a row that removed nothing before probing ends: where one in two hundred fails, the rest is left to
the search."""


@dataclass(frozen=True)
class Propagated:
    """The problem over smaller domains; a reduction."""

    problem: Problem
    twin: IntArray
    """[variables]: the one that a variable equals, itself for most."""
    start: IntArray
    """[variables]: where the values left of each begin."""
    position: IntArray
    """[values left]: the position each had."""

    @property
    def seconds(self) -> float:
        """What `extended`, a lookup, takes."""
        return 0.0

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        return self.position[self.start + positions[self.twin]].astype(np.int32)


@dataclass(frozen=True)
class Propagation:
    """What came of it."""

    reduction: Propagated | None
    """None where nothing was removed."""
    refuted_by: int | None = None
    """The constraint that was left without an assignment, by its number in the problem; −1 where several together."""


def is_propagated(problem: Problem) -> bool:
    """Whether values may go, and some may: hard constraints exclude what they exclude, and so do all the constraints of
    a decision. Binary tables, colourings and formulas that nobody modelled are as often about violating least, so only
    their hard constraints count, and only where one of them decides something by itself; otherwise nothing follows."""
    if not native.available() or not problem.num_constraints:
        return False
    kind = kind_of(problem)
    largest = LARGEST_FORMULA if kind is Kind.FORMULA else LARGEST
    if sum(int(problem.domain_sizes[block.scope].sum()) for block in problem.blocks) > largest:
        return False
    optimised = problem.objective is not None and problem.objective.expression is not None
    hard = any(block.terms.hard.any() for block in problem.blocks) and (optimised or not problem.scoring.all_required)
    if kind in PROBED:
        return hard or is_decision(problem)
    if kind is Kind.FORMULA and is_modelled(problem) and is_decision(problem):
        return any((block.arity == 1).any() for block in problem.blocks)
    return hard and (optimised or any((block.terms.hard & (block.arity == 1)).any() for block in problem.blocks))


def propagate(problem: Problem, graph: ConstraintValueGraph, deadline: Deadline = NEVER) -> Propagation:
    """`graph` is that of the problem; `deadline` the end of the whole search."""
    network = propagation_network(graph, deadline.within(SHARE * deadline.left))
    if not (network.propagate() and (kind_of(problem) not in PROBED or network.probe(BARREN))):
        failed = int(network.failed)
        return Propagation(None, int(graph.terms.index[failed]) if failed >= 0 else -1)
    kept = network.domains().astype(np.bool_)
    must_hold = np.zeros(problem.num_constraints, dtype=np.bool_)
    must_hold[graph.terms.index] = required(graph)
    if kind_of(problem) in PROBED and not restrict_by_equations(
        problem, kept, must_hold, deadline.within(SHARE * deadline.left)
    ):
        return Propagation(None, -1)
    twin = _twins(problem, kept, must_hold)
    if kept.all() and (twin == np.arange(len(twin))).all():
        return Propagation(None)
    return Propagation(_restricted(problem, kept, twin))


def _restricted(problem: Problem, kept: npt.NDArray[np.bool_], twin: IntArray) -> Propagated:
    restriction = Restriction.of(problem.domains, kept)
    start = restriction.after.start
    position = (np.arange(len(kept)) - np.repeat(problem.domains.start[:-1], problem.domains.sizes))[kept]
    domains = [
        domain if last - first == len(domain) else domain.subset(position[first:last])
        for domain, (first, last) in zip(problem.domain_list, pairwise(start.tolist()), strict=True)
    ]
    blocks: list[Block] = []
    for block in problem.blocks:
        smaller = block.restricted(restriction)
        for part in _tabulated(smaller, restriction) if isinstance(smaller, RuleBlock) else [smaller]:
            renamed = replace(part, scope=twin[part.scope])
            stays = ~renamed.always_holds(restriction.after) & ~_repeats(renamed)  # an equality of twins repeats one
            blocks.append(renamed if stays.all() else renamed.take(np.flatnonzero(stays)))
    smaller_problem = problem.over(domains, blocks)
    merged = set(np.flatnonzero(twin != np.arange(len(twin))).tolist())
    # What was posted whole names the variables it was posted over, and merged ones are not searched any more.
    smaller_problem.whole = [posted for posted in smaller_problem.whole if merged.isdisjoint(posted.scope)]
    return Propagated(smaller_problem, twin, start[:-1], position)


def _tabulated(block: RuleBlock, restriction: Restriction) -> list[Block]:
    """Rules over few enough combinations become tables, as they would have been had the domains been small before."""
    sizes = restriction.after.sizes[block.scope].astype(np.float64)
    nonempty = block.arity > 0
    combinations = np.ones(len(block))
    if nonempty.any():
        combinations[nonempty] = np.multiply.reduceat(sizes, block.scope_start[:-1][nonempty])
    few = combinations <= TABLE_LIMIT
    relations: dict[Hashable, Relation] = {}
    tables: list[TableBlock] = []
    after = restriction.after
    for row in np.flatnonzero(few).tolist():
        scope, own = block.scope_of(row), block.take(np.array([row]))
        values = [after.values[after.start[x] : after.start[x + 1]] for x in scope.tolist()]
        key = (int(block.program[row]), own.parameter.tobytes(), *(v.tobytes() for v in values))
        if key not in relations:
            relations[key] = _open_relation(own.programs[0], own.parameter.tolist(), values)
        open_ = scope[after.sizes[scope] > 1]
        tables.append(TableBlock.of_relation(open_, relations[key], own.terms))
    return [*([TableBlock.concat(tables)] if tables else []), block.take(np.flatnonzero(~few))]


def _open_relation(program: Program, parameters: Sequence[int], values: Sequence[IntArray]) -> Relation:
    """What a rule leaves to the variables that have a choice; an axis each, however many others are fixed."""
    sizes = tuple(len(v) for v in values if len(v) > 1)
    place = np.cumsum([len(v) > 1 for v in values]) - 1
    axes = [
        v.reshape([-1 if len(v) > 1 and axis == place[slot] else 1 for axis in range(len(sizes))])
        for slot, v in enumerate(values)
    ]
    return relation_of_truth(np.broadcast_to(np.asarray(program.holds(axes, parameters), dtype=np.bool_), sizes))


# ── equal variables ──────────────────────────────────────────────────────────────────────────────────


def _twins(problem: Problem, kept: npt.NDArray[np.bool_], must_hold: npt.NDArray[np.bool_]) -> IntArray:
    """[variables]: the variable that each is merged into. Only variables that share no constraint but equalities, and
    that nothing is defined by, so that no scope has one twice and definitions stay what they are."""
    twin = np.arange(problem.num_variables)
    bound = _mentioned(problem)
    domains = problem.domains
    for first, second in _equalities(problem, must_hold):
        left = [domains.values[domains.start[x] : domains.start[x + 1]] for x in (first, second)]
        left = [v[kept[domains.start[x] : domains.start[x + 1]]] for v, x in zip(left, (first, second), strict=True)]
        if first in bound or second in bound or len(left[0]) == 1 or not np.array_equal(left[0], left[1]):
            continue
        a, b = twin[first], twin[second]
        twin[twin == b] = a
    for block in problem.blocks if (twin != np.arange(len(twin))).any() else []:
        own = replace(block, scope=twin[block.scope])
        meets = np.flatnonzero(_repeats(own) & ~_is_equality(block))
        for row in meets.tolist():
            for x in block.scope_of(row).tolist():
                twin[twin == twin[x]] = np.flatnonzero(twin == twin[x])
    return twin


def _mentioned(problem: Problem) -> set[int]:
    """Variables that are defined, define others, or occur in the objective."""
    expressions = list(problem.definitions.values())
    if problem.objective is not None and problem.objective.expression is not None:
        expressions.append(problem.objective.expression)
    return {x for expression in expressions for x in scope_of(expression)} | problem.definitions.keys()


def _equalities(problem: Problem, must_hold: npt.NDArray[np.bool_]) -> Iterable[tuple[int, int]]:
    for block in problem.blocks:
        for row in np.flatnonzero(_is_equality(block) & must_hold[block.terms.index]).tolist():
            first, second = block.scope_of(row).tolist()
            yield first, second


def _is_equality(block: Block) -> npt.NDArray[np.bool_]:
    """[constraints]: it says x = y and nothing else."""
    result = np.zeros(len(block), dtype=np.bool_)
    if not isinstance(block, LinearBlock):
        return result
    rows = np.flatnonzero((block.arity == 2) & (block.operator == OPERATORS.index("==")) & (block.bound == 0))
    first = block.coefficient[block.scope_start[rows]]
    result[rows] = (first != 0) & (first == -block.coefficient[block.scope_start[rows] + 1])
    return result


def _repeats(block: Block) -> npt.NDArray[np.bool_]:
    """[constraints]: a variable is twice in the scope."""
    row = block.slot_constraint()
    order = np.lexsort((block.scope, row))
    same = (row[order][1:] == row[order][:-1]) & (block.scope[order][1:] == block.scope[order][:-1])
    result = np.zeros(len(block), dtype=np.bool_)
    result[row[order][1:][same]] = True
    return result
