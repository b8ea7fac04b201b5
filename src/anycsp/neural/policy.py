"""The policy network π_θ: Appendix A of the paper on one page, plus optional inputs.

    x = E([h, L_V])                                   value encoder
    m(v,0), m(v,1) = M_V(x)                           value → constraint messages
    y(C) = ⊕ m(v, L_E(C,v));  m(C,0), m(C,1) = M_C(y(C))
    y(v) = ⊕ m(C, L_E(C,v));  z(v) = U_V(x + y(v)) + x
    z(X) = U_X(⊕ z(v));       h' = G(h, z(v) + z(X))
    o(v) = O(h'(v))                                   logits, softmax within each domain

This is the readable reference: the network, then the operations its equations are written in. `cpp/neural` computes the
same step fused, `cpp/training` the same operations, and the tests hold them equal.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import torch
from torch import Tensor, nn

from anycsp.neural.operations import Choice, Operations
from anycsp.neural.sampling import sample_global
from anycsp.neural.tensors import Incidence, TensorGraph
from anycsp.neural.weights import KIND_FEATURES, PolicyConfig, Weights

ABSENT_LOGIT = -1e9
"""The logit of a padding value: its probability is exactly 0 and its gradient too."""


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
        self.initial_state = nn.Parameter(torch.randn(d) / d**0.5)
        self.encoder = _mlp(config.inputs, d, d)
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
        self.kind_message = nn.Linear(KIND_FEATURES, d, bias=False) if config.kinds else None
        if self.kind_message is not None:
            nn.init.zeros_(self.kind_message.weight)

    @staticmethod
    def of(weights: Weights, device: torch.device | str = "cpu") -> PolicyNetwork:
        """The network with these weights, for use and not for training until told otherwise."""
        network = PolicyNetwork(weights.config)
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.arrays.items()})
        return network.to(device).eval()

    def weights(self) -> Weights:
        """A copy of its parameters as arrays."""
        arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}
        return Weights(self.config, arrays)

    def start(self, graph: TensorGraph, runs: int) -> Tensor:
        """h^(0): the learned initial state at every value."""
        return self.initial_state.expand(runs, graph.num_values, -1)

    def forward(
        self, graph: TensorGraph, state: Tensor, positions: Tensor, labels: Tensor, ops: Operations | None = None
    ) -> PolicyOutput:
        """One iteration of the search for `runs` assignments of the graph's problems, computed by `ops` (PyTorch's own
        where none are given)."""
        ops = ops or TORCH
        runs, values, d = state.shape
        how = self.config.aggregation
        h = state.reshape(runs * values, d)
        features = ops.value_features(graph, positions, labels, self.config.features).to(h.dtype)
        x = ops.rows(self.encoder, h, constant=features)

        y = ops.to_constraints(graph, ops.rows(self.value_message, x).view(-1, d), labels, how)
        if self.weight_message is not None:
            y = y + self.weight_message(weight_features(graph).to(y.dtype)).repeat(runs, 1)
        if self.kind_message is not None:
            y = y + self.kind_message(graph.kind_features.to(y.dtype)).repeat(runs, 1)
        y = ops.to_values(graph, ops.rows(self.constraint_message, y).view(-1, d), labels, how)
        z = ops.rows(self.value_update, x, plus=y, residual=True)

        variable = ops.rows(self.variable_update, ops.to_variables(graph, z, how))
        h = ops.cell(graph, self.cell, z, variable, h)

        logits = ops.rows(self.output, h).view(runs, values)
        if self.inertia is not None:
            logits = logits + self.inertia * features[:, 0].view(runs, values)
        return PolicyOutput(logits, h.view(runs, values, d))


def weight_features(graph: TensorGraph) -> Tensor:
    """[constraints, 2]: log of the weight relative to the instance's mean, and hardness."""
    return torch.stack([graph.relative_weight.log(), graph.hard.to(torch.float32)], dim=1)


# ── the operations ───────────────────────────────────────────────────────────────────────────────


class TorchOperations:
    """What the operations of a search step compute, on any device."""

    name = "torch"

    def prepared(self, policy: nn.Module) -> TorchOperations:
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

    def to_constraints(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        column = graph.edge_value * 2 + labels  # [runs, edges]: message row (v, L_E)
        return aggregate(messages, column, graph.by_constraint, 2 * graph.num_values, how)

    def to_values(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        column = (graph.edge_constraint * 2 + labels).index_select(1, graph.by_value.edge)
        return aggregate(messages, column, graph.by_value, 2 * graph.num_constraints, how)

    def to_variables(self, graph: TensorGraph, z: Tensor, how: str) -> Tensor:
        runs = len(z) // max(graph.num_values, 1)
        own = torch.arange(graph.num_values, device=z.device).expand(runs, -1)
        return aggregate(z, own, graph.by_variable, graph.num_values, how)

    def cell(self, graph: TensorGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        of_variable = variable.view(-1, graph.num_variables, z.shape[1])
        result: Tensor = cell(z + of_variable.index_select(1, graph.value_variable).reshape_as(z), h)
        return result

    def choice(
        self,
        graph: TensorGraph,
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

    def draw(self, graph: TensorGraph, logits: Tensor, seed: int, runs: range, step: int) -> Tensor:
        return sample_global(graph, logits, 1.0, seed, runs, step)

    def labels(self, graph: TensorGraph, positions: Tensor) -> Tensor:
        return graph.labels(positions)

    def value_features(self, graph: TensorGraph, positions: Tensor, labels: Tensor, which: str) -> Tensor:
        features = [graph.chosen(positions)[:, :, None].to(torch.float32)]
        if which != "none":
            satisfied_at = self.satisfied_weight(graph, labels, graph.relative_weight)
            features.append(gain_features(graph, positions, satisfied_at))
        if which == "graded":
            far = self.graded_weight(graph, self.grades(graph, positions, labels), graph.relative_weight)
            features.append(graded_features(graph, positions, far))
        return torch.cat(features, dim=2).flatten(0, 1)

    def grades(self, graph: TensorGraph, positions: Tensor, labels: Tensor) -> Tensor:
        return graph.grades(positions, labels)

    def graded_weight(self, graph: TensorGraph, grades: Tensor, weight: Tensor) -> Tensor:
        far = torch.zeros(len(grades), graph.num_values, device=graph.device)
        return far.index_add_(1, graph.edge_value, grades * weight[graph.edge_constraint])

    def satisfied_weight(self, graph: TensorGraph, labels: Tensor, weight: Tensor) -> Tensor:
        satisfied = torch.zeros(len(labels), graph.num_values, device=graph.device)
        return satisfied.index_add_(1, graph.edge_value, labels.to(torch.float32) * weight[graph.edge_constraint])


TORCH = TorchOperations()


def gain_features(graph: TensorGraph, positions: Tensor, satisfied_at: Tensor) -> Tensor:
    """[runs, values, 3] for g(v) = change in satisfied weight if only X moved to v:
    g/√(deg+1), clip(g, ±2)/2, log1p(violated weight at v). Sums of edge labels, so any constraint has them."""
    now = satisfied_at.gather(1, graph.value_start[:-1] + positions).index_select(1, graph.value_variable)
    gain = satisfied_at - now
    degree = graph.value_degree
    return torch.stack(
        [gain / (degree + 1).sqrt(), gain.clamp(-2, 2) / 2, (degree - satisfied_at).clamp(min=0).log1p()], dim=2
    )


def graded_features(graph: TensorGraph, positions: Tensor, far: Tensor) -> Tensor:
    """[runs, values, 3] for n(v) = how much nearer its constraints come if only X moved to v, by their grades:
    n/√(deg+1), clip(n, ±4)/4, log1p(grades at v)."""
    now = far.gather(1, graph.value_start[:-1] + positions).index_select(1, graph.value_variable)
    nearer = now - far
    return torch.stack([nearer / (graph.value_degree + 1).sqrt(), nearer.clamp(-4, 4) / 4, far.log1p()], dim=2)


_REDUCE = {"sum": "sum", "mean": "mean", "max": "amax"}


def aggregate(messages: Tensor, column: Tensor, incidence: Incidence, sources: int, how: str) -> Tensor:
    """⊕: gather message rows and reduce them per receiving vertex, by SUM, MEAN or MAX (0 where nothing arrives).
    messages [runs·sources, d], column [runs, edges] → [runs·rows, d].

    Row r of run i reduces the messages `i·sources + column[i, start[r]:start[r+1]]`.
    """
    runs, edges = column.shape
    rows = len(incidence.start) - 1
    offset = torch.arange(runs, device=column.device).view(-1, 1)
    flat = (column + offset * sources).reshape(-1)
    start = (incidence.start[:-1] + offset * edges).reshape(-1)
    start = nn.functional.pad(start, (0, 1), value=runs * edges)
    ones = torch.ones(runs * edges, dtype=messages.dtype, device=messages.device)
    if messages.device.type != "cpu" or edges == 0:
        return _scatter(messages, flat, start, how)
    with warnings.catch_warnings():  # torch announces its CSR support as beta, once a process
        warnings.simplefilter("ignore", UserWarning)
        matrix = torch.sparse_csr_tensor(start, flat, ones, size=(runs * rows, len(messages)), check_invariants=False)
    reduced: Tensor = torch.sparse.mm(matrix, messages, _REDUCE[how])
    return reduced


def _scatter(messages: Tensor, flat: Tensor, start: Tensor, how: str) -> Tensor:
    rows = len(start) - 1
    row = torch.repeat_interleave(torch.arange(rows, device=flat.device), start.diff(), output_size=len(flat))
    out = messages.new_zeros(rows, messages.shape[1])
    index = row[:, None].expand(-1, messages.shape[1])
    return out.scatter_reduce(0, index, messages.index_select(0, flat), _REDUCE[how], include_self=False)
