"""A batch of searches on its way through a window: where it stands, what is drawn next, what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from anycsp.neural.guidance import UNGUIDED, Guidance, guided, updated
from anycsp.neural.operations import Operations
from anycsp.neural.policy import TORCH
from anycsp.neural.tensors import TensorGraph


@dataclass(frozen=True)
class Batch:
    """A compiled set of instances with what only training needs of it."""

    graph: TensorGraph

    def cost(self, violated: Tensor) -> Tensor:
        """[runs, instances]: violated weight, exact for integer weights; `violated` [runs, constraints] says which are,
        or how far."""
        violated = violated * self.graph.constraint_weight
        total = violated.new_zeros(len(violated), self.graph.instances)
        return total.index_add_(1, self.graph.constraint_instance, violated)

    @cached_property
    def _weight(self) -> Tensor:
        return self.graph.constraint_weight.to(torch.float32)

    def graded_cost_of_moves(self, positions: Tensor, grades: Tensor, cost: Tensor, ops: Operations = TORCH) -> Tensor:
        """The same where costs are graded."""
        graph = self.graph
        far = ops.graded_weight(graph, grades, self._weight)
        now = far.gather(1, graph.value_start[:-1] + positions)
        without = cost.to(now.dtype).index_select(1, graph.variable_instance) - now
        return without.index_select(1, graph.value_variable) + far

    def cost_of_moves(self, positions: Tensor, labels: Tensor, cost: Tensor, ops: Operations = TORCH) -> Tensor:
        """[runs, values]: the instance's cost if only that variable took that value."""
        graph = self.graph
        satisfied = ops.satisfied_weight(graph, labels, self._weight)
        now = satisfied.gather(1, graph.value_start[:-1] + positions)
        before = cost.to(now.dtype).index_select(1, graph.variable_instance) + now
        return before.index_select(1, graph.value_variable) - satisfied


@dataclass
class SearchState:
    """Where the searches of a batch stand between two windows."""

    positions: Tensor
    """[runs, variables]"""
    state: Tensor
    """[runs, values, d] recurrent states."""
    fresh: Tensor
    """[instances]: not yet begun, so the recurrent state is the learned initial one."""
    best: Tensor
    """[runs, instances]: lowest cost seen so far, the true one since the search began."""
    initial: Tensor
    """[runs, instances]: cost of α^(0)."""
    trace: Tensor
    """[runs, constraints]: what guidance remembers of them; see `guidance.py`."""


class Walk:
    """Searches stepping through a window. Whoever leads them hands in logits and gets what is to be drawn from, then
    hands in what was drawn."""

    def __init__(
        self,
        batch: Batch,
        start: SearchState,
        ops: Operations = TORCH,
        temperature: Tensor | None = None,
        guidance: Guidance = UNGUIDED,
        graded: bool = False,
    ) -> None:
        """`temperature` [instances] divides the logits. `graded`: costs say how far constraints are from satisfied."""
        self._batch, self._ops, self._guidance, self._graded = batch, ops, guidance, graded
        self._fresh = start.fresh[batch.graph.value_instance][:, None]
        self._heat = None if temperature is None else temperature[batch.graph.value_instance]
        self._trace = start.trace
        self._look(start.positions)
        self.initial = torch.where(start.fresh, self.cost, start.initial)
        self.best = torch.where(start.fresh, self.cost, start.best)

    def _look(self, positions: Tensor) -> None:
        self.positions = positions
        self.labels = self._ops.labels(self._batch.graph, positions)
        self._satisfied = self._batch.graph.satisfied(positions, self.labels)
        if self._graded:
            self._grades = self._ops.grades(self._batch.graph, positions, self.labels)
            self.cost = self._batch.cost(self._batch.graph.at_first_variable(positions, self._grades))
        else:
            self.cost = self._batch.cost(~self._satisfied)

    def cost_of_moves(self) -> Tensor:
        """[runs, values]: the instance's cost if only that variable took that value."""
        if self._graded:
            return self._batch.graded_cost_of_moves(self.positions, self._grades, self.cost, self._ops)
        return self._batch.cost_of_moves(self.positions, self.labels, self.cost, self._ops)

    def recurrent(self, carried: Tensor, initial: Tensor) -> Tensor:
        """[runs, values, d]: a policy's states at the window's start, its initial one in searches that begin here."""
        return torch.where(self._fresh, initial, carried)

    def drawn_from(self, logits: Tensor) -> Tensor:
        """What the search makes of a policy's logits: guidance and temperature. Once a step: guidance remembers."""
        if self._guidance:
            self._trace = updated(self._trace, self._satisfied, self._guidance)
            logits = guided(self._batch.graph, logits, self.labels, self._trace, self._guidance)
        return logits if self._heat is None else logits / self._heat

    def step(self, positions: Tensor) -> None:
        """To the next α; `best` has it included."""
        self._look(positions)
        self.best = torch.minimum(self.best, self.cost)

    def end(self, state: Tensor) -> SearchState:
        """With these recurrent states, to be continued from."""
        fresh = torch.zeros(self._batch.graph.instances, dtype=torch.bool, device=self._batch.graph.device)
        return SearchState(self.positions, state.detach(), fresh, self.best, self.initial, self._trace)
