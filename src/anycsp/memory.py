"""How much memory a problem will take, asked before it is taken."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from anycsp.errors import TooLargeError

if TYPE_CHECKING:
    from anycsp.model.problem import Problem

BYTES_PER_EDGE = 64
"""Index tensors of the search in PyTorch: slot, value, constraint, two incidence orders, the column of a step."""

BYTES_PER_VALUE = 4 * 10 * 32
"""States and messages of one value in one run of a model of hidden size 32."""


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


def available_bytes() -> int:
    """Memory that can be used without swapping."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 1 << 33


def check_bytes(needed: int, what: str) -> None:
    """Refuse, before it is asked of the system, what the machine cannot hold."""
    bound = available_bytes()
    if needed > bound:
        raise TooLargeError(
            f"{what}: at least {needed / 2**30:.1f} GiB, more than the {bound / 2**30:.1f} GiB there are"
        )


def check_memory(problems: Sequence[Problem], limit: int | None = None, runs: int = 1, hidden: int = 32) -> None:
    """Refuse, with the estimate and the limit, what would not fit."""
    needed = sum(estimate_bytes(p, runs, hidden) for p in problems)
    bound = available_bytes() if limit is None else limit
    if needed > bound:
        edges = int(np.sum([count_edges(p) for p in problems]))
        raise TooLargeError(
            f"the constraint value graph has {edges:,} edges: about {needed / 2**30:.1f} GiB, "
            f"more than the limit of {bound / 2**30:.1f} GiB"
        )
