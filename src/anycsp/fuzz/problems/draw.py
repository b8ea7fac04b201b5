"""Random problems: every post of `oracle.PARTS`, weights, objectives, labels and options, small enough to enumerate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from random import Random
from typing import Any

from anycsp.fuzz.problems.oracle import Oracle, domain_values

ENOUGH = 200
"""Assignments that a case has at most, unless it is a planted one: so many are counted by hand in milliseconds."""
SIGNS = ("<=", ">=", "==", "!=", "<", ">")
ONE, TWO = ("neg", "abs", "sqr", "not"), (
    "sub", "div", "mod", "floordiv", "floormod", "dist", "lt", "le", "ge", "gt", "ne", "imp",
)  # fmt: skip
SEVERAL = ("add", "mul", "min", "max", "eq", "and", "or", "xor", "iff", "distinct")
STRANGE = ("x", "_0", "0", "x y", "é", "-1", "v", "a,b", '"', "true", "x[0]", "c", "p", "𝛼", "")
"""Names that a file or a message could stumble over."""
STRATEGIES = ("annealing", "tabu", "walksat", "probsat", "ccls", "weighting", "focused")

Data = dict[str, Any]


class Draw:
    """One case under way."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.domains: list[list[int]] = []

    # ── variables ──

    def variables(self, most: int, size: int) -> list[Data]:
        rng, listed = self.rng, list[Data]()
        names = [f"x{i}" for i in range(most)] if rng.random() < 0.9 else rng.sample(STRANGE, min(most, len(STRANGE)))
        shared = self._domain(size) if rng.random() < 0.4 else None
        for name in names[: rng.randint(1, len(names))]:
            domain = shared or self._domain(size)
            if math.prod(map(len, self.domains)) * len(domain) > ENOUGH and most <= 6:
                domain = domain[: 1 + rng.randrange(2)]
            if self.domains and math.prod(map(len, self.domains)) * len(domain) > ENOUGH and most <= 6:
                break
            self.domains.append(list(domain))
            labelled = {f"l{v}": v for v in domain} if rng.random() < 0.1 else domain
            listed.append({"name": name, "domain": labelled})
        return listed

    def _domain(self, size: int) -> list[int]:
        rng, shape = self.rng, self.rng.random()
        if shape < 0.4:
            return list(range(rng.randint(1, size)))
        if shape < 0.5:
            return [0, 1]
        if shape < 0.9:
            return rng.sample(range(-4, 7), rng.randint(1, size))
        scale = rng.choice([10, 1000, 10**6, 2**31, 2**40])
        return sorted({rng.randint(-scale, scale) for _ in range(rng.randint(1, size))})

    @property
    def count(self) -> int:
        return len(self.domains)

    def variable(self) -> Data:
        return {"var": self.rng.randrange(self.count)}

    def scope(self, least: int = 1, most: int = 4, repeated: bool = False) -> list[Data]:
        size = self.rng.randint(min(least, self.count), min(most, self.count))
        if repeated and self.rng.random() < 0.3:
            return [self.variable() for _ in range(size)]
        return [{"var": x} for x in self.rng.sample(range(self.count), size)]

    def value(self, variable: Data) -> int:
        """Mostly one that the variable can take."""
        return self.rng.choice(self.domains[variable["var"]]) if self.rng.random() < 0.9 else self.small()

    def own_value(self, variable: Data) -> int:
        return self.rng.choice(self.domains[variable["var"]])

    def small(self) -> int:
        return self.rng.randint(-3, 5)

    def sign(self) -> str:
        return self.rng.choice(SIGNS)

    def flag(self) -> bool:
        return self.rng.random() < 0.5

    def bound(self) -> Any:
        """A constant, a variable, or at times an expression."""
        kind = self.rng.random()
        return self.small() if kind < 0.6 else self.variable() if kind < 0.9 else ["add", self.variable(), self.small()]

    def operands(self, scope: list[Data]) -> list[Any]:
        """The scope, at times with expressions or constants in it."""
        return [
            x if self.rng.random() < 0.85 else self.rng.choice([self.small(), ["add", x, self.small()], ["neg", x]])
            for x in scope
        ]

    # ── expressions ──

    def tree(self, depth: int = 3) -> Any:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return self.variable() if rng.random() < 0.7 else self.small()
        kind = rng.randrange(7)
        if kind == 0:
            return [rng.choice(ONE), self.tree(depth - 1)]
        if kind == 1:
            return [rng.choice(TWO), self.tree(depth - 1), self.tree(depth - 1)]
        if kind <= 3:
            return [rng.choice(SEVERAL), *(self.tree(depth - 1) for _ in range(rng.randint(1, 3)))]
        if kind == 4:
            return ["in", self.tree(depth - 1), *(self.small() for _ in range(rng.randint(1, 3)))]
        if kind == 5:
            return ["if", *(self.tree(depth - 1) for _ in range(3))]
        if rng.random() < 0.5:
            return ["element", self.tree(depth - 1), *(self.tree(depth - 1) for _ in range(rng.randint(1, 3)))]
        return ["pow", self.tree(depth - 1), rng.randint(-1, 3)]

    def comparison(self) -> Any:
        """The shapes that lowering recognises: linear, extrema, counts, disjunctions, one-to-one differences."""
        rng, scope = self.rng, self.scope(1, 4)
        left = rng.choice(
            [
                ["max", *scope],
                ["min", *(["abs", x] for x in scope)],
                ["distinct", *scope],
                ["add", *(["mul", x, self.small()] for x in scope)],
                ["add", *(["in", x, 1, 2] for x in scope)],
                ["add", *(["sqr", x] for x in scope)],
                ["add", scope[0], self.small()],
            ]
        )
        tree: Any = [rng.choice(["lt", "le", "ge", "gt", "eq", "ne"]), left, self.bound()]
        if rng.random() < 0.3:
            tree = [tree[0], tree[2], tree[1]]
        if rng.random() < 0.3:
            atoms = [[rng.choice(["eq", "ne", "le", "gt"]), x, self.value(x)] for x in scope]
            tree = [rng.choice(["or", "and"]), *atoms]
        return ["not", tree] if rng.random() < 0.2 else tree

    # ── constraints ──

    def terms(self, wild: bool) -> Data:
        rng = self.rng
        terms: Data = {}
        if rng.random() < 0.6:
            plain = [1, 2, 3, 5, 0.5, 0.25, 0.1, 0.001, 1.5, 100, 1e-6, 1e6, 12345.678]
            terms["weight"] = rng.choice([1e-300, 1e300, 2**53, 1e10, 1e-9, 2**40, 0.1] if wild else plain)
        if rng.random() < 0.5:
            terms["hard"] = rng.random() < 0.7
        return terms

    def objective(self) -> Data:
        """One expression, or at times several in order of priority."""
        goals = [self.goal() for _ in range(self.rng.choice([1, 1, 1, 2, 3]))]
        return {"sense": self.rng.choice(["minimize", "maximize"]), "goals": goals}

    def goal(self) -> Any:
        scope = self.scope(1, 4)
        return self.rng.choice(
            [
                ["add", *(["mul", x, self.small()] for x in scope)],
                ["add", *(["mul", x, self.variable(), self.small()] for x in scope)],
                ["max", *scope],
                ["min", *scope],
                ["distinct", *scope],
                ["div", self.variable(), self.variable()],
                self.tree(2),
            ]
        )

    # ── options ──

    def options(self, slow: bool) -> Data:
        """How the problem is searched. `engine` is `solve`, or one of the parts behind it that small problems seldom
        reach. A `slow` problem, one with Python functions in it, gets no hybrid search: that makes thousands of moves
        for each of its steps."""
        rng = self.rng
        kind = rng.random()
        options: Data = {"engine": "solve", "seed": rng.choice([0, 1, 7, 2**31, rng.randrange(2**63)])}
        if kind < 0.2:
            options["search"] = rng.choice(["local", "auto"])
        elif kind < 0.3:
            options["search"] = "exact"
        elif kind < 0.42:
            options["search"] = "neural"
        elif kind < 0.5:
            options["search"] = "neural" if slow else "hybrid"
        elif kind < 0.75:
            options["engine"] = "strategy"
            options["strategy"] = rng.choice(STRATEGIES)
        elif kind < 0.84:
            options["engine"] = "portfolio"
        elif kind < 0.9:
            options["engine"] = "invariants"
        else:
            options["engine"] = "tree"
        options["steps"] = rng.choice([0, 1, 10, 100, 300])
        if options.get("search") in ("local", "auto", "exact") and rng.random() < 0.5:
            options["steps"] = None
        options["runs"] = rng.choice([1, 1, 2, 3])
        options["threads"] = 1 if options.get("search") == "exact" else rng.choice([1, 1, 1, 2])  # more of it race
        options["presolve"] = rng.random() < 0.7
        if rng.random() < 0.2:
            some = [x for x in range(self.count) if rng.random() < 0.7]
            options["hint"] = {str(x): rng.choice(self.domains[x]) for x in some}
        return options


# ── entries, by post ─────────────────────────────────────────────────────────────────────────────


def _rows(d: Draw, scope: list[Data]) -> list[list[int]]:
    return [[d.own_value(x) for x in scope] for _ in range(d.rng.randrange(8))]


def _table(d: Draw, repeated: bool = True) -> Data:
    scope = d.scope(1, 3, repeated=repeated)
    if d.rng.random() < 0.25:  # the last follows from the others
        *others, last = scope
        rows = [[*row, d.own_value(last)] for row in itertools.product(*(d.domains[x["var"]] for x in others))]
        return {"scope": scope, "rows": rows, "allowed": True}
    return {"scope": scope, "rows": _rows(d, scope), "allowed": d.flag()}


def _cell(d: Draw, x: Data) -> Any:
    low = d.small()
    return d.rng.choice(["*", {"range": [low, low + 4]}, sorted({d.own_value(x), d.own_value(x)}), [d.own_value(x)]])


def _short_table(d: Draw) -> Data:
    scope = d.scope(1, 3)
    rows = [[_cell(d, x) for x in scope] for _ in range(d.rng.randrange(5))]
    return {"scope": scope, "rows": rows, "allowed": d.flag()}


def _nogood(d: Draw) -> Data:
    scope = d.scope(1, 4, repeated=True)
    return {"scope": scope, "values": [d.own_value(x) for x in scope]}


def _clause(d: Draw) -> Data | None:
    two = [x for x, domain in enumerate(d.domains) if len(domain) == 2]
    if not two:
        return None
    scope: list[Data] = [{"var": d.rng.choice(two)} for _ in range(d.rng.randint(1, 3))]
    return {"literals": [[x, d.own_value(x)] for x in scope]}


def _linear(d: Draw) -> Data:
    scope = d.scope(1, 4, repeated=True)
    return {"scope": scope, "coefficients": [d.small() for _ in scope], "operator": d.sign(), "bound": d.small() * 2}


def _all_different(d: Draw) -> Data:
    excepted = [d.small() for _ in range(d.rng.randrange(3))]
    return {"scope": d.scope(1, 4, repeated=not excepted), "except": excepted}


def _pairs_differ(d: Draw) -> Data:
    scope = [x if d.flag() else ["add", x, d.small()] for x in d.scope(2, 4)]  # an integer would name a variable
    return {"scope": [*scope[1:], ["neg", scope[0]]]}


def _not_equal(d: Draw) -> Data | None:
    first = d.variable()["var"]
    same = [x for x, domain in enumerate(d.domains) if domain == d.domains[first]]
    if len(same) < 2:
        return None
    return {"pairs": [[{"var": x} for x in d.rng.sample(same, 2)] for _ in range(d.rng.randint(1, 3))]}


def _rule(d: Draw) -> Data:
    tree = d.tree() if d.flag() else d.comparison()
    return {"expression": tree if isinstance(tree, list) else ["ge", tree, 0]}


def _function(d: Draw) -> Data:
    return {"scope": d.scope(1, 3), "bound": d.small()}


def _sum(d: Draw) -> Data:
    scope = d.scope(1, 4)
    tables = [[[value, d.small()] for value in d.domains[x["var"]]] for x in scope]
    return {"scope": scope, "tables": tables, "operator": d.sign(), "bound": d.small()}


def _extremum(d: Draw) -> Data | None:
    entry = _sum(d)
    return None if len(entry["scope"]) < 2 else {**entry, "result": d.flag()}


def _distinct(d: Draw) -> Data:
    excepted = {"except": [d.small() for _ in range(d.rng.randint(1, 2))]} if d.flag() else {}
    return {"scope": d.operands(d.scope(1, 4)), "operator": d.sign(), "bound": d.bound(), **excepted}


def _all_equal(d: Draw) -> Data:
    return {"scope": d.operands(d.scope(1, 4)), **({"except": [d.small()]} if d.flag() else {})}


def _count(d: Draw) -> Data:
    values = [d.variable() if d.rng.random() < 0.2 else d.small() for _ in range(d.rng.randint(1, 3))]
    return {"scope": d.operands(d.scope()), "values": values, "operator": d.sign(), "bound": d.bound()}


def _occurs(d: Draw) -> Any:
    low = d.rng.randint(0, 2)
    return d.rng.choice([d.rng.randint(0, 2), d.variable(), {"range": [low, low + d.rng.randint(1, 3)]}])


def _cardinality(d: Draw) -> Data:
    values = d.rng.sample(range(-2, 5), d.rng.randint(1, 3))
    return {"scope": d.scope(), "values": values, "occurs": [_occurs(d) for _ in values], "closed": d.flag()}


def _knapsack(d: Draw) -> Data:
    scope = d.scope()
    conditions = {key: [d.sign(), d.bound()] for key in ("weight_condition", "profit_condition")}
    return {"scope": scope, "weights": [d.small() for _ in scope], "profits": [d.small() for _ in scope], **conditions}


def _bin_packing(d: Draw) -> Data:
    scope = d.scope()
    bins = [[d.small(), d.sign(), d.bound()] for _ in range(d.rng.randint(1, 3))]
    return {"scope": scope, "sizes": [d.rng.randint(0, 4) for _ in scope], "bins": bins}


def _extreme(d: Draw) -> Data:
    return {"scope": d.operands(d.scope()), "operator": d.sign(), "bound": d.bound()}


def _element(d: Draw) -> Data:
    return {**_extreme(d), "index": d.bound()}


def _ordered(d: Draw) -> Data:
    scope = d.operands(d.scope(2, 4))
    lengths = {"lengths": [d.rng.randint(0, 2) if d.flag() else d.variable() for _ in scope[1:]]} if d.flag() else {}
    return {"scope": scope, "operator": d.sign(), **lengths}


def _lists(d: Draw) -> list[list[Any]]:
    length = d.rng.randint(1, 3)
    return [d.operands([d.variable() for _ in range(length)]) for _ in range(d.rng.randint(2, 3))]


def _lexicographic(d: Draw) -> Data:
    return {"lists": _lists(d), "operator": d.rng.choice(["<=", "<", ">=", ">"])}


def _all_different_lists(d: Draw) -> Data:
    lists = _lists(d)
    return {"lists": lists, "except": [[d.small() for _ in lists[0]] for _ in range(d.rng.randrange(2))]}


def _precedence(d: Draw) -> Data:
    values = d.rng.sample(range(-1, 4), d.rng.randint(1, 3))
    return {"scope": d.scope(), "values": values, "covered": d.flag()}


def _channel(d: Draw) -> Data:
    second = d.scope() if d.flag() else None
    first = d.scope(1, 4 if second is None else len(second))
    return {"first": first, "second": second}


def _channel_value(d: Draw) -> Data:
    return {"scope": d.scope(), "value": d.variable()}


def _circuit(d: Draw) -> Data:
    size = d.bound() if d.rng.random() < 0.3 else None
    return {"scope": d.scope(1, 4), "size": size, "self_loops": d.flag()}


def _instantiation(d: Draw) -> Data:
    scope = d.scope()
    return {"scope": scope, "values": [d.value(x) for x in scope]}


def _no_overlap(d: Draw) -> Data:
    dimensions = 1 if d.flag() else 2
    boxes = range(d.rng.randint(1, 3))
    origins = [[d.variable() for _ in range(dimensions)] for _ in boxes]
    lengths = [[d.rng.randint(0, 3) if d.flag() else d.variable() for _ in range(dimensions)] for _ in boxes]
    return {"origins": origins, "lengths": lengths, "zero_ignored": d.flag()}


def _cumulative(d: Draw) -> Data:
    origins, constant = d.scope(1, 3), d.flag()

    def number() -> Any:
        return d.rng.randint(0, 3) if constant or d.flag() else d.variable()

    sizes = {key: [number() for _ in origins] for key in ("lengths", "heights")}
    return {"origins": origins, **sizes, "operator": d.rng.choice(["<=", "<"]), "bound": d.bound()}


def _regular(d: Draw) -> Data:
    scope, states = d.scope(1, 4), range(d.rng.randint(1, 3))
    symbols = sorted({value for x in scope for value in d.domains[x["var"]]})
    arcs = [[d.rng.choice(states), d.rng.choice(symbols), d.rng.choice(states)] for _ in range(d.rng.randint(1, 8))]
    return {"scope": scope, "transitions": arcs, "start": 0, "final": [s for s in states if d.flag()]}


def _mdd(d: Draw) -> Data:
    scope = d.scope(1, 4)
    layers = [["root"], *([f"{k}a", f"{k}b"] for k in range(1, len(scope))), ["end"]]
    arcs, reached = [], {"root"}
    for x, before, after in zip(scope, layers, layers[1:], strict=False):
        new = [
            [q, value, d.rng.choice(after)]
            for q in before
            if q in reached
            for value in d.domains[x["var"]]
            if d.rng.random() < 0.7
        ] or [[next(q for q in before if q in reached), d.own_value(x), after[0]]]
        reached |= {str(r) for _, _, r in new}
        arcs += new
    return {"scope": scope, "transitions": arcs, "start": "root", "final": ["end"]}


ENTRIES: dict[str, Callable[[Draw], Data | None]] = {
    "table": _table, "tables": lambda d: _table(d, False), "tuples": lambda d: _table(d, False),
    "short_table": _short_table, "short_block": _short_table, "nogood": _nogood, "clause": _clause,
    "linear": _linear, "all_different": _all_different, "pairs_differ": _pairs_differ, "not_equal": _not_equal,
    "rule": _rule, "rule_block": _rule, "traced": _rule, "function": _function, "function_block": _function,
    "sum": _sum, "extremum": _extremum, "distinct": _distinct, "all_equal": _all_equal,
    "not_all_equal": lambda d: {"scope": d.operands(d.scope())}, "count": _count, "cardinality": _cardinality,
    "knapsack": _knapsack, "bin_packing": _bin_packing, "maximum": _extreme, "minimum": _extreme,
    "element": _element, "ordered": _ordered, "lexicographic": _lexicographic,
    "all_different_lists": _all_different_lists, "precedence": _precedence, "channel": _channel,
    "channel_value": _channel_value, "circuit": _circuit, "instantiation": _instantiation, "no_overlap": _no_overlap,
    "cumulative": _cumulative, "regular": _regular, "mdd": _mdd,
}  # fmt: skip
"""By the names of `oracle.PARTS`; None where the variables at hand do not allow one."""


# ── whole cases ──────────────────────────────────────────────────────────────────────────────────

UNIFORM = (
    ("clause",), ("not_equal",), ("table",), ("linear",), ("rule",), ("regular",), ("all_different", "linear"),
)  # fmt: skip
"""Posts of problems that are all of one kind, for which presolve and the choice of a search have rules of their own."""


def draw(rng: Random) -> Data:
    """A case: small enough to enumerate, or at times larger and planted, so that some assignment violates nothing."""
    planted = rng.random() < 0.08
    drawn = Draw(rng)
    case: Data = {"variables": drawn.variables(14, 6) if planted else drawn.variables(rng.randint(2, 6), 4)}
    count, wild = rng.randint(0, 14 if planted else 6), rng.random() < 0.06
    posts = rng.choice(UNIFORM) if rng.random() < 0.25 else tuple(ENTRIES)
    asked = len(drawn.domains)
    if not planted and rng.random() < 0.12:
        case["definitions"] = _definitions(drawn)
    case["constraints"] = _constraints(drawn, posts, count, wild)
    if rng.random() < 0.25:
        case["objective"] = drawn.objective()
        if rng.random() < 0.9:  # beside soft constraints it would be refused
            for entry in case["constraints"]:
                entry.pop("weight", None)
                entry.pop("hard", None)
    del drawn.domains[asked:]
    case["options"] = drawn.options(slow=any(entry["post"].startswith("function") for entry in case["constraints"]))
    case["checks"] = [name for name in ("again", "files", "checker", "core", "several") if rng.random() < 0.15]
    case["variant"] = rng.choice([None, None, "renamed", "reordered", "satisfied", "scaled"])
    if planted:
        _plant(case, rng)
    return case


def _constraints(drawn: Draw, posts: tuple[str, ...], count: int, wild: bool) -> list[Data]:
    listed: list[Data] = []
    unweighted = drawn.rng.random() < 0.3
    for _ in range(count):
        post = drawn.rng.choice(posts)
        entry = ENTRIES[post](drawn)
        if entry is not None:
            listed.append({"post": post, **entry, **({} if unweighted else drawn.terms(wild))})
            if post in ("table", "tables", "tuples") and drawn.flag():
                listed += _twin(drawn, listed[-1])
    return listed


def _twin(drawn: Draw, entry: Data) -> list[Data]:
    """The same table by positions, over other variables: layouts that share one relation must not share its values."""
    domains, scope = drawn.domains, [x["var"] for x in entry["scope"]]
    alike = [[y for y, domain in enumerate(domains) if len(domain) == len(domains[x])] for x in scope]
    others = [drawn.rng.choice(choices) for choices in alike]
    if entry["post"] != "table" and len(set(others)) < len(others):
        return []
    rows = [
        [domains[y][domains[x].index(value)] for x, y, value in zip(scope, others, row, strict=True)]
        for row in entry["rows"]
    ]
    return [{**entry, "scope": [{"var": y} for y in others], "rows": rows}]


def _definitions(drawn: Draw) -> list[Data]:
    """An auxiliary variable, which constraints may use from then on; none where it would have no value at all."""
    definitions = [{"name": "aux", "expression": drawn.tree(2)}]
    variables = [{"domain": domain} for domain in drawn.domains]
    reached = Oracle({"variables": variables, "constraints": [], "definitions": definitions}).all_domains[-1]
    if not reached:
        return []
    drawn.domains.append(reached)
    return definitions


def _plant(case: Data, rng: Random) -> None:
    """Keep what a random assignment satisfies, and say which assignment that is."""
    values = [rng.choice(domain_values(variable["domain"])) for variable in case["variables"]]
    kept = []
    for entry in case["constraints"]:
        if Oracle({"variables": case["variables"], "constraints": [entry]}).count(values).violated == 0:
            kept.append(entry)
    case["constraints"] = kept
    case["planted"] = values
