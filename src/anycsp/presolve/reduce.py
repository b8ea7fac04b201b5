"""Presolve: search a smaller problem in place of the one asked for, and give back an answer to that one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from anycsp.deadline import NEVER, Deadline, OutOfTime
from anycsp.graph import compile_graph
from anycsp.model.problem import Problem
from anycsp.presolve.clique import clique_fixed
from anycsp.presolve.peel import peel
from anycsp.presolve.propagate import is_propagated, propagate

LARGEST_SHARE = 2 / 3
"""The share of the values that may be left once a clique's colours are fixed; where more are, they are not fixed. Up to
this share search is better for it on every kind of graph tried, beyond it now better, now worse
(research/training-log.md)."""


class Reduction(Protocol):
    """One step of presolve: a smaller problem, and the way back."""

    @property
    def problem(self) -> Problem:
        """What is left to search."""

    @property
    def seconds(self) -> float:
        """What `extended` will take, roughly."""

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Positions of what is left → of the problem before this step."""


@dataclass(frozen=True)
class Presolved:
    """All steps together; itself a reduction."""

    problem: Problem
    steps: Sequence[Reduction] = ()
    refuted_by: int | None = None
    """The constraint that propagation left without an assignment (−1: several together); None where it did not."""

    @property
    def seconds(self) -> float:
        """What `extended` will take, roughly."""
        return sum(step.seconds for step in self.steps)

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Positions of what is left → of all; violates the very constraints that they violate there."""
        for step in reversed(self.steps):
            positions = step.extended(positions)
        return positions.astype(np.int32)


def presolved(problem: Problem, deadline: Deadline = NEVER) -> Presolved:
    """What required constraints rule out goes first; then what can wait is set aside; where that leaves a clique of all
    colours, its colours are fixed, and more may wait. What the time does not suffice for is left as it is."""
    first = propagated(problem, deadline)
    if first.refuted_by is not None:
        return first
    peeled = peel(first.problem, deadline)
    fixed = clique_fixed(peeled.problem, deadline)
    if fixed is not None:
        rest = peel(fixed.problem, deadline)
        if _values(rest.problem) <= LARGEST_SHARE * _values(peeled.problem):
            return Presolved(rest.problem, [*first.steps, peeled, fixed, rest])
    return Presolved(peeled.problem, [*first.steps, peeled])


def propagated(problem: Problem, deadline: Deadline = NEVER) -> Presolved:
    """Propagation alone, where the problem is one that may be propagated, and in the share of the time it has."""
    if not is_propagated(problem):
        return Presolved(problem)
    try:
        found = propagate(problem, compile_graph(problem), deadline)
    except OutOfTime:
        return Presolved(problem)
    if found.reduction is None:
        return Presolved(problem, refuted_by=found.refuted_by)
    return Presolved(found.reduction.problem, [found.reduction])


def _values(problem: Problem) -> int:
    return int(problem.domains.sizes.sum())
