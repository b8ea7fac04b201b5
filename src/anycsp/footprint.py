"""How much memory a search of a problem will take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anycsp.errors import TooLargeError
from anycsp.memory import available_bytes, shown_size
from anycsp.model.problem import Problem

BYTES_PER_EDGE = 64
"""Index tensors of the search in PyTorch: slot, value, constraint, two incidence orders, the column of a step."""


def count_edges(problem: Problem) -> int:
    """Constraint edges of the constraint value graph: Σ over constraints and their variables of the domain size."""
    sizes = problem.domain_sizes
    return int(sum(int(sizes[block.scope].sum()) for block in problem.blocks))


def estimate_bytes(problem: Problem, runs: int = 1, hidden: int = 32) -> int:
    """A generous estimate of what a search holds: edges once, states and messages for every run."""
    values, constraints = int(problem.domain_sizes.sum()), problem.num_constraints
    floats = runs * hidden * (10 * values + 3 * constraints)
    return count_edges(problem) * (BYTES_PER_EDGE + 9 * runs) + 4 * floats


def fitting_runs(problem: Problem, runs: int, hidden: int = 32) -> int:
    """How many of the runs fit into memory at once, by the estimate."""
    fixed, one = estimate_bytes(problem, 0, hidden), estimate_bytes(problem, 1, hidden)
    return max(0, min(runs, (available_bytes() - fixed) // max(1, one - fixed)))


def check_memory(problems: Sequence[Problem], limit: int | None = None, runs: int = 1, hidden: int = 32) -> None:
    """Refuse, with the estimate and the limit, what would not fit."""
    needed = sum(estimate_bytes(p, runs, hidden) for p in problems)
    bound = available_bytes() if limit is None else limit
    if needed > bound:
        edges = int(np.sum([count_edges(p) for p in problems]))
        raise TooLargeError(
            f"the constraint value graph has {edges:,} edges: about {shown_size(needed)} of memory for "
            f"{runs} run{'s' if runs > 1 else ''}, more than the limit of {shown_size(bound)}"
        )
