"""What a document may hold: a table from each of its names to a rule, checked before anything is made of it.

Model descriptions, checkpoints and training configurations may come from anywhere. One that holds what it should not is
refused in one line that names the place, the value and what was expected there.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from anycsp.errors import AnyCSPError

DEEPEST = 64
"""Lists and tables within each other. No document of ours needs ten; all that walks through one may recurse."""


@dataclass(frozen=True)
class Rule:
    expected: str
    """In the words of the error message."""
    fits: Callable[[Any], bool]


Schema = Mapping[str, Rule]


def check(
    document: object, schema: Schema, where: str, error: type[AnyCSPError], optional: Collection[str] = ()
) -> dict[str, Any]:
    """The document, which is a table of exactly the schema's names but for `optional` ones; else `error`."""
    if not isinstance(document, dict):
        raise error(f"{where}: {shown(document)} where a table was expected")
    for name in document:
        if name not in schema:
            near = get_close_matches(str(name)[:99], schema, n=1)
            raise error(f"{where}: unknown key {shown(name)}" + (f"; {near[0]!r}?" if near else ""))
    for name, rule in schema.items():
        if name in document:
            check_value(name, document[name], rule, where, error)
        elif name not in optional:
            raise error(f"{where}: {name} is missing")
    return document


def check_value(name: str, value: object, rule: Rule, where: str, error: type[AnyCSPError]) -> None:
    if not rule.fits(value):
        raise error(f"{where}: {name} = {shown(value)}: expected {rule.expected}")


def shown(value: object, limit: int = 60) -> str:
    """A value as error messages show it: on one line, not too long."""
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= limit else text[:limit] + "…"


def parse_json(text: str | bytes) -> Any:
    """JSON whose depth is bounded; a ValueError of one short line otherwise."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError("lists and tables within each other too deep") from None
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"lists and tables within each other deeper than {DEEPEST}")
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
    return document


# ── rules ────────────────────────────────────────────────────────────────────────────────────────


def whole(low: int, high: int) -> Rule:
    """Both bounds inclusive."""
    return Rule(
        f"a whole number from {low} to {high}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
    )


def number(low: float, high: float, *, above: bool = False) -> Rule:
    """Both bounds inclusive; the lower one not where it says `above`. Infinity is a number only where it is a bound."""

    def fits(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        fits = low <= value <= high and not (above and value == low)
        return fits and (value == math.inf or value <= sys.float_info.max)  # a whole number may be beyond any float

    bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
    return Rule(f"a number above {low:g} and at most {high:g}" if above else f"a number {bounds}", fits)


def one_of(*choices: str) -> Rule:
    return Rule(f"one of {', '.join(choices)}", lambda value: isinstance(value, str) and value in choices)


def several(rule: Rule, fewest: int, most: int) -> Rule:
    """A list of values that all fit."""

    def fits(value: object) -> bool:
        if not isinstance(value, Sequence) or isinstance(value, str):
            return False
        return fewest <= len(value) <= most and all(rule.fits(item) for item in value)

    count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return Rule(f"a list of {count}, each {rule.expected}", fits)


def row(*rules: Rule) -> Rule:
    """A list of so many values, one of each rule."""

    def fits(value: object) -> bool:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != len(rules):
            return False
        return all(rule.fits(item) for rule, item in zip(rules, value, strict=True))

    return Rule(f"a list [{', '.join(rule.expected for rule in rules)}]", fits)


def either(first: Rule, second: Rule) -> Rule:
    return Rule(f"{first.expected} or {second.expected}", lambda value: first.fits(value) or second.fits(value))


def table_of(rule: Rule) -> Rule:
    """A table whose values all fit."""
    return Rule(
        f"a table with each {rule.expected}",
        lambda value: TABLE.fits(value) and all(rule.fits(item) for item in value.values()),
    )


FLAG = Rule("true or false", lambda value: isinstance(value, bool))
TEXT = Rule("a text", lambda value: isinstance(value, str))
TABLE = Rule("a table", lambda value: isinstance(value, dict) and all(isinstance(key, str) for key in value))
