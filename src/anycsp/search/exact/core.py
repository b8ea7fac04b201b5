"""Why not? A minimal set of constraints that cannot hold together.

CP-SAT names assumptions that suffice for its proof; then one constraint after another is left out, and stays out where
the rest cannot hold without it either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anycsp.deadline import Deadline
from anycsp.errors import AnyCSPError
from anycsp.model.problem import Problem
from anycsp.search.exact.model import Literal, cp_model
from anycsp.search.exact.translation import Translation, assumed, refuted_together


@dataclass(frozen=True)
class Core:
    """Constraints that cannot hold together."""

    constraints: list[int]
    """Their numbers, in the order they were added, from 0."""
    minimal: bool
    """Whether any of them left out lets the others hold: so unless the time was over before."""


def unsatisfiable_core(problem: Problem, seconds: float = 10.0) -> Core:
    """The core of a problem that nothing satisfies; an AnyCSPError where that is not so, or not proved in time."""
    deadline = Deadline.after(seconds)
    translation, literals = assumed(problem)
    numbers = np.flatnonzero(refuted_together(problem)).tolist()
    known = _refutation(translation, literals, range(len(literals)), deadline)
    if known is None:
        raise AnyCSPError("nothing to explain: it is not proved within the time that the constraints cannot all hold")
    kept: list[int] = []
    open_ = sorted(known)
    while open_ and not deadline.passed:
        tried = open_.pop()
        smaller = _refutation(translation, literals, [*kept, *open_], deadline)
        if smaller is None:
            kept.append(tried)
        else:
            open_ = [i for i in open_ if i in smaller]
    minimal = not open_ and not deadline.passed
    return Core(sorted(numbers[i] for i in [*kept, *open_]), minimal)


def _refutation(
    translation: Translation, literals: Sequence[Literal], chosen: Sequence[int], deadline: Deadline
) -> set[int] | None:
    """Some of the chosen constraints that cannot hold together; None where none are found in time."""
    cp = cp_model()
    model = translation.model
    model.clear_assumptions()
    model.add_assumptions([literals[i] for i in chosen])
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = max(0.01, deadline.left)
    if solver.solve(model) != cp.INFEASIBLE:
        return None
    sufficient = set(solver.sufficient_assumptions_for_infeasibility())
    return {i for i in chosen if literals[i].index in sufficient}
