"""One of the things a policy learns: a pool of searches, and what tells right from wrong there. That is a reward, a
teacher, or the solutions of compiled search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from anycsp.errors import ModelError
from anycsp.neural.models import load_model
from anycsp.neural.operations import Operations
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.sampling import sample_local
from anycsp.training.config import SEARCH, ConfigError, TrainingConfig
from anycsp.training.distill import lesson
from anycsp.training.distributed import ALONE, Ranks
from anycsp.training.imitate import imitate
from anycsp.training.pool import Pool
from anycsp.training.reinforce import RunningScale, move_reward, reinforce
from anycsp.training.rollout import Sampler, rollout
from anycsp.training.walk import SearchState

_SAMPLING_STREAM = 1 << 60
"""Keeps the draws of the search apart from those of initial assignments."""


class Attempt(NamedTuple):
    loss: Tensor
    terms: int
    """How many terms the loss is the mean of: its weight beside the losses of other shares of the batch."""
    end: SearchState
    """Where the searches stand after the window."""
    figures: dict[str, float]
    """What is logged of it."""


class Subject:
    """Its settings are those of a run, as `TrainingConfig.taught` gives them."""

    def __init__(self, config: TrainingConfig, ranks: Ranks = ALONE, device: torch.device | str = "cpu") -> None:
        self.config, self._device = config, torch.device(device)
        self.scale = RunningScale(ranks=ranks)
        self.norm = 0.0
        """Running mean of the gradient's norm; 0 before the first."""
        self.teacher = _teacher(config) if config.teacher not in ("", SEARCH) else None
        if self.teacher is not None:
            self.teacher.to(device)
        hidden = config.policy.hidden + (self.teacher.config.hidden if self.teacher else 0)
        self.pool = Pool(config, hidden, ranks, device)

        self._how: Callable[[PolicyNetwork, Operations, int], Attempt]
        if self.teacher is not None:
            self._how, self.merit = self._distill, ["divergence"]
        elif config.teacher == SEARCH:
            self._how, self.merit = self._imitate, ["surprise"]
        else:
            self._how, self.merit = self._explore, ["return", "entropy"]

    def attempt(self, policy: PolicyNetwork, ops: Operations, update: int) -> Attempt:
        """A window of search with gradients on; `update` numbers its draws. The figures of `merit` are its own, the
        others common to all."""
        return self._how(policy, ops, update)

    def _explore(self, policy: PolicyNetwork, ops: Operations, update: int) -> Attempt:
        """The REINFORCE loss."""
        config, pool = self.config, self.pool
        window, end = rollout(
            policy,
            pool.batch,
            pool.state,
            config.window,
            self._sampler(ops, update),
            config.epsilon,
            entropy=config.entropy_weight > 0,
            move_reward=move_reward(config),
            temperature=pool.temperature,
            ops=ops,
            guidance=config.guidance,
            graded=config.graded,
        )
        loss = reinforce(config, pool.batch, window, end.initial, pool.depth, self.scale)
        figures = {"return": float(loss.returns[0].mean()), "entropy": loss.entropy}
        return Attempt(loss.value, end.best.numel(), end, {**figures, **self._figures(window.cost[-1], end)})

    def _distill(self, policy: PolicyNetwork, ops: Operations, update: int) -> Attempt:
        """Beside the teacher, which leads every other instance: how far the policy is off."""
        config, pool = self.config, self.pool
        assert self.teacher is not None
        compared, end = lesson(
            policy,
            self.teacher,
            pool.batch,
            pool.state,
            config.window,
            self._sampler(ops, update),
            torch.tensor([slot.index % 2 == 0 for slot in pool.own], device=self._device),
            temperature=pool.temperature,
            ops=ops,
            guidance=config.guidance,
            teacher_temperature=config.teacher_temperature,
        )
        figures = {"divergence": float(compared.divergence.detach())}
        figures |= self._figures(compared.cost, end)
        return Attempt(compared.divergence, end.positions.numel(), end, figures)

    def _imitate(self, policy: PolicyNetwork, ops: Operations, update: int) -> Attempt:
        """How unlikely the policy finds the solutions near by."""
        config, pool = self.config, self.pool
        compared, end = imitate(
            policy,
            pool.problems,
            pool.batch,
            pool.state,
            config.window,
            self._sampler(ops, update),
            (config.seed ^ (update << 20)) + pool.share.start,
            temperature=pool.temperature,
            ops=ops,
            guidance=config.guidance,
        )
        figures = {"surprise": float(compared.surprise.detach())}
        return Attempt(compared.surprise, compared.known, end, {**figures, **self._figures(compared.cost, end)})

    def usual_norm(self, norm: float) -> float:
        """The running mean, one more counted in; a norm that is not finite is not."""
        if math.isfinite(norm):
            self.norm = norm if self.norm == 0 else 0.95 * self.norm + 0.05 * norm
        return max(self.norm, 1e-9)

    def progress(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the tensors of `pool.whole_state()`."""
        pool = self.pool
        slots = [(slot.index, slot.depth, slot.lifetime) for slot in pool.slots]
        scale = {"scale_square": self.scale.square, "scale_weight": self.scale.weight}
        return {"next_index": pool.next_index, "slots": slots, "norm": self.norm, **scale}

    def restore(self, progress: dict[str, Any], state: dict[str, Tensor], where: object) -> None:
        """Go on from a checkpoint, which errors call `where`."""
        self.scale = replace(self.scale, square=progress["scale_square"], weight=progress["scale_weight"])
        self.norm = progress["norm"]
        if len(self.scale.square) != len(self.scale.weight):
            raise ModelError(f"{where}: scale_square and scale_weight differ in length")
        if bool(state) != bool(progress["slots"]):
            raise ModelError(f"{where}: the state of searches and their instances come together")
        if state:
            self.pool.restore(progress["slots"], progress["next_index"], state, where)

    def _figures(self, cost: Tensor, end: SearchState) -> dict[str, float]:
        depth = float(self.pool.depth.double().mean())
        return {"cost": float(cost.mean()), "best": float(end.best.mean()), "depth": depth}

    def _sampler(self, ops: Operations, update: int) -> Sampler:
        config, graph = self.config, self.pool.batch.graph

        def sample(logits: Tensor, positions: Tensor, step: int) -> Tensor:
            draw = (config.seed ^ _SAMPLING_STREAM, range(config.replicas), step + update * config.window)
            if config.policy.sampling == "local":
                return sample_local(graph, logits, positions, 1.0, *draw)
            return ops.draw(graph, logits, *draw)

        return sample


def _teacher(config: TrainingConfig) -> PolicyNetwork:
    teacher = load_model(config.teacher).network().requires_grad_(False)
    if teacher.config.sampling == "local":
        raise ConfigError(
            f"training config: teacher = {config.teacher!r} draws moves, not values: it cannot be imitated"
        )
    return teacher
