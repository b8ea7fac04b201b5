"""Every constraint family in a CP-SAT model, one function per family.

Each adds one constraint of a block, to hold where all literals of `enforced` do: none for a constraint that must hold,
the negation of its penalty for one that may be given up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.all_different import AllDifferentBlock
from anycsp.constraints.base import Block
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.comparison import OPERATORS
from anycsp.constraints.distinct import DistinctBlock
from anycsp.constraints.external import ExternalBlock
from anycsp.constraints.extremum import ExtremumBlock
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.relation import Relation
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.short_table import ShortTableBlock
from anycsp.constraints.sum import SumBlock
from anycsp.constraints.table import TableBlock
from anycsp.errors import ProblemError
from anycsp.model.expressions import OPERATIONS, Operand, Variable, operation
from anycsp.search.exact.expressions import Expressions
from anycsp.search.exact.model import ExactModel, Literal, Number

LARGEST_TABULATED = 1 << 20
"""Combinations up to which a Python function is called for every one of them: some seconds for the slowest."""
MOST_CLAUSES = 64
"""Forbidden tuples of a table up to which each is a clause: shorter than what CP-SAT makes of a table of its own."""

Enforced = Sequence[Literal]


def add_constraint(exact: ExactModel, block: Block, row: int, enforced: Enforced) -> None:
    """Constraint `row` of a block of any family."""
    exact.constraint = int(block.terms.index[row])
    try:
        _FAMILIES[type(block)](exact, block, row, enforced)
    except RecursionError:
        raise ProblemError(f"constraint {exact.constraint + 1}: nested too deep for exact search") from None


def _clause(exact: ExactModel, block: ClauseBlock, row: int, enforced: Enforced) -> None:
    if block.tautology[row]:
        return
    slots = slice(block.scope_start[row], block.scope_start[row + 1])
    _nogood(exact, block.scope[slots].tolist(), block.forbidden[slots].tolist(), enforced)


def _nogood(exact: ExactModel, scope: Sequence[int], positions: Sequence[int], enforced: Enforced) -> None:
    literals = [~exact.at(x, position) for x, position in zip(scope, positions, strict=True)]
    exact.model.add_bool_or([*literals, *(~l for l in enforced)])


def _table(exact: ExactModel, block: TableBlock, row: int, enforced: Enforced) -> None:
    _relation(exact, block.scope_of(row).tolist(), block.relations[block.relation[row]], enforced)


def _relation(exact: ExactModel, scope: Sequence[int], relation: Relation, enforced: Enforced) -> None:
    if not len(relation.tuples):
        if relation.allowed:
            exact.forbid(enforced)
        return
    if len(scope) == 1:
        holds = np.full(relation.sizes[0], not relation.allowed)
        holds[relation.tuples[:, 0]] = relation.allowed
        exact.model.add_bool_or([exact.among(scope[0], holds), *(~l for l in enforced)])
        return
    if len(scope) == 0:  # the one empty tuple
        if not relation.allowed:
            exact.forbid(enforced)
        return
    own = [exact.domains[x] for x in scope]
    if relation.is_diagonal and len(relation.tuples) > 2 and np.array_equal(own[0].values, own[1].values):
        equality = "==" if relation.allowed else "!="
        exact.compare(exact.number(scope[0]).minus(exact.number(scope[1])), equality, enforced)
    elif not relation.allowed and len(relation.tuples) <= MOST_CLAUSES:
        for positions in relation.tuples.tolist():
            _nogood(exact, scope, positions, enforced)
    else:
        values = np.stack([d.values[column] for d, column in zip(own, relation.tuples.T, strict=True)], axis=1)
        numbers = [exact.number(x).expression for x in scope]
        add = exact.model.add_allowed_assignments if relation.allowed else exact.model.add_forbidden_assignments
        exact.post(add(numbers, values.tolist()), enforced)


def _short_table(exact: ExactModel, block: ShortTableBlock, row: int, enforced: Enforced) -> None:
    """A row holds where every variable is within its interval."""
    scope, relation = block.scope_of(row).tolist(), block.relations[block.relation[row]]
    listed = []
    for low, high in zip(relation.low.tolist(), relation.high.tolist(), strict=True):
        cells = [exact.among(x, _between(exact, x, a, b)) for x, a, b in zip(scope, low, high, strict=True)]
        if relation.allowed:
            listed.append(exact.all_of(cells))
        else:
            exact.model.add_bool_or([*(~cell for cell in cells), *(~l for l in enforced)])
    if relation.allowed:
        exact.model.add_bool_or([*listed, *(~l for l in enforced)])


def _between(exact: ExactModel, x: int, low: int, high: int) -> npt.NDArray[np.bool_]:
    positions = np.arange(len(exact.domains[x]))
    return (low <= positions) & (positions <= high)


def _linear(exact: ExactModel, block: LinearBlock, row: int, enforced: Enforced) -> None:
    slots = range(block.scope_start[row], block.scope_start[row + 1])
    parts = [exact.number(int(block.scope[s])).times(int(block.coefficient[s])) for s in slots]
    _compared(exact, parts, block.operator[row], block.bound[row], enforced)


def _sum(exact: ExactModel, block: SumBlock, row: int, enforced: Enforced) -> None:
    parts = _functions(exact, block, row, block.contribution_start, block.contribution)
    _compared(exact, parts, block.operator[row], block.bound[row], enforced)


def _functions(exact: ExactModel, block: Block, row: int, start: Any, values: Any) -> list[Number]:
    """The functions of single variables that a constraint has, slot by slot."""
    slots = range(block.scope_start[row], block.scope_start[row + 1])
    return [exact.function(int(block.scope[s]), values[start[s] : start[s + 1]]) for s in slots]


def _compared(exact: ExactModel, parts: Sequence[Number], operator: int, bound: int, enforced: Enforced) -> None:
    exact.compare(exact.total([*parts, Number.constant(-int(bound))]), OPERATORS[operator], enforced)


def _all_different(exact: ExactModel, block: AllDifferentBlock, row: int, enforced: Enforced) -> None:
    scope, excepted = block.scope_of(row).tolist(), block.except_values[row]
    _differing(exact, scope, excepted, enforced)


def _differing(exact: ExactModel, scope: Sequence[int], excepted: Sequence[int], enforced: Enforced) -> None:
    """CP-SAT's own constraint where it must hold; one that may be given up, or has exceptions, value by value."""
    if not excepted and not enforced and len(scope) > 1:
        exact.model.add_all_different([exact.number(x).expression for x in scope])
        return
    for takers in _takers(exact, scope, excepted).values():
        if len(takers) > 1:
            exact.post(exact.model.add(exact.cp.LinearExpr.sum(takers) <= 1), enforced)


def _takers(exact: ExactModel, scope: Sequence[int], excepted: Sequence[int]) -> dict[int, list[Literal]]:
    """By value that counts: the literals of those that take it."""
    takers: dict[int, list[Literal]] = {}
    for x in scope:
        for position, value in enumerate(exact.domains[x].values.tolist()):
            if value not in excepted:
                takers.setdefault(value, []).append(exact.at(x, position))
    return takers


def _distinct(exact: ExactModel, block: DistinctBlock, row: int, enforced: Enforced) -> None:
    scope, excepted = block.scope_of(row).tolist(), block.except_values[row]
    operator, bound, compared = OPERATORS[block.operator[row]], int(block.bound[row]), Number.constant(0)
    if block.has_result[row]:
        compared = exact.number(scope.pop())
    elif not excepted and operator in ("==", ">=") and bound == len(scope):
        _differing(exact, scope, (), enforced)
        return
    elif not excepted and operator in ("==", "<=") and bound == 1:
        for x in scope[1:]:
            exact.compare(exact.number(scope[0]).minus(exact.number(x)), "==", enforced)
        return
    taken = [exact.of_literal(exact.any_of(takers)) for takers in _takers(exact, scope, excepted).values()]
    exact.compare(exact.total([*taken, Number.constant(-bound), compared.times(-1)]), operator, enforced)


def _extremum(exact: ExactModel, block: ExtremumBlock, row: int, enforced: Enforced) -> None:
    parts = _functions(exact, block, row, block.term_start, block.term)
    limit = Number.constant(int(block.bound[row]))
    if block.has_result[row]:
        limit = limit.plus(parts.pop())
    operator = OPERATORS[block.operator[row]]
    if operator in ("<=", "<"):
        for part in parts:
            exact.compare(part.minus(limit), operator, enforced)
        return
    if not parts:  # the maximum of nothing lies below everything
        if operator != "!=":
            exact.forbid(enforced)
        return
    largest = exact.new_number(max(p.low for p in parts), max(p.high for p in parts))
    exact.model.add_max_equality(largest.expression, [exact.affine(part) for part in parts])
    exact.compare(largest.minus(limit), operator, enforced)


def _rule(exact: ExactModel, block: RuleBlock, row: int, enforced: Enforced) -> None:
    Expressions(exact).enforce(rule_expression(block, row), enforced)


def rule_expression(block: RuleBlock, row: int) -> Operand:
    """The expression that a rule was compiled from."""
    program = block.programs[block.program[row]]
    parameters = block.parameter[block.parameter_start[row] : block.parameter_start[row + 1]]
    scope, nodes = block.scope_of(row).tolist(), list[Operand]()
    for node, code in enumerate(program.code):
        at = program.operands[program.operand_start[node] : program.operand_start[node + 1]]
        if code == 0:
            nodes.append(Variable(scope[at[0]], str(scope[at[0]])))
        elif code == 1:
            nodes.append(int(parameters[at[0]]))
        else:
            nodes.append(operation(OPERATIONS[code], *(nodes[i] for i in at)))
    return nodes[-1]


def _external(exact: ExactModel, block: ExternalBlock, row: int, enforced: Enforced) -> None:
    scope = block.scope_of(row).tolist()
    values = [exact.domains[x].values for x in scope]
    sizes = [len(v) for v in values]
    if math.prod(sizes) > LARGEST_TABULATED:
        raise ProblemError(
            f"constraint {int(block.terms.index[row]) + 1}: a Python function of {math.prod(sizes):,} "
            "combinations cannot be listed for exact search: write it as an expression, or search local"
        )
    grid = [axis.reshape(-1) for axis in np.meshgrid(*values, indexing="ij")]
    truth = np.asarray(block.function[row](*grid), dtype=np.bool_).reshape(sizes)
    allowed = bool(2 * np.count_nonzero(truth) <= truth.size)
    tuples = np.argwhere(truth == allowed).astype(np.int64)
    _relation(exact, scope, Relation(tuple(sizes), tuples, allowed), enforced)


_FAMILIES: dict[type[Block], Callable[[ExactModel, Any, int, Enforced], None]] = {
    AllDifferentBlock: _all_different,
    ClauseBlock: _clause,
    DistinctBlock: _distinct,
    ExternalBlock: _external,
    ExtremumBlock: _extremum,
    LinearBlock: _linear,
    RuleBlock: _rule,
    ShortTableBlock: _short_table,
    SumBlock: _sum,
    TableBlock: _table,
}
