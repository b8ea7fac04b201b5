"""Polish in the loop: what a short burst of compiled search makes of the policy's draws.

The instances of a batch share no variable, so annealing them as one problem is annealing each, with the same number of
proposals for every value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from anycsp.graph import ConstraintValueGraph
from anycsp.search.local import LocalSearch

Polish = Callable[[Tensor], Tensor]
"""Positions [runs, variables] → positions."""

HOT, COLD = 0.3, 0.1
"""Temperatures, in mean weights of a constraint: a loss of one constraint is accepted once in 28 at first."""


def polisher(graph: ConstraintValueGraph, runs: int, proposals: int, seed: int) -> Polish:
    """`proposals` of annealing for every value, cold from the start, so that it settles where the draw pointed."""
    whole = replace(
        graph,
        instances=1,
        variable_instance=np.zeros_like(graph.variable_instance),
        constraint_instance=np.zeros_like(graph.constraint_instance),
        constant=graph.constant.sum(axis=0, keepdims=True),
    )
    weight = float(graph.terms.weight.mean()) if len(graph.terms.weight) else 1.0
    threads = torch.get_num_threads()
    search = LocalSearch(whole, "annealing", runs, seed, threads, hot=HOT * weight, cold=COLD * weight)

    def polish(positions: Tensor) -> Tensor:
        return torch.from_numpy(search.burst(positions.numpy(), proposals * graph.num_values)).to(positions.dtype)

    return polish
