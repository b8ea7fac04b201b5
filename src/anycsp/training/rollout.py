"""A window of the search with gradients on: the policy draws assignments, everything the loss needs is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from anycsp.graph import ConstraintValueGraph
from anycsp.guidance import UNGUIDED, Guidance, guided, updated
from anycsp.operations import TWIN, Operations
from anycsp.policy import PolicyNetwork
from anycsp.training.local_moves import choice_of_move
from anycsp.training.polish import Polish

Sampler = Callable[[Tensor, Tensor, int], Tensor]
"""(logits [runs, values], positions so far, step of the window) → positions [runs, variables]."""


@dataclass(frozen=True)
class Batch:
    """A compiled set of instances with what only training needs of it."""

    graph: ConstraintValueGraph

    @cached_property
    def variable_instance(self) -> Tensor:
        return torch.from_numpy(self.graph.variable_instance)

    @cached_property
    def constraint_instance(self) -> Tensor:
        return torch.from_numpy(self.graph.constraint_instance)

    def cost(self, satisfied: Tensor) -> Tensor:
        """[runs, instances]: violated weight, exact for integer weights."""
        violated = (~satisfied) * self.graph.constraint_weight
        total = violated.new_zeros(len(satisfied), self.graph.instances)
        return total.index_add_(1, self.constraint_instance, violated)

    @cached_property
    def _weight(self) -> Tensor:
        return self.graph.constraint_weight.to(torch.float32)

    def cost_of_moves(self, positions: Tensor, labels: Tensor, cost: Tensor, ops: Operations = TWIN) -> Tensor:
        """[runs, values]: the instance's cost if only that variable took that value."""
        graph = self.graph
        satisfied = ops.satisfied_weight(graph, labels, self._weight)
        now = satisfied.gather(1, graph.value_start[:-1] + positions)
        before = cost.to(now.dtype).index_select(1, self.variable_instance) + now
        return before.index_select(1, graph.value_variable) - satisfied


@dataclass
class SearchState:
    """Where the searches of a batch stand between two windows."""

    positions: Tensor
    """[runs, variables]"""
    state: Tensor
    """[runs, values, d] recurrent states."""
    fresh: Tensor
    """[instances]: not yet begun, so the recurrent state is the learned initial one."""
    best: Tensor
    """[runs, instances]: lowest cost seen so far, the true one since the search began."""
    initial: Tensor
    """[runs, instances]: cost of α^(0)."""
    trace: Tensor
    """[runs, constraints]: what guidance remembers of them; see `guidance.py`."""


@dataclass
class Window:
    """Lists over the steps of a window; tensors are [runs, draws] with gradient, [runs, instances] without. A draw is
    that of a variable's value, or under local sampling that of an instance's move."""

    draw_instance: Tensor
    """[draws]: whose each one is."""
    log_probability: list[Tensor]
    """log(φ(α(X)) + ε)"""
    entropy: list[Tensor]
    """Of each draw's distribution; empty unless asked for."""
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
    ops: Operations = TWIN,
    polish: Polish | None = None,
    guidance: Guidance = UNGUIDED,
) -> tuple[Window, SearchState]:
    """Algorithm 1 for `steps` steps; the returned state is detached and can be continued from. `temperature`
    [instances] divides the logits: φ is the distribution that is drawn from. With `polish`, what it makes of a draw
    has the cost and is the next α, while the probability stays that of the draw. `guidance` is part of φ too."""
    graph = batch.graph
    positions, best, trace = start.positions, start.best, start.trace
    ops = ops.prepared(policy)
    value_instance = graph.value_instance
    state = torch.where(start.fresh[value_instance][:, None], policy.initial_state, start.state)
    heat = None if temperature is None else temperature[value_instance]
    labels = ops.labels(graph, positions)
    satisfied = graph.satisfied(positions, labels)
    cost = batch.cost(satisfied)
    initial = torch.where(start.fresh, cost, start.initial)
    best = torch.where(start.fresh, cost, best)
    local = policy.config.sampling == "local"
    window = Window(torch.arange(graph.instances) if local else batch.variable_instance, [], [], [], [], [])
    for step in range(steps):
        logits, state = policy(graph, state, positions, labels, ops)
        if guidance:
            trace = updated(trace, satisfied, guidance)
            logits = guided(graph, logits, labels, trace, guidance)
        if heat is not None:
            logits = logits / heat
        before = positions, labels, cost
        drawn = sample(logits.detach(), positions, step)
        positions = drawn if polish is None else polish(drawn)
        labels = ops.labels(graph, positions)
        satisfied = graph.satisfied(positions, labels)
        cost = batch.cost(satisfied)
        reward = None
        if move_reward is not None:
            # An instance that makes one move could have made any other from where it was; variables that all draw
            # could each have drawn another value, the others as they drew.
            moves = batch.cost_of_moves(*(before if local else (positions, labels, cost)), ops)
            reward = move_reward(moves, best.index_select(1, value_instance), initial.index_select(1, value_instance))
        if local:
            choice = choice_of_move(graph, logits, before[0], drawn, epsilon, entropy, reward)
        else:
            choice = ops.choice(graph, logits, drawn, epsilon, entropy, reward)
        window.log_probability.append(choice.log_probability)
        if choice.entropy is not None:
            window.entropy.append(choice.entropy)
        if choice.expected_reward is not None:
            window.expected_reward.append(choice.expected_reward)
        window.cost.append(cost)
        window.best_before.append(best)
        best = torch.minimum(best, cost)
    end = SearchState(positions, state.detach(), torch.zeros_like(start.fresh), best, initial, trace)
    return window, end
