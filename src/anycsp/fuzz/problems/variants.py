"""The same problem said otherwise: whatever is true of one must be true of the other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from anycsp.fuzz.problems.oracle import Case, terms_of

Data = dict[str, Any]


def varied(case: Case) -> Data:
    """The variant that a case asks for; the same one every time."""
    rng = Random(repr(case["options"]["seed"]))
    return VARIANTS[case["variant"]](copy.deepcopy(dict(case)), rng)


def renumbered(data: Any, place: Mapping[int, int]) -> Any:
    """Plain data with every `{"var": i}` moved to its new place."""
    if isinstance(data, Mapping):
        if "var" in data:
            return {"var": place[data["var"]]}
        return {key: renumbered(value, place) for key, value in data.items()}
    return [renumbered(item, place) for item in data] if isinstance(data, (list, tuple)) else data


def _renamed(case: Data, rng: Random) -> Data:
    for i, variable in enumerate(case["variables"]):
        variable["name"] = f"renamed {i}"
    return case


def _reordered(case: Data, rng: Random) -> Data:
    """Variables and constraints in another order; auxiliary variables stay behind the asked ones."""
    count = len(case["variables"])
    order = list(range(count))
    rng.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    place |= {count + k: count + k for k in range(len(case.get("definitions", [])))}
    variables, hint = [case["variables"][old] for old in order], case["options"].get("hint")
    planted = case.get("planted")
    case = renumbered(case, place)
    case["variables"] = variables
    rng.shuffle(case["constraints"])
    if hint is not None:
        case["options"]["hint"] = {str(place[int(x)]): value for x, value in hint.items()}
    if planted is not None:
        case["planted"] = [planted[old] for old in order]
    return case


def _satisfied(case: Data, rng: Random) -> Data:
    """One more constraint, which always holds."""
    x = {"var": rng.randrange(len(case["variables"]))}
    always: list[Any] = [
        ["eq", x, x],
        ["ge", ["sqr", x], 0],
        ["or", ["le", x, 0], ["gt", x, 0]],
        ["in", ["lt", x, 1], 0, 1],
    ]
    case["constraints"].insert(
        rng.randint(0, len(case["constraints"])), {"post": "rule", "expression": rng.choice(always), "weight": 2}
    )
    return case


def _scaled(case: Data, rng: Random) -> Data:
    """All weights four times as large, which changes no order; a power of two, so that no digit is lost."""
    for entry in case["constraints"]:
        entry["hard"] = terms_of(entry)[1]  # one without a weight is hard, and stays so
        entry["weight"] = 4 * entry.get("weight", 1)
    return case


VARIANTS: dict[str, Callable[[Data, Random], Data]] = {
    "renamed": _renamed,
    "reordered": _reordered,
    "satisfied": _satisfied,
    "scaled": _scaled,
}
