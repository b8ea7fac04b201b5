"""The global constraints that `integrations/minizinc/mznlib` keeps whole: one small function each.

Those that are expressions have reified forms too; the others are posted as constraints of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import Any

from anycsp.formats.flatzinc_constraints import (
    Truth,
    choice,
    conjunction,
    disjunction,
    member,
    weighted,
)
from anycsp.model.expressions import Expression, Operand, Variable, any_of, distinct, if_else, operation, total
from anycsp.model.globals import lexicographic
from anycsp.model.problem import Problem

Items = Sequence[Operand]


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────


def _all_different(items: Items) -> Operand:
    return operation("eq", distinct(items), len(items)) if items else 1


def _all_different_except(items: Items, excepted: Any) -> Operand:
    pairs = [any_of(operation("ne", x, y), member(x, excepted)) for x, y in combinations(items, 2)]
    return conjunction(pairs)


def _all_equal(items: Items) -> Operand:
    return operation("le", distinct(items), 1) if items else 1


def _counted(order: str, items: Items, value: Operand, count: Operand) -> Operand:
    """`count` compared with how many items have the value."""
    return operation(order, count, total([operation("eq", x, value) for x in items]))


def _among(n: Operand, items: Items, values: Any) -> Operand:
    return operation("eq", total([member(x, values) for x in items]), n)


def _distinct_values(n: Operand, items: Items) -> Operand:
    return operation("eq", distinct(items) if items else 0, n)


def _monotone(order: str, items: Items) -> Operand:
    return conjunction([operation(order, a, b) for a, b in pairwise(items)])


def _lexicographic(strict: bool, first: Items, second: Items) -> Operand:
    """A list that another begins with comes before it."""
    shared = min(len(first), len(second))
    strict = strict if len(first) == len(second) else len(first) > len(second)
    return lexicographic(first[:shared], second[:shared], strict)


def rows_of(flat: Sequence[int], width: int) -> list[tuple[int, ...]]:
    """A table that was made one list, as rows."""
    if width and len(flat) % width:
        raise ValueError(f"{len(flat)} cells in rows of {width}")
    return [tuple(map(int, flat[k : k + width])) for k in range(0, len(flat), width)] if width else []


def _in_table(items: Items, flat: Sequence[int]) -> Operand:
    rows = rows_of(flat, len(items))
    return disjunction([conjunction([operation("eq", x, v) for x, v in zip(items, r, strict=True)]) for r in rows])


def _knapsack(
    weights: Sequence[int], profits: Sequence[int], items: Items, weight: Operand, profit: Operand
) -> Operand:
    counted = [*items, weight, profit]
    if any(not isinstance(x, Expression) and x < 0 for x in counted):
        return 0
    sums = [operation("eq", weighted(c, items), s) for c, s in ((weights, weight), (profits, profit))]
    return conjunction([*sums, *(operation("ge", x, 0) for x in counted if isinstance(x, Expression))])


def _chosen(conditions: Items, values: Items, result: Operand) -> Operand:
    return operation("eq", choice(conditions, values), result)


COUNTS = {"eq": "eq", "neq": "ne", "leq": "le", "lt": "lt", "geq": "ge", "gt": "gt"}
"""MiniZinc's names: count_leq(x, y, c) says that c is at most the count."""

TRUTHS: dict[str, Truth] = {
    "fzn_all_different_int": _all_different,
    "fzn_alldifferent_except": _all_different_except,
    "fzn_all_equal_int": _all_equal,
    **{f"fzn_count_{name}": partial(_counted, order) for name, order in COUNTS.items()},
    "fzn_among": _among,
    "fzn_nvalue": _distinct_values,
    **{f"fzn_increasing_{kind}": partial(_monotone, "le") for kind in ("int", "bool")},
    **{f"fzn_decreasing_{kind}": partial(_monotone, "ge") for kind in ("int", "bool")},
    "fzn_strictly_increasing_int": partial(_monotone, "lt"),
    "fzn_strictly_decreasing_int": partial(_monotone, "gt"),
    **{f"fzn_lex_less_{kind}": partial(_lexicographic, True) for kind in ("int", "bool")},
    **{f"fzn_lex_lesseq_{kind}": partial(_lexicographic, False) for kind in ("int", "bool")},
    "anycsp_table_int": _in_table,
    "anycsp_table_bool": _in_table,
    **{
        f"fzn_member_{kind}": lambda items, y: any_of([operation("eq", x, y) for x in items])
        for kind in ("int", "bool")
    },
    "fzn_knapsack": _knapsack,
    **{f"fzn_if_then_else_{var}{kind}": _chosen for var in ("", "var_") for kind in ("int", "bool")},
}


# ── posted whole ─────────────────────────────────────────────────────────────────────────────────────


def variables(problem: Problem, items: Items) -> list[Variable]:
    """The items as different variables: a constant, an expression and what is there already get one of their own."""
    found: dict[int, Variable] = {}
    for x in items:
        own = isinstance(x, Variable) and x.index not in found
        variable = x if own and isinstance(x, Variable) else problem.define(x)
        found[variable.index] = variable
    return list(found.values())


def _post_all_different(problem: Problem, items: Items) -> None:
    if len(items) > 1:
        problem.add_all_different(variables(problem, items))


def _post_except(problem: Problem, items: Items, excepted: Any) -> None:
    if len(items) > 1:
        problem.add_all_different(variables(problem, items), except_values=sorted(excepted))


def _post_table(problem: Problem, items: Items, flat: Sequence[int]) -> None:
    scope = variables(problem, items)
    inside = [set(problem.domain(x).values.tolist()) for x in scope]
    rows = rows_of(flat, len(scope))
    problem.add_table(scope, [r for r in rows if all(v in d for v, d in zip(r, inside, strict=True))])


def _post_regular(
    problem: Problem, items: Items, states: int, symbols: int, flat: Sequence[int], start: int, final: Any
) -> None:
    """State 0 is where no word goes on."""
    steps = [(q + 1, s + 1, int(flat[q * symbols + s])) for q in range(states) for s in range(symbols)]
    if items:
        problem.add_regular(variables(problem, items), [step for step in steps if step[2] > 0], start, final)
    elif start not in final:
        problem.add(0)


def _post_cardinality(
    problem: Problem, items: Items, cover: Sequence[int], counts: Items, closed: bool = False
) -> None:
    problem.add_cardinality(items, cover, counts, closed=closed)


def _post_cardinality_range(
    problem: Problem, items: Items, cover: Sequence[int], low: Sequence[int], high: Sequence[int], closed: bool = False
) -> None:
    ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
    problem.add_cardinality(items, cover, ranges, closed=closed)


def _moved(items: Items, first: int) -> list[Operand]:
    """Indices that count from `first`, as indices from 0."""
    return [x - first if isinstance(x, int) else operation("sub", x, first) if first else x for x in items]


def _nodes(problem: Problem, first: int, items: Items) -> list[Variable]:
    """Successors that count from `first` as variables from 0, each one of the nodes."""
    nodes = variables(problem, _moved(items, first))
    for x in nodes:
        low, high = problem.domain(x).bounds
        if low < 0 or high >= len(nodes):
            problem.add(operation("in", x, *range(len(nodes))))
    return nodes


def _post_circuit(problem: Problem, first: int, items: Items) -> None:
    nodes = _nodes(problem, first, items)
    if len(nodes) > 1:
        problem.add_circuit(nodes, self_loops=False)
    elif nodes:
        problem.add(0)  # a node that follows itself is no circuit


def _post_subcircuit(problem: Problem, first: int, items: Items) -> None:
    """MiniZinc's may have no nodes, ours has two or more: two nodes beside the others are it where those are not."""
    nodes = _nodes(problem, first, items)
    size = len(nodes)
    visits = any_of([operation("ne", x, i) for i, x in enumerate(nodes)] or [0])
    beside = [
        problem.add_auxiliary(range(size, size + 2), if_else(visits, stay, away))
        for stay, away in ((size, size + 1), (size + 1, size))
    ]
    problem.add_circuit([*nodes, *beside], self_loops=True)


def _post_inverse(problem: Problem, first: int, items: Items, other_first: int, others: Items) -> None:
    if len(items) != len(others):
        problem.add(0)
        return
    problem.add_channel(_moved(items, other_first), _moved(others, first))


def _post_no_overlap(problem: Problem, starts: Items, lengths: Items, zero_ignored: bool = True) -> None:
    _at_least_zero(problem, lengths)
    problem.add_no_overlap(list(starts), list(lengths), zero_ignored=zero_ignored)


def _at_least_zero(problem: Problem, items: Items) -> None:
    problem.add([operation("ge", x, 0) for x in items if isinstance(x, Expression) or x < 0])


def _post_cumulative(problem: Problem, starts: Items, lengths: Items, heights: Items, limit: Operand) -> None:
    if starts:
        _at_least_zero(problem, [limit])
        problem.add_cumulative(list(starts), list(lengths), list(heights), "<=", limit)


def _post_boxes(problem: Problem, zero_ignored: bool, x: Items, y: Items, width: Items, height: Items) -> None:
    origins, sizes = list(zip(x, y, strict=True)), list(zip(width, height, strict=True))
    problem.add_no_overlap(origins, sizes, zero_ignored=zero_ignored)


def _bins(problem: Problem, items: Sequence[Variable]) -> range:
    """The bins that items may go to."""
    ends = [problem.domain(x).bounds for x in items]
    return range(min(low for low, _ in ends), max(high for _, high in ends) + 1) if ends else range(0)


def _post_packing(problem: Problem, capacity: int, items: Items, sizes: Sequence[int]) -> None:
    places = variables(problem, items)
    problem.add_bin_packing(places, sizes, [(b, "<=", capacity) for b in _bins(problem, places)])


def _post_loads(problem: Problem, operator: str, first: int, loads: Items, items: Items, sizes: Sequence[int]) -> None:
    """Bins count from `first`."""
    places = range(first, first + len(loads))
    problem.add([member(x, places) for x in items])
    problem.add_bin_packing(items, sizes, [(b, operator, load) for b, load in zip(places, loads, strict=True)])


POSTS: dict[str, Callable[..., None]] = {
    "fzn_all_different_int": _post_all_different,
    "fzn_alldifferent_except": _post_except,
    "anycsp_table_int": _post_table,
    "anycsp_table_bool": _post_table,
    "anycsp_regular": _post_regular,
    "fzn_global_cardinality": _post_cardinality,
    "fzn_global_cardinality_closed": partial(_post_cardinality, closed=True),
    "fzn_global_cardinality_low_up": _post_cardinality_range,
    "fzn_global_cardinality_low_up_closed": partial(_post_cardinality_range, closed=True),
    "anycsp_circuit": _post_circuit,
    "anycsp_subcircuit": _post_subcircuit,
    "anycsp_inverse": _post_inverse,
    "fzn_disjunctive": _post_no_overlap,
    "fzn_disjunctive_strict": partial(_post_no_overlap, zero_ignored=False),
    "fzn_cumulative": _post_cumulative,
    "fzn_diffn": lambda p, *boxes: _post_boxes(p, False, *boxes),
    "fzn_diffn_nonstrict": lambda p, *boxes: _post_boxes(p, True, *boxes),
    "fzn_bin_packing": _post_packing,
    "anycsp_bin_packing_capa": lambda p, *a: _post_loads(p, "<=", *a),
    "anycsp_bin_packing_load": lambda p, *a: _post_loads(p, "==", *a),
    "fzn_value_precede_int": lambda p, s, t, items: p.add_precedence(items, [s, t]),
    "fzn_value_precede_chain_int": lambda p, values, items: p.add_precedence(items, values),
}
"""Constraints that a problem has more to say about than their truth; they come before TRUTHS."""
