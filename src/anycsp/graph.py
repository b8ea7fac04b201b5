"""The constraint value graph: fixed topology of one problem or a batch, labels L_V and L_E every iteration.

Constraints are renumbered so that each labelling owns a contiguous range; within it, slots and edges follow
the layout of `constraints.base`. Only labels change during a search, never the topology.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from anycsp.constraints.base import Block, IntArray, Labelling, Terms
from anycsp.memory import check_memory
from anycsp.model.domains import Domains

if TYPE_CHECKING:
    from anycsp.model.problem import Problem


class Violations(NamedTuple):
    """Per run and instance: [runs, instances]."""

    violated: torch.Tensor
    weight: torch.Tensor
    hard: torch.Tensor
    score: torch.Tensor
    """What the search minimises: violated weight, any hard constraint before all the soft ones together."""


@dataclass(frozen=True)
class Incidence:
    """Edges grouped by what receives messages: row r gets the edges `edge[start[r]:start[r+1]]`."""

    start: torch.Tensor
    edge: torch.Tensor


@dataclass(frozen=True)
class ConstraintValueGraph:
    """Vertices: variables, values (domain positions end to end), constraints. Edges: (constraint, value)."""

    domains: Domains
    labellings: tuple[Labelling, ...]
    terms: Terms
    """Of the constraints in graph order; `terms.index` is the order they were added in."""
    scope_start: IntArray
    scope: IntArray
    instances: int
    variable_instance: IntArray
    constraint_instance: IntArray
    constant: npt.NDArray[np.float64]
    """[instances, 4]: count, weight, hard count and score of violated constraints with empty scope."""
    device: torch.device

    @property
    def num_variables(self) -> int:
        return len(self.domains.start) - 1

    @property
    def num_values(self) -> int:
        return int(self.domains.start[-1])

    @property
    def num_constraints(self) -> int:
        return len(self.terms.index)

    @property
    def num_edges(self) -> int:
        return int(self.domains.sizes[self.scope].sum())

    def to(self, device: torch.device | str) -> ConstraintValueGraph:
        target = torch.device(device)
        if target == self.device:
            return self
        return replace(self, labellings=tuple(l.to(target) for l in self.labellings), device=target)

    def _tensor(self, array: npt.NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    # ── topology as tensors ──────────────────────────────────────────────────────────────────────

    @cached_property
    def value_start(self) -> torch.Tensor:
        return self._tensor(self.domains.start)

    @cached_property
    def value_variable(self) -> torch.Tensor:
        return self._tensor(np.repeat(np.arange(self.num_variables), self.domains.sizes))

    @cached_property
    def instance_variable_start(self) -> torch.Tensor:
        """[instances + 1]: the variables of instance i are instance_variable_start[i] … [i+1]."""
        return self._tensor(np.searchsorted(self.variable_instance, np.arange(self.instances + 1)))

    @cached_property
    def value_instance(self) -> torch.Tensor:
        return self._tensor(self.variable_instance)[self.value_variable]

    @cached_property
    def domain_size(self) -> torch.Tensor:
        return self._tensor(self.domains.sizes)

    @cached_property
    def edge_slot(self) -> torch.Tensor:
        return self._tensor(np.repeat(np.arange(len(self.scope)), self.domains.sizes[self.scope]))

    @cached_property
    def edge_value(self) -> torch.Tensor:
        sizes = self.domains.sizes[self.scope]
        shift = self.domains.start[self.scope] - (np.cumsum(sizes) - sizes)
        return self._tensor(np.arange(self.num_edges) + np.repeat(shift, sizes))

    @cached_property
    def edge_constraint(self) -> torch.Tensor:
        slot_constraint = np.repeat(np.arange(self.num_constraints), np.diff(self.scope_start))
        return self._tensor(slot_constraint)[self.edge_slot]

    @cached_property
    def by_constraint(self) -> Incidence:
        edge_start = np.concatenate([[0], np.cumsum(self.domains.sizes[self.scope])])
        edges = torch.arange(self.num_edges, device=self.device)
        return Incidence(self._tensor(edge_start[self.scope_start]), edges)

    @cached_property
    def by_value(self) -> Incidence:
        order = torch.argsort(self.edge_value, stable=True)
        counts = torch.bincount(self.edge_value, minlength=self.num_values)
        return Incidence(torch.cat([counts.new_zeros(1), counts.cumsum(0)]), order)

    @cached_property
    def by_variable(self) -> Incidence:
        """Values grouped by their variable."""
        return Incidence(self.value_start, torch.arange(self.num_values, device=self.device))

    @cached_property
    def native_edges(self) -> Any:
        """The edges by constraint, by value and by variable for the compiled operations, checked here once."""
        from anycsp import native

        return native.module().ops.EdgeIndex(
            self.value_start.numpy(), self.by_constraint.start.numpy(), self.edge_value.numpy()
        )

    @cached_property
    def native_problem(self) -> Any:
        """The problem for the compiled labels."""
        from anycsp import native

        return native.native_problem(self)

    @cached_property
    def labelling_edges(self) -> list[slice]:
        """The edges of each labelling, a contiguous range."""
        constraints = np.cumsum([0, *(len(labelling) for labelling in self.labellings)])
        edges = self.by_constraint.start[torch.from_numpy(constraints)].tolist()
        return [slice(first, last) for first, last in itertools.pairwise(edges)]

    @cached_property
    def value_degree(self) -> torch.Tensor:
        """[values]: relative weight of the constraints on the value's variable."""
        degree = torch.zeros(self.num_values, device=self.device)
        return degree.index_add_(0, self.edge_value, self.relative_weight[self.edge_constraint])

    @cached_property
    def first_slot(self) -> torch.Tensor:
        """[constraints]: the first edge of the constraint's first slot, whose variable is `first_variable`."""
        return self.by_constraint.start[:-1]

    @cached_property
    def first_variable(self) -> torch.Tensor:
        return self._tensor(self.scope[self.scope_start[:-1]])

    @cached_property
    def constraint_weight(self) -> torch.Tensor:
        return self._tensor(self.terms.weight)

    @cached_property
    def relative_weight(self) -> torch.Tensor:
        """[constraints]: weight divided by the mean weight of its instance (1 when unweighted)."""
        total = np.bincount(self.constraint_instance, self.terms.weight, self.instances)
        count = np.bincount(self.constraint_instance, minlength=self.instances)
        mean = total / np.maximum(count, 1)
        return self._tensor((self.terms.weight / mean[self.constraint_instance]).astype(np.float32))

    @cached_property
    def total_weight(self) -> torch.Tensor:
        """[instances]"""
        total = np.bincount(self.constraint_instance, self.terms.weight, self.instances)
        return self._tensor(total + self.constant[:, 1])

    @cached_property
    def _instance_of_constraint(self) -> torch.Tensor:
        return self._tensor(self.constraint_instance)

    # ── labels ───────────────────────────────────────────────────────────────────────────────────

    def labels(self, positions: torch.Tensor) -> torch.Tensor:
        """L_E: [runs, variables] domain positions → [runs, edges] uint8."""
        parts = [labelling.labels(positions) for labelling in self.labellings]
        if not parts:
            return torch.zeros(len(positions), 0, dtype=torch.uint8, device=self.device)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def chosen(self, positions: torch.Tensor) -> torch.Tensor:
        """L_V: [runs, variables] → [runs, values] uint8, 1 at the value each variable takes."""
        result = torch.zeros(len(positions), self.num_values, dtype=torch.uint8, device=self.device)
        return result.scatter_(1, self.value_start[:-1] + positions, 1)

    @cached_property
    def _padding(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Value index and absence of every (variable, position); None where all domains have one size."""
        sizes = self.domain_size
        if bool((sizes == sizes[0]).all()):
            return None
        position = torch.arange(int(sizes.max()), device=self.device)
        absent = position >= sizes[:, None]
        return (self.value_start[:-1, None] + position).masked_fill(absent, 0), absent

    def by_variable_padded(self, values: torch.Tensor, absent: float) -> torch.Tensor:
        """[runs, values] → [runs, variables, widest domain], `absent` where a domain is shorter."""
        if self._padding is None:
            return values.view(len(values), self.num_variables, -1)
        index, missing = self._padding
        padded = values.index_select(1, index.reshape(-1)).view(len(values), *index.shape)
        return padded.masked_fill(missing, absent)

    def satisfied(self, positions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """[runs, constraints] bool: the label of a constraint's own current value says whether it holds."""
        edge = self.first_slot + positions.index_select(1, self.first_variable)
        return labels.gather(1, edge).to(torch.bool)

    @cached_property
    def _violation_columns(self) -> torch.Tensor:
        """[constraints, 4]: what a violated constraint adds to count, weight, hard count and score."""
        soft = np.where(self.terms.hard, 0.0, self.terms.weight)
        soft_total = np.bincount(self.constraint_instance, soft, self.instances)
        priority = np.where(self.terms.hard, 1.0 + soft_total[self.constraint_instance], 1.0)
        columns = [np.ones(len(soft)), self.terms.weight, self.terms.hard, self.terms.weight * priority]
        return self._tensor(np.stack(columns, axis=1).astype(np.float64))

    def violations(self, satisfied: torch.Tensor) -> Violations:
        """Sum what is violated per run and instance."""
        violated = (~satisfied).to(torch.float64)
        totals = self._tensor(self.constant).T.unsqueeze(1).repeat(1, len(satisfied), 1)  # [4, runs, instances]
        if self.instances == 1:
            totals += (violated @ self._violation_columns).T.unsqueeze(2)
        else:
            for total, column in zip(totals, self._violation_columns.T, strict=True):
                total.index_add_(1, self._instance_of_constraint, violated * column)
        return Violations(totals[0].round().to(torch.int64), totals[1], totals[2].round().to(torch.int64), totals[3])


def compile_graph(problems: Problem | Sequence[Problem], *, memory_limit: int | None = None) -> ConstraintValueGraph:
    """The graph of one problem, or of a batch as a disjoint union. Refuses what would not fit in memory."""
    batch = [problems] if not isinstance(problems, Sequence) else list(problems)
    check_memory(batch, memory_limit)
    by_family: dict[type[Block], list[Block]] = {}
    variables = constraints = 0
    variable_instance, constraint_offset = [], []
    for instance, problem in enumerate(batch):
        for block in problem.blocks:
            by_family.setdefault(type(block), []).append(block.shifted(variables, constraints))
        variable_instance.append(np.full(problem.num_variables, instance, dtype=np.int64))
        constraint_offset.append(constraints)
        variables += problem.num_variables
        constraints += problem.num_constraints
    domains = batch[0].domains if len(batch) == 1 else _joined([p.domains for p in batch])
    blocks = [family.concat(parts) if len(parts) > 1 else parts[0] for family, parts in by_family.items()]
    labellings = tuple(l for block in blocks for l in block.labellings(domains) if len(l))
    terms = Terms.concat([l.terms for l in labellings]) if labellings else Terms.of(0, 1.0, False, 0)
    arity = _concat([np.diff(l.scope_start) for l in labellings])
    offsets = np.array(constraint_offset, dtype=np.int64)
    return ConstraintValueGraph(
        domains=domains,
        labellings=labellings,
        terms=terms,
        scope_start=np.concatenate([[0], np.cumsum(arity)]).astype(np.int64),
        scope=_concat([l.scope for l in labellings]),
        instances=len(batch),
        variable_instance=np.concatenate(variable_instance),
        constraint_instance=np.searchsorted(offsets, terms.index, side="right") - 1,
        constant=_constant_violations(blocks, domains, offsets),
        device=torch.device("cpu"),
    )


def _concat(parts: Sequence[IntArray]) -> IntArray:
    """One array of all, without a copy of a single one."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def _joined(parts: Sequence[Domains]) -> Domains:
    sizes = np.concatenate([d.sizes for d in parts])
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Domains(start, np.concatenate([d.values for d in parts]))


def _constant_violations(blocks: Sequence[Block], domains: Domains, offsets: IntArray) -> npt.NDArray[np.float64]:
    """Constraints with empty scope are true or false for good: counted once, kept out of the graph."""
    constant = np.zeros((len(offsets), 4))
    nothing = np.zeros(len(domains.start) - 1, dtype=np.int64)
    for block in blocks:
        if (block.arity > 0).all():
            continue
        violated = ~block.satisfied(domains, nothing) & (block.arity == 0)
        terms = block.terms.take(violated)
        instance = np.searchsorted(offsets, terms.index, side="right") - 1
        columns = [np.ones(len(instance)), terms.weight, terms.hard, terms.weight]
        np.add.at(constant, instance, np.stack(columns, axis=1))
    return constant
