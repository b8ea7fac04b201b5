"""Presolve: search a smaller problem in place of the one asked for, and give back an answer to that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.problem import Problem
from anycsp.search.clique import CliqueFixed, clique_fixed
from anycsp.search.core import Core, core_of


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


def presolved(problem: Problem, wanted: bool = True) -> Presolved:
    """What waits is set aside; where that leaves a clique of all colours, its colours are fixed, and more may wait."""
    steps: list[Core | CliqueFixed] = []
    if wanted:
        steps.append(core_of(problem))
        if (fixed := clique_fixed(steps[-1].problem)) is not None:
            steps += [fixed, core_of(fixed.problem)]
    return Presolved(steps[-1].problem if steps else problem, steps)
