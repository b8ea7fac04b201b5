"""The checker's own readers: second, simpler ones, for files that are known to be well formed.

They share nothing with `formats` but the bytes of the file, so that a mistake in a fast reader shows as a difference.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from anycsp.checker.problem import CheckedProblem, Constraint, numbers, objective_of


def _words(data: bytes) -> Iterator[list[str]]:
    for line in data.split(b"\n"):  # lines end here only, and white space is ASCII: comments may hold any byte
        if words := line.split():
            yield [word.decode("latin-1") for word in words]


def _numbered(count: int) -> list[str]:
    return [str(i) for i in range(1, count + 1)]


def cnf(data: bytes) -> CheckedProblem:
    variables, clauses, clause = 0, [], []
    for words in _words(data):
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
    constraints = [{"kind": "literals", "scope": [abs(l) - 1 for l in c], "literals": c, "weight": 1} for c in clauses]
    return CheckedProblem(_numbered(variables), [{0: 0, 1: 1}] * variables, constraints)


def wcnf(data: bytes) -> CheckedProblem:
    """Old form: a weight before each clause, hard from the header's top; that of 2022: `h` before the hard ones."""
    top, variables, clauses = math.inf, 0, list[tuple[float | None, list[int]]]()
    content: list[str] = []
    for words in _words(data):
        if words[0] == "p":
            variables, top = int(words[2]), float(words[4]) if len(words) > 4 else math.inf
        elif not words[0].startswith("c"):
            content += words
    numbered = iter(content)
    for word in numbered:  # a weight; its literals may go over several lines, and a line may hold several clauses
        weight = None if word == "h" or float(word) >= top else float(word)
        clause = list(iter(lambda: int(next(numbered)), 0))
        variables = max([variables, *map(abs, clause)])
        if weight != 0:
            clauses.append((weight, clause))
    constraints = [
        {"kind": "literals", "scope": [abs(l) - 1 for l in clause], "literals": clause}
        | ({"hard": True} if weight is None else {"weight": weight})
        for weight, clause in clauses
    ]
    return CheckedProblem(
        _numbered(variables), [{0: 0, 1: 1}] * variables, constraints, "cost", objective_of({"kind": "cost"})
    )


def col(data: bytes) -> CheckedProblem:
    vertices, edges = 0, set()
    for words in _words(data):
        if words[0] == "p":
            vertices = int(words[2])
        elif words[0] == "e" and words[1] != words[2]:
            edges.add(frozenset((int(words[1]) - 1, int(words[2]) - 1)))
    constraints = [{"kind": "all_different", "scope": sorted(edge), "weight": 1} for edge in edges]
    colors = objective_of({"kind": "colors"})
    return CheckedProblem(_numbered(vertices), [None] * vertices, constraints, "colors", colors)


def rudy(data: bytes) -> CheckedProblem:
    lines = _words(data)
    vertices = int(next(lines)[0])
    return _cut(vertices, [(int(w[0]), int(w[1]), float(w[2]) if len(w) > 2 else 1.0) for w in lines])


def mtx(data: bytes) -> CheckedProblem:
    lines = _words(data)
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


def _cut(vertices: int, edges: Sequence[tuple[int, int, float]]) -> CheckedProblem:
    kept = [(u - 1, v - 1, w) for u, v, w in edges if u != v and w != 0]
    constraints = [
        {"kind": "linear", "scope": [u, v], "coefficients": [1, -1], "operator": "!=" if w > 0 else "==", "bound": 0}
        | {"weight": abs(w)}
        for u, v, w in kept
    ]

    def cut(values: list[int], weight: float) -> float:
        return sum(w for u, v, w in kept if values[u] != values[v])

    return CheckedProblem(_numbered(vertices), [{0: 0, 1: 1}] * vertices, constraints, "cut", cut)


def qubo(data: bytes) -> CheckedProblem:
    """qbsolv's form: the header has the number of nodes, every other line a coefficient."""
    lines = [words for words in _words(data) if not words[0].startswith("c")]
    return _quadratic(int(lines[0][3]), lines[1:], spins=False)


def coo(data: bytes) -> CheckedProblem:
    """dimod's form: comments begin with #, and `# vartype=SPIN` says that variables are spins; the last one counts."""
    lines = list(_words(data))
    said = [re.match(r"# ?vartype ?= ?(\w+)", " ".join(words)) for words in lines]
    spins = [kind[1].upper() for kind in said if kind is not None][-1:] == ["SPIN"]
    terms = [words for words in lines if not words[0].startswith("#")]
    return _quadratic(1 + max(int(node) for words in terms for node in words[:2]), terms, spins)


def _quadratic(nodes: int, lines: Iterable[Sequence[str]], spins: bool) -> CheckedProblem:
    """The value is the sum as the file has it. Beside it every product of 0/1 variables is a soft constraint: not to be
    1 where that costs, to be 1 where that gains."""
    listed = [(int(w[0]), int(w[1]), Fraction(w[2])) for w in lines]
    product: dict[frozenset[int], Fraction] = {}
    for i, j, c in listed:
        scale = 1 if not spins else 2 if i == j else 4
        product[frozenset((i, j))] = product.get(frozenset((i, j)), Fraction(0)) + scale * c
        for x in (i, j) if spins and i != j else ():
            product[frozenset((x,))] = product.get(frozenset((x,)), Fraction(0)) - 2 * c
    constraints = [
        {"kind": "linear", "scope": sorted(scope), "coefficients": [1] * len(scope)}
        | {"operator": "<" if c > 0 else "==", "bound": len(scope), "weight": float(abs(c))}
        for scope, c in product.items()
        if c
    ]

    def value(values: list[int], weight: float) -> float:
        taken = [2 * x - 1 for x in values] if spins else values
        return float(sum(c * taken[i] * (taken[j] if i != j else 1) for i, j, c in listed))

    return CheckedProblem([str(i) for i in range(nodes)], [{0: 0, 1: 1}] * nodes, constraints, "cost", value)


def opb(data: bytes) -> CheckedProblem:
    """Statements end with a semicolon; a soft one begins with its cost in brackets."""
    comments = [words for words in _words(data) if words[0].startswith("*")]
    claims = [re.match(r"\* ?#variable= ?(\d+)", " ".join(words)) for words in comments]
    claimed = [int(claim[1]) for claim in claims if claim is not None]
    content = b" ".join(line for line in data.split(b"\n") if not line.lstrip().startswith(b"*")).decode("latin-1")
    largest = max([0, *claimed[-1:], *map(int, re.findall(r"x(\d+)", content))])
    constraints, kind, goal = list[Constraint](), "", None
    for statement in filter(str.strip, content.split(";")):
        head, colon, body = statement.rpartition(":")
        if colon:
            kind = {"min": "minimize", "max": "maximize", "soft": "cost"}[head.strip()]
            goal = None if kind == "cost" else _pseudo_boolean_sum(body)
            continue
        cost, bracket, body = statement.rpartition("]")
        operator = next(o for o in (">=", "<=", "=") if o in body)
        left, right = body.split(operator)
        scope, tree = _pseudo_boolean_sum(left)
        compared = [{">=": "ge", "<=": "le", "=": "eq"}[operator], tree, int("".join(right.split()))]
        weight = {"weight": float(cost.strip(" [\n\r\t"))} if bracket else {"hard": True}
        kind = "cost" if bracket else kind
        if weight.get("weight") != 0:
            constraints.append({"kind": "rule", "scope": scope, "expression": compared, **weight})
    names = [f"x{i}" for i in range(1, largest + 1)]
    spec: dict[str, Any] = {"kind": kind} | ({"scope": goal[0], "expression": goal[1]} if goal else {})
    return CheckedProblem(names, [{0: 0, 1: 1}] * largest, constraints, kind, objective_of(spec) if kind else None)


def _pseudo_boolean_sum(text: str) -> tuple[list[int], list[Any]]:
    """Variables by index, and a sum of products over them; ~x is 1 − x."""
    scope: list[int] = []
    terms: list[list[Any]] = []
    for word in re.findall(r"[+-]?\s*\d+|~?x\d+", re.sub(r"(~?x\d+)", r" \1 ", text)):
        if "x" not in word:
            terms.append(["mul", int("".join(word.split()))])
            continue
        x = int(word.lstrip("~x")) - 1
        if x not in scope:
            scope.append(x)
        slot = {"slot": scope.index(x)}
        terms[-1].append(["sub", 1, slot] if word.startswith("~") else slot)
    return scope, ["add", *terms]


def anycsp_json(data: bytes) -> CheckedProblem:
    document = json.loads(data)
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
        return CheckedProblem(names, domains, ordered, definitions=definitions)
    value = objective_of(spec | {"scope": indices(spec.get("scope", []))})
    return CheckedProblem(names, domains, ordered, spec["kind"], value, definitions)


_PER_SCOPE = ("weight", "hard", "order")


def _json_domain(spec: Any, shared: Mapping[str, Mapping[int | str, int]]) -> Mapping[int | str, int]:
    if isinstance(spec, str):
        if spec in shared:
            return shared[spec]
        low, high = spec.split("..")
        return numbers(range(int(low), int(high) + 1))
    if isinstance(spec, list) and all(isinstance(value, str) for value in spec):
        return numbers(range(len(spec)), spec)
    return numbers(spec.values(), spec) if isinstance(spec, dict) else numbers(spec)


READERS: dict[str, Callable[[bytes], CheckedProblem]] = {
    "cnf": cnf,
    "wcnf": wcnf,
    "col": col,
    "rudy": rudy,
    "mtx": mtx,
    "json": anycsp_json,
    "qubo": qubo,
    "coo": coo,
    "opb": opb,
}
"""By the name of the format."""
