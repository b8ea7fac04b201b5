"""The independent verifier: recounts an answer constraint by constraint in plain Python, no arrays, no search code.

A kind of constraint is one small function in HOLDS, written from its definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anycsp.checker.expressions import Undefined, evaluate
from anycsp.checker.problem import CheckedProblem, Constraint, Value
from anycsp.errors import AnyCSPError, ProblemError

Values = Mapping[str, Value] | Sequence[Value]
"""An assignment by variable name, or in the order of the variables."""

# ── what each kind of constraint means ───────────────────────────────────────────────────────────
# Each function gets the constraint, the integers its scope takes, and for each of these what labels stand for.

Labels = Sequence[Mapping[int | str, int]]


def _table(c: Constraint, taken: list[int], labels: Labels) -> bool:
    rows = c["allowed"] if "allowed" in c else c["forbidden"]
    named = (row for row in rows if any(isinstance(cell, str) for cell in row))
    listed = taken in rows or any(_integers(row, labels) == taken for row in named)
    return listed == ("allowed" in c)


def _short_table(c: Constraint, taken: list[int], labels: Labels) -> bool:
    rows = c["allowed"] if "allowed" in c else c["forbidden"]
    listed = any(
        all(
            cell == "*" or value in [_integer(v, of) for v in cell]
            for cell, value, of in zip(row, taken, labels, strict=True)
        )
        for row in rows
    )
    return listed == ("allowed" in c)


def _clause(c: Constraint, taken: list[int], labels: Labels) -> bool:
    return bool(c.get("tautology", False)) or taken != _integers(c["forbidden"], labels)


def _literals(c: Constraint, taken: list[int], labels: Labels) -> bool:
    return any(value == (literal > 0) for value, literal in zip(taken, c["literals"], strict=True))


def _linear(c: Constraint, taken: list[int], labels: Labels) -> bool:
    total = sum(a * value for a, value in zip(c["coefficients"], taken, strict=True))
    return _COMPARE[c["operator"]](total, c["bound"])


def _sum(c: Constraint, taken: list[int], labels: Labels) -> bool:
    return _COMPARE[c["operator"]](sum(_look_up(c["contributions"], taken, labels)), c["bound"])


def _extremum(c: Constraint, taken: list[int], labels: Labels) -> bool:
    terms = _look_up(c["terms"], taken, labels)
    right = terms.pop() if c.get("result") else 0
    return _COMPARE[c["operator"]](max(terms, default=-math.inf), c["bound"] + right)


def _distinct(c: Constraint, taken: list[int], labels: Labels) -> bool:
    counted, right = (taken[:-1], taken[-1]) if c.get("result") else (taken, 0)
    return _COMPARE[c["operator"]](len(set(counted) - set(c.get("except", ()))), c["bound"] + right)


def _all_different(c: Constraint, taken: list[int], labels: Labels) -> bool:
    counted = [value for value in taken if value not in c.get("except", ())]
    return len(set(counted)) == len(counted)


def _rule(c: Constraint, taken: list[int], labels: Labels) -> bool:
    try:
        return evaluate(c["expression"], taken) != 0
    except Undefined:
        return False


def _integer(value: int | str, of: Mapping[int | str, int]) -> int:
    return of[value] if isinstance(value, str) else value


def _integers(row: Sequence[int | str], labels: Labels) -> list[int]:
    return [_integer(value, of) for value, of in zip(row, labels, strict=True)]


def _look_up(tables: Sequence[Sequence[Any]], taken: list[int], labels: Labels) -> list[int]:
    """For each variable the number that [value, number] pairs give its value, 0 where they give none."""
    parts = zip(tables, taken, labels, strict=True)
    return [{_integer(v, of): n for v, n in pairs}.get(value, 0) for pairs, value, of in parts]


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}

HOLDS: dict[str, Callable[[Constraint, list[int], Labels], bool]] = {
    "table": _table,
    "short_table": _short_table,
    "clause": _clause,
    "literals": _literals,
    "linear": _linear,
    "sum": _sum,
    "extremum": _extremum,
    "distinct": _distinct,
    "all_different": _all_different,
    "rule": _rule,
}
"""Whether a constraint, given as plain data, holds when its scope takes these integers."""


# ── recounting ───────────────────────────────────────────────────────────────────────────────────


WEIGHT_OBJECTIVES = ("cut", "gain", "cost")
"""Objectives that are the violated weight in other words: any assignment that keeps the hard constraints will do."""


@dataclass(frozen=True)
class Recount:
    """What an assignment violates, and the first constraint it does violate (numbered from 1)."""

    constraints: int
    violated: int
    violated_weight: float
    hard_violated: int
    has_hard: bool
    objective: float | None
    undefined: bool
    """Whether the problem has an objective that has no value here."""
    first_violated: str

    def feasible(self, objective_kind: str) -> bool:
        """Whether all that must hold does: the hard constraints where there are some, or where violated weight is
        what is optimised; otherwise all. And the objective has a value."""
        if self.undefined:
            return False
        soft = self.has_hard or objective_kind in WEIGHT_OBJECTIVES
        return self.hard_violated == 0 if soft else self.violated == 0


class WrongAnswer(AnyCSPError, ValueError):
    """An assignment that is none: it lacks a variable, or takes a value outside a domain."""


def recount(problem: CheckedProblem, values: Values) -> Recount:
    """Evaluate every constraint."""
    taken = integers(problem, values)
    constraints = violated = hard_violated = 0
    weight, has_hard, first = 0.0, False, ""
    for number, constraint in enumerate(problem.constraints, start=1):
        constraints += 1
        hard = bool(constraint.get("hard", "weight" not in constraint))  # required unless weighted
        has_hard |= hard
        scope, kind = constraint["scope"], constraint["kind"]
        if kind not in HOLDS:
            raise ProblemError(f"constraint {number} is of kind {kind!r}, which cannot be checked from its description")
        if not HOLDS[kind](constraint, [taken[x] for x in scope], [problem.domains[x] or {} for x in scope]):
            violated += 1
            hard_violated += hard
            weight += constraint.get("weight", 1)
            if not first:
                shown = ", ".join(f"{problem.names[x]}={taken[x]}" for x in scope[:6]) + (
                    ", …" if len(scope) > 6 else ""
                )
                first = f"constraint {number} ({constraint['kind']} on {shown})"
    objective = problem.objective(taken, weight) if problem.objective else None
    undefined = problem.objective is not None and objective is None
    return Recount(constraints, violated, weight, hard_violated, has_hard, objective, undefined, first)


def integers(problem: CheckedProblem, values: Values) -> list[int]:
    """The integer every variable takes; refuses what is not an assignment of the problem. Auxiliary variables may be
    left out and are then computed."""
    asked = [name for x, name in enumerate(problem.names) if x not in problem.definitions]
    if isinstance(values, Mapping):
        for name in asked:
            if name not in values:
                raise WrongAnswer(f"lacks a value for variable {name!r}")
        for name in set(values) - set(problem.names):
            raise WrongAnswer(f"assigns {name!r}, which is no variable of the problem")
        given = values
    elif len(values) in (len(asked), len(problem.names)):
        given = dict(zip(asked if len(values) == len(asked) else problem.names, values, strict=True))
    else:
        raise WrongAnswer(f"has {len(values)} values for {len(asked)} variables")
    result: list[int] = []
    for x, (name, domain) in enumerate(zip(problem.names, problem.domains, strict=True)):
        if name not in given:
            result.append(_defined_value(problem, x, result))
            continue
        value = given[name]
        number = value if domain is None and isinstance(value, int) else (domain or {}).get(value)
        if number is None or isinstance(value, bool):
            raise WrongAnswer(f"variable {name!r} takes {value!r}, which is outside its domain")
        result.append(int(number))
    return result


def _defined_value(problem: CheckedProblem, x: int, before: list[int]) -> int:
    """What defines an auxiliary variable; its first value where that is undefined or outside its domain."""
    scope, tree = problem.definitions[x]
    domain = problem.domains[x] or {}
    try:
        value = evaluate(tree, [before[y] for y in scope])
    except Undefined:
        return next(iter(domain.values()))
    return value if value in domain else next(iter(domain.values()))


# ── comparing with what the answer claims ────────────────────────────────────────────────────────


def first_difference(problem: CheckedProblem, claims: Mapping[str, Any], count: Recount) -> str | None:
    """The first claim of an answer that the recount contradicts: keys of the JSON contract, or `o` and `s` lines."""
    recounted: dict[str, float | None] = {
        "constraints": count.constraints,
        "violated": count.violated,
        "violated_weight": count.violated_weight,
        "hard_violated": count.hard_violated,
        "o": count.violated_weight
        if count.objective is None or problem.objective_kind == "colors"
        else count.objective,
    }
    for key, value in recounted.items():
        if key in claims and not _equal(claims[key], value):
            because = f"; {count.first_violated} is violated" if count.first_violated else ""
            return f"claims {key} {claims[key]}, recounted {_number(value)}{because}"
    claimed = claims.get("objective")
    if isinstance(claimed, Mapping) and "value" in claimed and not _equal(claimed["value"], count.objective):
        return f"claims objective {claimed['value']}, recounted {_number(count.objective)}"
    wrong = f"{count.first_violated} is violated" if count.violated else "its objective is undefined"
    if claims.get("status") == "satisfied" and (count.violated or count.undefined):
        return f"claims to be satisfied, but {wrong}"
    if claims.get("s") == "SATISFIABLE" and not count.feasible(problem.objective_kind):
        return f"claims SATISFIABLE, but {wrong}"
    if claims.get("s") == "UNSATISFIABLE" and not count.violated and not count.undefined:
        return "claims UNSATISFIABLE, but its own assignment violates nothing"
    return None


def _equal(claimed: Any, recounted: float | None) -> bool:
    if isinstance(claimed, bool) or not isinstance(claimed, (int, float)) or recounted is None:
        return claimed is None and recounted is None
    return math.isclose(claimed, recounted, rel_tol=1e-9, abs_tol=1e-6)


def _number(value: float | None) -> str:
    return "none" if value is None else str(int(value)) if float(value).is_integer() else str(value)
