"""The constraint value graph as tensors on a device: what the network reads of it, labels L_V and L_E, violations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from anycsp import native
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.labels import Labels, grades_of, labels_of
from anycsp.neural.weights import KIND_FEATURES, KINDS

KIND = {
    "clause": "clause", "matching": "matching", "dense": "table", "tuples": "table", "linear": "sum", "sum": "sum",
    "all_different": "all_different",
}  # fmt: skip
"""What a policy takes the families for; all others are "other"."""


class Violations(NamedTuple):
    """Per run and instance: [runs, instances]."""

    violated: Tensor
    weight: Tensor
    hard: Tensor
    score: Tensor
    """What the search minimises, as `model/score.py` defines it."""


@dataclass(frozen=True)
class Incidence:
    """Edges grouped by what receives messages: row r gets the edges `edge[start[r]:start[r+1]]`."""

    start: Tensor
    edge: Tensor


@dataclass(frozen=True, eq=False)
class TensorGraph:
    """A view of a graph; every tensor is made at first use and kept."""

    topology: ConstraintValueGraph
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    first_variable: int = 0
    """The number of its first variable in the batch that this graph is a share of: it draws what the whole would."""

    @property
    def instances(self) -> int:
        return self.topology.instances

    @property
    def num_variables(self) -> int:
        return self.topology.num_variables

    @property
    def num_values(self) -> int:
        return self.topology.num_values

    @property
    def num_constraints(self) -> int:
        return self.topology.num_constraints

    @property
    def num_edges(self) -> int:
        return self.topology.num_edges

    def tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    # ── values and variables ─────────────────────────────────────────────────────────────────────

    @cached_property
    def value_start(self) -> Tensor:
        """[variables + 1]: the values of variable x are value_start[x] … [x+1]."""
        return self.tensor(self.topology.domains.start)

    @cached_property
    def domain_size(self) -> Tensor:
        return self.tensor(self.topology.domains.sizes)

    @cached_property
    def value_variable(self) -> Tensor:
        return self.tensor(np.repeat(np.arange(self.num_variables), self.topology.domains.sizes))

    @cached_property
    def variable_instance(self) -> Tensor:
        return self.tensor(self.topology.variable_instance)

    @cached_property
    def instance_variable_start(self) -> Tensor:
        """[instances + 1]: the variables of instance i are instance_variable_start[i] … [i+1]."""
        return self.tensor(np.searchsorted(self.topology.variable_instance, np.arange(self.instances + 1)))

    @cached_property
    def value_instance(self) -> Tensor:
        return self.variable_instance[self.value_variable]

    # ── edges ────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _edge_values(self) -> npt.NDArray[np.int64]:
        domains, scope = self.topology.domains, self.topology.scope
        sizes = domains.sizes[scope]
        shift = domains.start[scope] - (np.cumsum(sizes) - sizes)
        values: npt.NDArray[np.int64] = np.arange(self.num_edges) + np.repeat(shift, sizes)
        return values

    @cached_property
    def _constraint_edges(self) -> npt.NDArray[np.int64]:
        """[constraints + 1]: the edges of constraint c are _constraint_edges[c] … [c+1]."""
        edge_start = np.concatenate([[0], np.cumsum(self.topology.domains.sizes[self.topology.scope])])
        starts: npt.NDArray[np.int64] = edge_start[self.topology.scope_start]
        return starts

    @cached_property
    def edge_value(self) -> Tensor:
        return self.tensor(self._edge_values)

    @cached_property
    def edge_constraint(self) -> Tensor:
        return self.tensor(np.repeat(np.arange(self.num_constraints), np.diff(self._constraint_edges)))

    @cached_property
    def by_constraint(self) -> Incidence:
        return Incidence(self.tensor(self._constraint_edges), torch.arange(self.num_edges, device=self.device))

    @cached_property
    def by_value(self) -> Incidence:
        counts = np.bincount(self._edge_values, minlength=self.num_values)
        order = np.argsort(self._edge_values, kind="stable")
        return Incidence(self.tensor(np.concatenate([[0], np.cumsum(counts)])), self.tensor(order))

    @cached_property
    def by_variable(self) -> Incidence:
        """Values grouped by their variable."""
        return Incidence(self.value_start, torch.arange(self.num_values, device=self.device))

    @cached_property
    def native_edges(self) -> Any:
        """The edges by constraint, by value and by variable for the native training operations, checked here once."""
        return native.module().ops.EdgeIndex(
            self.value_start.numpy(), self.by_constraint.start.numpy(), self.edge_value.numpy()
        )

    # ── constraints ──────────────────────────────────────────────────────────────────────────────

    @cached_property
    def constraint_instance(self) -> Tensor:
        return self.tensor(self.topology.constraint_instance)

    @cached_property
    def constraint_weight(self) -> Tensor:
        return self.tensor(self.topology.terms.weight)

    @cached_property
    def hard(self) -> Tensor:
        """[constraints] bool"""
        return self.tensor(self.topology.terms.hard)

    @cached_property
    def _instance_weight(self) -> npt.NDArray[np.float64]:
        """[instances]: what the constraints of non-empty scope weigh together."""
        weight: npt.NDArray[Any] = self.topology.terms.weight
        return np.bincount(self.topology.constraint_instance, weight, self.instances).astype(np.float64)

    @cached_property
    def relative_weight(self) -> Tensor:
        """[constraints]: weight divided by the mean weight of its instance (1 when unweighted)."""
        instance = self.topology.constraint_instance
        mean = self._instance_weight / np.maximum(np.bincount(instance, minlength=self.instances), 1)
        return self.tensor((self.topology.terms.weight / mean[instance]).astype(np.float32))

    @cached_property
    def total_weight(self) -> Tensor:
        """[instances]"""
        return self.tensor(self._instance_weight + self.topology.constant[:, 1] / self.topology.units)

    @cached_property
    def value_degree(self) -> Tensor:
        """[values]: relative weight of the constraints on the value's variable."""
        degree = torch.zeros(self.num_values, device=self.device)
        return degree.index_add_(0, self.edge_value, self.relative_weight[self.edge_constraint])

    @cached_property
    def kind_features(self) -> Tensor:
        """[constraints, KIND_FEATURES]: log2(arity) / 4, and a 1 in the column of the constraint's kind."""
        features = np.zeros((self.num_constraints, KIND_FEATURES), dtype=np.float32)
        features[:, 0] = np.log2(np.diff(self.topology.scope_start)) / 4
        kinds = np.repeat(
            [KINDS.index(KIND.get(labelling.native_kind, "other")) for labelling in self.topology.labellings],
            [len(labelling) for labelling in self.topology.labellings],
        ).astype(np.int64)
        features[np.arange(self.num_constraints), 1 + kinds] = 1
        return self.tensor(features)

    # ── labels and what they say ─────────────────────────────────────────────────────────────────

    @cached_property
    def family_labels(self) -> list[Labels]:
        """The labels of each labelling of the graph."""
        return [labels_of(labelling, self.device) for labelling in self.topology.labellings]

    @cached_property
    def family_edges(self) -> list[slice]:
        """The edges of each labelling, a contiguous range."""
        constraints = np.cumsum([0, *(len(labelling) for labelling in self.topology.labellings)])
        edges = self._constraint_edges[constraints].tolist()
        return [slice(first, last) for first, last in itertools.pairwise(edges)]

    def labels(self, positions: Tensor) -> Tensor:
        """L_E: [runs, variables] domain positions → [runs, edges] uint8."""
        parts = [labels(positions) for labels in self.family_labels]
        if not parts:
            return torch.zeros(len(positions), 0, dtype=torch.uint8, device=self.device)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def grades(self, positions: Tensor, labels: Tensor) -> Tensor:
        """[runs, edges] float32: how far each constraint is from holding if the edge's variable alone took the edge's
        value; `labels` are those of the positions, and decide where a family has no more to say."""
        parts = [
            1 - labels[:, edges].to(torch.float32) if grades is None else grades(positions)
            for grades, edges in zip(self._family_grades, self.family_edges, strict=True)
        ]
        return torch.cat([labels[:, :0].to(torch.float32), *parts], dim=1)

    @cached_property
    def _family_grades(self) -> list[Labels | None]:
        return [grades_of(labelling, self.device) for labelling in self.topology.labellings]

    def chosen(self, positions: Tensor) -> Tensor:
        """L_V: [runs, variables] → [runs, values] uint8, 1 at the value each variable takes."""
        result = torch.zeros(len(positions), self.num_values, dtype=torch.uint8, device=self.device)
        return result.scatter_(1, self.value_start[:-1] + positions, 1)

    @cached_property
    def _first_variable(self) -> Tensor:
        """[constraints]: the variable of the first slot, whose edges are the constraint's first."""
        return self.tensor(self.topology.scope[self.topology.scope_start[:-1]])

    def satisfied(self, positions: Tensor, labels: Tensor) -> Tensor:
        """[runs, constraints] bool: the label of a constraint's own current value says whether it holds."""
        return self.at_first_variable(positions, labels).to(torch.bool)

    def at_first_variable(self, positions: Tensor, of_edges: Tensor) -> Tensor:
        """[runs, constraints]: what is known of each constraint's edge at the current value of its first variable."""
        edge = self.by_constraint.start[:-1] + positions.index_select(1, self._first_variable)
        return of_edges.gather(1, edge)

    @cached_property
    def _violation_columns(self) -> Tensor:
        """[constraints, 4]: what a violated constraint adds to count, hard count, and the score's two parts: hard and
        soft weight. All are whole numbers whose sums a float holds exactly, in whatever order they are added."""
        terms, graph = self.topology.terms, self.topology
        hard = np.where(terms.hard, graph.score // graph.priority[graph.constraint_instance], 0)
        soft = np.where(terms.hard, 0, graph.score)
        return self.tensor(np.stack([np.ones(len(soft)), terms.hard, hard, soft], axis=1).astype(np.float64))

    def violations(self, satisfied: Tensor) -> Violations:
        """Sum what is violated per run and instance."""
        violated = (~satisfied).to(torch.float64)
        totals = violated.new_zeros(4, len(satisfied), self.instances)
        if self.instances == 1:
            totals += (violated @ self._violation_columns).T.unsqueeze(2)
        else:
            for total, column in zip(totals, self._violation_columns.T, strict=True):
                total.index_add_(1, self.constraint_instance, violated * column)
        count, hard, hard_weight, soft_weight = totals.to(torch.int64)
        constant = self.tensor(self.topology.constant)
        units, priority, hard_unit = map(
            self.tensor, (self.topology.units, self.topology.priority, self.topology.hard_unit)
        )
        return Violations(
            count + constant[:, 0],
            (hard_weight * hard_unit + soft_weight + constant[:, 1]) / units,
            hard + constant[:, 2],
            hard_weight * priority + soft_weight + constant[:, 3],
        )

    # ── ragged domains ───────────────────────────────────────────────────────────────────────────

    @cached_property
    def _padding(self) -> tuple[Tensor, Tensor] | None:
        """Value index and absence of every (variable, position); None where all domains have one size."""
        known = self.topology.domains.sizes
        if bool((known == known[:1]).all()):
            return None
        position = torch.arange(int(known.max()), device=self.device)
        absent = position >= self.domain_size[:, None]
        return (self.value_start[:-1, None] + position).masked_fill(absent, 0), absent

    def by_variable_padded(self, values: Tensor, absent: float) -> Tensor:
        """[runs, values] → [runs, variables, widest domain], `absent` where a domain is shorter."""
        if self._padding is None:
            return values.view(len(values), self.num_variables, -1)
        index, missing = self._padding
        padded = values.index_select(1, index.reshape(-1)).view(len(values), *index.shape)
        return padded.masked_fill(missing, absent)
