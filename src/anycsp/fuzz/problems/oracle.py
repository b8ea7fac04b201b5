"""What a drawn problem means, by enumeration in plain Python: every definition is written here by hand, and nothing of
the solver is imported, so that the two can only agree by both being right.

A *case* is plain data. `{"var": i}` stands for a variable wherever one may stand; an expression is an integer, a
variable or `[operation, operand, …]`. `constraints` lists what was posted: each entry has its `post` (the name of a
definition below), that definition's own keys, and `weight` and `hard`. `definitions` are auxiliary variables, numbered
after the asked ones.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Case = Mapping[str, Any]
Entry = Mapping[str, Any]
Values = Sequence[int] | Mapping[int, int]

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip

LARGEST_WEIGHT, LARGEST_SCORE, MOST_DECIMALS = 2**53, 2**60, 22
"""What weights may come to and still be told apart exactly; beyond, a problem is refused (docs/architecture.md)."""


def terms_of(entry: Entry) -> tuple[Fraction, bool]:
    """The weight of an entry as its digits say it, and whether it is hard: required unless weighted. The one place that
    knows the defaults."""
    return Fraction(repr(entry.get("weight", 1))), bool(entry.get("hard", "weight" not in entry))


# ── expressions ──────────────────────────────────────────────────────────────────────────────────


class Undefined(Exception):
    """A division by zero, a negative exponent, an index outside its list."""


def evaluate(tree: Any, values: Values) -> int:
    if isinstance(tree, dict):  # not any Mapping: to ask for that takes longer than all the rest
        return values[tree["var"]]
    if isinstance(tree, int):
        return int(tree)
    return int(_OPERATIONS[tree[0]]([evaluate(operand, values) for operand in tree[1:]]))


def _truncated(a: list[int]) -> int:
    _divisor(a[1])
    quotient = abs(a[0]) // abs(a[1])
    return quotient if (a[0] >= 0) == (a[1] > 0) else -quotient


def _divisor(value: int) -> int:
    if value == 0:
        raise Undefined
    return value


def _power(a: list[int]) -> int:
    if a[1] < 0:
        raise Undefined
    return int(a[0] ** a[1])


def _element(a: list[int]) -> int:
    if not 0 <= a[0] < len(a) - 1:
        raise Undefined
    return a[a[0] + 1]


def is_circuit(successors: Sequence[int]) -> bool:
    """One circuit through all the nodes that do not point to themselves, of which there are two or more."""
    nodes = {i for i, s in enumerate(successors) if s != i}
    if len(nodes) < 2 or any(not 0 <= s < len(successors) for s in successors):
        return False
    seen: list[int] = []
    at = min(nodes)
    while at not in seen:
        seen.append(at)
        at = successors[at]
    return at == seen[0] and set(seen) == nodes


_OPERATIONS: dict[str, Callable[[list[int]], int | bool]] = {
    "neg": lambda a: -a[0],
    "abs": lambda a: abs(a[0]),
    "add": sum,
    "sub": lambda a: a[0] - a[1],
    "mul": math.prod,
    "div": _truncated,
    "mod": lambda a: a[0] - a[1] * _truncated(a),
    "floordiv": lambda a: a[0] // _divisor(a[1]),
    "floormod": lambda a: a[0] % _divisor(a[1]),
    "sqr": lambda a: a[0] * a[0],
    "pow": _power,
    "min": min,
    "max": max,
    "dist": lambda a: abs(a[0] - a[1]),
    "lt": lambda a: a[0] < a[1],
    "le": lambda a: a[0] <= a[1],
    "ge": lambda a: a[0] >= a[1],
    "gt": lambda a: a[0] > a[1],
    "eq": lambda a: all(b == a[0] for b in a),
    "ne": lambda a: a[0] != a[1],
    "in": lambda a: a[0] in a[1:],
    "not": lambda a: a[0] == 0,
    "and": lambda a: all(b != 0 for b in a),
    "or": lambda a: any(b != 0 for b in a),
    "xor": lambda a: sum(b != 0 for b in a) % 2 == 1,
    "iff": lambda a: len({b != 0 for b in a}) == 1,
    "imp": lambda a: a[0] == 0 or a[1] != 0,
    "if": lambda a: a[1] if a[0] != 0 else a[2],
    "element": _element,
    "distinct": lambda a: len(set(a)),
    "circuit": is_circuit,
}


def _true(tree: Any, values: Values) -> bool:
    try:
        return evaluate(tree, values) != 0
    except Undefined:
        return False


def _all(trees: Sequence[Any], values: Values) -> list[int]:
    return [evaluate(tree, values) for tree in trees]


def _comparison(left: int, entry: Entry, values: Values) -> bool:
    """The `operator` and `bound` of an entry, against a number."""
    return COMPARE[entry["operator"]](left, evaluate(entry["bound"], values))


# ── what each post means: the truth of every part it is documented to have ───────────────────────

Parts = list[bool]


def _table(e: Entry, values: Values) -> Parts:
    return [(_all(e["scope"], values) in e["rows"]) == e["allowed"]]


def _in_cell(value: int, cell: Any) -> bool:
    if cell == "*":
        return True
    if isinstance(cell, Mapping):
        low, high = cell["range"]
        return bool(low <= value < high)
    return value in cell


def _short_table(e: Entry, values: Values) -> Parts:
    taken = _all(e["scope"], values)
    listed = any(all(_in_cell(v, c) for v, c in zip(taken, row, strict=True)) for row in e["rows"])
    return [listed == e["allowed"]]


def _nogood(e: Entry, values: Values) -> Parts:
    return [_all(e["scope"], values) != e["values"]]


def _clause(e: Entry, values: Values) -> Parts:
    return [any(values[x["var"]] == value for x, value in e["literals"])]


def _linear(e: Entry, values: Values) -> Parts:
    taken = _all(e["scope"], values)
    return [_comparison(sum(a * v for a, v in zip(e["coefficients"], taken, strict=True)), e, values)]


def _all_different(e: Entry, values: Values) -> Parts:
    counted = [v for v in _all(e["scope"], values) if v not in e.get("except", ())]
    return [len(set(counted)) == len(counted)]


def _pairs_differ(e: Entry, values: Values) -> Parts:
    return [_true(["ne", a, b], values) for a, b in itertools.combinations(e["scope"], 2)]


def _not_equal(e: Entry, values: Values) -> Parts:
    return [values[a["var"]] != values[b["var"]] for a, b in e["pairs"]]


def _rule(e: Entry, values: Values) -> Parts:
    return [_true(e["expression"], values)]


def _function(e: Entry, values: Values) -> Parts:
    """A Python function that branches, so that it cannot be traced: `post.py` has it too, for the solver."""
    taken = _all(e["scope"], values)
    return [sum(taken) > e["bound"] if taken[0] > 0 else taken[-1] % 2 == 0]


def _looked_up(e: Entry, values: Values) -> list[int]:
    """What each variable of the scope stands for, by its own table of (value, number)."""
    taken = _all(e["scope"], values)
    return [dict(map(tuple, pairs))[v] for pairs, v in zip(e["tables"], taken, strict=True)]


def _sum(e: Entry, values: Values) -> Parts:
    return [_comparison(sum(_looked_up(e, values)), e, values)]


def _extremum(e: Entry, values: Values) -> Parts:
    numbers = _looked_up(e, values)
    right = numbers.pop() if e["result"] else 0
    return [COMPARE[e["operator"]](max(numbers), e["bound"] + right)]


def _distinct(e: Entry, values: Values) -> Parts:
    return [_comparison(len(set(_all(e["scope"], values)) - set(e.get("except", ()))), e, values)]


def _all_equal(e: Entry, values: Values) -> Parts:
    return [len(set(_all(e["scope"], values)) - set(e.get("except", ()))) <= 1]


def _not_all_equal(e: Entry, values: Values) -> Parts:
    return [len(set(_all(e["scope"], values))) > 1]


def _count(e: Entry, values: Values) -> Parts:
    wanted = _all(e["values"], values)
    return [_comparison(sum(v in wanted for v in _all(e["scope"], values)), e, values)]


def _cardinality(e: Entry, values: Values) -> Parts:
    taken, parts = _all(e["scope"], values), []
    for value, occurs in zip(e["values"], e["occurs"], strict=True):
        count = taken.count(value)
        if isinstance(occurs, Mapping) and "range" in occurs:
            low, high = occurs["range"]
            parts += [count >= low] if low > 0 else []
            parts += [count < high] if high - 1 < len(taken) else []
        else:
            parts.append(count == evaluate(occurs, values))
    return parts + ([v in e["values"] for v in taken] if e["closed"] else [])


def _knapsack(e: Entry, values: Values) -> Parts:
    taken = _all(e["scope"], values)
    return [
        COMPARE[sign](sum(a * v for a, v in zip(e[key], taken, strict=True)), evaluate(bound, values))
        for key, (sign, bound) in (("weights", e["weight_condition"]), ("profits", e["profit_condition"]))
    ]


def _bin_packing(e: Entry, values: Values) -> Parts:
    taken = _all(e["scope"], values)
    return [
        COMPARE[sign](sum(s for s, v in zip(e["sizes"], taken, strict=True) if v == number), evaluate(bound, values))
        for number, sign, bound in e["bins"]
    ]


def _maximum(e: Entry, values: Values) -> Parts:
    return [_comparison(max(_all(e["scope"], values)), e, values)]


def _minimum(e: Entry, values: Values) -> Parts:
    return [_comparison(min(_all(e["scope"], values)), e, values)]


def _element_of(e: Entry, values: Values) -> Parts:
    items, at = _all(e["scope"], values), evaluate(e["index"], values)
    return [0 <= at < len(items) and _comparison(items[at], e, values)]


def _ordered(e: Entry, values: Values) -> Parts:
    taken = _all(e["scope"], values)
    lengths = _all(e["lengths"], values) if e.get("lengths") else [0] * (len(taken) - 1)
    return [COMPARE[e["operator"]](a + l, b) for a, b, l in zip(taken, taken[1:], lengths, strict=False)]


def _lexicographic(e: Entry, values: Values) -> Parts:
    lists = [_all(scope, values) for scope in e["lists"]]
    holds: dict[str, Callable[[list[int], list[int]], bool]] = {
        "<=": lambda a, b: a <= b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b, ">": lambda a, b: a > b,
    }  # fmt: skip
    return [holds[e["operator"]](a, b) for a, b in itertools.pairwise(lists)]


def _all_different_lists(e: Entry, values: Values) -> Parts:
    lists = [_all(scope, values) for scope in e["lists"]]
    return [a != b or a in e["except"] for a, b in itertools.combinations(lists, 2)]


def _precedence(e: Entry, values: Values) -> Parts:
    taken, parts = _all(e["scope"], values), []
    for before, after in itertools.pairwise(e["values"]):
        parts += [v != after or before in taken[:k] for k, v in enumerate(taken)]
    return parts + ([e["values"][-1] in taken] if e["covered"] else [])


def _channel(e: Entry, values: Values) -> Parts:
    first = _all(e["first"], values)
    if e["second"] is None:
        pairs = itertools.combinations(range(len(first)), 2)
        return [(first[i] == j) == (first[j] == i) for i, j in pairs] + [0 <= a < len(first) for a in first]
    second, parts = _all(e["second"], values), list[bool]()
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            parts.append((a == j) == (b == i) if len(first) == len(second) else a != j or b == i)
        parts.append(0 <= a < len(second))
    return parts


def _channel_value(e: Entry, values: Values) -> Parts:
    taken, at = _all(e["scope"], values), evaluate(e["value"], values)
    return [(v == 1) == (at == i) for i, v in enumerate(taken)] + [0 <= at < len(taken)]


def _circuit(e: Entry, values: Values) -> Parts:
    taken = _all(e["scope"], values)
    parts = [is_circuit(taken), len(set(taken)) == len(taken)]
    if e["size"] is not None:
        parts.append(sum(v != i for i, v in enumerate(taken)) == evaluate(e["size"], values))
    return parts + [taken[i] != i for i in e["no_loops"]]


def _instantiation(e: Entry, values: Values) -> Parts:
    return [v == w for v, w in zip(_all(e["scope"], values), e["values"], strict=True)]


def _no_overlap(e: Entry, values: Values) -> Parts:
    boxes = [(_all(o, values), _all(l, values), l) for o, l in zip(e["origins"], e["lengths"], strict=True)]
    if e["zero_ignored"]:  # those that are always empty are no part of it
        boxes = [box for box in boxes if 0 not in box[2]]
    parts = []
    for (a, m, _), (b, n, _) in itertools.combinations(boxes, 2):
        apart = any(p + k <= q or q + l <= p for p, k, q, l in zip(a, m, b, n, strict=True))
        parts.append(apart or (e["zero_ignored"] and 0 in m + n))
    return parts


def _cumulative(e: Entry, values: Values) -> Parts:
    """With constant lengths and heights a part for every possible start, else one for every task at its own start."""
    starts, lengths, heights = (_all(e[key], values) for key in ("origins", "lengths", "heights"))
    limit = evaluate(e["bound"], values)

    def load(time: int) -> int:
        return sum(h for s, l, h in zip(starts, lengths, heights, strict=True) if s <= time < s + l)

    if e["times"] is not None:
        return [COMPARE[e["operator"]](load(time), limit) for time in e["times"]]
    running = [s for s, l, t in zip(starts, lengths, e["lengths"], strict=True) if not isinstance(t, int) or t > 0]
    mine = [l for l, t in zip(lengths, e["lengths"], strict=True) if not isinstance(t, int) or t > 0]
    return [l <= 0 or COMPARE[e["operator"]](load(s), limit) for s, l in zip(running, mine, strict=True)]


def _accepts(e: Entry, values: Values) -> Parts:
    states = {e["start"]}
    for v in _all(e["scope"], values):
        states = {target for source, value, target in e["transitions"] if source in states and value == v}
    return [not states.isdisjoint(e["final"])]


PARTS: dict[str, Callable[[Entry, Values], Parts]] = {
    "table": _table, "tables": _table, "tuples": _table, "short_table": _short_table, "short_block": _short_table,
    "nogood": _nogood, "clause": _clause, "linear": _linear, "all_different": _all_different,
    "pairs_differ": _pairs_differ, "not_equal": _not_equal, "rule": _rule, "rule_block": _rule, "traced": _rule,
    "function": _function, "function_block": _function, "sum": _sum, "extremum": _extremum, "distinct": _distinct,
    "all_equal": _all_equal, "not_all_equal": _not_all_equal, "count": _count, "cardinality": _cardinality,
    "knapsack": _knapsack, "bin_packing": _bin_packing, "maximum": _maximum, "minimum": _minimum,
    "element": _element_of, "ordered": _ordered, "lexicographic": _lexicographic,
    "all_different_lists": _all_different_lists, "precedence": _precedence, "channel": _channel,
    "channel_value": _channel_value, "circuit": _circuit, "instantiation": _instantiation, "no_overlap": _no_overlap,
    "cumulative": _cumulative, "regular": _accepts, "mdd": _accepts,
}  # fmt: skip

LOOSE = {"regular", "mdd"}
"""Posts whose number of constraints is the solver's own affair: only whether all of them hold is known here."""


# ── counting and enumerating ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, order=True)
class Count:
    """What an assignment violates; ordered as searches must order assignments: hard weight first, then soft."""

    hard_weight: Fraction
    soft_weight: Fraction
    hard: int
    violated: int
    objective: tuple[int, ...] | None
    """What each goal comes to; None where one of them is undefined."""
    loose: bool
    """Whether a loose post is violated, so that the numbers above are only lower bounds."""

    @property
    def weight(self) -> float:
        return float(self.hard_weight + self.soft_weight)

    @property
    def score(self) -> tuple[Fraction, Fraction]:
        return self.hard_weight, self.soft_weight


class Oracle:
    """The meaning of one case."""

    def __init__(self, case: Case) -> None:
        self.domains = [domain_values(variable["domain"]) for variable in case["variables"]]
        self.definitions: list[Entry] = case.get("definitions", [])
        self.all_domains = self._all_domains()
        by_domain = {"cumulative": self._timed, "circuit": self._looping}
        self.entries = [by_domain.get(entry["post"], dict)(entry) for entry in case["constraints"]]
        self.objective = case.get("objective")
        self.terms = [terms_of(entry) for entry in self.entries]

    def _timed(self, entry: Entry) -> Entry:
        """A cumulative entry with its possible starts, where these alone make its parts."""
        tasks = list(zip(entry["origins"], entry["lengths"], entry["heights"], strict=True))
        constant = all(
            isinstance(l, int) and isinstance(h, int) and isinstance(o, Mapping) for o, l, h in tasks if l != 0
        )
        running = [o["var"] for o, l, _ in tasks if constant and l > 0]
        times = sorted({value for x in running for value in self.all_domains[x]})
        return {**entry, "times": times if constant else None}

    def _looping(self, entry: Entry) -> Entry:
        """A circuit with the nodes that could follow themselves and may not."""
        allowed = entry.get("self_loops", True) or entry["size"] is not None
        nodes = [i for i, x in enumerate(entry["scope"]) if i in self.all_domains[x["var"]]]
        return {**entry, "no_loops": [] if allowed else nodes}

    @property
    def assignments(self) -> int:
        return math.prod(map(len, self.domains))

    def enumerate(self) -> Iterator[tuple[int, ...]]:
        """Every assignment of the asked variables."""
        return itertools.product(*self.domains)

    def _all_domains(self) -> list[list[int]]:
        """Those of the asked variables, then those of the auxiliary ones: what their expressions can come to."""
        domains = list(self.domains)
        for definition in self.definitions:
            scope = sorted(variables_of(definition["expression"]))
            reached = set()
            for taken in itertools.product(*(domains[x] for x in scope)):
                values = dict(zip(scope, taken, strict=True))
                if _defined(definition["expression"], values):
                    reached.add(evaluate(definition["expression"], values))
            domains.append(sorted(reached))
        return domains

    def completed(self, asked: Values) -> list[int]:
        """With the auxiliary variables, which have the first value of their domains where they are undefined."""
        values = list(asked)
        for definition, domain in zip(self.definitions, self.all_domains[len(self.domains) :], strict=True):
            try:
                values.append(evaluate(definition["expression"], values))
            except Undefined:
                values.append(domain[0])
        return values

    def count(self, asked: Values) -> Count:
        """What an assignment of the asked variables violates."""
        values = self.completed(asked)
        violated = hard = 0
        weights, loose = {True: Fraction(0), False: Fraction(0)}, False
        for entry, (weight, is_hard) in zip(self.entries, self.terms, strict=True):
            broken = PARTS[entry["post"]](entry, values).count(False)
            if not broken:
                continue
            loose |= entry["post"] in LOOSE
            violated += broken
            hard += broken * is_hard
            weights[is_hard] += weight * broken
        for definition in self.definitions:  # it holds wherever it says anything
            if not _defined(definition["expression"], values):
                violated += 1
                hard += 1
                weights[True] += 1
        return Count(weights[True], weights[False], hard, violated, self._objective(values), loose)

    def _objective(self, values: Values) -> tuple[int, ...] | None:
        if self.objective is None or not all(_defined(goal, values) for goal in self.objective["goals"]):
            return None
        return tuple(evaluate(goal, values) for goal in self.objective["goals"])

    @property
    def has_hard(self) -> bool:
        """Whether some constraint is hard; a post may come to none, such as an order of one variable."""
        values = self.completed([domain[0] for domain in self.domains])
        posted = (hard and PARTS[e["post"]](e, values) for e, (_, hard) in zip(self.entries, self.terms, strict=True))
        return any(posted) or bool(self.definitions)

    @property
    def counts_all(self) -> bool:
        """Whether the number of violated constraints is known whatever is violated: neither in loose posts nor where an
        auxiliary variable may be undefined."""
        return not self.definitions and not any(entry["post"] in LOOSE for entry in self.entries)

    def keeps_what_must_hold(self, count: Count) -> bool:
        """All must hold where an objective is optimised or nothing is hard, otherwise the hard ones: the one place that
        knows what `unsatisfiable` speaks of."""
        return count.violated == 0 if self.objective is not None or not self.has_hard else count.hard == 0

    def refusable(self, constraints: int) -> bool:
        """Whether the weights of a problem of so many constraints may be too far apart to be added up exactly. An entry
        may have many parts, so this errs on the side of yes."""
        terms = [*self.terms, *((Fraction(1), True) for _ in self.definitions)]
        decimals = range(MOST_DECIMALS + 1)
        fine = [10**k for k in decimals if all((weight * 10**k).denominator == 1 for weight, _ in terms)]
        if not fine:
            return True
        units = [(int(weight * fine[0]), hard) for weight, hard in terms]
        share, soft = [w for w, hard in units if hard], sum(w for w, hard in units if not hard)
        hardest = sum(share) // math.gcd(*share) if share else 0
        most = max(constraints, 1)
        return sum(w for w, _ in units) * most > LARGEST_WEIGHT or (hardest * (1 + soft * most) * most > LARGEST_SCORE)


def variables_of(data: Any) -> set[int]:
    """The variables that occur anywhere in plain data."""
    if isinstance(data, Mapping):
        return {data["var"]} if "var" in data else set[int]().union(*map(variables_of, data.values()))
    return set[int]().union(*map(variables_of, data)) if isinstance(data, (list, tuple)) else set()


def _defined(tree: Any, values: Values) -> bool:
    try:
        evaluate(tree, values)
    except Undefined:
        return False
    return True


def domain_values(domain: Any) -> list[int]:
    """The integers of a domain: a list, or labels with the integer each stands for."""
    return list(domain.values()) if isinstance(domain, Mapping) else list(domain)
