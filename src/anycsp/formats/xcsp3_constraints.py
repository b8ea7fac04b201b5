"""The constraints of XCSP3: a function for every kind, which posts its element with the help of a `Loader`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pycsp3.classes.auxiliary.enums import TypeCtr, TypeCtrArg, TypeOrderedOperator
from pycsp3.parser.xentries import XCtr
from pycsp3.tools.utilities import ANY

from anycsp.errors import ProblemError, UnsupportedError
from anycsp.model.bounds import bounds
from anycsp.model.expressions import (
    Operand,
    all_of,
    any_of,
    distinct,
    element,
    maximum,
    minimum,
    operation,
    total,
)

if TYPE_CHECKING:
    from anycsp.formats.xcsp3_loader import Loader

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
    items, condition = load.operands(c[TypeCtrArg.LIST]), c[TypeCtrArg.CONDITION]
    excepted = c.get(TypeCtrArg.EXCEPT) or []
    if not excepted:
        load.post(load.condition(distinct(items), condition))
    elif condition.operator.name in ("IN", "NOTIN"):
        # Counted together with the excepted values, which are then taken off.
        excepted = sorted(set(excepted))
        load.post(load.condition(operation("sub", distinct([*items, *excepted]), len(excepted)), condition))
    else:
        operator, bound = load.comparison(condition)
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


READERS: dict[TypeCtr, Callable[[Loader, Arguments], None]] = {
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
