"""The paper's search written down plainly in PyTorch: the yardstick of speed.py.

Appendix A as it stands: every message is gathered with index_select and reduced with scatter_reduce, labels come from
scatters over the tuples (Equations Label1 to Label3, conflicts instead of allowed tuples where those are listed),
values are drawn with softmax and multinomial. Runs are copies of the instance in one batch. It shares the policy's
parameters with anycsp, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anycsp import Problem
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.table import TableBlock
from anycsp.neural.policy import PolicyNetwork

_REDUCE = {"sum": "sum", "mean": "mean", "max": "amax"}


@dataclass
class TupleGraph:
    """Values, constraint edges (C, v), and the listed tuples with the value and edge of each of their cells."""

    values: int
    variables: int
    constraints: int
    domain: int
    value_variable: Tensor
    edge_constraint: Tensor
    edge_value: Tensor
    edge_arity: Tensor
    edge_allowed: Tensor
    cell_tuple: Tensor
    cell_value: Tensor
    cell_edge: Tensor
    tuples: int

    @staticmethod
    def of(problems: Sequence[Problem], copies: int) -> TupleGraph:
        """The disjoint union of the problems, `copies` times; all domains of one size, tables and clauses only."""
        parts = [_edges_and_cells(problem) for problem in problems] * copies
        sizes = [(p.num_variables, len(p.domains.values), p.num_constraints) for p in problems] * copies
        domain = int(problems[0].domains.sizes[0])
        assert all((p.domains.sizes == domain).all() for p in problems)
        shift = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(sizes, axis=0)])
        edges = np.cumsum([0] + [len(p["edge_value"]) for p in parts])
        tuples = np.cumsum([0] + [p["tuples"] for p in parts])
        offsets = {"edge_constraint": shift[:, 2], "edge_value": shift[:, 1], "cell_value": shift[:, 1]}
        offsets |= {"cell_edge": edges, "cell_tuple": tuples}

        def joined(name: str) -> Tensor:
            start = offsets.get(name, np.zeros(len(parts) + 1, np.int64))
            return torch.from_numpy(np.concatenate([part[name] + start[i] for i, part in enumerate(parts)]))

        names = ("edge_constraint", "edge_value", "edge_arity", "edge_allowed", "cell_tuple", "cell_value", "cell_edge")
        return TupleGraph(
            values=int(shift[-1, 1]),
            variables=int(shift[-1, 0]),
            constraints=int(shift[-1, 2]),
            domain=domain,
            value_variable=torch.arange(int(shift[-1, 1])) // domain,
            tuples=int(tuples[-1]),
            **{name: joined(name) for name in names},
        )


def _edges_and_cells(problem: Problem) -> dict[str, np.ndarray]:
    """The edge and cell lists of one problem; an edge (C, X = v) is numbered slot by slot in domain order."""
    domain = int(problem.domains.sizes[0])
    out: dict[str, list[np.ndarray]] = {name: [] for name in TupleGraph.__dataclass_fields__}
    edges = tuples = constraints = 0
    for block in problem.blocks:
        slots = len(block.scope)
        slot_constraint = np.repeat(np.arange(len(block)), block.arity)
        out["edge_constraint"].append(np.repeat(slot_constraint, domain) + constraints)
        out["edge_value"].append((block.scope[:, None] * domain + np.arange(domain)).reshape(-1))
        out["edge_arity"].append(np.repeat(block.arity[slot_constraint], domain))
        if isinstance(block, ClauseBlock):  # one forbidden tuple a clause
            cell_slot, cell_tuple, position = np.arange(slots), slot_constraint, block.forbidden
            allowed = np.zeros(len(block), np.int64)
            count = len(block)
        else:
            assert isinstance(block, TableBlock)
            listed = [block.relations[r].tuples for r in block.relation]
            allowed = np.array([block.relations[r].allowed for r in block.relation], np.int64)
            rows = np.array([len(t) for t in listed])
            slots_of = [np.tile(np.arange(a), r) for a, r in zip(block.arity, rows, strict=True)]
            cell_slot = np.concatenate(slots_of) + np.repeat(block.scope_start[:-1], rows * block.arity)
            cell_tuple = np.repeat(np.arange(rows.sum()), np.repeat(block.arity, rows))
            position = np.concatenate([t.reshape(-1) for t in listed])
            count = int(rows.sum())
        out["edge_allowed"].append(np.repeat(allowed[slot_constraint], domain))
        out["cell_tuple"].append(cell_tuple + tuples)
        out["cell_value"].append(block.scope[cell_slot] * domain + position)
        out["cell_edge"].append(cell_slot * domain + position + edges)
        edges, tuples, constraints = edges + slots * domain, tuples + count, constraints + len(block)
    return {name: np.concatenate(arrays) for name, arrays in out.items() if arrays} | {"tuples": tuples}


def scatter(messages: Tensor, index: Tensor, rows: int, how: str) -> Tensor:
    out = messages.new_zeros(rows, messages.shape[1])
    return out.scatter_reduce(0, index[:, None].expand_as(messages), messages, _REDUCE[how], include_self=False)


def labels(graph: TupleGraph, chosen: Tensor) -> Tensor:
    """L_E from the listed tuples."""
    score = torch.zeros(graph.tuples).scatter_add_(0, graph.cell_tuple, chosen[graph.cell_value])
    highest = torch.full((len(graph.edge_value),), -1.0)
    highest = highest.scatter_reduce(0, graph.cell_edge, score[graph.cell_tuple], "amax")
    matched = highest - chosen[graph.edge_value] + 1 == graph.edge_arity
    return torch.where(graph.edge_allowed == 1, matched, ~matched).to(torch.int64)


def forward(
    policy: PolicyNetwork, graph: TupleGraph, h: Tensor, chosen: Tensor, label: Tensor
) -> tuple[Tensor, Tensor]:
    """Algorithm "Forward pass": logits of every value, and the new states."""
    how = policy.config.aggregation
    x = policy.encoder(torch.cat([h, chosen[:, None]], dim=1))
    messages = policy.value_message(x).view(2 * graph.values, -1)
    received = messages.index_select(0, 2 * graph.edge_value + label)
    y = scatter(received, graph.edge_constraint, graph.constraints, how)
    messages = policy.constraint_message(y).view(2 * graph.constraints, -1)
    received = messages.index_select(0, 2 * graph.edge_constraint + label)
    y = scatter(received, graph.edge_value, graph.values, how)
    z = policy.value_update(x + y) + x
    pooled = policy.variable_update(scatter(z, graph.value_variable, graph.variables, how))
    h = policy.cell(z + pooled.index_select(0, graph.value_variable), h)
    return policy.output(h).squeeze(1), h


class PlainSearch:
    """Steps of the search on a batch; keeps no best, counts nothing."""

    def __init__(self, problems: Sequence[Problem], policy: PolicyNetwork, copies: int = 1) -> None:
        self.graph, self.policy = TupleGraph.of(problems, copies), policy

    @torch.no_grad()
    def start(self) -> None:
        self.h = self.policy.initial_state.expand(self.graph.values, -1)
        self._draw(torch.ones(self.graph.variables, self.graph.domain))

    @torch.no_grad()
    def advance(self, steps: int) -> None:
        for _ in range(steps):
            logits, self.h = forward(self.policy, self.graph, self.h, self.chosen, self.label)
            self._draw(logits.view(-1, self.graph.domain).softmax(dim=1))

    def _draw(self, probability: Tensor) -> None:
        position = torch.multinomial(probability, 1).squeeze(1)
        self.chosen = torch.zeros(self.graph.values)
        self.chosen[torch.arange(self.graph.variables) * self.graph.domain + position] = 1.0
        self.label = labels(self.graph, self.chosen)
