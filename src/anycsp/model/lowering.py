"""From an expression to the family that labels it fastest.

Tried in order: a condition on one variable (unary table), ≠ of two variables (matching table), linear comparison,
sum of functions of single variables, maximum or minimum, number of distinct values, clause, small product of
domains (table, tabulated once for equal rules), and for the rest a rule, labelled lazily.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from anycsp.constraints.base import Block, IntArray, Terms
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.distinct import DistinctBlock
from anycsp.constraints.extremum import ExtremumBlock, fits
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.relation import Relation, relation_of_truth
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.sum import SumBlock
from anycsp.constraints.table import TableBlock
from anycsp.model.bounds import bounds
from anycsp.model.domains import Domain
from anycsp.model.expressions import (
    COMPLEMENT,
    MIRRORED,
    SYMBOL,
    Expression,
    Operand,
    Operation,
    Variable,
    operation,
    scope_of,
)
from anycsp.model.program import Program, compile_expression, evaluate

TABLE_LIMIT = 1 << 12
"""Rules over at most this many combinations become tables."""


class Modelled(Protocol):
    """What lowering needs to know of a problem."""

    relations: dict[Hashable, Relation]
    """Relations of tabulated rules, by rule and domains, so that equal ones are shared."""

    @property
    def domain_list(self) -> Sequence[Domain]: ...

    def bounds(self, variable: int) -> tuple[int, int]: ...


def block_of(problem: Modelled, expression: Operand, terms: Terms) -> Block:
    """One constraint that holds where the expression is true."""
    if not isinstance(expression, Operation):
        expression = operation("ne", expression, 0)
    expression = without_negation(expression)
    scope, program, parameters = compile_expression(expression)
    key = ("block", program, tuple(parameters), tuple(problem.domain_list[x].key for x in scope))
    relation = problem.relations.get(key)
    if relation is None:
        block = _new_block(problem, expression, scope, terms)
        if isinstance(block, TableBlock) and block.scope.tolist() == scope:
            problem.relations[key] = block.relations[0]
        return block
    return TableBlock.of_relation(np.array(scope, dtype=np.int64), relation, terms)


def block_alike(one: Block, own: list[int], scopes: Sequence[Sequence[int]], terms: Terms) -> Block:
    """The constraint of a block of one, which was lowered over the variables `own`, over each of these scopes."""
    order = [own.index(x) for x in one.scope.tolist()]
    scope = np.array(scopes, dtype=np.int64).reshape(len(scopes), len(own))[:, order].reshape(-1)
    return replace(one.take(np.zeros(len(scopes), dtype=np.int64)), scope=scope, terms=terms)


def _new_block(problem: Modelled, expression: Operation, scope: list[int], terms: Terms) -> Block:
    """`block_of` an expression whose like was not seen over like domains."""
    bounds(expression, problem.bounds)  # refuses what leaves 64-bit arithmetic
    if len(scope) <= 1:
        return tabulated(problem, expression, terms)
    if expression.operator in SYMBOL and len(expression.operands) == 2:
        block = _comparison(problem, expression, terms)
    elif expression.operator == "eq":
        block = _all_equal(expression, terms)
    else:
        block = _disjunction(problem, expression, terms)
    if block is not None:
        return block
    if combinations(problem, scope) <= TABLE_LIMIT:
        return tabulated(problem, expression, terms)
    return RuleBlock.one(expression, terms)


def without_negation(expression: Operation) -> Operation:
    """Push `not` inwards from the root, as far as comparisons."""
    while expression.operator == "not":
        inner = expression.operands[0]
        if not isinstance(inner, Operation):
            return operation("eq", inner, 0)
        if inner.operator == "not":
            kept = inner.operands[0]
            expression = kept if isinstance(kept, Operation) else operation("ne", kept, 0)
        elif inner.operator in COMPLEMENT and len(inner.operands) == 2:
            return operation(COMPLEMENT[inner.operator], *inner.operands)
        elif inner.operator in ("and", "or"):
            return operation("or" if inner.operator == "and" else "and", *(negated(o) for o in inner.operands))
        elif inner.operator == "imp":
            return operation("and", inner.operands[0], negated(inner.operands[1]))
        else:
            return expression
    return expression


def negated(operand: Operand) -> Operand:
    return without_negation(operation("not", operand)) if isinstance(operand, Expression) else int(not operand)


def conjuncts(expression: Operand) -> list[Operand]:
    """The parts of a conjunction, for those who want each to count by itself."""
    if isinstance(expression, Operation):
        expression = without_negation(expression)
        if expression.operator == "and":
            return [part for operand in expression.operands for part in conjuncts(operand)]
    return [expression]


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────


def combinations(problem: Modelled, scope: Sequence[int]) -> int:
    product = 1
    for x in scope:
        product *= len(problem.domain_list[x])
    return product


def tabulated(problem: Modelled, expression: Operand, terms: Terms) -> TableBlock:
    """The expression as a table; equal expressions over equal domains share one relation."""
    scope, program, parameters = compile_expression(expression)
    domains = [problem.domain_list[x] for x in scope]
    key = (program, tuple(parameters), tuple(d.key for d in domains))
    relation = problem.relations.get(key)
    if relation is None:
        relation = problem.relations[key] = relation_of_program(program, parameters, [d.values for d in domains])
    return TableBlock.of_relation(np.array(scope, dtype=np.int64), relation, terms)


def relation_of_program(program: Program, parameters: Sequence[int], values: Sequence[IntArray]) -> Relation:
    sizes = tuple(len(v) for v in values)
    axes = [v.reshape([-1 if i == axis else 1 for i in range(len(sizes))]) for axis, v in enumerate(values)]
    truth = np.broadcast_to(np.asarray(program.holds(axes, parameters), dtype=np.bool_), sizes)
    return relation_of_truth(truth)


# ── functions of one variable ────────────────────────────────────────────────────────────────────────


def unary_values(problem: Modelled, expression: Operand) -> tuple[int, IntArray] | None:
    """The variable of an expression over one variable, and its value at every domain position; None where the
    expression has more variables or none, or is undefined somewhere."""
    scope = scope_of(expression)
    if len(scope) != 1:
        return None
    values = problem.domain_list[scope[0]].values
    result, undefined = evaluate(expression, {scope[0]: values})
    if undefined is not False and np.any(undefined):
        return None
    return scope[0], np.broadcast_to(np.asarray(result, dtype=np.int64), values.shape)


def linear_form(expression: Operand, factor: int = 1) -> tuple[list[tuple[int, Expression]], int]:
    """Σ coefficient · part + constant, the parts not sums or multiples themselves."""
    parts: list[tuple[int, Expression]] = []
    constant = 0
    pending: list[tuple[int, Operand]] = [(factor, expression)]
    while pending:
        scale, node = pending.pop()
        if not isinstance(node, Expression):
            constant += scale * node
        elif isinstance(node, Operation) and node.operator == "add":
            pending.extend((scale, operand) for operand in reversed(node.operands))
        elif isinstance(node, Operation) and node.operator == "sub":
            pending += [(-scale, node.operands[1]), (scale, node.operands[0])]
        elif isinstance(node, Operation) and node.operator == "neg":
            pending.append((-scale, node.operands[0]))
        elif isinstance(node, Operation) and node.operator == "mul":
            factors = [o for o in node.operands if isinstance(o, Expression)]
            for operand in node.operands:
                scale *= 1 if isinstance(operand, Expression) else operand
            if len(factors) > 1:
                inner = node if len(factors) == len(node.operands) else operation("mul", *factors)
                parts.append((scale, inner))
            elif factors:
                pending.append((scale, factors[0]))
            else:
                constant += scale
        else:
            parts.append((scale, node))
    return parts, constant


# ── comparisons ──────────────────────────────────────────────────────────────────────────────────────


def _comparison(problem: Modelled, expression: Operation, terms: Terms) -> Block | None:
    left, right = expression.operands
    operator = expression.operator
    if operator == "ne":
        matching = _different(problem, expression, terms)
        if matching is not None:
            return matching
    for a, b, op in ((left, right, operator), (right, left, MIRRORED[operator])):
        if isinstance(a, Operation) and a.operator in ("min", "max"):
            block_or_none = _extremum(problem, a, op, b, terms)
            if block_or_none is not None:
                return block_or_none
        if isinstance(a, Operation) and a.operator == "distinct":
            block_or_none = _distinct(a, op, b, terms)
            if block_or_none is not None:
                return block_or_none
    parts, constant = linear_form(operation("sub", left, right))
    if all(isinstance(part, Variable) for _, part in parts):
        indices = np.array([part.index for _, part in parts if isinstance(part, Variable)], dtype=np.int64)
        coefficients = [coefficient for coefficient, _ in parts]
        return LinearBlock.one(problem.domain_list, indices, coefficients, SYMBOL[operator], -constant, terms)
    return _sum(problem, parts, operator, -constant, terms)


def _different(problem: Modelled, expression: Operation, terms: Terms) -> TableBlock | None:
    """f(x) ≠ g(y), f and g one-to-one: every value conflicts with at most one, however large the domains."""
    scope, program, parameters = compile_expression(expression)
    if len(scope) != 2:
        return None
    key = ("different", program, tuple(parameters), *(problem.domain_list[x].key for x in scope))
    if key not in problem.relations:
        parts, constant = linear_form(operation("sub", *expression.operands))
        sides = {}
        for coefficient, part in parts:
            unary = unary_values(problem, part)
            if coefficient == 0 or unary is None or unary[0] in sides or len(np.unique(unary[1])) < len(unary[1]):
                return None
            sides[unary[0]] = coefficient * unary[1]
        if len(sides) != 2:
            return None
        problem.relations[key] = _conflicts(sides[scope[0]], -(sides[scope[1]] + constant))
    return TableBlock.of_relation(np.array(scope, dtype=np.int64), problem.relations[key], terms)


def different(problem: Modelled, scope: Sequence[int], coefficients: Sequence[int], bound: int) -> Relation:
    """a·x + b·y ≠ bound for two variables and coefficients that are not 0."""
    domains = [problem.domain_list[x] for x in scope]
    key = ("different", bound, *coefficients, *map(id, domains))
    relation = problem.relations.get(key)
    if relation is None:
        first, second = (coefficient * d.values for coefficient, d in zip(coefficients, domains, strict=True))
        relation = problem.relations[key] = _conflicts(first, bound - second)
    return relation


def _conflicts(first: IntArray, second: IntArray) -> Relation:
    """The positions where two variables, each value at its own, take the same."""
    _, at_first, at_second = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    pairs = np.stack([at_first, at_second], axis=1).astype(np.int64)
    return Relation((len(first), len(second)), pairs, False)


def _sum(
    problem: Modelled, parts: Sequence[tuple[int, Expression]], operator: str, bound: int, terms: Terms
) -> SumBlock | None:
    """Σ coefficient · part ∘ bound where every part is a function of one variable."""
    contributions: dict[int, IntArray] = {}
    for coefficient, part in parts:
        unary = unary_values(problem, part)
        if unary is None:
            return None
        x, values = unary
        contributions[x] = contributions.get(x, 0) + coefficient * values
    if len(contributions) <= 2 and combinations(problem, list(contributions)) <= TABLE_LIMIT:
        return None  # a table says the same faster
    return SumBlock.one(
        np.array(list(contributions), dtype=np.int64), list(contributions.values()), SYMBOL[operator], bound, terms
    )


def _extremum(problem: Modelled, left: Operation, operator: str, right: Operand, terms: Terms) -> Block | None:
    sign = 1 if left.operator == "max" else -1
    contributions: dict[int, IntArray] = {}
    constant: int | None = None
    for operand in left.operands:
        if not isinstance(operand, Expression):
            constant = sign * operand if constant is None else max(constant, sign * operand)
            continue
        unary = unary_values(problem, operand)
        if unary is None:
            return None
        x, values = unary
        contributions[x] = np.maximum(contributions[x], sign * values) if x in contributions else sign * values
    if constant is not None:
        contributions = {x: np.maximum(values, constant) for x, values in contributions.items()}
    operator, has_result = operator if sign == 1 else MIRRORED[operator], isinstance(right, Expression)
    bound = 0
    if isinstance(right, Expression):
        unary = unary_values(problem, right)
        if unary is None or unary[0] in contributions or not contributions:
            return None
        contributions[unary[0]] = sign * unary[1]
    else:
        bound = sign * right
    own = list(contributions.values())
    if not fits(own, bound):
        return None
    return ExtremumBlock.one(_indices(contributions), own, SYMBOL[operator], bound, has_result, terms)


def _indices(contributions: dict[int, IntArray]) -> IntArray:
    return np.array(list(contributions), dtype=np.int64)


def _distinct(left: Operation, operator: str, right: Operand, terms: Terms) -> Block | None:
    scope = scope_of(left)
    if not all(isinstance(o, Variable) for o in left.operands):
        return None
    indices = np.array(scope, dtype=np.int64)
    if isinstance(right, Variable) and right.index not in scope:
        return DistinctBlock.one(indices, (), SYMBOL[operator], 0, right.index, terms)
    if isinstance(right, Expression):
        return None
    return DistinctBlock.one(indices, (), SYMBOL[operator], right, None, terms)


def _all_equal(expression: Operation, terms: Terms) -> Block | None:
    return _distinct(operation("distinct", *expression.operands), "le", 1, terms)


# ── disjunctions ─────────────────────────────────────────────────────────────────────────────────────


def _disjunction(problem: Modelled, expression: Operation, terms: Terms) -> Block | None:
    """Conditions on single variables joined by `or` (or by `and`): a clause, or a count of those that hold."""
    if expression.operator == "imp":
        expression = operation("or", negated(expression.operands[0]), expression.operands[1])
    if expression.operator not in ("or", "and"):
        return None
    conjunction = expression.operator == "and"
    truth: dict[int, IntArray] = {}
    for operand in _flattened(expression):
        unary = unary_values(problem, operand)
        if unary is None:
            return None
        x, values = unary
        holds = (values != 0).astype(np.int64)
        truth[x] = holds if x not in truth else truth[x] * holds if conjunction else truth[x] | holds
    if len(truth) < 2:
        return None
    scope = _indices(truth)
    if not conjunction and all(np.count_nonzero(t == 0) == 1 for t in truth.values()):
        forbidden = np.array([int(np.argmin(t)) for t in truth.values()], dtype=np.int64)
        start = np.array([0, len(scope)], dtype=np.int64)
        return ClauseBlock.of(start, scope, forbidden, terms)
    if combinations(problem, list(truth)) <= TABLE_LIMIT:
        return None
    return SumBlock.one(scope, list(truth.values()), ">=", len(truth) if conjunction else 1, terms)


def _flattened(expression: Operation) -> list[Operand]:
    parts: list[Operand] = []
    for operand in expression.operands:
        inner = without_negation(operand) if isinstance(operand, Operation) else operand
        nested = isinstance(inner, Operation) and inner.operator == expression.operator
        parts.extend(_flattened(inner) if nested else [inner])  # type: ignore[arg-type]
    return parts
