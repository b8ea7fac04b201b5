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
    status: str
    """"satisfied", "best-effort" or "interrupted"."""
    violated: int
    violated_weight: float
    hard_violated: int
    constraints: int
    objective: dict[str, Any] | None
    assignment: dict[str, Value]
    steps: int
    seconds: float
    best_step: int
    best_seconds: float
    runs: int
    seed: int
    model: str
    search: str
    found_by: str
    positions: npt.NDArray[np.int32] = field(repr=False)
    """The domain position of every variable."""
    trace: list[TracePoint] = field(repr=False)
    best_per_run: list[float] = field(repr=False)
    """The best score of every run: violated weight where no hard constraint is violated."""
    profile: Profile | None = field(default=None, repr=False)

    @property
    def steps_per_second(self) -> float:
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def satisfied(self) -> bool:
        return self.status == "satisfied"

    def to_json(self) -> dict[str, Any]:
        keys = (
            "status violated violated_weight hard_violated constraints objective assignment steps seconds best_step "
            "best_seconds steps_per_second runs seed model search found_by"
        )
        return {key: getattr(self, key) for key in keys.split()}


def objective_of(problem: Problem, violated_weight: float, positions: npt.NDArray[np.int32]) -> dict[str, Any] | None:
    """The user's own objective, e.g. {"kind": "cut", "value": 11624}."""
    if problem.objective is None:
        return None
    value = problem.objective.value(violated_weight, problem.values(positions))
    return {"kind": problem.objective.kind, "value": value}
