"""The temperature of the policy's softmax: one number, or a range hot:cold that the search cools through.

Where a search orders depends on how many values its variables have: disorder among k of them is worth T·ln k, so the
more there are, the colder it has to be. A range that is slow enough for one size of domains is therefore tuned at that
size and scaled for others by the logarithm.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import AnyCSPError
from anycsp.schema import either, number, row, shown

Temperature = float | tuple[float, float]
"""Fixed, or (hot, cold)."""

FEWEST = 5
"""Values at which the scaling ends: two need no more heat than five (research/training-log.md)."""

ONE_TEMPERATURE = number(1e-6, 1e6)
"""Beyond, every softmax is greedy or uniform, and far beyond a number of 32 bits is 0 or infinite."""
TEMPERATURE = either(ONE_TEMPERATURE, row(ONE_TEMPERATURE, ONE_TEMPERATURE))


def as_temperature(given: object) -> Temperature:
    """From a number, a pair of numbers, or either as text ("0.8", "1.5:0.3")."""
    value: Any = given
    if isinstance(given, str):
        try:
            value = [float(part) for part in given.split(":")]
        except ValueError:
            value = None
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if not TEMPERATURE.fits(value):
        bounds = ONE_TEMPERATURE.expected
        raise AnyCSPError(f"temperature = {shown(given)}: must be positive, {bounds} or a range hot:cold of them")
    return (float(value[0]), float(value[1])) if isinstance(value, (list, tuple)) else float(value)


def as_json(temperature: Temperature) -> float | list[float]:
    return list(temperature) if isinstance(temperature, tuple) else temperature


def as_range(temperature: Temperature) -> tuple[float, float]:
    """(hot, cold), equal where it is fixed."""
    return temperature if isinstance(temperature, tuple) else (temperature, temperature)


def at_domains(temperature: Temperature, tuned_at: float, sizes: npt.NDArray[np.integer[Any]]) -> Temperature:
    """A temperature tuned at domains of `tuned_at` values, for variables with domains of these sizes."""
    logarithms = np.log(np.maximum(sizes[sizes > 1], FEWEST))
    factor = math.log(tuned_at) / float(logarithms.mean()) if len(logarithms) else 1.0
    hot, cold = as_range(temperature)
    return (hot * factor, cold * factor) if isinstance(temperature, tuple) else hot * factor
