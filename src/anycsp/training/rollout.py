"""A window of the search with gradients on: the policy draws assignments, everything the loss needs is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from anycsp.neural.guidance import UNGUIDED, Guidance
from anycsp.neural.operations import Operations
from anycsp.neural.policy import TORCH, PolicyNetwork
from anycsp.training.local_moves import choice_of_move
from anycsp.training.walk import Batch, SearchState, Walk

Sampler = Callable[[Tensor, Tensor, int], Tensor]
"""(logits [runs, values], positions so far, step of the window) → positions [runs, variables]."""


@dataclass
class Window:
    """Lists over the steps of a window; tensors are [runs, draws] with gradient, [runs, instances] without. A draw is
    that of a variable's value, or under local sampling that of an instance's move."""

    draw_instance: Tensor
    """[draws]: whose each one is."""
    log_probability: list[Tensor]
    """log(φ(α(X)) + ε)"""
    entropy: list[Tensor]
    """The entropy of each draw's distribution; empty unless asked for."""
    expected_reward: list[Tensor]
    """Σ_v φ(v) · reward if X alone had drawn v; empty unless asked for."""
    cost: list[Tensor]
    best_before: list[Tensor]
    """Lowest cost before the step, in constraint weight like `cost`."""


MoveReward = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(cost of moves, best before, initial), each [runs, values] → immediate reward."""


def rollout(
    policy: PolicyNetwork,
    batch: Batch,
    start: SearchState,
    steps: int,
    sample: Sampler,
    epsilon: float,
    entropy: bool = False,
    move_reward: MoveReward | None = None,
    temperature: Tensor | None = None,
    ops: Operations = TORCH,
    guidance: Guidance = UNGUIDED,
    graded: bool = False,
) -> tuple[Window, SearchState]:
    """Algorithm 1 for `steps` steps; the returned state is detached and can be continued from. `temperature`
    [instances] divides the logits: φ is the distribution that is drawn from. `guidance` is part
    of φ too. `graded`: costs say how far constraints are from satisfied."""
    graph = batch.graph
    ops = ops.prepared(policy)
    walk = Walk(batch, start, ops, temperature, guidance, graded)
    state = walk.recurrent(start.state, policy.initial_state)
    value_instance = graph.value_instance
    local = policy.config.sampling == "local"
    draw_instance = torch.arange(graph.instances, device=graph.device) if local else graph.variable_instance
    window = Window(draw_instance, [], [], [], [], [])
    for step in range(steps):
        logits, state = policy(graph, state, walk.positions, walk.labels, ops)
        logits = walk.drawn_from(logits)
        before, best_before = walk.positions, walk.best
        # An instance that makes one move could have made any other from where it was; variables that all draw could
        # each have drawn another value, the others as they drew.
        moves = walk.cost_of_moves() if local and move_reward is not None else None
        drawn = sample(logits.detach(), walk.positions, step)
        walk.step(drawn)
        reward = None
        if move_reward is not None:
            reward = move_reward(
                walk.cost_of_moves() if moves is None else moves,
                best_before.index_select(1, value_instance),
                walk.initial.index_select(1, value_instance),
            )
        if local:
            choice = choice_of_move(graph, logits, before, drawn, epsilon, entropy, reward)
        else:
            choice = ops.choice(graph, logits, drawn, epsilon, entropy, reward)
        window.log_probability.append(choice.log_probability)
        if choice.entropy is not None:
            window.entropy.append(choice.entropy)
        if choice.expected_reward is not None:
            window.expected_reward.append(choice.expected_reward)
        window.cost.append(walk.cost)
        window.best_before.append(best_before)
    return window, walk.end(state)
