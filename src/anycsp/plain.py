"""Problems as plain Python data for the checker, read from files by second, simpler readers.

They share nothing with `formats` but the bytes of the file, so that a mistake in a fast reader shows as a difference.
A format without a reader here goes through its own and `Problem.describe_constraints`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anycsp import plain_expressions
from anycsp.expressions import plain_tree
from anycsp.formats.source import Source
from anycsp.plain_expressions import Tree

if TYPE_CHECKING:
    from anycsp.problem import Problem

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
    definitions: Mapping[int, Tree] = field(default_factory=dict)
    """Auxiliary variables, which answers omit, and the expressions over earlier variables that give them."""


def of_problem(problem: Problem) -> PlainProblem:
    domains: list[Mapping[int | str, int]] = []
    for index in range(problem.num_variables):
        domain = problem.domain(index)
        numbers = domain.values.tolist()
        domains.append(_numbers(numbers, domain.labels or ()))
    constraints = problem.describe_constraints()
    definitions = {x: plain_tree(expression) for x, expression in problem.definitions.items()}
    if problem.objective is None:
        return PlainProblem(problem.names, domains, constraints, definitions=definitions)
    kind, constant, expression = problem.objective.kind, problem.objective.constant, problem.objective.expression
    objective = _objective(kind, constant) if expression is None else _of_tree(plain_tree(expression))
    return PlainProblem(problem.names, domains, constraints, kind, objective, definitions)


def _of_tree(tree: Tree) -> Callable[[list[int], float], float]:
    return lambda values, weight: plain_expressions.value(tree, values)


def _numbers(numbers: Iterable[int], labels: Iterable[str] = ()) -> dict[int | str, int]:
    """What every value, and every label, stands for."""
    result: dict[int | str, int] = {number: number for number in numbers}
    return result | dict(zip(labels, list(result.values()), strict=False))


def _objective(kind: str, constant: float) -> Callable[[list[int], float], float]:
    if kind == "colors":
        return lambda values, weight: len(set(values))
    if kind in ("cut", "gain"):
        return lambda values, weight: constant - weight
    return lambda values, weight: constant + weight


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


def col(source: Source) -> PlainProblem:
    vertices, edges = 0, set()
    for words in _words(source):
        if words[0] == "p":
            vertices = int(words[2])
        elif words[0] == "e" and words[1] != words[2]:
            edges.add(frozenset((int(words[1]) - 1, int(words[2]) - 1)))
    constraints = [{"kind": "all_different", "scope": sorted(edge)} for edge in edges]
    return PlainProblem(_numbered(vertices), [None] * vertices, constraints, "colors", _objective("colors", 0))


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
    for entry in document["variables"]:
        new = entry.get("names") or [entry["name"]]
        names += new
        domains += [_json_domain(entry["domain"], shared)] * len(new)
    index = {name: i for i, name in enumerate(names)}
    constraints: dict[int, Constraint] = {}
    for entry in document.get("constraints", []):
        scopes = entry["scopes"] if "scopes" in entry else [entry["scope"]]
        for i, scope in enumerate(scopes):
            each = {key: value[i] for key, value in entry.items() if key in _PER_SCOPE and isinstance(value, list)}
            place = int(each.get("order", entry.get("order", len(constraints))))
            constraints[place] = {**entry, **each, "scope": [v if isinstance(v, int) else index[v] for v in scope]}
    spec = document.get("objective")
    ordered = [constraints[place] for place in sorted(constraints)]
    if spec is None:
        return PlainProblem(names, domains, ordered)
    return PlainProblem(names, domains, ordered, spec["kind"], _objective(spec["kind"], spec.get("constant", 0)))


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
    "col": col,
    "rudy": rudy,
    "mtx": mtx,
    "json": anycsp_json,
}
"""By the name of the format."""
