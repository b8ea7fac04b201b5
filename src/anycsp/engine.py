"""What every search engine offers: start somewhere, advance a while, say what got better.

Neural (native or PyTorch), local and hybrid engines share this face, so one driver serves them all and they can
be interleaved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

WORST = 2**63 - 1
"""A score that every assignment beats."""


class Improvement(NamedTuple):
    """A run found an assignment better than all it had seen."""

    step: int
    seconds: float
    run: int
    instance: int
    violated: int
    weight: float
    hard: int
    score: int
    found_by: str
    """"initial", "network", "tree", "exact", or the local strategy."""


class Engine(Protocol):
    """R runs of one graph. Arrays are [runs, instances] or [runs, variables]."""

    @property
    def steps(self) -> int:
        """Steps taken so far, by the run that took the most."""

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        """Begin at the given assignments ([runs, variables] domain positions), or at random ones."""

    def advance(self, max_steps: int, seconds: float) -> int:
        """Take up to `max_steps` steps in about `seconds`; return how many were taken. With one instance,
        returns early once a run violates nothing."""

    @property
    def concluded(self) -> bool:
        """Nothing better can be found by going on: all is satisfied, nothing can move, or nothing is left."""

    @property
    def refuted(self) -> bool:
        """It is proved that no assignment satisfies all that is required."""

    def improvements(self) -> list[Improvement]:
        """What got better since the last call."""

    def best_score(self) -> npt.NDArray[np.int64]:
        """[runs, instances]"""

    def best_positions(self) -> npt.NDArray[np.int32]:
        """[runs, variables]: for every instance the best assignment the run has seen."""


class Incomplete:
    """An engine that proves nothing, and goes on for as long as it is asked to."""

    @property
    def concluded(self) -> bool:
        return False

    @property
    def refuted(self) -> bool:
        return False


class OneBest:
    """An engine of one instance that keeps one best assignment, whoever found it."""

    _improvements: list[Improvement]
    _score: int
    _positions: npt.NDArray[np.int32]

    def improvements(self) -> list[Improvement]:
        found, self._improvements = self._improvements, []
        return found

    def best_score(self) -> npt.NDArray[np.int64]:
        return np.array([[self._score]], dtype=np.int64)

    def best_positions(self) -> npt.NDArray[np.int32]:
        rows: npt.NDArray[np.int32] = self._positions[None, :]
        return rows


@runtime_checkable
class ProvingEngine(Engine, Protocol):
    """One that knows how good an assignment can be at all. It may hold threads, so it is closed when it is done."""

    @property
    def proved(self) -> bool:
        """Nothing is better than the best assignment."""

    @property
    def bound(self) -> float | None:
        """What no assignment is better than, in the problem's own objective or else in violated weight."""

    @property
    def value(self) -> int | None:
        """What the best assignment comes to in the problem's own objective, where it violates nothing."""

    def close(self) -> None:
        """End what still runs."""


class NeuralEngine(Engine, Protocol):
    """A network's engine, which says where it is between two steps."""

    @property
    def positions(self) -> npt.NDArray[np.integer[Any]]:
        """[runs, variables]: where the runs are now."""


class TemperedEngine(NeuralEngine, Protocol):
    """One whose temperature can change while it searches."""

    def set_temperature(self, temperature: npt.NDArray[np.floating[Any]]) -> None:
        """[runs]: the softmax's temperature from the next step on."""

    def restart(self, runs: Sequence[int]) -> None:
        """These go on from random assignments, with nothing remembered."""
