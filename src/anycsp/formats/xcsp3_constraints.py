"""What the elements of an XCSP3 file become: pycsp3's parsed entries, one after the other, into a Problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from pycsp3.classes.auxiliary.conditions import ConditionInterval, ConditionSet, ConditionValue, ConditionVariable
from pycsp3.classes.auxiliary.enums import TypeCtr, TypeCtrArg, TypeObj, TypeOrderedOperator, TypeVar
from pycsp3.classes.nodes import Node, TypeNode
from pycsp3.parser.xentries import XBlock, XCtr, XGroup, XSlide, XVar
from pycsp3.tools.utilities import ANY

from anycsp.constraints.table import Relation, TableBlock
from anycsp.errors import ProblemError, UnsupportedError
from anycsp.formats.budget import REPETITIONS
from anycsp.formats.files import Source
from anycsp.model.expressions import (
    CODE,
    SYMBOL,
    Expression,
    Operand,
    Variable,
    all_of,
    any_of,
    bounds,
    distinct,
    element,
    maximum,
    minimum,
    operation,
    total,
)
from anycsp.model.lowering import conjuncts
from anycsp.model.problem import Problem

_ORDER = {
    TypeOrderedOperator.STRICTLY_INCREASING: "<",
    TypeOrderedOperator.INCREASING: "<=",
    TypeOrderedOperator.DECREASING: ">=",
    TypeOrderedOperator.STRICTLY_DECREASING: ">",
}


def unsupported(reason: str) -> UnsupportedError:
    return UnsupportedError("", reason)


class Arguments:
    """The children of one constraint element by their type."""

    def __init__(self, constraint: XCtr) -> None:
        self.children = constraint.ctr_args
        self.attributes = constraint.attributes

    def __getitem__(self, kind: TypeCtrArg) -> Any:
        for child in self.children:
            if child.type == kind:
                return child.value
        raise unsupported(f"it has no <{kind.name.lower()}>")

    def get(self, kind: TypeCtrArg, default: Any = None) -> Any:
        return next((child.value for child in self.children if child.type == kind), default)

    def all(self, kind: TypeCtrArg) -> list[Any]:
        return [child.value for child in self.children if child.type == kind]

    def attribute(self, kind: TypeCtrArg, name: str, default: Any) -> Any:
        return next((c.attributes.get(name, default) for c in self.children if c.type == kind), default)


class Loader:
    """Fills a problem; `where` names the element at hand, for errors."""

    def __init__(self, problem: Problem, source: Source) -> None:
        self.problem, self.budget, self._deadline = problem, source.budget, source.deadline
        self.where = ""
        self._variable: dict[str, Variable] = {}
        self._symbol: dict[str, int] = {}
        self._relation: dict[tuple[Any, ...], Relation] = {}
        self._stars: dict[int, bool] = {}
        self._number = 0

    # ── variables ────────────────────────────────────────────────────────────────────────────────────

    def variables(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            cells = [entry] if isinstance(entry, XVar) else entry.variables
            # A cell is None where the file leaves it undefined; neighbours mostly share one object as their domain.
            for _, group in groupby((x for x in cells if x is not None), key=lambda x: id(x.domain)):
                same = list(group)
                self.where = f"variable {same[0].id}: "
                names = [x.id for x in same]
                variables = self.problem.add_variables(len(names), self._domain(same[0]), names=names)
                self._variable.update(zip(names, variables, strict=True))

    def _domain(self, x: XVar) -> Any:
        if x.type == TypeVar.SYMBOLIC:
            # One code for a symbol wherever it occurs, so that symbolic variables can be compared.
            return {symbol: self._code(symbol) for symbol in x.domain}
        if len(x.domain) == 1 and isinstance(x.domain[0], range):
            return x.domain[0]
        # The standard asks for increasing order, but files out of order are about. They keep the order they have: where
        # nothing decides otherwise a variable takes the first value, and that one the official checker, which looks
        # values up by bisection, knows even of `1 -1`.
        values = [v for part in x.domain for v in ([part] if isinstance(part, int) else part)]
        return values

    def _code(self, symbol: str) -> int:
        return self._symbol.setdefault(symbol, len(self._symbol))

    def _known_code(self, symbol: str) -> int:
        if symbol not in self._symbol:
            raise ProblemError(f"unknown variable or symbol {symbol!r}")
        return self._symbol[symbol]

    # ── operands ─────────────────────────────────────────────────────────────────────────────────────

    def operand(self, item: Any) -> Operand:
        if isinstance(item, int):
            return item
        if isinstance(item, XVar):
            return self._variable[item.id]
        if isinstance(item, Node):
            return self.expression(item)
        if isinstance(item, str):
            return self._known_code(item)
        raise unsupported(f"cannot take {item!r} here")

    def operands(self, items: Sequence[Any]) -> list[Operand]:
        return [self.operand(item) for item in items]

    def expression(self, node: Node, arguments: Sequence[Any] = ()) -> Operand:
        kind = node.type
        if kind == TypeNode.VAR:
            return self._variable[node.cnt.id]
        if kind == TypeNode.INT:
            return int(node.cnt)
        if kind == TypeNode.SYMBOL:
            return self._known_code(node.cnt)
        if kind == TypeNode.PAR:
            return self.operand(arguments[node.cnt])
        if kind in (TypeNode.IN, TypeNode.NOTIN):
            left = self.expression(node.cnt[0], arguments)
            members = [self.expression(son, arguments) for son in node.cnt[1].cnt]
            constant = all(isinstance(m, int) for m in members)
            inside: Expression = (
                operation("in", left, *members) if constant else any_of([operation("eq", left, m) for m in members])
            )
            return inside if kind == TypeNode.IN else ~inside
        name = kind.lowercase_name
        if name not in CODE:
            raise unsupported(f"the operator {name} is not supported")
        sons = [self.expression(son, arguments) for son in node.cnt]
        if kind == TypeNode.NE and len(sons) > 2:
            pairs = [(a, b) for i, a in enumerate(sons) for b in sons[i + 1 :]]
            return all_of([operation("ne", a, b) for a, b in pairs])
        return operation(name, *sons)

    def condition(self, left: Operand, condition: Any) -> Operand:
        """`left` compared as a <condition> says."""
        name = condition.operator.name.lower()
        if isinstance(condition, ConditionValue):
            return operation(name, left, condition.value)
        if isinstance(condition, ConditionVariable):
            return operation(name, left, self.operand(condition.variable))
        if isinstance(condition, ConditionInterval):
            if name == "in":
                return all_of(operation("ge", left, condition.min), operation("le", left, condition.max))
            return any_of(operation("lt", left, condition.min), operation("gt", left, condition.max))
        if isinstance(condition, ConditionSet):
            inside = operation("in", left, *sorted(condition.t))
            return inside if name == "in" else ~inside
        raise unsupported(f"cannot take the condition {condition}")

    def comparison(self, condition: Any) -> tuple[str, Operand]:
        """A condition that is one comparison, as operator and right side."""
        name = condition.operator.name.lower()
        if isinstance(condition, ConditionValue):
            return SYMBOL[name], int(condition.value)
        if isinstance(condition, ConditionVariable):
            return SYMBOL[name], self.operand(condition.variable)
        raise unsupported(f"cannot take the condition {condition} here")

    def post(self, expression: Operand) -> None:
        for part in conjuncts(expression):
            self.problem.add(part)

    # ── constraints ──────────────────────────────────────────────────────────────────────────────────

    def constraints(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            if isinstance(entry, XBlock):
                self.constraints(entry.subentries)
            elif isinstance(entry, XGroup):
                self._templated(entry.template, entry.all_args)
            elif isinstance(entry, XSlide):
                self._templated(entry.template, entry.scopes)
            elif isinstance(entry, XCtr):
                self.constraint(entry)
            else:
                raise unsupported(f"cannot take {type(entry).__name__}")

    def _templated(self, template: XCtr, all_arguments: Sequence[Any]) -> None:
        for arguments in all_arguments:
            if template.type == TypeCtr.INTENSION:
                self._locate(template)
                self.post(self.expression(template.abstraction.abstract_ctr_vals[0], arguments))
            else:
                template.abstraction.concretize(arguments)
                self.constraint(template)

    def _locate(self, constraint: XCtr) -> None:
        self._deadline.check()
        self._number += 1
        name = constraint.type.name.lower()
        tag = name.split("_")[0] + "".join(part.title() for part in name.split("_")[1:])
        self.where = f"<{tag}{f' id={constraint.id!r}' if constraint.id else ''}> (constraint {self._number}): "

    def constraint(self, constraint: XCtr) -> None:
        self._locate(constraint)
        reader = _READERS.get(constraint.type)
        if reader is None:
            raise unsupported("this kind of constraint is not supported")
        reader(self, Arguments(constraint))

    # ── objectives ───────────────────────────────────────────────────────────────────────────────────

    def objectives(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            self.where = f"<{'minimize' if entry.minimize else 'maximize'}>: "
            expression = self.expression(entry.root) if entry.type == TypeObj.EXPRESSION else self._special(entry)
            self.problem.require_all()
            (self.problem.minimize if entry.minimize else self.problem.maximize)(expression)

    def _special(self, entry: Any) -> Operand:
        terms = self.operands(entry.terms)
        if entry.coefficients is not None:
            terms = [operation("mul", t, c) for t, c in zip(terms, self.operands(entry.coefficients), strict=True)]
        combine: dict[TypeObj, Callable[[list[Operand]], Operand]] = {
            TypeObj.SUM: total,
            TypeObj.PRODUCT: lambda items: operation("mul", *items),
            TypeObj.MINIMUM: minimum,
            TypeObj.MAXIMUM: maximum,
            TypeObj.NVALUES: distinct,
        }
        if entry.type not in combine:
            raise unsupported(f"an objective of type {entry.type.name.lower()} is not supported")
        return combine[entry.type](terms)

    # ── tables ───────────────────────────────────────────────────────────────────────────────────────

    def table(self, scope: list[Variable], tuples: Any, allowed: bool) -> None:
        """A table; equal lists over equal domains are converted once."""
        domains = [self.problem.domain(x) for x in scope]
        repeated = len({x.index for x in scope}) < len(scope)
        if not tuples:
            self.problem.add_table(scope, [], allowed=allowed)
        elif len(scope) == 1:
            self.budget.spend(REPETITIONS, sum(len(part) for part in tuples if isinstance(part, range)))
            values = [v for part in tuples for v in ([part] if isinstance(part, (int, str)) else part)]
            inside = [(v,) for v in values if self._known(domains[0], v)]
            self.problem.add_table(scope, inside, allowed=allowed)
        elif self._has_stars(tuples):
            rows = [["*" if cell is ANY else cell for cell in row] for row in tuples]
            kept = [r for r in rows if all(c == "*" or self._known(d, c) for d, c in zip(domains, r, strict=True))]
            self.problem.add_short_table(scope, kept, allowed=allowed)
        elif repeated or any(d.labels is not None for d in domains):
            kept = [r for r in tuples if all(self._known(d, c) for d, c in zip(domains, r, strict=True))]
            self.problem.add_table(scope, kept, allowed=allowed)
        else:
            key = (id(tuples), allowed, *(d.key for d in domains))
            if key not in self._relation:
                self._relation[key] = _relation(domains, tuples, allowed)
            start = np.array([0, len(scope)], dtype=np.int64)
            indices = np.array([x.index for x in scope], dtype=np.int64)
            terms = self.problem.new_terms()
            self.problem.add_block(TableBlock(terms, start, indices, np.zeros(1, np.int64), (self._relation[key],)))

    def _has_stars(self, tuples: Any) -> bool:
        """Groups have one list for all their constraints, and it may be long."""
        if id(tuples) not in self._stars:
            self._stars[id(tuples)] = any(cell is ANY or cell == "*" for row in tuples for cell in row)
        return self._stars[id(tuples)]

    @staticmethod
    def _known(domain: Any, value: int | str) -> bool:
        try:
            domain.position(value)
        except ProblemError:
            return False
        return True

    def scope(self, items: Sequence[Any]) -> list[Variable]:
        """Plain variables; where a view stands, an auxiliary variable takes its place."""
        result = []
        for item in items:
            operand = self.operand(item)
            result.append(operand if isinstance(operand, Variable) else self.problem.define(operand))
        return result


def _relation(domains: Sequence[Any], tuples: Any, allowed: bool) -> Relation:
    rows = np.array(tuples, dtype=np.int64)
    positions = np.stack([d.positions_of(rows[:, k]) for k, d in enumerate(domains)], axis=1)
    positions = np.unique(positions[(positions >= 0).all(axis=1)], axis=0)
    return Relation(tuple(len(d) for d in domains), np.ascontiguousarray(positions), allowed)


# ── one function for each kind of constraint ────────────────────────────────────────────────────────────────────────


def _intension(load: Loader, c: Arguments) -> None:
    load.post(load.expression(c[TypeCtrArg.FUNCTION]))


def _extension(load: Loader, c: Arguments) -> None:
    allowed = c.get(TypeCtrArg.CONFLICTS) is None and not any(a.type == TypeCtrArg.CONFLICTS for a in c.children)
    load.table(load.scope(c[TypeCtrArg.LIST]), c[TypeCtrArg.SUPPORTS if allowed else TypeCtrArg.CONFLICTS], allowed)


def _regular(load: Loader, c: Arguments) -> None:
    scope, transitions = load.scope(c[TypeCtrArg.LIST]), c[TypeCtrArg.TRANSITIONS]
    load.problem.add_regular(scope, transitions, c[TypeCtrArg.START], c[TypeCtrArg.FINAL])


def _mdd(load: Loader, c: Arguments) -> None:
    load.problem.add_mdd(load.scope(c[TypeCtrArg.LIST]), c[TypeCtrArg.TRANSITIONS])


def _all_different(load: Loader, c: Arguments) -> None:
    excepted = c.get(TypeCtrArg.EXCEPT) or []
    matrix = c.get(TypeCtrArg.MATRIX)
    if matrix is not None:
        for line in [*matrix, *zip(*matrix, strict=True)]:
            load.problem.add_all_different(load.scope(line), except_values=excepted)
        return
    lists = c.all(TypeCtrArg.LIST)
    if len(lists) > 1:
        load.problem.add_all_different_lists([load.operands(items) for items in lists], except_lists=excepted)
        return
    items = load.scope(lists[0]) if excepted else load.operands(lists[0])
    load.problem.add_all_different(items, except_values=[load.operand(v) for v in excepted])  # type: ignore[arg-type, misc]


def _all_equal(load: Loader, c: Arguments) -> None:
    excepted = c.get(TypeCtrArg.EXCEPT) or []
    items = load.scope(c[TypeCtrArg.LIST]) if excepted else load.operands(c[TypeCtrArg.LIST])
    load.problem.add_all_equal(items, except_values=excepted)


def _ordered(load: Loader, c: Arguments) -> None:
    lengths = c.get(TypeCtrArg.LENGTHS)
    operator = _ORDER[c[TypeCtrArg.OPERATOR]]
    items = load.operands(c[TypeCtrArg.LIST])
    load.problem.add_ordered(items, operator, None if lengths is None else load.operands(lengths))


def _lex(load: Loader, c: Arguments) -> None:
    operator, matrix = _ORDER[c[TypeCtrArg.OPERATOR]], c.get(TypeCtrArg.MATRIX)
    if matrix is None:
        load.problem.add_lexicographic([load.operands(items) for items in c.all(TypeCtrArg.LIST)], operator)
        return
    rows = [load.operands(row) for row in matrix]
    load.problem.add_lexicographic(rows, operator)
    load.problem.add_lexicographic([list(column) for column in zip(*rows, strict=True)], operator)


def _precedence(load: Loader, c: Arguments) -> None:
    items, values = load.operands(c[TypeCtrArg.LIST]), c.get(TypeCtrArg.VALUES)
    if values is None:
        scope = load.scope(c[TypeCtrArg.LIST])
        values = sorted({int(v) for x in scope for v in load.problem.domain(x).values})
    load.problem.add_precedence(items, values, covered=bool(c.attribute(TypeCtrArg.VALUES, "covered", False)))


def _sum(load: Loader, c: Arguments) -> None:
    items, coefficients = load.operands(c[TypeCtrArg.LIST]), c.get(TypeCtrArg.COEFFS)
    if coefficients is not None:
        if len(coefficients) != len(items):
            raise ProblemError(f"{len(coefficients)} coefficients for {len(items)} terms")
        items = [operation("mul", x, k) for x, k in zip(items, load.operands(coefficients), strict=True)]
    load.post(load.condition(total(items), c[TypeCtrArg.CONDITION]))


def _count(load: Loader, c: Arguments) -> None:
    items, values = load.operands(c[TypeCtrArg.LIST]), load.operands(c[TypeCtrArg.VALUES])
    if all(isinstance(v, int) for v in values):
        hits = [operation("in", x, *values) for x in items]
    else:
        hits = [any_of([operation("eq", x, v) for v in values]) for x in items]
    load.post(load.condition(total(hits), c[TypeCtrArg.CONDITION]))


def _n_values(load: Loader, c: Arguments) -> None:
    excepted = c.get(TypeCtrArg.EXCEPT) or []
    if not excepted:
        load.post(load.condition(distinct(load.operands(c[TypeCtrArg.LIST])), c[TypeCtrArg.CONDITION]))
        return
    operator, bound = load.comparison(c[TypeCtrArg.CONDITION])
    load.problem.add_distinct(load.scope(c[TypeCtrArg.LIST]), operator, bound, except_values=excepted)


def _cardinality(load: Loader, c: Arguments) -> None:
    values = load.operands(c[TypeCtrArg.VALUES])
    if not all(isinstance(v, int) for v in values):
        raise unsupported("variable <values> are not supported")
    occurs = [o if isinstance(o, range) else load.operand(o) for o in c[TypeCtrArg.OCCURS]]
    closed = bool(c.attribute(TypeCtrArg.VALUES, "closed", False))
    load.problem.add_cardinality(load.operands(c[TypeCtrArg.LIST]), values, occurs, closed)  # type: ignore[arg-type]


def _minimum(load: Loader, c: Arguments) -> None:
    load.post(load.condition(minimum(load.operands(c[TypeCtrArg.LIST])), c[TypeCtrArg.CONDITION]))


def _maximum(load: Loader, c: Arguments) -> None:
    load.post(load.condition(maximum(load.operands(c[TypeCtrArg.LIST])), c[TypeCtrArg.CONDITION]))


def _element(load: Loader, c: Arguments) -> None:
    matrix = c.get(TypeCtrArg.MATRIX)
    if matrix is not None:
        row, column = load.operands(c[TypeCtrArg.INDEX])
        row = _shifted(row, c.attribute(TypeCtrArg.MATRIX, "startRowIndex", 0))
        column = _shifted(column, c.attribute(TypeCtrArg.MATRIX, "startColIndex", 0))
        width = len(matrix[0])
        index: Operand = operation("add", operation("mul", row, width), column)
        # The flat index alone would accept a column beyond its row.
        load.post(all_of(operation("ge", column, 0), operation("lt", column, width)))
        items = load.operands([cell for line in matrix for cell in line])
    else:
        items = load.operands(c[TypeCtrArg.LIST])
        start = c.attribute(TypeCtrArg.LIST, "startIndex", 0)
        if c.get(TypeCtrArg.INDEX) is None:
            # Without an index: the value is somewhere in the list.
            load.post(any_of([operation("eq", item, load.operand(c[TypeCtrArg.VALUE])) for item in items]))
            return
        index = _shifted(load.operand(c[TypeCtrArg.INDEX]), start)
    value = c.get(TypeCtrArg.VALUE)
    at = element(items, index)
    load.post(
        operation("eq", at, load.operand(value)) if value is not None else load.condition(at, c[TypeCtrArg.CONDITION])
    )


def _shifted(index: Operand, start: int) -> Operand:
    return operation("sub", index, start) if start else index


def _channel(load: Loader, c: Arguments) -> None:
    lists = c.all(TypeCtrArg.LIST)
    starts = [child.attributes.get("startIndex", 0) for child in c.children if child.type == TypeCtrArg.LIST]
    first = load.operands(lists[0])
    if len(lists) == 2:
        # x[i] counts from the start of the other list.
        second = [_shifted(y, starts[0]) for y in load.operands(lists[1])]
        load.problem.add_channel([_shifted(x, starts[1]) for x in first], second)
    elif c.get(TypeCtrArg.VALUE) is not None:
        load.problem.add_channel_value(first, _shifted(load.operand(c[TypeCtrArg.VALUE]), starts[0]))
    else:
        load.problem.add_channel([_shifted(x, starts[0]) for x in first])


def _no_overlap(load: Loader, c: Arguments) -> None:
    origins, lengths = c[TypeCtrArg.ORIGINS], c[TypeCtrArg.LENGTHS]
    zero_ignored = bool(c.attributes.get("zeroIgnored", True))
    if isinstance(origins[0], (list, tuple)):
        boxes, sizes = [load.operands(o) for o in origins], [load.operands(l) for l in lengths]
        load.problem.add_no_overlap(boxes, sizes, zero_ignored)
    else:
        load.problem.add_no_overlap(load.operands(origins), load.operands(lengths), zero_ignored)


def _cumulative(load: Loader, c: Arguments) -> None:
    if c.get(TypeCtrArg.ENDS) is not None or c.get(TypeCtrArg.MACHINES) is not None:
        raise unsupported("<ends> and <machines> are not supported")
    operator, limit = load.comparison(c[TypeCtrArg.CONDITION])
    origins, lengths, heights = (
        load.operands(c[kind]) for kind in (TypeCtrArg.ORIGINS, TypeCtrArg.LENGTHS, TypeCtrArg.HEIGHTS)
    )
    load.problem.add_cumulative(origins, lengths, heights, operator, limit)
    if bounds(limit, lambda x: load.problem.domain(x).bounds)[0] < (1 if operator == "<" else 0):
        load.post(load.condition(0, c[TypeCtrArg.CONDITION]))  # at every moment: where nothing runs, too


def _bin_packing(load: Loader, c: Arguments) -> None:
    scope, sizes = load.scope(c[TypeCtrArg.LIST]), c[TypeCtrArg.SIZES]
    start = c.attribute(TypeCtrArg.LIST, "startIndex", 0)
    limits, loads, conditions = (c.get(k) for k in (TypeCtrArg.LIMITS, TypeCtrArg.LOADS, TypeCtrArg.CONDITIONS))
    if limits is not None:
        bins = [(start + i, "<=", load.operand(limit)) for i, limit in enumerate(limits)]
    elif loads is not None:
        bins = [(start + i, "==", load.operand(total_load)) for i, total_load in enumerate(loads)]
    elif conditions is not None:
        bins = [(start + i, *load.comparison(condition)) for i, condition in enumerate(conditions)]
    else:
        used = sorted({int(v) for x in scope for v in load.problem.domain(x).values})
        bins = [(b, *load.comparison(c[TypeCtrArg.CONDITION])) for b in used]
    load.problem.add_bin_packing(scope, sizes, bins)
    if limits is not None or loads is not None or conditions is not None:
        for x in scope:
            load.post(operation("in", x, *(b for b, _, _ in bins)))


def _knapsack(load: Loader, c: Arguments) -> None:
    weight_condition, profit_condition = c.all(TypeCtrArg.CONDITION)
    items = load.operands(c[TypeCtrArg.LIST])
    for coefficients, condition in (
        (c[TypeCtrArg.WEIGHTS], weight_condition),
        (c[TypeCtrArg.PROFITS], profit_condition),
    ):
        products = [operation("mul", x, k) for x, k in zip(items, coefficients, strict=True)]
        load.post(load.condition(total(products), condition))


def _instantiation(load: Loader, c: Arguments) -> None:
    for x, value in zip(load.operands(c[TypeCtrArg.LIST]), c[TypeCtrArg.VALUES], strict=True):
        if value is not ANY and value != "*":
            load.post(operation("eq", x, load.operand(value)))


def _clause(load: Loader, c: Arguments) -> None:
    load.post(any_of([load.operand(item) for item in c[TypeCtrArg.LIST]]))


def _circuit(load: Loader, c: Arguments) -> None:
    start, size = c.attribute(TypeCtrArg.LIST, "startIndex", 0), c.get(TypeCtrArg.SIZE)
    successors = [_shifted(x, start) for x in load.operands(c[TypeCtrArg.LIST])]
    load.problem.add_circuit(successors, None if size is None else load.operand(size), self_loops=True)


_READERS: dict[TypeCtr, Callable[[Loader, Arguments], None]] = {
    TypeCtr.INTENSION: _intension,
    TypeCtr.EXTENSION: _extension,
    TypeCtr.REGULAR: _regular,
    TypeCtr.MDD: _mdd,
    TypeCtr.ALL_DIFFERENT: _all_different,
    TypeCtr.ALL_EQUAL: _all_equal,
    TypeCtr.ORDERED: _ordered,
    TypeCtr.LEX: _lex,
    TypeCtr.PRECEDENCE: _precedence,
    TypeCtr.SUM: _sum,
    TypeCtr.COUNT: _count,
    TypeCtr.N_VALUES: _n_values,
    TypeCtr.CARDINALITY: _cardinality,
    TypeCtr.MINIMUM: _minimum,
    TypeCtr.MAXIMUM: _maximum,
    TypeCtr.ELEMENT: _element,
    TypeCtr.CHANNEL: _channel,
    TypeCtr.NO_OVERLAP: _no_overlap,
    TypeCtr.CUMULATIVE: _cumulative,
    TypeCtr.BIN_PACKING: _bin_packing,
    TypeCtr.KNAPSACK: _knapsack,
    TypeCtr.INSTANTIATION: _instantiation,
    TypeCtr.CLAUSE: _clause,
    TypeCtr.CIRCUIT: _circuit,
}
