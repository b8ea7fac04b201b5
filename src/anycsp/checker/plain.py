"""Problems as plain Python data for the checker, read from files by second, simpler readers.

They share nothing with `formats` but the bytes of the file, so that a mistake in a fast reader shows as a difference.
A format without a reader here goes through its own and `Problem.describe_constraints`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anycsp.formats.files import Source
from anycsp.model.expressions import tree_of

if TYPE_CHECKING:
    from anycsp.model.problem import Problem

Constraint = Mapping[str, Any]


@dataclass(frozen=True)
class PlainProblem:
    names: Sequence[str]
    domains: Sequence[Mapping[int | str, int] | None]
    """For each variable the integer that every value or label stands for; None where any integer will do."""
    constraints: Iterable[Constraint]
    """Plain data as `Block.describe` gives it, scopes by index."""
    objective_kind: str = ""
    objective: Callable[[list[int], float], float] | None = None
    """The objective's value, given the values and the violated weight."""
    definitions: Mapping[int, tuple[Sequence[int], Any]] = field(default_factory=dict)
    """What determines an auxiliary variable: a scope of variables before it, and an expression over that."""


def of_problem(problem: Problem) -> PlainProblem:
    domains = [_numbers(domain.values.tolist(), domain.labels or ()) for domain in problem.domain_list]
    definitions = {x: tree_of(expression) for x, expression in problem.definitions.items()}
    objective = problem.objective
    if objective is None:
        return PlainProblem(problem.names, domains, problem.describe_constraints(), definitions=definitions)
    spec: dict[str, Any] = {"kind": objective.kind, "constant": objective.constant}
    if objective.expression is not None:
        spec["scope"], spec["expression"] = tree_of(objective.expression)
    value = _objective(spec)
    return PlainProblem(problem.names, domains, problem.describe_constraints(), objective.kind, value, definitions)


def _numbers(numbers: Iterable[int], labels: Iterable[str] = ()) -> dict[int | str, int]:
    """What every value, and every label, stands for."""
    result: dict[int | str, int] = {number: number for number in numbers}
    return result | dict(zip(labels, list(result.values()), strict=False))


def _objective(spec: Mapping[str, Any]) -> Callable[[list[int], float], float]:
    """From its description, scopes by index."""
    kind, constant = spec["kind"], spec.get("constant", 0)
    if "expression" in spec:
        return lambda values, weight: evaluate(spec["expression"], [values[x] for x in spec["scope"]])
    if kind == "colors":
        return lambda values, weight: len(set(values))
    if kind in ("cut", "gain"):
        return lambda values, weight: float(constant - weight)
    return lambda values, weight: float(constant + weight)


# ── expressions, written from their definition ───────────────────────────────────────────────────


class Undefined(Exception):
    """A division by zero, a negative exponent, an index outside its list."""


def evaluate(tree: Any, slots: Sequence[int]) -> int:
    """An expression as plain data: an integer, {"slot": i}, or [operation, operand, …]."""
    if isinstance(tree, Mapping):
        return slots[tree["slot"]]
    if not isinstance(tree, list):
        return int(tree)
    return int(_OPERATIONS[tree[0]](*(evaluate(operand, slots) for operand in tree[1:])))


def _divide(a: int, b: int) -> int:
    """Rounding towards zero."""
    if b == 0:
        raise Undefined
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor_divide(a: int, b: int) -> int:
    if b == 0:
        raise Undefined
    return a // b


def _power(a: int, b: int) -> int:
    if b < 0:
        raise Undefined
    return int(a**b)


def _element(index: int, *items: int) -> int:
    if not 0 <= index < len(items):
        raise Undefined
    return items[index]


def _circuit(*successors: int) -> bool:
    """One circuit through two or more nodes, the others pointing to themselves."""
    moving = [node for node, successor in enumerate(successors) if successor != node]
    if len(moving) < 2 or not all(0 <= s < len(successors) for s in successors):
        return False
    visited, node = set(), moving[0]
    while node not in visited:
        visited.add(node)
        node = successors[node]
    return node == moving[0] and visited == set(moving)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "add": lambda *a: sum(a),
    "sub": lambda a, b: a - b,
    "mul": lambda *a: math.prod(a),
    "div": _divide,
    "mod": lambda a, b: a - b * _divide(a, b),
    "floordiv": _floor_divide,
    "floormod": lambda a, b: a - b * _floor_divide(a, b),
    "sqr": lambda a: a * a,
    "pow": _power,
    "min": lambda *a: min(a),
    "max": lambda *a: max(a),
    "dist": lambda a, b: abs(a - b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "eq": lambda *a: len(set(a)) == 1,
    "ne": lambda a, b: a != b,
    "in": lambda a, *values: a in values,
    "not": lambda a: not a,
    "and": lambda *a: all(a),
    "or": lambda *a: any(a),
    "xor": lambda *a: sum(map(bool, a)) % 2,
    "iff": lambda *a: len(set(map(bool, a))) == 1,
    "imp": lambda a, b: not a or bool(b),
    "if": lambda a, b, c: b if a else c,
    "element": _element,
    "distinct": lambda *a: len(set(a)),
    "circuit": _circuit,
}


# ── second readers, for files that are known to be well formed ───────────────────────────────────


def _words(source: Source) -> Iterator[list[str]]:
    for line in source.data.decode("latin-1").splitlines():
        if line.split():
            yield line.split()


def _numbered(count: int) -> list[str]:
    return [str(i) for i in range(1, count + 1)]


def cnf(source: Source) -> PlainProblem:
    variables, clauses, clause = 0, [], []
    for words in _words(source):
        if words[0].startswith("%"):
            break
        if words[0].startswith("c"):
            continue
        if words[0] == "p":
            variables = int(words[2]) if len(words) > 2 else 0
            continue
        for literal in map(int, words):
            if literal:
                clause.append(literal)
                variables = max(variables, abs(literal))
            else:
                clauses.append(clause)
                clause = []
    if clause:
        clauses.append(clause)
    constraints = [{"kind": "literals", "scope": [abs(l) - 1 for l in c], "literals": c} for c in clauses]
    return PlainProblem(_numbered(variables), [{0: 0, 1: 1}] * variables, constraints)


def wcnf(source: Source) -> PlainProblem:
    """Old form: a weight before each clause, hard from the header's top; that of 2022: `h` before the hard ones."""
    top, claimed, clauses = math.inf, 0, list[tuple[float | None, list[int]]]()
    for words in _words(source):
        if words[0].startswith("c"):
            continue
        if words[0] == "p":
            claimed, top = int(words[2]), float(words[4]) if len(words) > 4 else math.inf
            continue
        weight = None if words[0] == "h" or float(words[0]) >= top else float(words[0])
        if weight != 0:
            clauses.append((weight, [int(word) for word in words[1 : words.index("0", 1)]]))
    variables = max([claimed, *(abs(literal) for _, clause in clauses for literal in clause)])
    constraints = [
        {"kind": "literals", "scope": [abs(l) - 1 for l in clause], "literals": clause}
        | ({"hard": True} if weight is None else {"weight": weight})
        for weight, clause in clauses
    ]
    return PlainProblem(
        _numbered(variables), [{0: 0, 1: 1}] * variables, constraints, "cost", _objective({"kind": "cost"})
    )


def col(source: Source) -> PlainProblem:
    vertices, edges = 0, set()
    for words in _words(source):
        if words[0] == "p":
            vertices = int(words[2])
        elif words[0] == "e" and words[1] != words[2]:
            edges.add(frozenset((int(words[1]) - 1, int(words[2]) - 1)))
    constraints = [{"kind": "all_different", "scope": sorted(edge)} for edge in edges]
    return PlainProblem(_numbered(vertices), [None] * vertices, constraints, "colors", _objective({"kind": "colors"}))


def rudy(source: Source) -> PlainProblem:
    lines = _words(source)
    vertices = int(next(lines)[0])
    return _cut(vertices, [(int(w[0]), int(w[1]), float(w[2]) if len(w) > 2 else 1.0) for w in lines])


def mtx(source: Source) -> PlainProblem:
    lines = _words(source)
    general = next(lines)[4].lower() == "general"
    content = (words for words in lines if not words[0].startswith("%"))
    vertices = int(next(content)[0])
    weight: dict[tuple[int, int], float] = {}
    for words in content:
        i, j = int(words[0]), int(words[1])
        if i >= j or not general:
            pair = (max(i, j), min(i, j))
            weight[pair] = weight.get(pair, 0.0) + (float(words[2]) if len(words) > 2 else 1.0)
    return _cut(vertices, [(i, j, w) for (i, j), w in weight.items()])


def _cut(vertices: int, edges: Sequence[tuple[int, int, float]]) -> PlainProblem:
    kept = [(u - 1, v - 1, w) for u, v, w in edges if u != v and w != 0]
    constraints = [
        {"kind": "linear", "scope": [u, v], "coefficients": [1, -1], "operator": "!=" if w > 0 else "==", "bound": 0}
        | {"weight": abs(w)}
        for u, v, w in kept
    ]

    def cut(values: list[int], weight: float) -> float:
        return sum(w for u, v, w in kept if values[u] != values[v])

    return PlainProblem(_numbered(vertices), [{0: 0, 1: 1}] * vertices, constraints, "cut", cut)


def anycsp_json(source: Source) -> PlainProblem:
    document = json.loads(source.data)
    shared = {name: _json_domain(spec, {}) for name, spec in document.get("domains", {}).items()}
    names: list[str] = []
    domains: list[Mapping[int | str, int] | None] = []
    index: dict[str, int] = {}

    def indices(scope: Iterable[int | str]) -> list[int]:
        return [v if isinstance(v, int) else index[v] for v in scope]

    definitions = {}
    for entry in document["variables"]:
        if "definition" in entry:
            definitions[len(names)] = indices(entry["definition"]["scope"]), entry["definition"]["expression"]
        new = entry["names"] if "names" in entry else [entry["name"]]
        index.update({name: len(names) + i for i, name in enumerate(new)})
        names += new
        domains += [_json_domain(entry["domain"], shared)] * len(new)
    constraints: dict[int, Constraint] = {}
    for entry in document.get("constraints", []):
        scopes = entry["scopes"] if "scopes" in entry else [entry["scope"]]
        for i, scope in enumerate(scopes):
            each = {key: value[i] for key, value in entry.items() if key in _PER_SCOPE and isinstance(value, list)}
            place = int(each.get("order", entry.get("order", len(constraints))))
            constraints[place] = {**entry, **each, "scope": indices(scope)}
    ordered = [constraints[place] for place in sorted(constraints)]
    spec = document.get("objective")
    if spec is None:
        return PlainProblem(names, domains, ordered, definitions=definitions)
    value = _objective(spec | {"scope": indices(spec.get("scope", []))})
    return PlainProblem(names, domains, ordered, spec["kind"], value, definitions)


_PER_SCOPE = ("weight", "hard", "order")


def _json_domain(spec: Any, shared: Mapping[str, Mapping[int | str, int]]) -> Mapping[int | str, int]:
    if isinstance(spec, str):
        if spec in shared:
            return shared[spec]
        low, high = spec.split("..")
        return _numbers(range(int(low), int(high) + 1))
    if isinstance(spec, list) and all(isinstance(value, str) for value in spec):
        return _numbers(range(len(spec)), spec)
    return _numbers(spec.values(), spec) if isinstance(spec, dict) else _numbers(spec)


READERS: dict[str, Callable[[Source], PlainProblem]] = {
    "cnf": cnf,
    "wcnf": wcnf,
    "col": col,
    "rudy": rudy,
    "mtx": mtx,
    "json": anycsp_json,
}
"""By the name of the format."""
