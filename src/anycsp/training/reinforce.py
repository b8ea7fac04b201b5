"""REINFORCE: rewards, returns and the loss, one small function for each part of the equation.

Tensors are [steps, runs, instances] where not said otherwise; costs are violated weights, and
Q = 1 − cost / total weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from anycsp.training.config import TrainingConfig
from anycsp.training.distributed import ALONE, Ranks
from anycsp.training.rollout import MoveReward, Window
from anycsp.training.walk import Batch

# ── rewards and returns ──────────────────────────────────────────────────────────────────────────


def improvement(cost: Tensor, best_before: Tensor) -> Tensor:
    """Eq. 4, times the total weight: the margin over the best assignment so far."""
    return (best_before - cost).clamp(min=0)


def quality(cost: Tensor, initial: Tensor) -> Tensor:
    """The ablation's reward Q(α^(t)) − Q(α^(0)), times the total weight."""
    return initial - cost


def discounted_returns(rewards: Tensor, discount: float) -> Tensor:
    """G_t = Σ_{k ≥ t} λ^{k−t} r^(k)."""
    returns = torch.empty_like(rewards)
    ahead = torch.zeros_like(rewards[0])
    for t in range(len(rewards) - 1, -1, -1):
        ahead = rewards[t] + discount * ahead
        returns[t] = ahead
    return returns


# ── baselines and scales ─────────────────────────────────────────────────────────────────────────


def leave_one_out(returns: Tensor) -> Tensor:
    """Mean return of the instance's other replicas at the same step."""
    runs = returns.shape[1]
    return (returns.sum(dim=1, keepdim=True) - returns) / (runs - 1)


BUCKETS = 64
"""More than there are ranges of depths: a search has fewer than 2^63 steps."""


@dataclass
class RunningScale:
    """Running root mean square of advantages, one for each range of depths [2^i − 1, 2^(i+1) − 1) windows."""

    decay: float = 0.98
    square: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    ranks: Ranks = ALONE
    """Who has the rest of the batch."""

    def factors(self, advantage: Tensor, bucket: Tensor) -> Tensor:
        """[instances]: one over the scale of each instance's bucket, this batch counted in."""
        found = torch.zeros(2, BUCKETS, dtype=torch.float64)
        for b in set(bucket.tolist()):
            squares = advantage[:, :, bucket == b].double().square()
            found[:, b] = torch.tensor([float(squares.sum()), squares.numel()])
        factor = torch.ones(BUCKETS, dtype=advantage.dtype)
        for b, (square, count) in enumerate(self.ranks.total(found).T.tolist()):
            if count:
                while len(self.square) <= b:
                    self.square.append(0.0)
                    self.weight.append(0.0)
                self.square[b] = self.decay * self.square[b] + (1 - self.decay) * square / count
                self.weight[b] = self.decay * self.weight[b] + (1 - self.decay)
                factor[b] = 1.0 / max((self.square[b] / self.weight[b]) ** 0.5, 1e-9)
        return factor.to(advantage.device)[bucket]


def depth_bucket(depth: Tensor, window: int) -> Tensor:
    return torch.log2(depth.to(torch.float64) / window + 1).floor().to(torch.int64)


# ── the loss ─────────────────────────────────────────────────────────────────────────────────────


def move_reward(config: TrainingConfig) -> MoveReward | None:
    """The immediate reward of single moves, for the local expectation gradient."""
    if not config.local_expectation:
        return None
    if config.reward == "improve":
        return lambda cost, best, initial: improvement(cost, best)
    return lambda cost, best, initial: quality(cost, initial)


def entropy_bonus(entropy: Tensor, draw_instance: Tensor, instances: int, floor: float) -> Tensor:
    """Mean over trajectories of Σ_t Σ_X min(H, floor), H the mean entropy of the instance's draws:
    its gradient is that of the entropy below the floor and nothing above it."""
    draws = torch.bincount(draw_instance, minlength=instances)
    total = entropy.new_zeros(*entropy.shape[:2], instances)
    total = total.index_add(2, draw_instance, entropy)
    return torch.minimum(total, floor * draws).sum(dim=0).mean()


class Loss(NamedTuple):
    value: Tensor
    returns: Tensor
    """Before baseline and scale, in quality."""
    entropy: float
    """Mean in nats per draw; nan where it was not computed."""


def reinforce(
    config: TrainingConfig, batch: Batch, window: Window, initial: Tensor, depth: Tensor, scale: RunningScale
) -> Loss:
    """−(1/trajectories) Σ_t Σ_X A_t log(φ^(t)(α^(t)(X)) + ε), with A_t = G_t in the paper (Eq. loss).

    `depth` [instances] is how deep each search was when the window began."""
    cost = torch.stack(window.cost)
    # Grades have no common scale, so their rewards are relative to where the search began.
    total = (initial.mean(dim=0) if config.graded else batch.graph.total_weight).clamp(min=1e-12)
    improves = config.reward == "improve"
    reward = improvement(cost, torch.stack(window.best_before)) if improves else quality(cost, initial)
    returns = discounted_returns(reward / total, config.discount)

    advantage = _without_baseline(config, returns)
    factor = torch.ones_like(total)
    if config.normalise != "none":
        bucket = depth_bucket(depth, config.window) if config.normalise == "depth" else torch.zeros_like(depth)
        factor = scale.factors(advantage, bucket)
    if config.local_expectation:  # the immediate reward is differentiated in expectation, below
        later = torch.cat([returns[1:], torch.zeros_like(returns[:1])]) * config.discount
        advantage = _without_baseline(config, later)

    log_probability = torch.stack(window.log_probability)
    trajectories = advantage.shape[1] * advantage.shape[2]
    of_draw = window.draw_instance
    weight = (advantage * factor).to(log_probability.dtype).index_select(2, of_draw)
    value = -(weight * log_probability).sum() / trajectories
    if window.expected_reward:
        weight = (factor / total).to(log_probability.dtype).index_select(0, of_draw)
        value = value - (weight * torch.stack(window.expected_reward)).sum() / trajectories
    mean_entropy = float("nan")
    if window.entropy:
        entropy = torch.stack(window.entropy)
        mean_entropy = float(entropy.detach().mean())
        value = value - config.entropy_weight * entropy_bonus(entropy, of_draw, len(total), config.entropy_floor)
    return Loss(value, returns, mean_entropy)


def _without_baseline(config: TrainingConfig, returns: Tensor) -> Tensor:
    return returns - leave_one_out(returns) if config.baseline == "leave-one-out" else returns
