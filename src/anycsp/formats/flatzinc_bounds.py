"""Bounds of integers that a FlatZinc file leaves open, or gives far too wide: what linear constraints and functions of
other variables imply, by interval arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from anycsp.formats.flatzinc_parser import ConstantSet, Declared, Posted

WIDE = 10_000
"""Values of a domain from which on it is worth looking for bounds of its own."""
MOST_LOOKS = 30
"""How often one constraint is looked at: bounds that creep towards each other are left where they are."""

Interval = tuple[float, float]
"""Integers, or infinite."""
FREE: Interval = (-math.inf, math.inf)


def ends(values: ConstantSet) -> Interval:
    """The least and the greatest; Python goes through a range to find them."""
    if not values:
        return 0, 0
    return (values[0], values[-1]) if isinstance(values, range) else (min(values), max(values))


class Intervals:
    """The interval of every integer; `same` maps what stands in constraints to what it is the same as."""

    def __init__(self, same: Callable[[Declared], Any]) -> None:
        self.same = same
        self._known: dict[Declared, Interval] = {}
        self.changed: list[Declared] = []

    def of(self, item: Any) -> Interval:
        item = self.same(item) if isinstance(item, Declared) else item
        if not isinstance(item, Declared):
            return (int(item), int(item)) if isinstance(item, int) else FREE
        if item not in self._known:
            self._known[item] = FREE if item.domain is None else ends(item.domain)
        return self._known[item]

    def narrow(self, item: Any, low: float, high: float) -> None:
        """Take away what is outside; nothing where nothing would be left, which the constraint itself will say."""
        item = self.same(item) if isinstance(item, Declared) else item
        if not isinstance(item, Declared) or item.kind == "set":
            return
        was = self.of(item)
        now = (max(was[0], low), min(was[1], high))
        if now != was and now[0] <= now[1]:
            self._known[item] = now
            self.changed.append(item)


def tightened(constraints: Iterable[Posted], same: Callable[[Declared], Any]) -> Intervals:
    """Intervals of what the constraints over open or wide variables imply."""
    intervals = Intervals(same)
    affected: dict[Declared, list[Posted]] = defaultdict(list)
    pending: deque[Posted] = deque()
    for posted in constraints:
        if posted.predicate not in _NARROW:
            continue
        wide = [x for x in _scope(posted.arguments, same) if _is_wide(x)]
        for x in wide:
            affected[x].append(posted)
        if wide:
            pending.append(posted)
    looks: dict[int, int] = defaultdict(int)
    while pending:
        posted = pending.popleft()
        looks[id(posted)] += 1
        _NARROW[posted.predicate](intervals, *posted.arguments)
        for x in dict.fromkeys(intervals.changed):
            pending.extend(other for other in affected[x] if looks[id(other)] < MOST_LOOKS)
        intervals.changed.clear()
    return intervals


def _is_wide(x: Declared) -> bool:
    return x.kind == "int" and (x.domain is None or (isinstance(x.domain, range) and len(x.domain) > WIDE))


def _scope(arguments: Sequence[Any], same: Callable[[Declared], Any]) -> list[Declared]:
    flat = [item for argument in arguments for item in (argument if isinstance(argument, list) else [argument])]
    found = dict.fromkeys(same(item) for item in flat if isinstance(item, Declared))
    return [x for x in found if isinstance(x, Declared)]


# ── one function per predicate ───────────────────────────────────────────────────────────────────────


def _scaled(factor: int, interval: Interval) -> Interval:
    if factor == 0:
        return 0, 0
    return (factor * interval[0], factor * interval[1]) if factor > 0 else (factor * interval[1], factor * interval[0])


def _at_most(intervals: Intervals, coefficients: Sequence[int], items: Sequence[Any], bound: float) -> None:
    """Σ coefficient · item ≤ bound: each term is at most what the least of the others leave."""
    least = [_scaled(a, intervals.of(x))[0] for a, x in zip(coefficients, items, strict=True)]
    infinite = sum(low == -math.inf for low in least)
    finite = sum(low for low in least if low != -math.inf)
    for a, x, low in zip(coefficients, items, least, strict=True):
        if a == 0 or infinite > (low == -math.inf):
            continue
        left = bound - (finite - (0 if low == -math.inf else low))
        if left == math.inf:
            continue
        if a > 0:
            intervals.narrow(x, -math.inf, int(left) // a)
        else:
            intervals.narrow(x, -(int(left) // -a), math.inf)


def _linear_le(intervals: Intervals, coefficients: Sequence[int], items: Sequence[Any], bound: Any) -> None:
    _at_most(intervals, coefficients, items, intervals.of(bound)[1])


def _linear_eq(intervals: Intervals, coefficients: Sequence[int], items: Sequence[Any], bound: Any) -> None:
    all_coefficients, all_items = [*coefficients, -1], [*items, bound]
    _at_most(intervals, all_coefficients, all_items, 0)
    _at_most(intervals, [-a for a in all_coefficients], all_items, 0)


def _product(a: Interval, b: Interval) -> Interval:
    corners = [0.0 if 0 in (p, q) else p * q for p in a for q in b]
    return min(corners), max(corners)


def _reach(interval: Interval) -> float:
    """The largest absolute value."""
    return max(map(abs, interval))


def _times(intervals: Intervals, a: Any, b: Any, c: Any) -> None:
    """A factor is no further from 0 than the product, unless the other one may be 0; in a square it never is."""
    square = intervals.same(a) is intervals.same(b)
    intervals.narrow(c, *_product(intervals.of(a), intervals.of(b)))
    intervals.narrow(c, 0 if square else -math.inf, math.inf)
    product = intervals.of(c)
    nonzero = product[0] > 0 or product[1] < 0
    for factor, other in ((a, b), (b, a)):
        low, high = intervals.of(other)
        if square or nonzero or low > 0 or high < 0:
            intervals.narrow(factor, -_reach(product), _reach(product))


def _quotient(intervals: Intervals, a: Any, b: Any, c: Any) -> None:
    reach = _reach(intervals.of(a))
    intervals.narrow(c, -reach, reach)
    most = (_reach(intervals.of(c)) + 1) * _reach(intervals.of(b)) - 1
    intervals.narrow(a, -most, most)


def _remainder(intervals: Intervals, a: Any, b: Any, c: Any) -> None:
    reach = _reach(intervals.of(b)) - 1
    intervals.narrow(c, -reach if intervals.of(a)[0] < 0 else 0, reach)


def _power(intervals: Intervals, a: Any, b: Any, c: Any) -> None:
    base, exponent = _reach(intervals.of(a)), max(intervals.of(b)[1], 0)
    if math.isfinite(base) and math.isfinite(exponent) and exponent * max(base, 2).__trunc__().bit_length() <= 62:
        reach = max(int(base) ** int(exponent), 1)
        intervals.narrow(c, -reach if intervals.of(a)[0] < 0 else 0, reach)


def _absolute(intervals: Intervals, a: Any, b: Any) -> None:
    low, high = intervals.of(a)
    intervals.narrow(b, 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    reach = intervals.of(b)[1]
    intervals.narrow(a, -reach, reach)


def _equal(intervals: Intervals, a: Any, b: Any) -> None:
    intervals.narrow(a, *intervals.of(b))
    intervals.narrow(b, *intervals.of(a))


def _ordered(intervals: Intervals, a: Any, b: Any, gap: int) -> None:
    intervals.narrow(a, -math.inf, intervals.of(b)[1] - gap)
    intervals.narrow(b, intervals.of(a)[0] + gap, math.inf)


def _extremum(intervals: Intervals, result: Any, items: Sequence[Any], largest: bool) -> None:
    parts = [intervals.of(x) for x in items]
    choose = max if largest else min
    intervals.narrow(result, choose(low for low, _ in parts), choose(high for _, high in parts))
    low, high = intervals.of(result)
    for x in items:
        intervals.narrow(x, -math.inf if largest else low, high if largest else math.inf)


def _element(intervals: Intervals, index: Any, items: Sequence[Any], result: Any) -> None:
    intervals.narrow(index, 1, len(items))
    parts = [intervals.of(x) for x in items]
    intervals.narrow(result, min(low for low, _ in parts), max(high for _, high in parts))


def _member(intervals: Intervals, x: Any, values: Any) -> None:
    values = _may_hold(intervals.same(values)) if isinstance(values, Declared) else values
    if isinstance(values, (range, frozenset)) and values:
        intervals.narrow(x, *ends(values))


def _count(intervals: Intervals, counted: Any, result: Any) -> None:
    size = len(counted.domain or ()) if isinstance(counted, Declared) else len(counted)
    intervals.narrow(result, 0, size if size else math.inf)


def _knapsack(
    intervals: Intervals, weights: Sequence[int], profits: Sequence[int], items: Sequence[Any], weight: Any, profit: Any
) -> None:
    _linear_eq(intervals, weights, items, weight)
    _linear_eq(intervals, profits, items, profit)


def _all_within(intervals: Intervals, items: Sequence[Any], low: float, high: float) -> None:
    for x in items:
        intervals.narrow(x, low, high)


def _hull(intervals: Intervals, items: Sequence[Any]) -> Interval:
    """From the least that one of the items may be to the greatest."""
    parts = [intervals.of(x) for x in items]
    return min((low for low, _ in parts), default=-math.inf), max((high for _, high in parts), default=math.inf)


def _chosen(intervals: Intervals, conditions: Sequence[Any], values: Sequence[Any], result: Any) -> None:
    intervals.narrow(result, *_hull(intervals, values))


def _monotone(intervals: Intervals, items: Sequence[Any], gap: int = 0) -> None:
    for a, b in [*pairwise(items), *reversed(list(pairwise(items)))]:  # up the list, and down again
        _ordered(intervals, a, b, gap)


def _columns(intervals: Intervals, items: Sequence[Any], flat: Sequence[int]) -> None:
    for k, x in enumerate(items):
        if column := flat[k :: len(items)]:
            intervals.narrow(x, min(column), max(column))


def _cardinalities(intervals: Intervals, items: Sequence[Any], cover: Sequence[int], counts: Sequence[Any]) -> None:
    _all_within(intervals, counts, 0, len(items))


def _covered(intervals: Intervals, items: Sequence[Any], cover: Sequence[int], *counts: Sequence[Any]) -> None:
    if cover:
        _all_within(intervals, items, min(cover), max(cover))
    if len(counts) == 1:
        _cardinalities(intervals, items, cover, *counts)


def _loads(intervals: Intervals, first: int, loads: Sequence[Any], items: Sequence[Any], sizes: Sequence[int]) -> None:
    _all_within(intervals, items, first, first + len(loads) - 1)
    _all_within(intervals, loads, sum(min(size, 0) for size in sizes), sum(max(size, 0) for size in sizes))


def _inverse(intervals: Intervals, first: int, items: Sequence[Any], other: int, others: Sequence[Any]) -> None:
    _all_within(intervals, items, other, other + len(others) - 1)
    _all_within(intervals, others, first, first + len(items) - 1)


def _successors(intervals: Intervals, first: int, items: Sequence[Any]) -> None:
    _all_within(intervals, items, first, first + len(items) - 1)


_NARROW: dict[str, Callable[..., None]] = {
    "int_lin_le": _linear_le,
    "int_lin_eq": _linear_eq,
    "bool_lin_le": _linear_le,
    "bool_lin_eq": _linear_eq,
    "int_plus": lambda i, a, b, c: _linear_eq(i, [1, 1], [a, b], c),
    "int_minus": lambda i, a, b, c: _linear_eq(i, [1, -1], [a, b], c),
    "int_times": _times,
    "int_div": _quotient,
    "int_mod": _remainder,
    "int_pow": _power,
    "int_pow_fixed": _power,
    "int_abs": _absolute,
    "int_eq": _equal,
    "int_le": lambda i, a, b: _ordered(i, a, b, 0),
    "int_lt": lambda i, a, b: _ordered(i, a, b, 1),
    "int_max": lambda i, a, b, c: _extremum(i, c, [a, b], True),
    "int_min": lambda i, a, b, c: _extremum(i, c, [a, b], False),
    "array_int_maximum": lambda i, m, x: _extremum(i, m, x, True),
    "array_int_minimum": lambda i, m, x: _extremum(i, m, x, False),
    "array_int_element": _element,
    "array_var_int_element": _element,
    "set_in": _member,
    "set_card": _count,
    "fzn_count_eq": lambda i, x, _, c: _count(i, x, c),
    "fzn_nvalue": lambda i, n, x: _count(i, x, n),
    "fzn_among": lambda i, n, x, _: _count(i, x, n),
    "fzn_knapsack": _knapsack,
    "fzn_member_int": lambda i, items, y: i.narrow(y, *_hull(i, items)),
    **{f"fzn_if_then_else_{var}int": _chosen for var in ("", "var_")},
    "fzn_increasing_int": _monotone,
    "fzn_strictly_increasing_int": lambda i, items: _monotone(i, items, 1),
    "fzn_decreasing_int": lambda i, items: _monotone(i, items[::-1]),
    "fzn_strictly_decreasing_int": lambda i, items: _monotone(i, items[::-1], 1),
    "anycsp_table_int": _columns,
    "anycsp_regular": lambda i, items, _, symbols, *rest: _all_within(i, items, 1, symbols),
    "fzn_global_cardinality": _cardinalities,
    "fzn_global_cardinality_closed": _covered,
    "fzn_global_cardinality_low_up_closed": _covered,
    "anycsp_bin_packing_load": _loads,
    "anycsp_inverse": _inverse,
    "anycsp_circuit": _successors,
    "anycsp_subcircuit": _successors,
}


# ── sets ─────────────────────────────────────────────────────────────────────────────────────────────


def bound_sets(constraints: Iterable[Posted], same: Callable[[Declared], Any]) -> None:
    """Sets that are declared without bounds hold at most what the sets that they are made of may hold."""
    pending = [posted for posted in constraints if posted.predicate in _HOLDS_AT_MOST]
    found = any(x.kind == "set" and x.domain is None for posted in pending for x in _scope(posted.arguments, same))
    while found:
        found = False
        for posted in pending:
            for item, parts in _HOLDS_AT_MOST[posted.predicate](*posted.arguments):
                x = same(item)
                if not isinstance(x, Declared) or x.domain is not None:
                    continue
                wholes = [_may_hold(same(part)) for part in parts]
                if all(whole is not None for whole in wholes):
                    x.domain = frozenset().union(*(whole for whole in wholes if whole is not None))
                    found = True


def _may_hold(item: Any) -> ConstantSet | None:
    return item.domain if isinstance(item, Declared) else item


_HOLDS_AT_MOST: dict[str, Callable[..., list[tuple[Any, list[Any]]]]] = {
    "set_union": lambda a, b, r: [(r, [a, b]), (a, [r]), (b, [r])],
    "set_intersect": lambda a, b, r: [(r, [a]), (r, [b])],
    "set_diff": lambda a, b, r: [(r, [a]), (a, [r, b])],
    "set_symdiff": lambda a, b, r: [(r, [a, b]), (a, [r, b]), (b, [r, a])],
    "set_eq": lambda a, b: [(a, [b]), (b, [a])],
    "set_subset": lambda a, b: [(a, [b])],
    "set_superset": lambda a, b: [(b, [a])],
    "array_set_element": lambda _, sets, r: [(r, sets)],
    "array_var_set_element": lambda _, sets, r: [(r, sets)],
}
"""For each predicate: a set, and others whose union holds all that it holds."""
