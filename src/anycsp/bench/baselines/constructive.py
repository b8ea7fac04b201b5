"""What constructive colouring heuristics share: they always colour without conflict, in as many colours as it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anycsp.bench.baseline import BaselineResult, Point
from anycsp.model.problem import Problem


def colored(problem: Problem, colors: int, color: Sequence[int], seconds: float, steps: int = 0) -> BaselineResult:
    """A conflict-free colouring as an answer to the decision problem: one that needs more colours than there
    are is cut down to them, with the conflicts that makes, and its own number goes into the note."""
    used = max(color, default=-1) + 1
    positions = np.minimum(np.array(color, dtype=np.int32), colors - 1)
    violated = problem.violation_of_positions(positions).weight
    return BaselineResult(
        [Point(steps or len(color), seconds, violated)], positions, seconds, steps or len(color), f"{used} colours"
    )
