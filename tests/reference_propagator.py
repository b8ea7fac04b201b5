"""A plain propagator to hold the compiled one against: constraints as plain data, domains as sets, one value at a time.

PROMISES says for every kind of constraint which values have to go. A propagator may remove more, as long as no solution
is lost, and never less.

complete: a value stays only where it is part of an assignment, from the domains left, that satisfies the constraint.
bounds: a value stays only where intervals, from the least to the greatest value of the others, leave it possible.
last: a value of the last open variable stays only where it satisfies the constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import inf, prod
from typing import Any

from anycsp.checker.check import HOLDS
from anycsp.checker.expressions import evaluate

Domains = list[set[int]]
Holds = Callable[[list[int]], bool]
Interval = tuple[float, float]
NOTHING: Interval = (inf, -inf)


class Constraint:
    """`plain` as `Problem.describe_constraints` gives it; `holds` for what that cannot say, functions in Python."""

    def __init__(self, plain: dict[str, Any], holds: Holds | None = None) -> None:
        self.plain, self.kind = plain, plain["kind"]
        self.scope: list[int] = plain["scope"]
        self.variables = sorted(set(self.scope))
        self.holds = holds or (lambda taken: HOLDS[self.kind](plain, taken, [{}] * len(taken)))

    def supported(self, domains: Domains) -> dict[int, set[int]]:
        """By variable: the values of assignments that satisfy the constraint."""
        kept: dict[int, set[int]] = {x: set() for x in self.variables}
        for values in product(*(sorted(domains[x]) for x in self.variables)):
            taken = dict(zip(self.variables, values, strict=True))
            if self.holds([taken[x] for x in self.scope]):
                for x, value in taken.items():
                    kept[x].add(value)
        return kept

    def open(self, domains: Domains) -> int:
        return sum(len(domains[x]) > 1 for x in self.variables)


def fixpoint(constraints: Sequence[Constraint], domains: Domains) -> Domains | None:
    """What has to be gone once nothing more follows; None where nothing is left."""
    domains = [set(domain) for domain in domains]
    while True:
        before = [len(domain) for domain in domains]
        for constraint in constraints:
            if not possible(constraint, domains):
                return None
            for x, kept in required(constraint, domains):
                domains[x] &= kept
                if not domains[x]:
                    return None
        if [len(domain) for domain in domains] == before:
            return domains


def possible(c: Constraint, domains: Domains) -> bool:
    """Constraints without an open variable hold or do not; bounds of rules refute without naming a value."""
    if c.open(domains) == 0:
        return c.holds([min(domains[x]) for x in c.scope])
    return c.kind != "rule" or can_be_true(
        expression_bounds(c.plain["expression"], [span(domains[x]) for x in c.scope])
    )


def required(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    """By variable, the values that may stay."""
    if c.open(domains) <= PROMISES[c.kind].complete_from or PROMISES[c.kind].complete(c):
        yield from c.supported(domains).items()
    elif PROMISES[c.kind].bounds is not None:
        for x in c.variables:
            yield x, {v for v in domains[x] if PROMISES[c.kind].bounds(c, [*domains[:x], {v}, *domains[x + 1 :]])}
    else:
        yield from PROMISES[c.kind].more(c, domains)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────


def span(values: set[int]) -> Interval:
    return min(values), max(values)


def compare(operator: str, left: Interval, right: Interval) -> bool:
    """Whether some number of the left interval compares so with one of the right."""
    if operator in ("==", "!="):
        meet = left[0] <= right[1] and right[0] <= left[1]
        return meet if operator == "==" else not left[0] == left[1] == right[0] == right[1]
    return {
        "<=": left[0] <= right[1], "<": left[0] < right[1], ">=": left[1] >= right[0], ">": left[1] > right[0],
    }[operator]  # fmt: skip


def terms(c: Constraint, tables: Sequence[Sequence[Sequence[int]]], domains: Domains) -> list[Interval]:
    """By slot, the range of the numbers that [value, number] pairs give the values left."""
    numbers = [dict(pairs) for pairs in tables]  # type: ignore[call-overload]
    return [span({of.get(v, 0) for v in domains[x]}) for of, x in zip(numbers, c.scope, strict=True)]


def total(parts: Sequence[Interval], bound: int, operator: str) -> bool:
    return compare(operator, (sum(low for low, _ in parts), sum(high for _, high in parts)), (bound, bound))


def linear_bounds(c: Constraint, domains: Domains) -> bool:
    parts = [span({a * v for v in domains[x]}) for a, x in zip(c.plain["coefficients"], c.scope, strict=True)]
    return total(parts, c.plain["bound"], c.plain["operator"])


def sum_bounds(c: Constraint, domains: Domains) -> bool:
    return total(terms(c, c.plain["contributions"], domains), c.plain["bound"], c.plain["operator"])


def extremum_bounds(c: Constraint, domains: Domains) -> bool:
    parts, bound = terms(c, c.plain["terms"], domains), c.plain["bound"]
    low, high = parts.pop() if c.plain.get("result") else (0, 0)
    left = max(part[0] for part in parts), max(part[1] for part in parts)
    return compare(c.plain["operator"], left, (bound + low, bound + high))


def distinct_bounds(c: Constraint, domains: Domains) -> bool:
    """What is taken counts, and every open variable that may take something else counts one more."""
    result, bound, excepted = c.plain.get("result"), c.plain["bound"], set(c.plain.get("except", ()))
    listed = [domains[x] for x in (c.scope[:-1] if result else c.scope)]
    taken = {v for domain in listed if len(domain) == 1 for v in domain} - excepted
    fresh = sum(bool(domain - excepted - taken) for domain in listed)
    low, high = span(domains[c.scope[-1]]) if result else (0, 0)
    return compare(c.plain["operator"], (len(taken), len(taken) + fresh), (bound + low, bound + high))


def can_be_true(bounds: Interval) -> bool:
    return bounds[0] <= bounds[1] and bounds != (0, 0)


def expression_bounds(tree: Any, slots: Sequence[Interval]) -> Interval:
    """The range of an expression by ranges of its operands; all numbers where that is not simple."""
    if isinstance(tree, dict):
        return slots[tree["slot"]]
    if not isinstance(tree, list):
        return tree, tree
    name, operands = tree[0], [expression_bounds(operand, slots) for operand in tree[1:]]
    if any(low > high for low, high in operands):
        return NOTHING
    low, high = [part[0] for part in operands], [part[1] for part in operands]
    never = [part == (0, 0) for part in operands]
    surely = [a > 0 or b < 0 for a, b in operands]
    decided: dict[str, Callable[[], tuple[bool, bool]]] = {
        "lt": lambda: (high[0] < low[1], low[0] >= high[1]),
        "le": lambda: (high[0] <= low[1], low[0] > high[1]),
        "gt": lambda: (low[0] > high[1], high[0] <= low[1]),
        "ge": lambda: (low[0] >= high[1], high[0] < low[1]),
        "eq": lambda: (max(high) == min(low), max(low) > min(high)),
        "ne": lambda: (max(low) > min(high), max(high) == min(low)),
        "not": lambda: (never[0], surely[0]),
        "and": lambda: (all(surely), any(never)),
        "or": lambda: (any(surely), all(never)),
        "imp": lambda: (never[0] or surely[1], surely[0] and never[1]),
    }
    numbers: dict[str, Callable[[], Interval]] = {
        "neg": lambda: (-high[0], -low[0]),
        "add": lambda: (sum(low), sum(high)),
        "sub": lambda: (low[0] - high[1], high[0] - low[1]),
        "mul": lambda: corners(operands),
        "min": lambda: (min(low), min(high)),
        "max": lambda: (max(low), max(high)),
    }
    if name in decided:
        yes, no = decided[name]()
        return int(yes), int(not no)
    return numbers[name]() if name in numbers else (-inf, inf)


def corners(operands: Sequence[Interval]) -> Interval:
    if any(inf in (abs(a), abs(b)) for a, b in operands):
        return -inf, inf
    products = [prod(corner) for corner in product(*operands)]
    return min(products), max(products)


# ── what else follows ────────────────────────────────────────────────────────────────────────────


def nothing_more(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    return iter(())


def taken_elsewhere(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    """All-different with values that do not count: what one variable has taken is nobody else's."""
    excepted = set(c.plain.get("except", ()))
    for x in c.variables:
        others = (domains[y] for y in c.variables if y != x and len(domains[y]) == 1)
        yield x, domains[x] - {v for domain in others for v in domain - excepted}


def circuit_paths(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    """Successors are all different, and a path of fixed ones does not close while a node off it has to be visited."""
    if not is_circuit(c) or len(c.variables) < len(c.plain["expression"]) - 1:
        return
    n, owner = len(c.scope), []
    successors: list[dict[int, int]] = []  # by node: value of its variable → node
    for operand in c.plain["expression"][1:]:
        (slot,) = {i for i in range(n) if f"'slot': {i}" + "}" in str(operand)}
        owner.append(c.scope[slot])
        values = ((v, evaluate(operand, [v] * n)) for v in domains[c.scope[slot]])
        successors.append({v: node for v, node in values if 0 <= node < n})
    kept: list[set[int]] = [set() for _ in range(n)]
    for values in product(*successors):
        if len({successors[i][v] for i, v in enumerate(values)}) == n:
            for own, value in zip(kept, values, strict=True):
                own.add(value)
    fixed = {i: next(iter(of.values())) for i, of in enumerate(successors) if len(of) == 1}
    for start in set(range(n)) - set(fixed.values()):
        path = [start]
        while path[-1] in fixed and len(path) <= n:
            path.append(fixed[path[-1]])
        if len(path) > 1 and any(i not in path and i not in successors[i].values() for i in range(n)):
            kept[path[-1]] = {v for v in kept[path[-1]] if successors[path[-1]][v] != start}
    yield from zip(owner, kept, strict=True)


def element_bounds(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    """items[index] == result, all of them variables: an index stays where its item meets the result, which lies within
    what is left of the items."""
    tree = c.plain["expression"]
    if not isinstance(tree, list) or tree[0] != "eq" or not isinstance(tree[1], list) or tree[1][0] != "element":
        return
    if not all(isinstance(node, dict) for node in [*tree[1][1:], *tree[2:]]) or len(tree) > 3:
        return
    index, *items, result = (c.scope[node["slot"]] for node in [*tree[1][1:], tree[2]])
    low, high = span(domains[result])
    there = {i for i in domains[index] if 0 <= i < len(items)}
    there = {i for i in there if min(domains[items[i]]) <= high and low <= max(domains[items[i]])}
    yield index, there
    left = [span(domains[items[i]]) for i in there]
    if left:
        bottom, top = min(a for a, _ in left), max(b for _, b in left)
        yield result, {v for v in domains[result] if bottom <= v <= top}
    if len(there) == 1:
        only = items[there.pop()]
        yield only, {v for v in domains[only] if low <= v <= high}


def circuits_and_elements(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    yield from circuit_paths(c, domains)
    yield from element_bounds(c, domains)


def last_box(c: Constraint, domains: Domains) -> Iterator[tuple[int, set[int]]]:
    """Forbidden rows one by one: where all variables but one lie within a row, that one does not."""
    for row in c.plain.get("forbidden", ()):
        cells = [domains[x] if cell == "*" else set(cell) for cell, x in zip(row, c.scope, strict=True)]
        outside = [i for i, x in enumerate(c.scope) if not domains[x] <= cells[i]]
        if len(outside) == 1:
            x = c.scope[outside[0]]
            yield x, domains[x] - cells[outside[0]]


class Promise:
    def __init__(
        self,
        complete: Callable[[Constraint], bool] = lambda c: False,
        bounds: Callable[[Constraint, Domains], bool] | None = None,
        more: Callable[[Constraint, Domains], Iterator[tuple[int, set[int]]]] = nothing_more,
        complete_from: int = 1,
    ) -> None:
        """`complete` for all domains, or else from so few open variables on."""
        self.complete, self.bounds, self.more, self.complete_from = complete, bounds, more, complete_from


def always(c: Constraint) -> bool:
    return True


def is_circuit(c: Constraint) -> bool:
    tree = c.plain["expression"]
    return isinstance(tree, list) and tree[0] == "circuit"


PROMISES: dict[str, Promise] = {
    "table": Promise(complete=always),
    "short_table": Promise(complete=lambda c: "allowed" in c.plain, more=last_box),
    "clause": Promise(complete=always),
    "literals": Promise(complete=always),
    "linear": Promise(
        complete=lambda c: len(c.scope) == len(c.variables) == 2 and c.plain["operator"] == "==", bounds=linear_bounds
    ),
    "sum": Promise(bounds=sum_bounds),
    "extremum": Promise(bounds=extremum_bounds),
    "distinct": Promise(bounds=distinct_bounds),
    "all_different": Promise(complete=lambda c: not c.plain.get("except"), more=taken_elsewhere),
    "rule": Promise(
        complete=lambda c: len(c.variables) <= 2 and not is_circuit(c), complete_from=2, more=circuits_and_elements
    ),
    "external": Promise(),
}
