"""Imitation of compiled search: from where a policy's searches stand, the solutions that local search finds are what it
should have drawn.

The reward of a window is felt step by step, and says little where only a whole new order helps: two colours on a grid
settle into domains whose walls no single move removes. A solution tells every variable at once where to go. Where
values can be exchanged it has several forms, and which of them to go for is the policy's own choice: the loss is that
of all forms together, −log Σ_forms Π_X φ(form(X)), whose gradient is that of the form it finds likeliest. Asked for one
of them it could only guess, and would learn to be unsure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
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


MOST_FORMS = 24
"""Exchanges of values that are tried on a solution: all those of four values. Each costs a look at every draw."""


class Imitation(NamedTuple):
    """A window in which a policy was compared with solutions near by."""

    surprise: Tensor
    """Mean of −log Σ φ(solution) per variable over steps, runs and instances that have one, later steps counting more;
    differentiable in the policy."""
    known: int
    """How many searches have one."""
    cost: Tensor
    """[runs, instances] violated weight at the end."""


def nearby_solutions(
    problem: Problem, positions: npt.NDArray[np.int64], seed: int, moves: int = MOVES
) -> npt.NDArray[np.int32]:
    """[runs, variables]: a solution for each assignment, where −1 stands for none found."""
    graph = compile_graph([problem], of_one_kind=True)
    search = LocalSearch(graph, STRATEGY, len(positions), seed)
    found = search.burst(positions, moves)
    solved = search.best_score()[:, 0] <= graph.constant[0, 3]
    return np.where(solved[:, None], found, -1).astype(np.int32)


def forms(problem: Problem, solution: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """[forms, variables]: the solution, and what exchanging values makes of it, where that is a solution too. Only
    problems whose variables all have the same few values have other forms."""
    sizes = set(problem.domain_sizes.tolist())
    values = min(sizes, default=1)
    if len(sizes) > 1 or math.factorial(min(values, MOST_FORMS)) > MOST_FORMS:
        return solution[None]
    exchanged = np.array(list(permutations(range(values))), dtype=np.int32)[:, solution]
    return exchanged[[problem.violation_of_positions(form).violated == 0 for form in exchanged]]


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
    target, exists = (part.to(state.device) for part in _targets(problems, start.positions.cpu().numpy(), seed))
    variables = torch.bincount(graph.variable_instance, minlength=graph.instances)
    known = exists.any(dim=0)
    absent = torch.zeros_like(exists, dtype=state.dtype).masked_fill(~exists, -torch.inf)
    absent = absent.masked_fill(~known, 0.0)  # of a search without solution no form counts, but its sum is to be finite
    total = state.new_zeros(())
    for step in range(steps):
        logits, state = policy(graph, state, walk.positions, walk.labels, ops)
        of_forms = []
        for form, missing in zip(target, absent, strict=True):
            chosen = ops.choice(graph, logits, form, LEAST, False, None).log_probability
            likelihood = chosen.new_zeros(known.shape).index_add(1, graph.variable_instance, chosen)
            of_forms.append(likelihood + missing)
        surprise = -torch.logsumexp(torch.stack(of_forms), dim=0) / variables
        # What the first steps draw is a start for the others: they cannot know yet.
        importance = 2 * (step + 1) / (steps + 1)
        total = total + importance * (surprise * known).sum() / known.sum().clamp(min=1)
        walk.step(sample(walk.drawn_from(logits.detach()), walk.positions, step))
    return Imitation(total / steps, int(known.sum()), walk.cost), walk.end(state)


def _targets(problems: Sequence[Problem], positions: npt.NDArray[np.int64], seed: int) -> tuple[Tensor, Tensor]:
    """[forms, runs, variables] positions, and [forms, runs, instances] which of them are solutions."""
    runs, ends = len(positions), np.cumsum([problem.num_variables for problem in problems])[:-1]
    found = []
    for i, (problem, part) in enumerate(zip(problems, np.split(positions, ends, axis=1), strict=True)):
        solutions = nearby_solutions(problem, part, seed + i)
        found.append([forms(problem, s) if s.min(initial=0) >= 0 else s[None, :][:0] for s in solutions])
    most = max((len(of_run) for of_problem in found for of_run in of_problem), default=0) or 1
    target = np.zeros((most, *positions.shape), dtype=np.int64)
    exists = np.zeros((most, runs, len(problems)), dtype=bool)
    for i, (columns, of_problem) in enumerate(zip(np.split(np.arange(positions.shape[1]), ends), found, strict=True)):
        for run, of_run in enumerate(of_problem):
            target[: len(of_run), run, columns] = of_run
            exists[: len(of_run), run, i] = True
    return torch.from_numpy(target), torch.from_numpy(exists)
