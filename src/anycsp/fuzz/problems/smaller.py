"""Smaller cases: what a shrinker may try in place of a failing one, the largest steps first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anycsp.fuzz.problems.oracle import Case, variables_of
from anycsp.fuzz.problems.variants import renumbered

Data = dict[str, Any]
PLAIN = {"engine": "solve", "search": "local", "seed": 0, "runs": 1, "threads": 1, "presolve": False}
"""The options that say least."""


def smaller(case: Case) -> Iterator[Data]:
    whole = dict(case)
    for key in ("variant", "checks", "objective", "planted"):
        if whole.get(key):
            yield {k: v for k, v in whole.items() if k != key}
    yield from _without_definitions(whole)
    constraints: list[Data] = whole["constraints"]
    for kept in _without_parts(constraints):
        yield {**whole, "constraints": kept}
    yield from _fewer_variables(whole)
    for x, variable in enumerate(whole["variables"]):
        for domain in _smaller_domains(variable["domain"]):
            yield {**whole, "variables": _replaced(whole["variables"], x, {**variable, "domain": domain})}
    for i, entry in enumerate(constraints):
        for simpler in _simpler_entry(entry):
            yield {**whole, "constraints": _replaced(constraints, i, simpler)}
    if whole.get("objective"):
        for goals in _simpler_goals(whole["objective"]["goals"]):
            yield {**whole, "objective": {**whole["objective"], "goals": goals}}
    yield from _simpler_options(whole)


def _replaced(items: Sequence[Any], at: int, item: Any) -> list[Any]:
    return [*items[:at], item, *items[at + 1 :]]


def _without_parts(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Without a half, then without one."""
    half = len(items) // 2
    if half > 1:
        yield list(items[half:])
        yield list(items[:half])
    for i in range(len(items)):
        yield [*items[:i], *items[i + 1 :]]


def _without_definitions(case: Data) -> Iterator[Data]:
    """Without auxiliary variables: whatever mentions one mentions the first variable then."""
    if case.get("definitions"):
        asked = len(case["variables"])
        place = {x: x if x < asked else 0 for x in range(asked + len(case["definitions"]))}
        yield {k: renumbered(v, place) if k != "variables" else v for k, v in case.items() if k != "definitions"}


def _fewer_variables(case: Data) -> Iterator[Data]:
    """Without a variable that nothing mentions."""
    used = variables_of([case["constraints"], case.get("objective"), case.get("definitions")])
    count = len(case["variables"])
    for x in range(count):
        if x in used or count == 1:
            continue
        place = {y: y - (y > x) for y in range(count + len(case.get("definitions") or ()))}
        fewer = {k: renumbered(v, place) if k != "variables" else v for k, v in case.items()}
        hint = case["options"].get("hint") or {}
        options = {**case["options"], "hint": {str(place[int(y)]): v for y, v in hint.items() if int(y) != x}}
        fewer["variables"] = _replaced(case["variables"], x, None)
        fewer["variables"].remove(None)
        if "planted" in case:
            fewer["planted"] = [v for y, v in enumerate(case["planted"]) if y != x]
        yield {**fewer, "options": options if hint else case["options"]}


def _smaller_domains(domain: Any) -> Iterator[Any]:
    if isinstance(domain, Mapping):
        yield list(domain.values())
    values = list(domain.values()) if isinstance(domain, Mapping) else list(domain)
    if len(values) > 1:
        for i in range(len(values)):
            yield values[:i] + values[i + 1 :]
    if values != list(range(len(values))):
        yield list(range(len(values)))


def _simpler_entry(entry: Data) -> Iterator[Data]:
    for key in ("weight", "hard"):
        if key in entry:
            yield {k: v for k, v in entry.items() if k != key}
    if entry.get("weight", 1) not in (1, 2):
        yield {**entry, "weight": 2}
    if "expression" in entry:
        for tree in _simpler_tree(entry["expression"]):
            if isinstance(tree, list):
                yield {**entry, "expression": tree}
    for key in ("rows", "transitions", "except", "bins"):
        if isinstance(entry.get(key), list):
            for kept in _without_parts(entry[key]):
                yield {**entry, key: kept}


def _simpler_tree(tree: Any) -> Iterator[Any]:
    """One of its operands in place of the tree, or a simpler operand within it."""
    if not isinstance(tree, list):
        return
    yield from tree[1:]
    for i, operand in enumerate(tree[1:], start=1):
        if len(tree) > 2:
            yield [*tree[:i], *tree[i + 1 :]]
        for simpler in _simpler_tree(operand):
            yield _replaced(tree, i, simpler)


def _simpler_goals(goals: list[Any]) -> Iterator[list[Any]]:
    if len(goals) > 1:
        yield from _without_parts(goals)
    for i, goal in enumerate(goals):
        for tree in _simpler_tree(goal):
            yield _replaced(goals, i, tree)


def _simpler_options(case: Data) -> Iterator[Data]:
    options = case["options"]
    if "hint" in options:
        yield {**case, "options": {k: v for k, v in options.items() if k != "hint"}}
    for key, plain in PLAIN.items():
        if key in options and options[key] != plain:
            yield {**case, "options": {**options, key: plain}}
    for steps in (None, 10):
        if options["steps"] not in (steps, None):
            yield {**case, "options": {**options, "steps": steps}}
