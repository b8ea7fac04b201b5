"""Result: what a search returns, and the JSON contract of `anycsp solve --json`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp import html
from anycsp.errors import AnyCSPError, ProblemError
from anycsp.model.expressions import Operation, scope_of, shown
from anycsp.model.problem import Problem
from anycsp.model.program import evaluate
from anycsp.model.variables import Value
from anycsp.model.violated import ViolatedConstraint, violated_constraints
from anycsp.neural.profile import Profile
from anycsp.search.explain import conflict, violations

SATISFIED, OPTIMAL, UNSATISFIABLE = "satisfied", "optimal", "unsatisfiable"
BEST_EFFORT, INTERRUPTED = "best-effort", "interrupted"
"""What `Result.status` can be. Only a proof is called "optimal" or "unsatisfiable"."""


class Answer:
    """An assignment that can be asked: `answer[x]` is the value of a variable, of each of an array, or of an
    expression."""

    problem: Problem | None
    positions: npt.NDArray[np.int32]

    def __getitem__(self, what: Any) -> Any:
        return self.value(what)

    def value(self, what: Any) -> Any:
        """The value or label of a variable, given by handle or name; the integer that an expression comes to. A list
        gives a list, an array an array of its shape."""
        if isinstance(what, np.ndarray):
            values = np.empty(what.shape, dtype=object)
            for at in np.ndindex(*what.shape):
                values[at] = self.value(what[at])
            whole = all(isinstance(value, int) for value in values.flat)
            return values.astype(np.int64) if whole else values
        if isinstance(what, (list, tuple)):
            return [self.value(item) for item in what]
        if self.problem is None:
            raise ProblemError("this answer belongs to no problem")
        if isinstance(what, Operation):
            self.problem.check_own(what)
            self._check_known(scope_of(what))
            positions = np.zeros(self.problem.num_variables, dtype=np.int32)
            positions[: len(self.positions)] = self.positions  # of variables added since nothing is asked
            value, undefined = evaluate(what, self.problem.values(positions))
            if undefined:
                raise ProblemError(f"{shown(what)} is undefined at this assignment")
            return int(value)
        index = self.problem.index(what)
        self._check_known([index])
        return self.problem.domain(index).external(int(self.positions[index]))

    def _check_known(self, variables: Iterable[int]) -> None:
        for x in variables:
            if x >= len(self.positions):
                assert self.problem is not None
                raise ProblemError(
                    f"variable {self.problem.names[x]!r} was added after this answer was found: solve again"
                )


class TracePoint(NamedTuple):
    """The best assignment over all runs got better."""

    step: int
    seconds: float
    violated: int
    violated_weight: float
    hard_violated: int
    found_by: str
    objective: float | None = None
    """The problem's own objective, where it has one and all that must hold does."""
    bound: float | None = None
    """What no assignment is better than, as far as exact search knew then."""


@dataclass(frozen=True)
class Result(Answer):
    """The best assignment that a search found, what it violates, and how it was found."""

    status: str
    """"satisfied", "optimal", "unsatisfiable", "best-effort" or "interrupted"."""
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
    """The search that was used: "auto", "local", "neural", "hybrid" or "exact"."""
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
    problem: Problem | None = field(default=None, repr=False, compare=False)
    """What was solved."""
    solutions: list[Result] = field(default_factory=list, repr=False)
    """With `solve(…, solutions=k)`: the k best different assignments that were found, this one first."""

    assigned: dict[str, Value] | None = field(default=None, repr=False, compare=False)
    """The assignment, where a result travels without its problem."""

    @cached_property
    def assignment(self) -> dict[str, Value]:
        """The value or label of every variable by its name, without auxiliary variables."""
        if self.assigned is not None:
            return self.assigned
        if self.problem is None:
            raise ProblemError("this answer belongs to no problem")
        positions = np.zeros(self.problem.num_variables, dtype=np.int32)
        positions[: len(self.positions)] = self.positions
        assigned = self.problem.assignment(positions)
        for name in self.problem.names[len(self.positions) :]:  # added since
            assigned.pop(name, None)
        return assigned

    @property
    def steps_per_second(self) -> float:
        """Steps of the longest run divided by the seconds of the search."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def satisfied(self) -> bool:
        """Whether nothing is violated."""
        return self.status == "satisfied" or (self.status == "optimal" and self.violated == 0)

    @property
    def violated_constraints(self) -> list[ViolatedConstraint]:
        """What does not hold, required constraints first, then by falling weight. Of what was added to the problem
        since, nothing is said."""
        return [] if self.problem is None else violated_constraints(self.problem, self.positions, self.constraints)

    def explain(self) -> list[str]:
        """Why not everything holds, in lines to read: constraints that cannot hold together, where it is proved that
        there are some; otherwise, and where they cannot be found, what is violated, with values."""
        missing = []
        if self.status == "unsatisfiable" and self.problem is not None:
            try:
                return conflict(self.problem)
            except AnyCSPError as error:
                missing = [f"no set of constraints that cannot hold together: {error}"]
        return missing + violations(self.violated_constraints)

    def _repr_html_(self) -> str:
        """What a notebook shows: how it ended, the curve of the violated weight, and what is left."""
        rows: dict[str, object] = {
            "status": self.status,
            "violated": f"{self.violated:,} of {self.constraints:,} (weight {self.violated_weight:g})",
            "objective": "none" if self.objective is None else f"{self.objective['kind']} {self.objective['value']}",
            "search": f"{self.search}, found by {self.found_by} after {self.best_seconds:.2f} of {self.seconds:.2f} s",
        }
        rows |= {f"violated {c.number}": str(c) for c in self.violated_constraints[:5]}
        points = [(point.seconds, point.violated_weight) for point in self.trace]
        return html.table("Result", rows) + html.curve(points, self.seconds, "violated weight")

    def to_json(self) -> dict[str, Any]:
        """The object that `anycsp solve --json` prints."""
        keys = (
            "status violated violated_weight hard_violated constraints objective assignment steps seconds best_step "
            "best_seconds steps_per_second runs seed model search found_by"
        )
        described = {key: getattr(self, key) for key in keys.split()}
        if self.solutions:
            own = ("status", "violated", "violated_weight", "hard_violated", "objective", "assignment")
            described["solutions"] = [{key: getattr(one, key) for key in own} for one in self.solutions]
        return described


def with_objective(problem: Problem, point: TracePoint) -> TracePoint:
    """The point with the objective, where that is the violated weight in other words; an expression's value is known to
    those who search for it only."""
    asked = problem.objective
    if asked is None or not asked.is_violated_weight or point.hard_violated:
        return point
    return point._replace(objective=asked.of_weight(point.violated_weight))


def objective_of(problem: Problem, violated_weight: float, positions: npt.NDArray[np.int32]) -> dict[str, Any] | None:
    """The user's own objective, e.g. {"kind": "cut", "value": 11624}; None where it is undefined. Of goals in order of
    priority, `values` has each, and `value` is the one number that orders them."""
    if problem.objective is None:
        return None
    values = problem.values(positions)
    value = problem.objective.value(violated_weight, values)
    if value is None:
        return None
    several = {"values": problem.objective.values(values)} if problem.objective.goals else {}
    return {"kind": problem.objective.kind, "value": value, **several}
