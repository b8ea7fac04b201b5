"""The temperature of the policy's softmax: one number, a range hot:cold that the search cools through, or several of
these that its runs take turns with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from anycsp.errors import AnyCSPError

Range = tuple[float, float]
"""(hot, cold)"""
Temperature = float | Range | tuple[Range, ...]
"""Fixed, a range, or several ranges; `turns.py` says which run has which."""


def as_temperature(given: object) -> Temperature:
    """From a number, a pair, a list of pairs, or any of them as text ("0.8", "1.5:0.3", "2.2:0.8,1.2:0.4")."""
    several: Sequence[object] = [given]
    if isinstance(given, str):
        several = given.split(",")
    elif isinstance(given, (list, tuple)) and any(isinstance(part, (list, tuple)) for part in given):
        several = given
    try:
        read = [_number_or_range(one) for one in several]
    except (TypeError, ValueError):
        raise AnyCSPError(f"temperature = {given}: must be positive, a number, a range hot:cold or several") from None
    return read[0] if len(read) == 1 else tuple(_range(one) for one in read)


def _number_or_range(given: object) -> float | Range:
    parts: Sequence[Any] = [given]
    if isinstance(given, str):
        parts = given.split(":")
    elif isinstance(given, (list, tuple)):
        parts = given
    numbers = [float(part) for part in parts]
    if len(numbers) not in (1, 2) or not all(0 < number < math.inf for number in numbers):
        raise ValueError
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _range(temperature: float | Range) -> Range:
    return temperature if isinstance(temperature, tuple) else (temperature, temperature)


def as_ranges(temperature: Temperature) -> tuple[Range, ...]:
    """One or several (hot, cold), equal where it is fixed."""
    if isinstance(temperature, tuple) and isinstance(temperature[0], tuple):
        return temperature  # type: ignore[return-value]
    return (_range(temperature),)  # type: ignore[arg-type]


def as_range(temperature: Temperature) -> Range:
    """The hottest and the coldest of all runs."""
    ranges = as_ranges(temperature)
    return max(hot for hot, _ in ranges), min(cold for _, cold in ranges)


def as_json(temperature: Temperature) -> float | list[Any]:
    """What `as_temperature` reads."""
    return [as_json(part) for part in temperature] if isinstance(temperature, tuple) else temperature
