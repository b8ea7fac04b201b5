"""Imitation of compiled search: from where a policy's searches stand, the solutions that local search finds are what it
should have drawn.

The reward of a window is felt step by step, and says little where only a whole new order helps: two colours on a grid
settle into domains whose walls no single move removes. A solution near by tells every variable at once where to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from anycsp.graph import compile_graph
from anycsp.model.problem import Problem
from anycsp.neural.guidance import UNGUIDED, Guidance
from anycsp.neural.operations import Operations
from anycsp.neural.policy import TORCH, PolicyNetwork
from anycsp.search.local import LocalSearch
from anycsp.training.rollout import Sampler
from anycsp.training.walk import Batch, SearchState, Walk

STRATEGY = "tabu"
"""It descends from where it stands, so that what it finds is near; annealing would melt that first."""
MOVES = 50_000
"""Moves of compiled search from each assignment: a fraction of the time that a window of the policy takes."""
LEAST = 1e-5
"""Added to probabilities inside the logarithm: a policy that is sure of something else feels a bounded pull."""


class Imitation(NamedTuple):
    """A window in which a policy was compared with solutions near by."""

    surprise: Tensor
    """Mean of −log φ(solution) over steps, runs and variables that have one; differentiable in the policy."""
    known: int
    """How many runs' variables have one."""
    cost: Tensor
    """[runs, instances] violated weight at the end."""


def nearby_solutions(
    problem: Problem, positions: npt.NDArray[np.int64], seed: int, moves: int = MOVES
) -> npt.NDArray[np.int32]:
    """[runs, variables]: a solution for each assignment, where −1 stands for none found. With two values a solution
    whose every value is exchanged may be one too, and then the nearer of both is taken."""
    graph = compile_graph([problem], of_one_kind=True)
    search = LocalSearch(graph, STRATEGY, len(positions), seed)
    found = search.burst(positions, moves)
    solved = search.best_score()[:, 0] <= graph.constant[0, 3]
    if bool((graph.domains.sizes == 2).all()):
        far = (found != positions).sum(axis=1) * 2 > problem.num_variables
        exchanged = far & solved & [problem.violation_of_positions(1 - run).violated == 0 for run in found]
        found = np.where(exchanged[:, None], 1 - found, found)
    return np.where(solved[:, None], found, -1).astype(np.int32)


def imitate(
    policy: PolicyNetwork,
    problems: Sequence[Problem],
    batch: Batch,
    start: SearchState,
    steps: int,
    sample: Sampler,
    seed: int,
    temperature: Tensor | None = None,
    ops: Operations = TORCH,
    guidance: Guidance = UNGUIDED,
) -> tuple[Imitation, SearchState]:
    """The policy leads for `steps` steps, and each says how likely it finds the solutions near where the window began;
    `problems` are those of the batch."""
    graph = batch.graph
    ops = ops.prepared(policy)
    walk = Walk(batch, start, ops, temperature, guidance)
    state = walk.recurrent(start.state, policy.initial_state)
    target = graph.tensor(_targets(problems, start.positions.cpu().numpy(), seed)).to(torch.int64)
    known = target >= 0
    target = target.clamp(min=0)
    total = state.new_zeros(())
    for step in range(steps):
        logits, state = policy(graph, state, walk.positions, walk.labels, ops)
        chosen = ops.choice(graph, logits, target, LEAST, False, None).log_probability
        total = total - (chosen * known).sum() / known.sum().clamp(min=1)
        walk.step(sample(walk.drawn_from(logits.detach()), walk.positions, step))
    return Imitation(total / steps, int(known.sum()), walk.cost), walk.end(state)


def _targets(problems: Sequence[Problem], positions: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int32]:
    ends = np.cumsum([problem.num_variables for problem in problems])[:-1]
    parts = np.split(positions, ends, axis=1)
    return np.concatenate(
        [
            nearby_solutions(problem, part, seed + i)
            for i, (problem, part) in enumerate(zip(problems, parts, strict=True))
        ],
        axis=1,
    )
