"""The independent verifier: recounts an answer constraint by constraint in plain Python, no arrays, no search code.

A kind of constraint is one small function in HOLDS, written from its definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anycsp import plain_expressions
from anycsp.errors import AnyCSPError
from anycsp.formats.answers import Answer, Values
from anycsp.plain import Constraint, PlainProblem

# ── what each kind of constraint means ───────────────────────────────────────────────────────────


def _table(c: Constraint, taken: list[int]) -> bool:
    return taken in c["allowed"] if "allowed" in c else taken not in c["forbidden"]


def _clause(c: Constraint, taken: list[int]) -> bool:
    return bool(c.get("tautology", False)) or taken != c["forbidden"]


def _literals(c: Constraint, taken: list[int]) -> bool:
    return any(value == (literal > 0) for value, literal in zip(taken, c["literals"], strict=True))


def _linear(c: Constraint, taken: list[int]) -> bool:
    total = sum(a * value for a, value in zip(c["coefficients"], taken, strict=True))
    return bool(_COMPARE[c["operator"]](total, c["bound"]))


def _all_different(c: Constraint, taken: list[int]) -> bool:
    counted = [value for value in taken if value not in c.get("except", ())]
    return len(set(counted)) == len(counted)


def _sum(c: Constraint, taken: list[int]) -> bool:
    total = sum(dict(pairs).get(value, 0) for pairs, value in zip(c["contributions"], taken, strict=True))
    return bool(_COMPARE[c["operator"]](total, c["bound"]))


def _extremum(c: Constraint, taken: list[int]) -> bool:
    terms = [dict(pairs).get(value, 0) for pairs, value in zip(c["terms"], taken, strict=True)]
    right = c["bound"] + (terms.pop() if c.get("result") else 0)
    return bool(_COMPARE[c["operator"]](max(terms), right))


def _distinct(c: Constraint, taken: list[int]) -> bool:
    listed, right = (taken[:-1], c["bound"] + taken[-1]) if c.get("result") else (taken, c["bound"])
    return bool(_COMPARE[c["operator"]](len(set(listed) - set(c.get("except", ()))), right))


def _short_table(c: Constraint, taken: list[int]) -> bool:
    allowed = "allowed" in c
    rows = c["allowed" if allowed else "forbidden"]
    return allowed == any(all(cell == "*" or v in cell for v, cell in zip(taken, row, strict=True)) for row in rows)


def _rule(c: Constraint, taken: list[int]) -> bool:
    return plain_expressions.holds(c["expression"], taken)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}

HOLDS: dict[str, Callable[[Constraint, list[int]], bool]] = {
    "table": _table,
    "clause": _clause,
    "literals": _literals,
    "linear": _linear,
    "all_different": _all_different,
    "sum": _sum,
    "extremum": _extremum,
    "distinct": _distinct,
    "short_table": _short_table,
    "rule": _rule,
}
"""Whether a constraint, given as plain data, holds when its scope takes these integers."""


# ── recounting ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Recount:
    """What an assignment violates, and the first constraint it does violate (numbered from 1)."""

    constraints: int
    violated: int
    violated_weight: float
    hard_violated: int
    has_hard: bool
    objective: float | None
    first_violated: str

    @property
    def feasible(self) -> bool:
        """Whether all that must hold does: the hard constraints where there are some, otherwise all."""
        return self.hard_violated == 0 if self.has_hard else self.violated == 0


class WrongAnswer(AnyCSPError, ValueError):
    """An assignment that is none: it lacks a variable, or takes a value outside a domain."""


def recount(problem: PlainProblem, values: Values) -> Recount:
    """Evaluate every constraint."""
    taken = integers(problem, values)
    constraints = violated = hard_violated = 0
    weight, has_hard, first = 0.0, False, ""
    for number, constraint in enumerate(problem.constraints, start=1):
        constraints += 1
        hard = bool(constraint.get("hard", False))
        has_hard |= hard
        scope = constraint["scope"]
        holds = HOLDS[constraint["kind"]](_in_integers(constraint, problem), [taken[x] for x in scope])
        if not holds:
            violated += 1
            hard_violated += hard
            weight += constraint.get("weight", 1)
            if not first:
                shown = ", ".join(f"{problem.names[x]}={taken[x]}" for x in scope[:6]) + (
                    ", …" if len(scope) > 6 else ""
                )
                first = f"constraint {number} ({constraint['kind']} on {shown})"
    objective = problem.objective(taken, weight) if problem.objective else None
    return Recount(constraints, violated, weight, hard_violated, has_hard, objective, first)


def integers(problem: PlainProblem, values: Values) -> list[int]:
    """The integer every variable takes; refuses what is not an assignment of the problem."""
    asked = [x for x in range(len(problem.names)) if x not in problem.definitions]
    if isinstance(values, Mapping):
        unknown = (
            [name for name in values if name not in set(problem.names)] if len(values) > len(problem.names) else []
        )
        if unknown:
            raise WrongAnswer(f"assigns {unknown[0]!r}, which is no variable of the problem")
        for x in asked:
            if problem.names[x] not in values:
                raise WrongAnswer(f"lacks a value for variable {problem.names[x]!r}")
        listed: Sequence[int | str] = [values[problem.names[x]] for x in asked]
    elif len(values) != len(asked):
        raise WrongAnswer(f"has {len(values)} values for {len(asked)} variables")
    else:
        listed = values
    result = [0] * len(problem.names)
    for x, value in zip(asked, listed, strict=True):
        domain = problem.domains[x]
        number = value if domain is None and isinstance(value, int) else (domain or {}).get(value)
        if not isinstance(number, int):
            raise WrongAnswer(f"variable {problem.names[x]!r} takes {value!r}, which is outside its domain")
        result[x] = number
    for x, tree in problem.definitions.items():
        result[x] = _defined(tree, result, list((problem.domains[x] or {}).values()))
    return result


def _defined(tree: plain_expressions.Tree, taken: list[int], domain: list[int]) -> int:
    """The value of an auxiliary variable; the first of its domain where the definition gives none of them."""
    try:
        number = plain_expressions.value(tree, taken)
    except plain_expressions.Undefined:
        return domain[0]
    return number if number in domain else domain[0]


def _in_integers(constraint: Constraint, problem: PlainProblem) -> Constraint:
    """Tuples that name labels, in the integers the labels stand for."""
    key = "allowed" if "allowed" in constraint else "forbidden"
    rows = constraint.get(key, ())
    if constraint["kind"] not in ("table", "clause") or not any(isinstance(cell, str) for cell in _cells(rows)):
        return constraint
    domains = [problem.domains[x] or {} for x in constraint["scope"]]
    if isinstance(rows[0], list):
        return {**constraint, key: [[d[v] for d, v in zip(domains, row, strict=True)] for row in rows]}
    return {**constraint, key: [d[v] for d, v in zip(domains, rows, strict=True)]}


def _cells(rows: Sequence[Any]) -> Sequence[Any]:
    return rows[0] if rows and isinstance(rows[0], list) else rows


# ── comparing with what the answer claims ────────────────────────────────────────────────────────


def first_difference(problem: PlainProblem, answer: Answer, count: Recount) -> str | None:
    """The first claim of an answer that the recount contradicts."""
    claims = answer.claims
    recounted: dict[str, float | None] = {
        "constraints": count.constraints,
        "violated": count.violated,
        "violated_weight": count.violated_weight,
        "hard_violated": count.hard_violated,
        "o": count.objective if count.objective is not None else count.violated_weight,
    }
    for key, value in recounted.items():
        if key in claims and not _equal(claims[key], value):
            because = f"; {count.first_violated} is violated" if count.first_violated else ""
            return f"claims {key} {claims[key]}, recounted {_number(value)}{because}"
    claimed = claims.get("objective")
    if isinstance(claimed, Mapping) and "value" in claimed and not _equal(claimed["value"], count.objective):
        return f"claims objective {claimed['value']}, recounted {_number(count.objective)}"
    if claims.get("status") == "satisfied" and count.violated:
        return f"claims to be satisfied, but {count.first_violated} is violated"
    if claims.get("s") == "SATISFIABLE" and not count.feasible and problem.objective_kind != "cut":
        return f"claims SATISFIABLE, but {count.first_violated} is violated"
    if claims.get("s") == "UNSATISFIABLE" and not count.violated:
        return "claims UNSATISFIABLE, but its own assignment violates nothing"
    return None


def _equal(claimed: Any, recounted: float | None) -> bool:
    if isinstance(claimed, bool) or not isinstance(claimed, (int, float)) or recounted is None:
        return claimed is None and recounted is None
    return math.isclose(claimed, recounted, rel_tol=1e-9, abs_tol=1e-6)


def _number(value: float | None) -> str:
    return "none" if value is None else str(int(value)) if float(value).is_integer() else str(value)
