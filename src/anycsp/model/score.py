"""The score: what every search minimises, in whole numbers, so that no engine rounds and all of them agree.

A weight is what its decimal digits say: 0.1 is a tenth. Weights are counted in *units*, the last decimal place that any
of them has, and their sum is at most 2^53, so that a float holds every sum of them exactly. The score of an assignment
is H · (1 + S) + s: s is the violated soft weight and S that of all soft constraints in units, H the violated hard
weight in units of the hard weights' own common divisor. So a violated hard constraint outweighs all the soft ones
together, whatever the weights. What does not fit is refused: it could not be compared exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

LARGEST_WEIGHT = 2**53
"""All weights together, in units: the whole numbers up to here are floats."""
LARGEST_SCORE = 2**60
"""The score of an assignment that violates everything: 64 bits, less some for penalties that say how far off it is."""
MOST_DECIMALS = 22
"""10^22 is the largest power of ten that is a float."""


@dataclass(frozen=True)
class Scoring:
    """What each constraint of a problem, in the order they were added, costs where it is violated."""

    weight: IntArray
    """[constraints]: its weight in units."""
    score: IntArray
    """[constraints]: what it adds to the score."""
    units: float
    """How many units a weight of 1 has: a power of ten."""
    priority: int
    """1 + S: what a hard constraint's share of H is multiplied by."""
    hard_unit: int
    """The common divisor of the hard weights, in units."""

    all_required: bool
    """Every constraint is hard and weighs 1: none comes before another, and as few as possible are violated."""

    def weight_of(self, rows: IntArray) -> float:
        """The weight of these constraints together, as the user counts it."""
        return int(self.weight[rows].sum()) / self.units


def scoring(weights: FloatArray, hard: npt.NDArray[np.bool_]) -> Scoring:
    """The score of a problem with these weights; a ProblemError that names a constraint where it would be inexact."""
    units, weight = in_units(weights)
    priority = 1 + int(weight[~hard].sum())
    hard_unit = int(np.gcd.reduce(weight[hard])) if hard.any() else 1
    share = weight[hard] // hard_unit
    worst = int(share.sum()) * priority + priority - 1
    if worst > LARGEST_SCORE:
        heaviest = int(np.argmax(weights))
        raise ProblemError(
            f"no exact score: {len(share)} hard constraints come before soft ones of {(priority - 1) / units:g} "
            f"together, constraint {heaviest + 1} weighs {weights[heaviest]:g}: scale or round the weights"
        )
    score = weight.copy()
    score[hard] = share * priority
    all_required = bool(len(hard) and hard.all() and (weights == 1).all())
    return Scoring(weight, score, units, priority, hard_unit, all_required)


def in_units(weights: FloatArray) -> tuple[float, IntArray]:
    """How many units a weight of 1 has, and every weight in units."""
    if not len(weights):
        return 1.0, np.zeros(0, dtype=np.int64)
    heaviest = int(np.argmax(weights))
    units, finest = 1.0, heaviest
    for decimals in range(MOST_DECIMALS + 1):
        units = 10.0**decimals
        if weights[heaviest] > LARGEST_WEIGHT / units:
            break
        counted = np.rint(weights * units)
        inexact = counted / units != weights  # both sides are floats, and the quotient is the nearest one
        if not inexact.any():
            whole = counted.astype(np.int64)
            if counted.sum() < 2 * LARGEST_WEIGHT and int(whole.sum()) <= LARGEST_WEIGHT:
                return units, whole
            break
        finest = int(np.argmax(inexact))
    beside = f", constraint {finest + 1} {float(weights[finest])!r}" if finest != heaviest else ""
    raise ProblemError(
        f"no exact sum of the weights: constraint {heaviest + 1} weighs {float(weights[heaviest])!r}{beside}; "
        f"in units of the last decimal all of them are 2^53 at most: scale or round them"
    )


def as_written(number: float) -> Fraction:
    """What the decimal digits of a float say, to be reckoned with exactly."""
    return Fraction(repr(float(number)))


def written(number: Fraction, what: str = "numbers of the file") -> float:
    """The float whose decimal digits say the number, a sum or multiple of such; a ProblemError where there is none."""
    try:
        nearest = float(number)
    except OverflowError:
        nearest = 0.0
    if as_written(nearest) != number:
        raise ProblemError(f"{what} add up to what a float would round: scale or round them")
    return nearest
