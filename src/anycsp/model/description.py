"""A whole problem as plain data, for those who must not know how it is stored: the checker recounts from this."""

from __future__ import annotations

from typing import Any

from anycsp.model.expressions import tree_of
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem


def describe(problem: Problem) -> dict[str, Any]:
    """`names`; `domains` as pairs (values, labels); `constraints` as their families describe them; `objective`, None
    where there is none; `definitions` of auxiliary variables."""
    return {
        "names": problem.names,
        "domains": [(domain.values.tolist(), domain.labels or ()) for domain in problem.domain_list],
        "constraints": problem.describe_constraints(),
        "objective": None if problem.objective is None else describe_objective(problem.objective),
        "definitions": {x: tree_of(expression) for x, expression in problem.definitions.items()},
    }


def describe_objective(objective: Objective) -> dict[str, Any]:
    description: dict[str, Any] = {"kind": objective.kind, "constant": objective.constant}
    if objective.expression is not None:
        description["scope"], description["expression"] = tree_of(objective.expression)
    return description
