"""The policy network π_θ: Appendix A of the paper on one page, plus two optional inputs.

    x = E([h, L_V])                                   value encoder
    m(v,0), m(v,1) = M_V(x)                           value → constraint messages
    y(C) = ⊕ m(v, L_E(C,v));  m(C,0), m(C,1) = M_C(y(C))
    y(v) = ⊕ m(C, L_E(C,v));  z(v) = U_V(x + y(v)) + x
    z(X) = U_X(⊕ z(v));       h' = G(h, z(v) + z(X))
    o(v) = O(h'(v))                                   logits, softmax within each domain

This is the readable reference; `cpp/neural` computes the same step fused, and the tests hold the two equal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from anycsp.errors import ModelError
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.operations import GAIN_FEATURES, TWIN, Operations

AGGREGATIONS = ("sum", "mean", "max")


@dataclass(frozen=True)
class PolicyConfig:
    """What determines the shapes and the mathematics of a policy."""

    hidden: int = 32
    """Latent dimension d."""
    aggregation: str = "max"
    """⊕ at constraints, values and variables: sum, mean or max."""
    features: str = "none"
    """"gain" adds, for every value, what moving there alone would gain; "none" is the paper."""
    inertia: bool = False
    """Add a learned multiple of L_V to the logits, so that keeping a value is the default."""
    weighted: bool = False
    """Constraint weight and hardness enter the constraint's message."""
    sampling: str = "global"
    """"global": every variable draws a new value; "local": one variable moves (Appendix C)."""

    def __post_init__(self) -> None:
        checks = {
            "aggregation": self.aggregation in AGGREGATIONS,
            "features": self.features in ("none", "gain"),
            "sampling": self.sampling in ("global", "local"),
            "hidden": isinstance(self.hidden, int) and self.hidden > 0,
            "inertia": isinstance(self.inertia, bool),
            "weighted": isinstance(self.weighted, bool),
        }
        for field, valid in checks.items():
            if not valid:
                raise ModelError(f"policy config: {field} = {getattr(self, field)!r} is not known")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class PolicyOutput(NamedTuple):
    logits: Tensor
    """[runs, values]"""
    state: Tensor
    """[runs, values, d]"""


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs), nn.LayerNorm(outputs))


class PolicyNetwork(nn.Module):
    """π_θ; parameters are named after the paper's components."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        d = config.hidden
        self.config = config
        inputs = d + 1 + (GAIN_FEATURES if config.features == "gain" else 0)
        self.initial_state = nn.Parameter(torch.randn(d) / d**0.5)
        self.encoder = _mlp(inputs, d, d)
        self.value_message = nn.Sequential(nn.Linear(d, 2 * d, bias=False), nn.LayerNorm(2 * d))
        self.constraint_message = nn.Sequential(
            nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 2 * d, bias=False), nn.LayerNorm(2 * d)
        )
        self.value_update = _mlp(d, d, d)
        self.variable_update = _mlp(d, d, d)
        self.cell = nn.GRUCell(d, d)
        self.output = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 1))
        self.inertia = nn.Parameter(torch.tensor(2.0)) if config.inertia else None
        self.weight_message = nn.Linear(2, d, bias=False) if config.weighted else None
        if self.weight_message is not None:
            nn.init.zeros_(self.weight_message.weight)  # an unweighted instance and a fresh model see no difference

    def start(self, graph: ConstraintValueGraph, runs: int) -> Tensor:
        """h^(0): the learned initial state at every value."""
        return self.initial_state.expand(runs, graph.num_values, -1)

    def forward(
        self, graph: ConstraintValueGraph, state: Tensor, positions: Tensor, labels: Tensor, ops: Operations = TWIN
    ) -> PolicyOutput:
        """One iteration of the search for `runs` assignments of the graph's problems."""
        runs, values, d = state.shape
        how = self.config.aggregation
        h = state.reshape(runs * values, d)
        features = ops.value_features(graph, positions, labels, self.config.features == "gain").to(h.dtype)
        x = ops.rows(self.encoder, h, constant=features)

        y = ops.to_constraints(graph, ops.rows(self.value_message, x).view(-1, d), labels, how)
        if self.weight_message is not None:
            y = y + self.weight_message(weight_features(graph).to(y.dtype)).repeat(runs, 1)
        y = ops.to_values(graph, ops.rows(self.constraint_message, y).view(-1, d), labels, how)
        z = ops.rows(self.value_update, x, plus=y, residual=True)

        variable = ops.rows(self.variable_update, ops.to_variables(graph, z, how))
        h = ops.cell(graph, self.cell, z, variable, h)

        logits = ops.rows(self.output, h).view(runs, values)
        if self.inertia is not None:
            logits = logits + self.inertia * features[:, 0].view(runs, values)
        return PolicyOutput(logits, h.view(runs, values, d))


def weight_features(graph: ConstraintValueGraph) -> Tensor:
    """[constraints, 2]: log of the weight relative to the instance's mean, and hardness."""
    hard = torch.from_numpy(graph.terms.hard).to(graph.device)
    return torch.stack([graph.relative_weight.log(), hard.to(torch.float32)], dim=1)
