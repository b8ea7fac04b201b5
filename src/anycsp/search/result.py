"""Result: what a search returns, and the JSON contract of `anycsp solve --json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp.model.problem import Problem, Value
from anycsp.neural.profile import Profile


class TracePoint(NamedTuple):
    """The best assignment over all runs got better."""

    step: int
    seconds: float
    violated: int
    violated_weight: float
    hard_violated: int
    found_by: str


@dataclass(frozen=True)
class Result:
    """The best assignment that a search found, what it violates, and how it was found."""

    status: str
    """"satisfied", "unsatisfiable", "best-effort" or "interrupted"."""
    violated: int
    """How many constraints the assignment violates, hard ones included."""
    violated_weight: float
    """The sum of their weights."""
    hard_violated: int
    """How many of them are hard."""
    constraints: int
    """How many constraints the problem has."""
    objective: dict[str, Any] | None
    """The problem's own objective, such as `{"kind": "cut", "value": 11624}`; None also where it is undefined."""
    assignment: dict[str, Value]
    """The value or label of every variable by its name, without auxiliary variables."""
    steps: int
    """Steps taken by the run that took the most."""
    seconds: float
    """How long the search took."""
    best_step: int
    """The step at which the assignment was found."""
    best_seconds: float
    """When the assignment was found, in seconds since the search began."""
    runs: int
    """How many independent runs there were."""
    seed: int
    """The seed of all random numbers."""
    model: str
    """The name of the model, or "none"."""
    search: str
    """The search that was used: "local", "neural" or "hybrid"."""
    found_by: str
    """Which part of the search found the assignment, such as "initial" or "network"."""
    positions: npt.NDArray[np.int32] = field(repr=False)
    """The domain position of every variable."""
    trace: list[TracePoint] = field(repr=False)
    """Every improvement of the best, in order."""
    best_per_run: list[float] = field(repr=False)
    """The best score of every run: violated weight where no hard constraint is violated."""
    refuted_by: int | None = field(default=None, repr=False)
    """Where propagation proves that nothing satisfies all that is required: the number, from 0, of the constraint that
    was left without an assignment; −1 where several were together."""
    profile: Profile | None = field(default=None, repr=False)
    """Where the time of a neural search went, if that was asked for."""

    @property
    def steps_per_second(self) -> float:
        """Steps of the longest run divided by the seconds of the search."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def satisfied(self) -> bool:
        """Whether nothing is violated."""
        return self.status == "satisfied"

    def to_json(self) -> dict[str, Any]:
        """The object that `anycsp solve --json` prints."""
        keys = (
            "status violated violated_weight hard_violated constraints objective assignment steps seconds best_step "
            "best_seconds steps_per_second runs seed model search found_by"
        )
        return {key: getattr(self, key) for key in keys.split()}


def objective_of(problem: Problem, violated_weight: float, positions: npt.NDArray[np.int32]) -> dict[str, Any] | None:
    """The user's own objective, e.g. {"kind": "cut", "value": 11624}; None where it is undefined."""
    if problem.objective is None:
        return None
    value = problem.objective.value(violated_weight, problem.values(positions))
    return None if value is None else {"kind": problem.objective.kind, "value": value}
