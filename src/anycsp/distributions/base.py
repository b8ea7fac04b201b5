"""What a distribution is: something that draws problems, and says how its validation instances differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anycsp.model.problem import Problem

IntArray = npt.NDArray[np.int64]
Size = int | Sequence[int]
"""A fixed number, or an inclusive range [low, high] to draw from uniformly."""


class Distribution(ABC):
    """A family of instances; the same generator state always draws the same problem."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Problem:
        """One instance."""

    def sample(self, seed: int, count: int) -> list[Problem]:
        """Instances 0 … count − 1 of the sequence a seed names; fewer where there are no more."""
        return [self.draw(np.random.default_rng([seed, index])) for index in range(count)]

    def validation(self) -> Distribution:
        """The distribution models are chosen on; larger instances than those of training, where the paper says so."""
        return self


def draw_size(rng: np.random.Generator, size: Size) -> int:
    if isinstance(size, int):
        return size
    low, high = size
    return int(rng.integers(low, high, endpoint=True))


def draw_between(rng: np.random.Generator, bounds: Sequence[float]) -> float:
    low, high = bounds
    return float(rng.uniform(low, high))


def distinct_rows(rng: np.random.Generator, rows: int, width: int, below: int) -> IntArray:
    """[rows, width] uniform integers below a bound, no value twice in a row (rows with repeats are drawn anew)."""
    result = rng.integers(below, size=(rows, width))
    while True:
        ordered = np.sort(result, axis=1)
        repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(repeated) == 0:
            return result
        result[repeated] = rng.integers(below, size=(len(repeated), width))
