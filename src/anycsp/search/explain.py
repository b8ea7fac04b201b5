"""Why not? What stands in the way of an answer that violates nothing, in lines to read."""

from __future__ import annotations

import numpy as np

from anycsp.model.problem import Problem
from anycsp.model.violated import ViolatedConstraint
from anycsp.search.exact.core import unsatisfiable_core

MOST_LINES = 50
"""Constraints that are listed: the rest is counted."""


def conflict(problem: Problem, seconds: float = 10.0) -> list[str]:
    """Constraints that cannot hold together, a line each. Refused where OR-Tools, which finds them, is not installed or
    does not find them in time."""
    core = unsatisfiable_core(problem, seconds)
    count, least = len(core.constraints), " and none of them can be left out" if core.minimal else ""
    lines = [f"{count} of {problem.num_constraints} constraints cannot hold together{least}:"]
    for block in problem.blocks:
        for row in np.flatnonzero(np.isin(block.terms.index, core.constraints)).tolist():
            number = int(block.terms.index[row])
            called = f" {problem.constraint_names[number]!r}" if number in problem.constraint_names else ""
            names = ", ".join(problem.names[x] for x in block.scope_of(row).tolist())
            lines.append(f"constraint {number + 1}{called}: {block.kind} over {names}")
    return lines


def violations(violated: list[ViolatedConstraint]) -> list[str]:
    """One line per violated constraint: required ones first, then by falling weight."""
    if not violated:
        return ["nothing is violated"]
    required = sum(constraint.required for constraint in violated)
    soft = sum(constraint.weight for constraint in violated if not constraint.required)
    lines = [f"{required} required and {len(violated) - required} soft constraints violated, of weight {soft:g}"]
    lines += [str(constraint) for constraint in violated[:MOST_LINES]]
    if len(violated) > MOST_LINES:
        lines.append(f"… and {len(violated) - MOST_LINES} more")
    return lines
