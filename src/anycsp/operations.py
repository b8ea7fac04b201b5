"""The differentiable operations of a search step, and the one place where native code or PyTorch is chosen.

`TwinOperations` says in plain PyTorch what each of them computes; `native.ops` computes the same, faster.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from anycsp import native
from anycsp.aggregate import aggregate
from anycsp.graph import ConstraintValueGraph


class Operations(Protocol):
    """Rows of all runs lie end to end: values are [runs·values, d], constraints [runs·constraints, d]."""

    name: str

    def rows(self, network: nn.Sequential, x: Tensor, plus: Tensor | None = None, residual: bool = False) -> Tensor:
        """network(x + plus), plus x where `residual`."""

    def to_constraints(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        """y(C) = ⊕ m(v, L_E(C,v)); messages [runs·values·2, d]."""

    def to_values(self, graph: ConstraintValueGraph, messages: Tensor, labels: Tensor, how: str) -> Tensor:
        """y(v) = ⊕ m(C, L_E(C,v)); messages [runs·constraints·2, d]."""

    def to_variables(self, graph: ConstraintValueGraph, z: Tensor, how: str) -> Tensor:
        """⊕ over the values of each variable."""

    def cell(self, graph: ConstraintValueGraph, cell: nn.GRUCell, z: Tensor, variable: Tensor, h: Tensor) -> Tensor:
        """G(h, z(v) + z(X)), z(X) the row of v's variable."""

    def satisfied_weight(self, graph: ConstraintValueGraph, labels: Tensor, weight: Tensor) -> Tensor:
        """[runs, values] float32: weight of the constraints that hold if only this value were chosen anew."""


class TwinOperations:
    name = "twin"

    def rows(self, network: nn.Sequential, x: Tensor, plus: Tensor | None = None, residual: bool = False) -> Tensor:
        result: Tensor = network(x if plus is None else x + plus)
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

    def satisfied_weight(self, graph: ConstraintValueGraph, labels: Tensor, weight: Tensor) -> Tensor:
        satisfied = torch.zeros(len(labels), graph.num_values, device=graph.device)
        return satisfied.index_add_(1, graph.edge_value, labels.to(torch.float32) * weight[graph.edge_constraint])


TWIN = TwinOperations()


def fastest(device: torch.device | str = "cpu") -> Operations:
    """Native operations where the module was built and tensors lie in main memory, else the twin."""
    if native.available() and torch.device(device).type == "cpu":
        from anycsp.native.ops import NativeOperations

        return NativeOperations()
    return TWIN
