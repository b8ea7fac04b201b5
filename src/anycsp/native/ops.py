"""The native training operations as autograd functions; `operations.TwinOperations` says what they compute.

Forward passes keep their inputs only; backward passes compute the activations of a block again while it is in cache.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from anycsp import native
from anycsp.graph import ConstraintValueGraph

_ARGUMENT = {torch.float32: torch.int32, torch.float64: torch.int64}
_networks: WeakKeyDictionary[nn.Sequential, Any] = WeakKeyDictionary()


class NativeOperations:
    name = "native"

    def rows(self, network: nn.Sequential, x: Tensor, plus: Tensor | None = None, residual: bool = False) -> Tensor:
        result: Tensor = _Rows.apply(  # type: ignore[no-untyped-call]
            _row_network(network), residual, x, plus, *network.parameters()
        )
        return result

    def to_constraints(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        return _aggregate(graph, "constraints", graph.num_constraints, how, messages, labels)

    def to_values(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        return _aggregate(graph, "values", graph.num_values, how, messages, labels)

    def to_variables(self, graph: ConstraintValueGraph, z: Tensor, how: str) -> Tensor:
        return _aggregate(graph, "variables", graph.num_variables, how, z, None)

    def cell(self, graph: ConstraintValueGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        result: Tensor = _Cell.apply(  # type: ignore[no-untyped-call]
            graph.native_edges, z, variable, h, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh
        )
        return result

    def satisfied_weight(self, graph: ConstraintValueGraph, labels: Tensor, weight: Tensor) -> Tensor:
        out = torch.empty(len(labels), graph.num_values)
        native.module().ops.satisfied_weight(graph.native_edges, labels, weight, out)
        return out


def _row_network(network: nn.Sequential) -> Any:
    """The native description of a network of Linear, ReLU and LayerNorm."""
    known = _networks.get(network)
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
        known = _networks[network] = native.module().ops.RowNetwork(layers)
    return known


def _detached(tensors: tuple[Tensor, ...]) -> list[Tensor]:
    return [t.detach().contiguous() for t in tensors]


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, network: Any, residual: bool, first: Tensor, second: Tensor | None, *parameters: Tensor
    ) -> Tensor:
        first = first.contiguous()
        second = None if second is None else second.contiguous()
        out = first.new_empty(len(first), network.outputs)
        native.module().ops.rows_forward(network, first.detach(), second, residual, _detached(parameters), out)
        ctx.network, ctx.residual = network, residual
        ctx.save_for_backward(first, second, *parameters)
        return out

    @staticmethod
    def backward(ctx: Any, out_gradient: Tensor) -> Any:
        first, second, *parameters = ctx.saved_tensors
        _, _, wants_first, wants_second, *_ = ctx.needs_input_grad
        first_gradient = torch.empty_like(first) if wants_first else None
        second_gradient = torch.empty_like(first) if wants_second else None
        gradients = [torch.empty_like(p, memory_format=torch.contiguous_format) for p in parameters]
        native.module().ops.rows_backward(
            ctx.network, first.detach(), second, ctx.residual, _detached(parameters), out_gradient.contiguous(),
            first_gradient, second_gradient, gradients,
        )  # fmt: skip
        return None, None, first_gradient, second_gradient, *gradients


def _aggregate(
    graph: ConstraintValueGraph, receivers: str, count: int, how: str, messages: Tensor, labels: Tensor | None
) -> Tensor:
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
        if messages.ndim != 2:
            raise ValueError("messages are not [rows, features]")
        messages = messages.contiguous()
        out = messages.new_empty(rows, messages.shape[1])
        argument = torch.empty_like(out, dtype=_ARGUMENT[out.dtype]) if how == "max" else None
        native.module().ops.aggregate_forward(edges, receivers, how, labels, messages.detach(), out, argument)
        ctx.edges, ctx.receivers, ctx.how, ctx.shape = edges, receivers, how, messages.shape
        ctx.save_for_backward(labels, argument)
        return out

    @staticmethod
    def backward(ctx: Any, out_gradient: Tensor) -> Any:
        labels, argument = ctx.saved_tensors
        gradient = out_gradient.new_empty(ctx.shape)
        native.module().ops.aggregate_backward(
            ctx.edges, ctx.receivers, ctx.how, labels, out_gradient.contiguous(), gradient, argument
        )
        return None, None, None, None, None, gradient


class _Cell(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Any, z: Tensor, variable: Tensor, h: Tensor, *parameters: Tensor) -> Tensor:
        z, variable, h = z.contiguous(), variable.contiguous(), h.contiguous()
        out = torch.empty_like(h)
        given = _detached((z, variable, h))
        native.module().ops.cell_forward(edges, *given, _detached(parameters), out)
        ctx.edges = edges
        ctx.save_for_backward(z, variable, h, *parameters)
        return out

    @staticmethod
    def backward(ctx: Any, out_gradient: Tensor) -> Any:
        z, variable, h, *parameters = ctx.saved_tensors
        gradients = [torch.empty_like(t) for t in (z, variable, h)]
        of_parameters = [torch.empty_like(p) for p in parameters]
        native.module().ops.cell_backward(
            ctx.edges, *_detached((z, variable, h)), _detached(tuple(parameters)), out_gradient.contiguous(),
            *gradients, of_parameters,
        )  # fmt: skip
        return None, *gradients, *of_parameters
