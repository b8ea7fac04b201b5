"""Presolve: search a smaller problem in place of the one asked for, and give back an answer to that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.problem import Problem
from anycsp.presolve.clique import CliqueFixed, clique_fixed
from anycsp.presolve.peel import Core, core_of


@dataclass(frozen=True)
class Presolved:
    problem: Problem
    """What is left to search."""
    steps: list[Core | CliqueFixed]

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Positions of what is left → of all; violates the very constraints that they violate there."""
        for step in reversed(self.steps):
            positions = step.extended(positions)
        return positions.astype(np.int32)


LARGEST_SHARE = 2 / 3
"""Of the values, may be left once a clique's colours are fixed, or else they are not. Where no more is left, search is
better for it on every kind of graph tried; where more is, now better, now worse (research/training-log.md)."""


def presolved(problem: Problem, wanted: bool = True) -> Presolved:
    """What waits is set aside; where that leaves a clique of all colours, its colours are fixed, and more may wait."""
    if not wanted:
        return Presolved(problem, [])
    core = core_of(problem)
    fixed = clique_fixed(core.problem)
    if fixed is not None:
        rest = core_of(fixed.problem)
        if _values(rest.problem) <= LARGEST_SHARE * _values(core.problem):
            return Presolved(rest.problem, [core, fixed, rest])
    return Presolved(core.problem, [core])


def _values(problem: Problem) -> int:
    return int(problem.domains.sizes.sum())
