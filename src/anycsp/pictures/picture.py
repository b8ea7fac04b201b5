"""What every picture offers, and what they share: which constraints an assignment violates, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block
from anycsp.model.problem import Problem

Positions = npt.NDArray[np.integer[Any]]
Frame = dict[str, Any]
"""A picture at one assignment, as plain data; `says` is the same in words, for those who do not see it. Where a network
searches, `soft` is the frame of what it leans to, with how `sure` it is of every variable, in percent."""

LARGEST_NODES = 2000
"""Things in a picture; more are no longer told apart, and a heat map is shown."""
LARGEST_LINKS = 20_000
"""Lines between them: more are one grey area, and take longer to draw than there is between two frames."""


class Picture(Protocol):
    kind: str
    """Which of the drawings it is: "graph", "board", "schedule", "route" or "heat"."""

    def describe(self) -> dict[str, Any]:
        """What stays the same from frame to frame, as plain data."""

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        """The picture at an assignment."""


def violated(problem: Problem, positions: Positions) -> Iterator[tuple[Block, list[int]]]:
    """The rows of every block that do not hold."""
    for block in problem.blocks:
        yield block, np.flatnonzero(~block.satisfied(problem.domains, positions)).tolist()


def asked_variables(problem: Problem) -> int:
    """How many variables come before the first auxiliary one; pictures show no others."""
    return min(problem.definitions, default=problem.num_variables)
