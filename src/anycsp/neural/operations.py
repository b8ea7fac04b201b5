"""The differentiable operations of a search step, and the one place where native code or PyTorch is chosen.

`TwinOperations` says in plain PyTorch what each of them computes; `native.ops` computes the same, faster.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from anycsp import native
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.aggregate import aggregate
from anycsp.neural.sampling import sample_global

GAIN_FEATURES = 3
ABSENT_LOGIT = -1e9
"""The logit of a padding value: its probability is exactly 0 and its gradient too."""


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

    def to_constraints(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        """y(C) = ⊕ m(v, L_E(C,v)); messages [runs·values·2, d]."""

    def to_values(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        """y(v) = ⊕ m(C, L_E(C,v)); messages [runs·constraints·2, d]."""

    def to_variables(self, graph: ConstraintValueGraph, z: Tensor, how: str) -> Tensor:
        """⊕ over the values of each variable."""

    def cell(self, graph: ConstraintValueGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        """G(h, z(v) + z(X)), z(X) the row of v's variable."""

    def choice(
        self,
        graph: ConstraintValueGraph,
        logits: Tensor,
        positions: Tensor,
        epsilon: float,
        entropy: bool,
        reward: Tensor | None,
    ) -> Choice:
        """Of the softmax φ within each domain; reward [runs, values]."""

    def draw(self, graph: ConstraintValueGraph, logits: Tensor, seed: int, runs: range, step: int) -> Tensor:
        """α ~ φ: [runs, variables] positions."""

    def labels(self, graph: ConstraintValueGraph, positions: Tensor) -> Tensor:
        """L_E: [runs, edges] uint8."""

    def value_features(self, graph: ConstraintValueGraph, positions: Tensor, labels: Tensor, gain: bool) -> Tensor:
        """[runs·values, 1 or 4] float32: L_V, and the gain features."""

    def satisfied_weight(self, graph: ConstraintValueGraph, labels: Tensor, weight: Tensor) -> Tensor:
        """[runs, values] float32: weight of the constraints that hold if only this value were chosen anew."""


class TwinOperations:
    name = "twin"

    def prepared(self, policy: nn.Module) -> TwinOperations:
        return self

    def rows(
        self,
        network: nn.Sequential,
        x: Tensor,
        plus: Tensor | None = None,
        constant: Tensor | None = None,
        residual: bool = False,
    ) -> Tensor:
        inputs = x if plus is None else x + plus
        result: Tensor = network(inputs if constant is None else torch.cat([inputs, constant], dim=1))
        return result + x if residual else result

    def to_constraints(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        column = graph.edge_value * 2 + labels  # [runs, edges]: message row (v, L_E)
        return aggregate(messages, column, graph.by_constraint, 2 * graph.num_values, how)

    def to_values(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        column = (graph.edge_constraint * 2 + labels).index_select(1, graph.by_value.edge)
        return aggregate(messages, column, graph.by_value, 2 * graph.num_constraints, how)

    def to_variables(self, graph: ConstraintValueGraph, z: Tensor, how: str) -> Tensor:
        runs = len(z) // max(graph.num_values, 1)
        own = torch.arange(graph.num_values, device=z.device).expand(runs, -1)
        return aggregate(z, own, graph.by_variable, graph.num_values, how)

    def cell(self, graph: ConstraintValueGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        of_variable = variable.view(-1, graph.num_variables, z.shape[1])
        result: Tensor = cell(z + of_variable.index_select(1, graph.value_variable).reshape_as(z), h)
        return result

    def choice(
        self,
        graph: ConstraintValueGraph,
        logits: Tensor,
        positions: Tensor,
        epsilon: float,
        entropy: bool,
        reward: Tensor | None,
    ) -> Choice:
        log_phi = torch.log_softmax(graph.by_variable_padded(logits, ABSENT_LOGIT), dim=2)
        chosen = log_phi.gather(2, positions[:, :, None]).squeeze(2)
        phi = log_phi.exp()
        return Choice(
            (chosen.exp() + epsilon).log() if epsilon else chosen,
            -(phi * log_phi).sum(dim=2) if entropy else None,
            None if reward is None else (phi * graph.by_variable_padded(reward, 0.0).to(phi.dtype)).sum(dim=2),
        )

    def draw(self, graph: ConstraintValueGraph, logits: Tensor, seed: int, runs: range, step: int) -> Tensor:
        return sample_global(graph, logits, 1.0, seed, runs, step)

    def labels(self, graph: ConstraintValueGraph, positions: Tensor) -> Tensor:
        return graph.labels(positions)

    def value_features(self, graph: ConstraintValueGraph, positions: Tensor, labels: Tensor, gain: bool) -> Tensor:
        chosen = graph.chosen(positions).reshape(-1, 1).to(torch.float32)
        if not gain:
            return chosen
        satisfied_at = self.satisfied_weight(graph, labels, graph.relative_weight)
        return torch.cat([chosen, gain_features(graph, positions, satisfied_at).reshape(-1, GAIN_FEATURES)], dim=1)

    def satisfied_weight(self, graph: ConstraintValueGraph, labels: Tensor, weight: Tensor) -> Tensor:
        satisfied = torch.zeros(len(labels), graph.num_values, device=graph.device)
        return satisfied.index_add_(1, graph.edge_value, labels.to(torch.float32) * weight[graph.edge_constraint])


TWIN = TwinOperations()


def gain_features(graph: ConstraintValueGraph, positions: Tensor, satisfied_at: Tensor) -> Tensor:
    """[runs, values, 3] for g(v) = change in satisfied weight if only X moved to v:
    g/√(deg+1), clip(g, ±2)/2, log1p(violated weight at v). Sums of edge labels, so any constraint has them."""
    now = satisfied_at.gather(1, graph.value_start[:-1] + positions).index_select(1, graph.value_variable)
    gain = satisfied_at - now
    degree = graph.value_degree
    return torch.stack(
        [gain / (degree + 1).sqrt(), gain.clamp(-2, 2) / 2, (degree - satisfied_at).clamp(min=0).log1p()], dim=2
    )


def fastest(device: torch.device | str = "cpu") -> Operations:
    """Native operations where the module was built and tensors lie in main memory, else the twin."""
    if native.available() and torch.device(device).type == "cpu":
        from anycsp.neural.native_ops import NativeOperations

        return NativeOperations()
    return TWIN
