"""What users give as parameters, checked when a distribution is made: a wrong number would fail, or never end, at a
draw much later."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from anycsp.errors import ProblemError
from anycsp.schema import shown

LARGEST = 10**7
"""No parameter is larger: what grows with it would not fit into memory, or into 64 bits."""


class Kind(Enum):
    """What a parameter may be, in the words of the error message."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    RANGE = "a range [low, high] of numbers"
    WHOLE_RANGE = "a range [low, high] of whole numbers"
    SIZE = "a whole number or a range [low, high] of them"


def check(kind: Kind, low: float, high: float = LARGEST, why: str = "", /, **values: object) -> None:
    """Refuse values, given by their names, that are not of the kind or not between the bounds, both inclusive. `why`
    says where a bound comes from that depends on other parameters."""
    for name, value in values.items():
        if not _fits(kind, low, high, value):
            bounds = f"at least {low:g}" if high == LARGEST else f"from {low:g} to {high:g}"
            if high == LARGEST and _fits(kind, low, math.inf, value):
                bounds, why = f"at most {high:g}", ""
            raise ProblemError(f"{name} = {shown(value)}: expected {kind.value}, {bounds}{why and f' ({why})'}")


def _fits(kind: Kind, low: float, high: float, value: object) -> bool:
    if kind is Kind.SIZE:
        return _fits(Kind.WHOLE, low, high, value) or _fits(Kind.WHOLE_RANGE, low, high, value)
    if kind in (Kind.RANGE, Kind.WHOLE_RANGE):
        one = Kind.NUMBER if kind is Kind.RANGE else Kind.WHOLE
        ends = as_list(value)
        return len(ends) == 2 and all(_fits(one, low, high, end) for end in ends) and ends[0] <= ends[1]
    if isinstance(value, bool) or not isinstance(value, int if kind is Kind.WHOLE else (int, float)):
        return False
    return low <= value <= high


def as_list(value: object) -> list[Any]:
    """The items of a list or tuple; none for anything else, texts included."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def widened(make: Callable[..., object], parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters, a plain number where a range is expected being a range of one."""
    declared = inspect.signature(make).parameters
    return {name: _widened(value, declared.get(name)) for name, value in parameters.items()}


def _widened(value: object, parameter: inspect.Parameter | None) -> object:
    if parameter is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    default = as_list(parameter.default)
    if default and all(as_list(part) for part in default):
        return [[value, value]] * len(default)
    if len(default) == 2 or (parameter.default is None and "Sequence" in str(parameter.annotation)):
        return [value, value]
    return [value] if default else value


def described(make: Callable[..., object]) -> str:
    """The parameters of a distribution with their defaults, as `--set` takes them."""
    shown_defaults = (
        f"{p.name}={json.dumps(p.default)}" if p.default is not p.empty else p.name
        for p in inspect.signature(make).parameters.values()
    )
    return "  ".join(shown_defaults)


def check_names(make: Callable[..., object], parameters: Mapping[str, object]) -> None:
    """Refuse parameters that a distribution's constructor does not have."""
    declared = inspect.signature(make).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in declared):
        return
    known = [p.name for p in declared]
    for name in parameters:
        if name not in known:
            raise ProblemError(f"unknown parameter {shown(name)}; known are {', '.join(known)}")
