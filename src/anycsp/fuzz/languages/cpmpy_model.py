"""A case as a CPMpy model, and what it means there: where an expression is undefined, the nearest truth value around it
is false (relational semantics), unlike in the other languages, where the whole constraint fails."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from anycsp.fuzz.problems.oracle import PARTS, Undefined, Values, evaluate

Data = Mapping[str, Any]
POSTS = (
    "rule", "rule", "rule", "rule", "table", "linear", "all_different", "distinct", "all_equal", "count", "maximum",
    "minimum", "element", "lexicographic", "precedence", "circuit", "no_overlap", "cumulative", "regular", "channel",
)  # fmt: skip
COMPARED = {"lt": "<", "le": "<=", "ge": ">=", "gt": ">", "ne": "!="}
TRUTHS = frozenset([*COMPARED, "eq", "in", "not", "and", "or", "xor", "iff", "imp"])
LOGICAL = frozenset(["not", "and", "or", "xor", "iff", "imp"])
PARTIAL = frozenset(["div", "mod", "pow", "element"])
REIFIED = frozenset(["all_different", "all_equal", "linear", "distinct", "maximum", "minimum", "count", "table"])
"""Posts that may also stand under a negation."""


def says(entry: Data) -> bool:
    """Whether CPMpy has it in this form, without a doubt about what it means."""
    post = entry["post"]
    if post == "rule":
        return _sayable(entry["expression"])
    if post == "precedence":
        return not entry["covered"]
    if post == "circuit":  # CPMpy's goes through all nodes
        return not entry["self_loops"] and entry["size"] is None and len(entry["scope"]) > 1
    if post == "no_overlap":  # CPMpy's leaves tasks of no length out
        alike = entry["zero_ignored"] or not any(length in (0, [0]) for length in entry["lengths"])
        return alike and len(entry["origins"][0]) == 1 and _constant(entry["lengths"])
    if post == "cumulative":
        return entry["operator"] == "<=" and _constant([entry["lengths"], entry["heights"]])
    if post == "regular":
        arcs = [(a, v) for a, v, _ in entry["transitions"]]
        return len(set(arcs)) == len(arcs) and bool(entry["final"])
    if post == "table":
        return bool(entry["rows"])
    if post == "channel":
        return entry["second"] is not None and len(entry["first"]) == len(entry["second"])
    if post in ("all_equal", "distinct"):
        return not entry.get("except")
    if post == "count":
        return len(entry["values"]) == 1
    return True


def _constant(data: Any) -> bool:
    return all(map(_constant, data)) if isinstance(data, list) else isinstance(data, int)


def says_goal(tree: Any) -> bool:
    return _sayable(tree) and not _mentions(tree, PARTIAL)


def _sayable(tree: Any) -> bool:
    if not isinstance(tree, list):
        return True
    if tree[0] == "pow" and (not isinstance(tree[2], int) or tree[2] < 0):
        return False
    return tree[0] not in ("floordiv", "floormod", "circuit") and all(map(_sayable, tree[1:]))


def _mentions(tree: Any, names: frozenset[str]) -> bool:
    return isinstance(tree, list) and (tree[0] in names or any(_mentions(operand, names) for operand in tree[1:]))


# ── what it means ────────────────────────────────────────────────────────────────────────────────


def holds(entry: Data, values: Values) -> bool:
    if entry["post"] == "rule":
        return _value(["ne", entry["expression"], 0], values) != 0
    truth = _total(entry, values)
    return truth != bool(entry.get("negated"))


def _total(entry: Data, values: Values) -> bool:
    try:
        return all(PARTS[entry["post"]](entry, values))
    except Undefined:
        return False


def _value(tree: Any, values: Values) -> int:
    """As `evaluate`, but false is what an undefined operand makes of a truth value."""
    if not isinstance(tree, list):
        return evaluate(tree, values)
    name = tree[0]
    if name == "in":  # a comparison for each
        return int(any(_value(["eq", tree[1], v], values) for v in tree[2:]))
    if name in LOGICAL:
        return evaluate([name, *(_value(["ne", operand, 0], values) for operand in tree[1:])], values)
    if name == "if":
        condition = _value(["ne", tree[1], 0], values)
        return evaluate([name, condition, *(_value(operand, values) for operand in tree[2:])], values)
    try:
        return evaluate([name, *(_value(operand, values) for operand in tree[1:])], values)
    except Undefined:
        if name in TRUTHS:
            return 0
        raise


# ── how it is written ────────────────────────────────────────────────────────────────────────────


class Written:
    """The model, and its variables in the order of the case."""

    def __init__(self, case: Data) -> None:
        import cpmpy as cp

        self.cp = cp
        self.model = cp.Model()
        self.variables = []
        for variable in case["variables"]:
            values = variable["domain"]
            x = cp.intvar(min(values), max(values), name=variable["name"])
            self.variables.append(x)
            if len(values) <= max(values) - min(values):
                self.model += cp.InDomain(x, values)
        for entry in case["constraints"]:
            for constraint in self._constraints(entry):
                self.model += constraint
        if case.get("objective"):
            (goal,) = case["objective"]["goals"]
            value = self.number(goal)
            value = cp.intvar(value, value) if isinstance(value, int) else value
            getattr(self.model, case["objective"]["sense"])(value)

    def _constraints(self, entry: Data) -> list[Any]:
        posted = getattr(self, f"_{entry['post']}")(entry)
        return [~self.truth_of(posted[0])] if entry.get("negated") else posted

    def truth_of(self, expression: Any) -> Any:
        return self.cp.expressions.core.BoolVal(expression) if isinstance(expression, bool) else expression

    # Numbers and truth values of trees.

    def number(self, tree: Any) -> Any:
        if isinstance(tree, Mapping):
            return self.variables[tree["var"]]
        if not isinstance(tree, list):
            return tree
        cp, (name, *operands) = self.cp, tree
        if name in LOGICAL:
            return self._logic(name, [self.truth(operand) for operand in operands])
        if name == "in":
            return cp.any([self.number(operands[0]) == v for v in operands[1:]])
        if name == "if":
            condition, a, b = self.truth(operands[0]), self.number(operands[1]), self.number(operands[2])
            return b + condition * (a - b)  # it has no choice between numbers
        a = [self.number(operand) for operand in operands]
        if name in COMPARED:
            return self.compare(a[0], COMPARED[name], a[1])
        return self._arithmetic(name, a)

    def _arithmetic(self, name: str, a: list[Any]) -> Any:
        cp = self.cp
        if name in PARTIAL and all(isinstance(number, int) for number in a):
            a = [cp.intvar(a[0], a[0]), *a[1:]]  # for CPMpy to divide, not Python
        if name == "mul":
            product = a[0]
            for factor in a[1:]:
                product = product * factor
            return product
        simple: dict[str, Any] = {
            "neg": lambda: -a[0], "abs": lambda: cp.abs(a[0]), "add": lambda: cp.sum(a), "sub": lambda: a[0] - a[1],
            "div": lambda: a[0] // a[1], "mod": lambda: a[0] % a[1], "sqr": lambda: a[0] * a[0],
            "pow": lambda: a[0] ** a[1], "min": lambda: cp.min(a), "max": lambda: cp.max(a),
            "dist": lambda: cp.abs(a[0] - a[1]), "element": lambda: self._element_of(a[1:], a[0]),
            "distinct": lambda: cp.NValue(a),
            "eq": lambda: cp.all([self.compare(a[0], "==", b) for b in a[1:] or a]),
        }  # fmt: skip
        return simple[name]()

    def _element_of(self, items: list[Any], index: Any) -> Any:
        """An index that is a constant or a truth value is not taken: a variable of the same value is."""
        if isinstance(index, int) or index.is_bool():
            given = index
            index = self.cp.intvar(*((given, given) if isinstance(given, int) else (0, 1)))
            self.model += index == given
        return self.cp.Element(items, index)

    def _logic(self, name: str, a: list[Any]) -> Any:
        cp = self.cp
        if name == "not":
            return ~self.truth_of(a[0])
        if name == "imp":
            return self.truth_of(a[0]).implies(a[1])
        if name == "iff":
            return cp.all([self.truth_of(a[0]) == b for b in a])
        return {"and": cp.all, "or": cp.any, "xor": cp.Xor}[name](a)

    def compare(self, a: Any, sign: str, b: Any) -> Any:
        if isinstance(a, (int, bool)) and isinstance(b, (int, bool)):
            a = self.cp.sum([a])
        return {
            "<": lambda: a < b, "<=": lambda: a <= b, ">=": lambda: a >= b, ">": lambda: a > b, "!=": lambda: a != b,
            "==": lambda: a == b,
        }[sign]()  # fmt: skip

    def truth(self, tree: Any) -> Any:
        if isinstance(tree, list) and tree[0] in TRUTHS:
            return self.truth_of(self.number(tree))
        return self.compare(self.number(tree), "!=", 0)

    def numbers(self, trees: Sequence[Any]) -> list[Any]:
        return list(map(self.number, trees))

    # Posts, by their names.

    def _rule(self, e: Data) -> list[Any]:
        return [self.truth(e["expression"])]

    def _table(self, e: Data) -> list[Any]:
        kind = self.cp.Table if e["allowed"] else self.cp.NegativeTable
        return [kind(self.numbers(e["scope"]), e["rows"])]

    def _bounded(self, left: Any, e: Data) -> list[Any]:
        return [self.compare(left, e["operator"], self.number(e["bound"]))]

    def _linear(self, e: Data) -> list[Any]:
        terms = [c * x for c, x in zip(e["coefficients"], self.numbers(e["scope"]), strict=True)]
        return self._bounded(self.cp.sum(terms), e)

    def _all_different(self, e: Data) -> list[Any]:
        scope = self.numbers(e["scope"])
        return [self.cp.AllDifferentExceptN(scope, e["except"]) if e["except"] else self.cp.AllDifferent(scope)]

    def _distinct(self, e: Data) -> list[Any]:
        return self._bounded(self.cp.NValue(self.numbers(e["scope"])), e)

    def _all_equal(self, e: Data) -> list[Any]:
        return [self.cp.AllEqual(self.numbers(e["scope"]))]

    def _count(self, e: Data) -> list[Any]:
        return self._bounded(self.cp.Count(self.numbers(e["scope"]), self.number(e["values"][0])), e)

    def _maximum(self, e: Data) -> list[Any]:
        return self._bounded(self.cp.max(self.numbers(e["scope"])), e)

    def _minimum(self, e: Data) -> list[Any]:
        return self._bounded(self.cp.min(self.numbers(e["scope"])), e)

    def _element(self, e: Data) -> list[Any]:
        return self._bounded(self._element_of(self.numbers(e["scope"]), self.number(e["index"])), e)

    def _lexicographic(self, e: Data) -> list[Any]:
        lists = [self.numbers(l) for l in e["lists"]]
        lists = lists if e["operator"] in ("<", "<=") else lists[::-1]
        kind = self.cp.LexLess if e["operator"] in ("<", ">") else self.cp.LexLessEq
        return [kind(a, b) for a, b in itertools.pairwise(lists)]

    def _precedence(self, e: Data) -> list[Any]:
        return [self.cp.Precedence(self.numbers(e["scope"]), e["values"])]

    def _circuit(self, e: Data) -> list[Any]:
        return [self.cp.Circuit(self.numbers(e["scope"]))]

    def _channel(self, e: Data) -> list[Any]:
        return [self.cp.Inverse(self.numbers(e["first"]), self.numbers(e["second"]))]

    def _tasks(self, e: Data) -> list[Any]:
        origins = [o[0] if isinstance(o, list) else o for o in e["origins"]]
        lengths = [l[0] if isinstance(l, list) else l for l in e["lengths"]]
        starts = self.numbers(origins)
        return [starts, lengths, [s + l for s, l in zip(starts, lengths, strict=True)]]

    def _no_overlap(self, e: Data) -> list[Any]:
        return [self.cp.NoOverlap(*self._tasks(e))]

    def _cumulative(self, e: Data) -> list[Any]:
        return [self.cp.Cumulative(*self._tasks(e), e["heights"], self.number(e["bound"]))]

    def _regular(self, e: Data) -> list[Any]:
        return [self.cp.Regular(self.numbers(e["scope"]), [tuple(arc) for arc in e["transitions"]], 0, e["final"])]
