"""The temperature of the policy's softmax: one number, a range hot:cold that the search cools through, or several of
these that its runs share out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anycsp.errors import AnyCSPError

Range = float | tuple[float, float]
"""Fixed, or (hot, cold)."""
Temperature = Range | tuple[tuple[float, float], ...]
"""The same for all runs, or ranges: run i has the i-th, beginning again after the last."""


def as_temperature(given: object) -> Temperature:
    """From a number, a pair of numbers, a list of pairs, or any of them as text ("0.8", "1.5:0.3", "1:0.3,4:0.3")."""
    if isinstance(given, str) and "," in given:
        given = [part.split(":") for part in given.split(",")]
    if isinstance(given, (list, tuple)) and given and all(isinstance(part, (list, tuple)) for part in given):
        ranges = [_range(part, given) for part in given]
        return tuple(r if isinstance(r, tuple) else (r, r) for r in ranges)
    return _range(given.split(":") if isinstance(given, str) else given, given)


def _range(given: object, whole: object) -> Range:
    parts: Sequence[object] = given if isinstance(given, (list, tuple)) else [given]
    try:
        numbers = [float(part) for part in parts]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in (1, 2) or not all(0 < number < math.inf for number in numbers):
        raise AnyCSPError(f"temperature = {whole}: must be positive, a number or a range hot:cold")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def as_json(temperature: Temperature) -> float | list[float] | list[list[float]]:
    if not isinstance(temperature, tuple):
        return temperature
    return [list(part) if isinstance(part, tuple) else part for part in temperature]  # type: ignore[return-value]


def of_runs(temperature: Temperature, runs: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Hot and cold of every run, equal where it is fixed."""
    ranges: tuple[object, ...] = (temperature,)
    if isinstance(temperature, tuple) and isinstance(temperature[0], tuple):
        ranges = temperature
    pairs = np.array([r if isinstance(r, tuple) else (r, r) for r in ranges], dtype=np.float64)
    of_run = pairs[np.arange(runs) % len(pairs)]
    return of_run[:, 0], of_run[:, 1]
