"""What a system under test is: something that takes a problem, a limit and a seed to a trace and an assignment.

The last point of the trace is the solver's claim; the harness recounts the assignment independently and
counts the run only if the two agree.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp.model.problem import Problem


@dataclass(frozen=True)
class Limit:
    """When a run ends: at the first of these, or at a solution."""

    seconds: float
    steps: int | None = None
    """Search steps of each run, for systems that count them."""
    runs: int | None = None
    """Independent runs of one instance, the best of which counts; they share the seconds. None: as the system likes."""
    threads: int = 1


class Point(NamedTuple):
    """The best assignment so far got better."""

    step: int
    seconds: float
    violated_weight: float


@dataclass(frozen=True)
class BaselineResult:
    """What a run leaves. An exact solver that ran out of time may leave no assignment and an empty trace."""

    trace: list[Point]
    assignment: npt.NDArray[np.int32] | None
    """The domain position of every variable."""
    seconds: float
    steps: int = 0
    note: str = ""
    """What the number alone does not say: a proof, colours used, training time."""
    frames: list[list[int]] = field(default_factory=list)
    """Assignments after steps 0, 1, 2, …, where an experiment draws them."""


class Baseline(ABC):
    name: str
    """What tables, files and `--solvers` call it."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Modules it cannot run without."""

    def unavailable(self) -> str | None:
        """Why it cannot run here, as the report prints it; None when it can."""
        absent = [module for module in self.requires if not _importable(module)]
        return f"not installed ({', '.join(absent)})" if absent else None

    def version(self) -> str:
        """What makes an earlier result of the same name stale, such as other weights."""
        return ""

    def preparation_seconds(self, limit: Limit) -> float:
        """How long a run may take beside its limit, to train a network for instance."""
        return 0.0

    def frames(self, problem: Problem, seed: int, count: int) -> list[list[int]]:
        """The assignments after steps 0, 1, … of a run, for systems that can be watched."""
        return []

    @abstractmethod
    def supports(self, problem: Problem) -> bool:
        """Whether it can take the problem at all."""

    @abstractmethod
    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        """Search within the limit; only called where `supports` says yes."""


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package of a dotted name is absent
        return False
