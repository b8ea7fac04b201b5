"""A problem as the checker sees it: plain Python data, one mapping for each constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anycsp.checker.expressions import Undefined, evaluate

Constraint = Mapping[str, Any]
Value = int | str
Objective = Callable[[list[int], float], float | None]
"""The objective's value, given the values and the violated weight; None where it is undefined."""


@dataclass(frozen=True)
class CheckedProblem:
    names: Sequence[str]
    domains: Sequence[Mapping[Value, int] | None]
    """For each variable the integer that every value or label stands for; None where any integer will do."""
    constraints: Iterable[Constraint]
    """What each says, by `kind`, scopes by index; `check.HOLDS` knows the kinds."""
    objective_kind: str = ""
    objective: Objective | None = None
    definitions: Mapping[int, tuple[Sequence[int], Any]] = field(default_factory=dict)
    """What determines an auxiliary variable: a scope of variables before it, and an expression over that."""


def from_description(description: Mapping[str, Any]) -> CheckedProblem:
    """From plain data: `names`, `domains` (values, or label and value), `constraints`, `objective`, `definitions`."""
    domains = [numbers(values, labels) for values, labels in description["domains"]]
    spec = description["objective"]
    return CheckedProblem(
        description["names"],
        domains,
        description["constraints"],
        "" if spec is None else spec["kind"],
        None if spec is None else objective_of(spec),
        description["definitions"],
    )


def numbers(values: Iterable[int], labels: Iterable[str] = ()) -> dict[Value, int]:
    """What every value, and every label, stands for."""
    result: dict[Value, int] = {value: value for value in values}
    return result | dict(zip(labels, list(result.values()), strict=False))


def objective_of(spec: Mapping[str, Any]) -> Objective:
    """From its description, scopes by index."""
    kind, constant = spec["kind"], spec.get("constant", 0)
    if "expression" in spec:
        return lambda values, weight: _value(spec["expression"], [values[x] for x in spec["scope"]])
    if kind == "colors":
        return lambda values, weight: len(set(values))
    if kind in ("cut", "gain"):
        return lambda values, weight: float(constant - weight)
    return lambda values, weight: float(constant + weight)


def _value(tree: Any, slots: Sequence[int]) -> int | None:
    try:
        return evaluate(tree, slots)
    except Undefined:
        return None
