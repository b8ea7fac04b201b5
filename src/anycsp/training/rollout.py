"""A window of the search with gradients on: the policy draws assignments, everything the loss needs is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from anycsp.graph import ConstraintValueGraph
from anycsp.operations import TWIN, Operations
from anycsp.policy import PolicyNetwork
from anycsp.training.polish import Polish

Sampler = Callable[[Tensor, int], Tensor]
"""(logits [runs, values], step of the window) → positions [runs, variables]."""

_ABSENT = -1e9
"""The logit of a padding value: its probability is exactly 0 and its gradient too."""


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

    @cached_property
    def variables(self) -> Tensor:
        """[instances]: how many variables each has."""
        return torch.bincount(self.variable_instance, minlength=self.graph.instances)

    @cached_property
    def _widest(self) -> int:
        return int(self.graph.domain_size.max())

    @cached_property
    def _padding(self) -> tuple[Tensor, Tensor] | None:
        """Value index and absence of every (variable, position); None where all domains have one size."""
        sizes = self.graph.domain_size
        if bool((sizes == self._widest).all()):
            return None
        position = torch.arange(self._widest)
        absent = position >= sizes[:, None]
        return (self.graph.value_start[:-1, None] + position).masked_fill(absent, 0), absent

    def by_variable(self, values: Tensor, absent: float) -> Tensor:
        """[runs, values] → [runs, variables, widest domain], `absent` where a domain is shorter."""
        if self._padding is None:
            return values.view(len(values), -1, self._widest)
        index, missing = self._padding
        padded = values.index_select(1, index.reshape(-1)).view(len(values), *index.shape)
        return padded.masked_fill(missing, absent)

    def cost(self, positions: Tensor, labels: Tensor) -> Tensor:
        """[runs, instances]: violated weight, exact for integer weights."""
        violated = (~self.graph.satisfied(positions, labels)) * self.graph.constraint_weight
        total = violated.new_zeros(len(positions), self.graph.instances)
        return total.index_add_(1, self.constraint_instance, violated)

    @cached_property
    def _weight(self) -> Tensor:
        return self.graph.constraint_weight.to(torch.float32)

    def cost_of_moves(self, positions: Tensor, labels: Tensor, cost: Tensor, ops: Operations = TWIN) -> Tensor:
        """[runs, variables, widest domain]: the instance's cost if only that variable took that value."""
        graph = self.graph
        satisfied = ops.satisfied_weight(graph, labels, self._weight)
        now = satisfied.gather(1, graph.value_start[:-1] + positions)
        gain = self.by_variable(satisfied, 0.0) - now[:, :, None]
        return cost.index_select(1, self.variable_instance)[:, :, None].to(gain.dtype) - gain


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


@dataclass
class Window:
    """Lists over the steps of a window; tensors are [runs, variables] with gradient, [runs, instances] without."""

    log_probability: list[Tensor]
    """log(φ(α(X)) + ε)"""
    entropy: list[Tensor]
    """Of each variable's distribution; empty unless asked for."""
    expected_reward: list[Tensor]
    """Σ_v φ(v) · reward if X alone had drawn v; empty unless asked for."""
    cost: list[Tensor]
    best_before: list[Tensor]
    """Lowest cost before the step, in constraint weight like `cost`."""


MoveReward = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(cost of moves, best before, initial), broadcast to [runs, variables, values] → immediate reward."""


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
) -> tuple[Window, SearchState]:
    """Algorithm 1 for `steps` steps; the returned state is detached and can be continued from. `temperature`
    [instances] divides the logits: φ is the distribution that is drawn from. With `polish`, what it makes of a draw
    has the cost and is the next α, while the probability stays that of the draw."""
    graph = batch.graph
    positions, best = start.positions, start.best
    fresh_value = start.fresh[batch.variable_instance][graph.value_variable]
    state = torch.where(fresh_value[:, None], policy.initial_state, start.state)
    heat = None if temperature is None else temperature[batch.variable_instance][graph.value_variable]
    labels = graph.labels(positions)
    cost = batch.cost(positions, labels)
    initial = torch.where(start.fresh, cost, start.initial)
    best = torch.where(start.fresh, cost, best)
    window = Window([], [], [], [], [])
    for step in range(steps):
        logits, state = policy(graph, state, positions, labels, ops)
        if heat is not None:
            logits = logits / heat
        positions = sample(logits.detach(), step)
        log_phi = torch.log_softmax(batch.by_variable(logits, _ABSENT), dim=2)
        chosen = log_phi.gather(2, positions[:, :, None]).squeeze(2)
        window.log_probability.append((chosen.exp() + epsilon).log() if epsilon else chosen)
        if entropy:
            window.entropy.append(-(log_phi.exp() * log_phi).sum(dim=2))
        if polish is not None:
            positions = polish(positions)
        labels = graph.labels(positions)
        cost = batch.cost(positions, labels)
        if move_reward is not None:
            moves = batch.cost_of_moves(positions, labels, cost, ops)
            at_variable = [x.index_select(1, batch.variable_instance)[:, :, None] for x in (best, initial)]
            reward = move_reward(moves, *at_variable).to(log_phi.dtype)
            window.expected_reward.append((log_phi.exp() * reward).sum(dim=2))
        window.cost.append(cost)
        window.best_before.append(best)
        best = torch.minimum(best, cost)
    end = SearchState(positions, state.detach(), torch.zeros_like(start.fresh), best, initial)
    return window, end
