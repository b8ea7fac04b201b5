"""Where the time of training goes: `anycsp train --profile`.

The operations of the forward pass are timed one by one, whichever back end they have; the backward pass as a whole,
since autograd runs it in one go.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch import Tensor, nn

from anycsp import native
from anycsp.neural.operations import Choice, Operations
from anycsp.neural.profile import PHASES, phase_table
from anycsp.neural.tensors import TensorGraph

PARTS = ("draw and compile", "backward", "optimizer", "validation")
"""Timed by the trainer; what is left of "forward" beside its phases is "other"."""


@dataclass
class TrainingProfile:
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By phase of the forward pass."""
    operations: float = 0.0
    """Floating point operations of the forward pass's matrix products; the backward pass needs twice as many."""

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[phase] += time.perf_counter() - began

    def report(self, timing: dict[str, float], updates: int) -> str:
        """The table of phases, then the rates of the matrix products."""
        rows = {"draw and compile": timing.get("draw and compile", 0.0)}
        rows |= {f"forward: {phase}": self.seconds[phase] for phase in PHASES}
        rows["forward: other"] = timing.get("forward", 0.0) - sum(self.seconds.values())
        rows |= {part: timing.get(part, 0.0) for part in PARTS[1:]}
        lines = phase_table(rows, updates, "an update")
        peak = float(native.module().measured_peak()) if native.available() else None
        products = self.seconds["gemm"] + self.seconds["gru"]
        lines.append(f"matrix products forward: {_rate(self.operations, products, peak)}")
        lines.append(f"backward, everything: {_rate(2 * self.operations, rows['backward'], peak)}")
        return "\n".join(lines)


def _rate(operations: float, seconds: float, peak: float | None) -> str:
    gflops = operations / seconds * 1e-9 if seconds else 0.0
    of_peak = f", {gflops / peak:.0%} of the {peak:.0f} measured on one thread" if peak else ""
    return f"{gflops:.1f} GFLOPS{of_peak}"


class ProfiledOperations:
    """Other operations, timed."""

    def __init__(self, ops: Operations, profile: TrainingProfile) -> None:
        self.name, self._ops, self.profile = ops.name, ops, profile

    def prepared(self, policy: nn.Module) -> ProfiledOperations:
        return ProfiledOperations(self._ops.prepared(policy), self.profile)

    def rows(
        self,
        network: nn.Sequential,
        x: Tensor,
        plus: Tensor | None = None,
        constant: Tensor | None = None,
        residual: bool = False,
    ) -> Tensor:
        weights = sum(layer.weight.numel() for layer in network if isinstance(layer, nn.Linear))
        self.profile.operations += 2.0 * len(x) * weights
        with self.profile.timed("gemm"):
            return self._ops.rows(network, x, plus, constant, residual)

    def to_constraints(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        with self.profile.timed("gather"):
            return self._ops.to_constraints(graph, messages, labels, how)

    def to_values(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        with self.profile.timed("gather"):
            return self._ops.to_values(graph, messages, labels, how)

    def to_variables(self, graph: TensorGraph, z: Tensor, how: str) -> Tensor:
        with self.profile.timed("gather"):
            return self._ops.to_variables(graph, z, how)

    def cell(self, graph: TensorGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        self.profile.operations += 2.0 * len(z) * (cell.weight_ih.numel() + cell.weight_hh.numel())
        with self.profile.timed("gru"):
            return self._ops.cell(graph, cell, z, variable, h)

    def choice(
        self,
        graph: TensorGraph,
        logits: Tensor,
        positions: Tensor,
        epsilon: float,
        entropy: bool,
        reward: Tensor | None,
    ) -> Choice:
        with self.profile.timed("sample"):
            return self._ops.choice(graph, logits, positions, epsilon, entropy, reward)

    def draw(self, graph: TensorGraph, logits: Tensor, seed: int, runs: range, step: int) -> Tensor:
        with self.profile.timed("sample"):
            return self._ops.draw(graph, logits, seed, runs, step)

    def labels(self, graph: TensorGraph, positions: Tensor) -> Tensor:
        with self.profile.timed("relabel"):
            return self._ops.labels(graph, positions)

    def value_features(self, graph: TensorGraph, positions: Tensor, labels: Tensor, which: str) -> Tensor:
        with self.profile.timed("relabel"):
            return self._ops.value_features(graph, positions, labels, which)

    def grades(self, graph: TensorGraph, positions: Tensor, labels: Tensor) -> Tensor:
        with self.profile.timed("relabel"):
            return self._ops.grades(graph, positions, labels)

    def graded_weight(self, graph: TensorGraph, grades: Tensor, weight: Tensor) -> Tensor:
        with self.profile.timed("relabel"):
            return self._ops.graded_weight(graph, grades, weight)

    def satisfied_weight(self, graph: TensorGraph, labels: Tensor, weight: Tensor) -> Tensor:
        with self.profile.timed("relabel"):
            return self._ops.satisfied_weight(graph, labels, weight)
