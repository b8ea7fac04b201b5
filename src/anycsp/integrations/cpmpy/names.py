"""What CPMpy's names become: operators and functions our expressions, global constraints our `add_…` methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cpmpy.expressions.utils import is_any_list

from anycsp.model.expressions import (
    Expression,
    Operand,
    distinct,
    element,
    if_else,
    maximum,
    minimum,
    operation,
    total,
)
from anycsp.model.globals import lexicographic

if TYPE_CHECKING:
    from anycsp.integrations.cpmpy.solver import CPM_anycsp

FUNCTIONS = frozenset({"min", "max", "abs", "mul", "div", "mod", "pow", "element", "count", "among", "nvalue"})
"""Those that have a value."""
CONDITIONS = frozenset({"alldifferent", "allequal", "xor", "ite", "indomain", "lex_less", "lex_lesseq"})
"""Those that are true or false, anywhere in an expression."""
CONSTRAINTS = frozenset(
    {
        "alldifferent_except_n", "allequal_except_n", "circuit", "inverse", "table", "short_table", "negative_table",
        "regular", "cumulative", "no_overlap", "precedence", "gcc", "increasing", "decreasing", "strictly_increasing",
        "strictly_decreasing", "lex_chain_less", "lex_chain_lesseq",
    }
)  # fmt: skip
"""Those that are only posted at the top."""


# ── expressions by CPMpy's names ─────────────────────────────────────────────────────────────────────


def _of(operator: str) -> Callable[[CPM_anycsp, Any], Operand]:
    return lambda solver, args: operation(operator, *solver.operands(args))


def _count(solver: CPM_anycsp, args: Any) -> Operand:
    items, value = solver.operands(args[0]), solver.operand(args[1])
    return total([operation("eq", x, value) for x in items])


def _among(solver: CPM_anycsp, args: Any) -> Operand:
    values = [int(v) for v in args[1]]
    return total([operation("in", x, *values) for x in solver.operands(args[0])])


def _all_different(solver: CPM_anycsp, args: Any) -> Operand:
    return operation("eq", distinct(solver.operands(args)), len(args))


BUILD: dict[str, Callable[[CPM_anycsp, Any], Operand]] = {
    "and": _of("and"),
    "or": _of("or"),
    "not": _of("not"),
    "->": _of("imp"),
    "xor": _of("xor"),
    "sum": lambda solver, args: total(solver.operands(args)),
    "sub": _of("sub"),
    "mul": _of("mul"),
    "-": _of("neg"),
    "div": _of("div"),
    "mod": _of("mod"),
    "pow": _of("pow"),
    "abs": _of("abs"),
    "min": lambda solver, args: minimum(solver.operands(args)),
    "max": lambda solver, args: maximum(solver.operands(args)),
    "element": lambda solver, args: element(solver.operands(args[0]), solver.operand(args[1])),
    "count": _count,
    "among": _among,
    "nvalue": lambda solver, args: distinct(solver.operands(args)),
    "alldifferent": _all_different,
    "allequal": _of("eq"),
    "ite": lambda solver, args: if_else(*solver.operands(args)),
    "indomain": lambda solver, args: operation("in", solver.operand(args[0]), *(int(v) for v in args[1])),
    "lex_less": lambda s, args: lexicographic(s.operands(args[0]), s.operands(args[1]), strict=True),
    "lex_lesseq": lambda s, args: lexicographic(s.operands(args[0]), s.operands(args[1]), strict=False),
}


# ── constraints that are posted whole ────────────────────────────────────────────────────────────────


def _excepted(value: Any) -> list[int]:
    return [int(v) for v in value] if is_any_list(value) else [int(value)]


def _all_different_whole(solver: CPM_anycsp, args: Any, _: Any) -> None:
    items = solver.operands(args)
    if any(isinstance(x, int) for x in items):  # a constant among them
        solver.problem.add(operation("eq", distinct(items), len(items)))
    else:
        solver.problem.add_all_different(items)


def _circuit(solver: CPM_anycsp, args: Any, _: Any) -> None:
    # CPMpy's circuit visits every node.
    solver.problem.add_circuit(solver.operands(args), size=len(args))


def _inverse(solver: CPM_anycsp, args: Any, _: Any) -> None:
    solver.problem.add_channel(solver.operands(args[0]), solver.operands(args[1]))


def _table(solver: CPM_anycsp, args: Any, _: Any, allowed: bool = True) -> None:
    scope = solver.scope(args[0])
    inside = [set(solver.problem.domain(x).values.tolist()) for x in scope]
    rows = [[int(v) for v in row] for row in args[1]]
    known = [row for row in rows if all(v in domain for v, domain in zip(row, inside, strict=True))]
    solver.problem.add_table(scope, known, allowed=allowed)


def _short_table(solver: CPM_anycsp, args: Any, _: Any) -> None:
    scope = solver.scope(args[0])
    inside = [set(solver.problem.domain(x).values.tolist()) for x in scope]
    rows = [["*" if cell == "*" else int(cell) for cell in row] for row in args[1]]
    known = [r for r in rows if all(v == "*" or v in domain for v, domain in zip(r, inside, strict=True))]
    solver.problem.add_short_table(scope, known)


def _regular(solver: CPM_anycsp, args: Any, _: Any) -> None:
    array, transitions, start, accepting = args
    solver.problem.add_regular(solver.scope(array), transitions, start, accepting)


def _lengths(solver: CPM_anycsp, starts: Any, durations: Any, ends: Sequence[Any]) -> list[Operand]:
    """How long tasks take, which is never negative; `ends` holds their ends where the model names them."""
    lengths = solver.operands(durations)
    for named in ends:
        for start, length, end in zip(solver.operands(starts), lengths, solver.operands(named), strict=True):
            solver.problem.add(operation("eq", operation("add", start, length), end))
    solver.problem.add([length >= 0 for length in lengths if isinstance(length, Expression)])
    return lengths


def _cumulative(solver: CPM_anycsp, args: Any, _: Any) -> None:
    starts, durations, *ends, demands, capacity = args
    lengths = _lengths(solver, starts, durations, ends)
    solver.problem.add_cumulative(
        solver.operands(starts), lengths, solver.operands(demands), "<=", solver.operand(capacity)
    )


def _no_overlap(solver: CPM_anycsp, args: Any, _: Any) -> None:
    starts, durations, *ends = args
    lengths = _lengths(solver, starts, durations, ends)
    solver.problem.add_no_overlap(solver.operands(starts), lengths)  # a task of no length is nowhere


def _gcc(solver: CPM_anycsp, args: Any, constraint: Any) -> None:
    items, values, occurs = args
    solver.problem.add_cardinality(
        solver.operands(items), [int(v) for v in values], solver.operands(occurs), closed=constraint.closed
    )


def _ordered(operator: str) -> Callable[[CPM_anycsp, Any, Any], None]:
    return lambda solver, args, _: solver.problem.add_ordered(solver.operands(args), operator)


def _chain(operator: str) -> Callable[[CPM_anycsp, Any, Any], None]:
    return lambda s, args, _: s.problem.add_lexicographic([s.operands(row) for row in args], operator)


POST: dict[str, Callable[[CPM_anycsp, Any, Any], None]] = {
    "alldifferent": _all_different_whole,
    "alldifferent_except_n": lambda s, args, _: s.problem.add_all_different(
        s.scope(args[0]), except_values=_excepted(args[1])
    ),
    "allequal_except_n": lambda s, args, _: s.problem.add_all_equal(s.scope(args[0]), except_values=_excepted(args[1])),
    "circuit": _circuit,
    "inverse": _inverse,
    "table": _table,
    "negative_table": lambda s, args, c: _table(s, args, c, allowed=False),
    "short_table": _short_table,
    "regular": _regular,
    "cumulative": _cumulative,
    "no_overlap": _no_overlap,
    "precedence": lambda s, args, _: s.problem.add_precedence(s.operands(args[0]), [int(v) for v in args[1]]),
    "gcc": _gcc,
    "increasing": _ordered("<="),
    "decreasing": _ordered(">="),
    "strictly_increasing": _ordered("<"),
    "strictly_decreasing": _ordered(">"),
    "lex_chain_less": _chain("<"),
    "lex_chain_lesseq": _chain("<="),
}
