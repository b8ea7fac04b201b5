"""The native training operations as autograd functions; `policy.TorchOperations` says what they compute.

Forward passes keep their inputs only; backward passes compute the activations of a block again while it is in cache.
The parameters of a network enter as one vector, which `prepared` makes once for all steps of a window.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy.typing as npt
import torch
from torch import Tensor, nn

from anycsp import native
from anycsp.neural.operations import Choice, Operations
from anycsp.neural.policy import TORCH
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import FEATURES

_ARGUMENT = {torch.float32: torch.int32, torch.float64: torch.int64}
_layers: WeakKeyDictionary[nn.Sequential, Any] = WeakKeyDictionary()

Array = npt.NDArray[Any]


class NativeOperations:
    name = "native"

    def __init__(self, vectors: dict[nn.Module, Tensor] | None = None) -> None:
        self._vectors = vectors or {}
        self._ops = native.module().ops

    def prepared(self, policy: nn.Module) -> NativeOperations:
        networks = [m for m in policy.children() if isinstance(m, (nn.Sequential, nn.GRUCell))]
        return NativeOperations({network: _vector(network) for network in networks})

    def _parameters(self, network: nn.Module) -> Tensor:
        vector = self._vectors.get(network)
        return _vector(network) if vector is None else vector

    # ── differentiable ───────────────────────────────────────────────────────────────────────────

    def rows(
        self,
        network: nn.Sequential,
        x: Tensor,
        plus: Tensor | None = None,
        constant: Tensor | None = None,
        residual: bool = False,
    ) -> Tensor:
        result: Tensor = _Rows.apply(  # type: ignore[no-untyped-call]
            _row_network(network), residual, constant, x, plus, self._parameters(network)
        )
        return result

    def to_constraints(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        return _aggregate(graph, "constraints", graph.num_constraints, how, messages, labels)

    def to_values(self, graph: TensorGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        return _aggregate(graph, "values", graph.num_values, how, messages, labels)

    def to_variables(self, graph: TensorGraph, z: Tensor, how: str) -> Tensor:
        return _aggregate(graph, "variables", graph.num_variables, how, z, None)

    def cell(self, graph: TensorGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        result: Tensor = _Cell.apply(  # type: ignore[no-untyped-call]
            graph.native_edges, z, variable, h, self._parameters(cell)
        )
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
        reward = None if reward is None else reward.to(logits.dtype)
        parts = _Choice.apply(  # type: ignore[no-untyped-call]
            graph.native_edges, positions, epsilon, entropy, reward, logits
        )
        return Choice(*parts)

    # ── without gradients ────────────────────────────────────────────────────────────────────────

    def draw(self, graph: TensorGraph, logits: Tensor, seed: int, runs: range, step: int) -> Tensor:
        positions = torch.empty(len(logits), graph.num_variables, dtype=torch.int64)
        if len(runs) != len(logits):
            raise ValueError("logits are not those of the runs")
        self._ops.draw_positions(
            graph.native_edges, _array(logits), seed & (2**64 - 1), runs.start, step, graph.first_variable,
            positions.numpy(),
        )  # fmt: skip
        return positions

    def labels(self, graph: TensorGraph, positions: Tensor) -> Tensor:
        out = torch.empty(len(positions), graph.num_edges, dtype=torch.uint8)
        for family in self._ops.edge_labels(graph.topology.native_problem, _array(positions), out.numpy()):
            out[:, graph.family_edges[family]] = graph.family_labels[family](positions)
        return out

    def value_features(self, graph: TensorGraph, positions: Tensor, labels: Tensor, which: str) -> Tensor:
        out = torch.empty(len(positions) * graph.num_values, 1 + FEATURES[which])
        satisfied = degree = far = None
        if which != "none":
            satisfied = self.satisfied_weight(graph, labels, graph.relative_weight).numpy()
            degree = graph.value_degree.numpy()
        if which == "graded":
            far = self.graded_weight(graph, self.grades(graph, positions, labels), graph.relative_weight).numpy()
        self._ops.value_features(graph.native_edges, _array(positions), satisfied, degree, far, out.numpy())
        return out

    def grades(self, graph: TensorGraph, positions: Tensor, labels: Tensor) -> Tensor:
        out = torch.empty(len(positions), graph.num_edges)
        self._ops.edge_grades(graph.topology.native_problem, _array(positions), _array(labels), out.numpy())
        return out

    def graded_weight(self, graph: TensorGraph, grades: Tensor, weight: Tensor) -> Tensor:
        out = torch.empty(len(grades), graph.num_values)
        self._ops.graded_weight(graph.native_edges, _array(grades), _array(weight), out.numpy())
        return out

    def satisfied_weight(self, graph: TensorGraph, labels: Tensor, weight: Tensor) -> Tensor:
        out = torch.empty(len(labels), graph.num_values)
        self._ops.satisfied_weight(graph.native_edges, _array(labels), _array(weight), out.numpy())
        return out


def fastest(device: torch.device | str = "cpu") -> Operations:
    """Native operations where the module was built and tensors lie in main memory, else PyTorch's."""
    return NativeOperations() if native.available() and torch.device(device).type == "cpu" else TORCH


def _vector(network: nn.Module) -> Tensor:
    return torch.cat([p.reshape(-1) for p in network.parameters()])


def _row_network(network: nn.Sequential) -> Any:
    """The native description of a network of Linear, ReLU and LayerNorm."""
    known = _layers.get(network)
    if known is None:
        layers: list[tuple[str, int, int, bool]] = []
        for layer in network:
            if isinstance(layer, nn.Linear):
                layers.append(("linear", layer.in_features, layer.out_features, layer.bias is not None))
            elif isinstance(layer, nn.LayerNorm):
                layers.append(("norm", layer.normalized_shape[0], layer.normalized_shape[0], True))
            elif isinstance(layer, nn.ReLU):
                layers.append(("relu", 0, 0, False))
            else:
                raise TypeError(f"no native layer for {type(layer).__name__}")
        known = _layers[network] = native.module().ops.RowNetwork(layers)
    return known


def _array(tensor: Tensor) -> Array:
    """A view as numpy sees it: far cheaper to hand over than a tensor."""
    return tensor.detach().contiguous().numpy()


def _optional(tensor: Tensor | None) -> Array | None:
    return None if tensor is None else _array(tensor)


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        network: Any,
        residual: bool,
        constant: Tensor | None,
        first: Tensor,
        second: Tensor | None,
        parameters: Tensor,
    ) -> Tensor:
        out = first.new_empty(len(first), network.outputs)
        native.module().ops.rows_forward(
            network, _array(first), _optional(second), _optional(constant), residual, _array(parameters), out.numpy()
        )
        ctx.network, ctx.residual = network, residual
        ctx.save_for_backward(constant, first, second, parameters)
        return out

    @staticmethod
    def backward(ctx: Any, out_gradient: Tensor) -> Any:
        constant, first, second, parameters = ctx.saved_tensors
        _, _, _, wants_first, wants_second, _ = ctx.needs_input_grad
        first_gradient = first.new_empty(first.shape) if wants_first else None
        second_gradient = first.new_empty(first.shape) if wants_second else None
        gradient = parameters.new_empty(parameters.shape)
        native.module().ops.rows_backward(
            ctx.network, _array(first), _optional(second), _optional(constant), ctx.residual, _array(parameters),
            _array(out_gradient), _optional(first_gradient), _optional(second_gradient), gradient.numpy(),
        )  # fmt: skip
        return None, None, None, first_gradient, second_gradient, gradient


def _aggregate(
    graph: TensorGraph, receivers: str, count: int, how: str, messages: Tensor, labels: Tensor | None
) -> Tensor:
    if messages.ndim != 2:
        raise ValueError("messages are not [rows, features]")
    runs = len(labels) if labels is not None else len(messages) // max(graph.num_values, 1)
    result: Tensor = _Aggregate.apply(  # type: ignore[no-untyped-call]
        graph.native_edges, receivers, runs * count, how, labels, messages
    )
    return result


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, edges: Any, receivers: str, rows: int, how: str, labels: Tensor | None, messages: Tensor
    ) -> Tensor:
        out = messages.new_empty(rows, messages.shape[1])
        argument = out.new_empty(out.shape, dtype=_ARGUMENT[out.dtype]) if how == "max" else None
        native.module().ops.aggregate_forward(
            edges, receivers, how, _optional(labels), _array(messages), out.numpy(), _optional(argument)
        )
        ctx.edges, ctx.receivers, ctx.how, ctx.shape = edges, receivers, how, messages.shape
        ctx.save_for_backward(labels, argument)
        return out

    @staticmethod
    def backward(ctx: Any, out_gradient: Tensor) -> Any:
        labels, argument = ctx.saved_tensors
        gradient = out_gradient.new_empty(ctx.shape)
        native.module().ops.aggregate_backward(
            ctx.edges, ctx.receivers, ctx.how, _optional(labels), _array(out_gradient), gradient.numpy(),
            _optional(argument),
        )  # fmt: skip
        return None, None, None, None, None, gradient


class _Cell(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Any, z: Tensor, variable: Tensor, h: Tensor, parameters: Tensor) -> Tensor:
        out = h.new_empty(h.shape)
        native.module().ops.cell_forward(edges, _array(z), _array(variable), _array(h), _array(parameters), out.numpy())
        ctx.edges = edges
        ctx.save_for_backward(z, variable, h, parameters)
        return out

    @staticmethod
    def backward(ctx: Any, out_gradient: Tensor) -> Any:
        saved = ctx.saved_tensors
        gradients = [t.new_empty(t.shape) for t in saved]
        native.module().ops.cell_backward(
            ctx.edges, *(_array(t) for t in saved), _array(out_gradient), *(g.numpy() for g in gradients)
        )
        return None, *gradients


class _Choice(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        edges: Any,
        positions: Tensor,
        epsilon: float,
        entropy: bool,
        reward: Tensor | None,
        logits: Tensor,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        wanted = (True, entropy, reward is not None)
        parts = [logits.new_empty(positions.shape) if want else None for want in wanted]
        native.module().ops.choice_forward(
            edges, _array(logits), _array(positions), epsilon, _optional(reward), *(_optional(p) for p in parts)
        )
        ctx.edges, ctx.epsilon, ctx.entropy = edges, epsilon, entropy
        ctx.save_for_backward(positions, reward, logits)
        return parts[0], parts[1], parts[2]  # type: ignore[return-value]

    @staticmethod
    def backward(ctx: Any, of_log: Tensor, of_entropy: Tensor | None, of_expected: Tensor | None) -> Any:
        positions, reward, logits = ctx.saved_tensors
        gradient = logits.new_empty(logits.shape)
        native.module().ops.choice_backward(
            ctx.edges, _array(logits), _array(positions), ctx.epsilon, _optional(reward), _array(of_log),
            _optional(of_entropy) if ctx.entropy else None, _optional(of_expected) if reward is not None else None,
            gradient.numpy(),
        )  # fmt: skip
        return None, None, None, None, None, gradient
