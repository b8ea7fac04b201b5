"""The differentiable operations of a search step, as the policy and its training call them.

`policy.TorchOperations` says in plain PyTorch what each computes; `native_ops.NativeOperations` computes the same,
faster.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor, nn

from anycsp.neural.tensors import TensorGraph


class Choice(NamedTuple):
    """What a loss needs of the values taken; each [runs, variables], differentiable in the logits."""

    log_probability: Tensor
    """log(φ(α(X)) + ε)"""
    entropy: Tensor | None
    expected_reward: Tensor | None
    """Σ_v φ(v) · reward(v)"""


class Operations(Protocol):
    """Rows of all runs lie end to end: values are [runs·values, d], constraints [runs·constraints, d]."""

    name: str

    def prepared(self, policy: nn.Module) -> Operations:
        """The same for many steps with a policy whose weights stay as they are."""

    def rows(
        self,
        network: nn.Sequential,
        x: Tensor,
        plus: Tensor | None = None,
        constant: Tensor | None = None,
        residual: bool = False,
    ) -> Tensor:
        """network([x + plus, constant]), plus x where `residual`; no gradient reaches `constant`."""

    def to_constraints(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        """y(C) = ⊕ m(v, L_E(C,v)); messages [runs·values·2, d]."""

    def to_values(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        """y(v) = ⊕ m(C, L_E(C,v)); messages [runs·constraints·2, d]."""

    def to_variables(self, graph: TensorGraph, z: Tensor, how: str) -> Tensor:
        """⊕ over the values of each variable."""

    def cell(self, graph: TensorGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        """G(h, z(v) + z(X)), z(X) the row of v's variable."""

    def choice(
        self,
        graph: TensorGraph,
        logits: Tensor,
        positions: Tensor,
        epsilon: float,
        entropy: bool,
        reward: Tensor | None,
    ) -> Choice:
        """A choice by the softmax φ within each domain; reward [runs, values]."""

    def draw(self, graph: TensorGraph, logits: Tensor, seed: int, runs: range, step: int) -> Tensor:
        """α ~ φ: [runs, variables] positions."""

    def labels(self, graph: TensorGraph, positions: Tensor) -> Tensor:
        """L_E: [runs, edges] uint8."""

    def value_features(self, graph: TensorGraph, positions: Tensor, labels: Tensor, which: str) -> Tensor:
        """[runs·values, 1, 4 or 7] float32: L_V, the gain features, the graded features (FEATURES in weights.py)."""

    def grades(self, graph: TensorGraph, positions: Tensor, labels: Tensor) -> Tensor:
        """[runs, edges] float32: how far the constraint would be from holding."""

    def graded_weight(self, graph: TensorGraph, grades: Tensor, weight: Tensor) -> Tensor:
        """[runs, values] float32: Σ weight · grade of the constraints if only this value were chosen anew."""

    def satisfied_weight(self, graph: TensorGraph, labels: Tensor, weight: Tensor) -> Tensor:
        """[runs, values] float32: weight of the constraints that hold if only this value were chosen anew."""
