"""Smaller models: fewer constraints, variables and values, simpler expressions and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anycsp.fuzz.kinds import Case
from anycsp.fuzz.problems.smaller import smaller as smaller_problem

PLAIN = {"search": "exact", "steps": None, "seed": 0, "runs": 1, "threads": 1, "presolve": True}


def smaller(case: Case) -> Iterator[dict[str, Any]]:
    if case["language"] == "flatzinc":
        yield from _smaller_flat(dict(case))
    else:
        for simpler in smaller_problem({**case, "options": {**case["options"], "engine": "solve"}}):
            options = {key: simpler["options"][key] for key in PLAIN}
            if {**simpler, "options": options} != case:
                yield {**simpler, "options": options}
    for key, value in PLAIN.items():
        if case["options"][key] != value:
            yield {**case, "options": {**case["options"], key: value}}


def _smaller_flat(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    constraints, variables = case["constraints"], case["variables"]
    for i in range(len(constraints)):
        yield {**case, "constraints": constraints[:i] + constraints[i + 1 :]}
    if case["goal"][0] != "satisfy":
        yield {**case, "goal": ["satisfy", ""]}
    said = str(constraints) + case["goal"][1]
    for name, (kind, values) in variables.items():
        if f"'{name}'" not in said and name != case["goal"][1]:
            yield {**case, "variables": {other: v for other, v in variables.items() if other != name}}
        for i in range(len(values) if kind == "int" and len(values) > 1 else 0):
            yield {**case, "variables": {**variables, name: [kind, values[:i] + values[i + 1 :]]}}
