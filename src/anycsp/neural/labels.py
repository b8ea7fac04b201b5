"""L_E in PyTorch, family by family: what the torch engine labels with, and what the native labels are tested against.

One function a family: it takes the arrays of a labelling and gives a function from assignments [runs, variables], as
domain positions, to edge labels [runs, edges] of uint8. Equivalent code in C++ is in `cpp/families`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from anycsp.constraints.all_different import AllDifferentLabelling
from anycsp.constraints.base import IntArray, Labelling
from anycsp.constraints.clause import ClauseLabelling
from anycsp.constraints.comparison import DISTANCE, ComparisonLabelling
from anycsp.constraints.distinct import DistinctLabelling
from anycsp.constraints.external import ExternalLabelling
from anycsp.constraints.extremum import NOTHING, ExtremumLabelling
from anycsp.constraints.linear import LinearLabelling, ResidualLabelling
from anycsp.constraints.rule import RuleLabelling
from anycsp.constraints.short_table import ShortTableLabelling
from anycsp.constraints.sum import SumLabelling
from anycsp.constraints.table_layouts import DenseLabelling, MatchingLabelling, TupleListLabelling

Labels = Callable[[Tensor], Tensor]
"""[runs, variables] domain positions → [runs, edges] labels."""


class Slots:
    """Index tensors of a labelling's slots and edges on a device, each made at first use."""

    def __init__(self, labelling: Labelling, device: torch.device) -> None:
        self.labelling, self.device = labelling, device

    def tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    @cached_property
    def variable(self) -> Tensor:
        """[slots]"""
        return self.tensor(self.labelling.scope)

    @cached_property
    def constraint(self) -> Tensor:
        """[slots]"""
        return self.tensor(np.repeat(np.arange(len(self.labelling)), np.diff(self.labelling.scope_start)))

    @cached_property
    def first_edge(self) -> Tensor:
        """[slots]: a position further is the edge of that value."""
        return self.tensor(self.labelling.edge_start()[:-1])

    @cached_property
    def of_edge(self) -> Tensor:
        """[edges]: the slot."""
        sizes = self.labelling.domains.sizes[self.labelling.scope]
        return self.tensor(np.repeat(np.arange(len(sizes)), sizes))

    @cached_property
    def edge_position(self) -> Tensor:
        """[edges]: the domain position."""
        return torch.arange(len(self.of_edge), device=self.device) - self.first_edge[self.of_edge]

    def taken(self, positions: Tensor) -> Tensor:
        """[runs, slots]: the edge of the value each slot's variable has."""
        return self.first_edge + positions.index_select(1, self.variable)

    def all_but(self, exceptions: Tensor) -> Tensor:
        """[runs, slots] domain positions → labels that are 0 there and 1 elsewhere; −1 for no exception."""
        return (exceptions.index_select(1, self.of_edge) != self.edge_position).to(torch.uint8)


def labels_of(labelling: Labelling, device: torch.device) -> Labels:
    """The labels of any family's labelling, computed on the device."""
    slots = Slots(labelling, device)
    if type(labelling) in _DISTANCES:
        distances = _DISTANCES[type(labelling)](labelling, slots)
        return lambda positions: (distances(positions) == 0).to(torch.uint8)
    return _FAMILIES[type(labelling)](labelling, slots)


def grades_of(labelling: Labelling, device: torch.device) -> Labels | None:
    """As labels, but how far from satisfied the constraint would be, in float32: 0 where the label is 1, else at least
    1. None where that is all there is to say. The size of an error counts by its logarithm, whatever the scale of the
    constraint; an all-different counts its clashes."""
    if type(labelling) not in _DISTANCES:
        return None
    distances = _DISTANCES[type(labelling)](labelling, Slots(labelling, device))
    if isinstance(labelling, AllDifferentLabelling):
        return lambda positions: distances(positions).to(torch.float32)
    return lambda positions: graded(distances(positions))


def graded(distance: Tensor) -> Tensor:
    return torch.where(distance == 0, 0.0, 1 + distance.clamp(min=1).to(torch.float32).log2())


# ── clauses and tables ───────────────────────────────────────────────────────────────────────────


def clause(labelling: ClauseLabelling, slots: Slots) -> Labels:
    """0 at the forbidden value of a slot whose neighbours are all at theirs."""
    forbidden = slots.tensor(labelling.forbidden)

    def labels(positions: Tensor) -> Tensor:
        free = (positions.index_select(1, slots.variable) != forbidden).to(torch.int32)
        satisfying = torch.zeros(len(positions), len(labelling), dtype=torch.int32, device=slots.device)
        satisfying.index_add_(1, slots.constraint, free)
        others = satisfying.index_select(1, slots.constraint) - free
        return slots.all_but(torch.where(others == 0, forbidden, -1))

    return labels


def matching(labelling: MatchingLabelling, slots: Slots) -> Labels:
    """0 at the one value that conflicts with the partner's."""
    partner, offset = slots.tensor(labelling.partner), slots.tensor(labelling.offset)
    conflict = slots.tensor(labelling.conflict)
    return lambda positions: slots.all_but(conflict[offset + positions.index_select(1, partner)])


def dense(labelling: DenseLabelling, slots: Slots) -> Labels:
    """A truth table, looked up at a mixed-radix address."""
    base, stride, truth = (slots.tensor(a) for a in (labelling.base, labelling.stride, labelling.truth))

    def labels(positions: Tensor) -> Tensor:
        own = positions.index_select(1, slots.variable) * stride
        address = base.repeat(len(positions), 1)
        address.index_add_(1, slots.constraint, own)
        others = address.index_select(1, slots.constraint) - own
        return truth[others.index_select(1, slots.of_edge) + slots.edge_position * stride[slots.of_edge]]

    return labels


def tuple_list(labelling: TupleListLabelling, slots: Slots) -> Labels:
    """A tuple that agrees with the assignment in all slots but one labels that one value; a tuple that agrees
    everywhere labels every current value (Equations Label1 to Label3 of the paper)."""
    tuples, edge_start = slots.tensor(labelling.tuples), labelling.edge_start()

    def labels(positions: Tensor) -> Tensor:
        result = torch.empty(len(positions), int(edge_start[-1]), dtype=torch.uint8, device=slots.device)
        for c, (first, last) in enumerate(pairwise(labelling.scope_start.tolist())):
            relation = int(labelling.relation[c])
            bounds = labelling.tuple_start[relation : relation + 2].tolist()
            rows = tuples[bounds[0] : bounds[1]].view(-1, last - first)
            listed = int(labelling.allowed[relation])
            result[:, int(edge_start[first]) : int(edge_start[last])] = 1 - listed
            now = positions.index_select(1, slots.variable[first:last])
            agree = rows.unsqueeze(0) == now.unsqueeze(1)  # [runs, tuples, arity]
            score = agree.sum(dim=2, keepdim=True)
            hit = (score - agree.to(score.dtype)) == last - first - 1
            run, row, slot = hit.nonzero(as_tuple=True)
            result[run, slots.first_edge[first:last][slot] + rows[row, slot]] = listed
        return result

    return labels


def short_table(labelling: ShortTableLabelling, slots: Slots) -> Labels:
    """A row of intervals that holds in all slots but possibly one labels its whole interval there."""
    relations = [(slots.tensor(r.low), slots.tensor(r.high), r.allowed) for r in labelling.relations]
    edge_start = labelling.edge_start()

    def of_constraint(c: int, positions: Tensor) -> Tensor:
        first, last = labelling.scope_start[c : c + 2].tolist()
        low, high, allowed = relations[labelling.relation[c]]
        now = positions.index_select(1, slots.variable[first:last]).unsqueeze(1)
        agree = ((low <= now) & (now <= high)).to(torch.int64)  # [runs, rows, arity]
        hit = agree.sum(dim=2, keepdim=True) - agree == last - first - 1
        # Interval ends go into a difference array with one extra cell a slot; its running sum counts the rows.
        sizes = np.diff(edge_start[first : last + 1])
        begin = slots.tensor(edge_start[first:last] - edge_start[first] + np.arange(last - first))
        width = int(sizes.sum()) + len(sizes)
        ends = torch.zeros(len(positions), width, dtype=torch.int64, device=slots.device)
        run, row, slot = hit.nonzero(as_tuple=True)
        one = torch.ones_like(run)
        ends.index_put_((run, begin[slot] + low[row, slot]), one, accumulate=True)
        ends.index_put_((run, begin[slot] + high[row, slot] + 1), -one, accumulate=True)
        keep = np.ones(width, dtype=np.bool_)
        keep[np.cumsum(sizes + 1) - 1] = False
        listed: Tensor = ends.cumsum(1)[:, slots.tensor(keep)] > 0
        return torch.eq(listed, allowed).to(torch.uint8)

    return lambda positions: torch.cat([of_constraint(c, positions) for c in range(len(labelling))], dim=1)


# ── comparisons ──────────────────────────────────────────────────────────────────────────────────


def _compared(labelling: ComparisonLabelling, slots: Slots) -> Callable[[Tensor], Tensor]:
    """Edge by edge how far `difference ∘ 0` is from true, ∘ the operator of the edge's constraint."""
    edge_operator = np.repeat(labelling.operator, np.diff(labelling.edge_start()[labelling.scope_start]))
    edges_by_operator = [
        (int(code), slots.tensor(np.flatnonzero(edge_operator == code))) for code in np.unique(labelling.operator)
    ]

    def compared(difference: Tensor) -> Tensor:
        distances = torch.empty_like(difference)
        for code, edges in edges_by_operator:
            distances[:, edges] = DISTANCE[code](difference[:, edges])
        return distances

    return compared


def residual(labelling: ResidualLabelling, slots: Slots) -> Labels:
    """Σ term ∘ bound, whatever each value's term is: without its own variable, plus the edge's term."""
    edge_term, bound = slots.tensor(labelling.edge_term), slots.tensor(labelling.bound)
    compared = _compared(labelling, slots)

    def distances(positions: Tensor) -> Tensor:
        now = edge_term[slots.taken(positions)]  # [runs, slots]
        total = (-bound).repeat(len(positions), 1)
        total.index_add_(1, slots.constraint, now)
        others = total.index_select(1, slots.constraint) - now
        return compared(others.index_select(1, slots.of_edge) + edge_term)

    return distances


def extremum(labelling: ExtremumLabelling, slots: Slots) -> Labels:
    """Without its own variable a constraint has the second largest term where that variable alone holds the largest."""
    edge_term, bound = slots.tensor(labelling.edge_term), slots.tensor(labelling.bound)
    is_result, compared = slots.tensor(labelling.is_result), _compared(labelling, slots)

    def distances(positions: Tensor) -> Tensor:
        runs, count = len(positions), len(slots.variable)
        now = edge_term[slots.taken(positions)]  # [runs, slots]
        listed = torch.where(is_result, NOTHING, now)
        row = slots.constraint.expand(runs, -1)
        nothing = torch.full((runs, len(labelling)), NOTHING, dtype=torch.int64, device=slots.device)
        largest = nothing.scatter_reduce(1, row, listed, "amax")
        # Take out one holder of the largest term, the first, and look again.
        number = torch.arange(count, device=slots.device)
        holds = listed == largest.index_select(1, slots.constraint)
        first = torch.full_like(nothing, count).scatter_reduce(1, row, torch.where(holds, number, count), "amin")
        is_first = first.index_select(1, slots.constraint) == number
        second = nothing.scatter_reduce(1, row, torch.where(is_first, NOTHING, listed), "amax")
        others = torch.where(
            is_first, second.index_select(1, slots.constraint), largest.index_select(1, slots.constraint)
        )
        target = bound.repeat(runs, 1)
        target.index_add_(1, slots.constraint, torch.where(is_result, now, 0))
        moved = torch.maximum(others.index_select(1, slots.of_edge), edge_term)
        on_left = moved - target.index_select(1, slots.constraint).index_select(1, slots.of_edge)
        on_right = (largest - bound).index_select(1, slots.constraint).index_select(1, slots.of_edge)
        return compared(torch.where(is_result[slots.of_edge], on_right - edge_term, on_left))

    return distances


def distinct(labelling: DistinctLabelling, slots: Slots) -> Labels:
    """From a histogram of the values now taken: a variable alone on its value counts one less without it, and one
    more at a value that nobody has."""
    edge_bin, edge_result = slots.tensor(labelling.edge_bin), slots.tensor(labelling.edge_result)
    bin_constraint, bound = slots.tensor(labelling.bin_constraint), slots.tensor(labelling.bound)
    counted, compared = slots.tensor(labelling.bin_counts).to(torch.int64), _compared(labelling, slots)

    def distances(positions: Tensor) -> Tensor:
        runs = len(positions)
        edge = slots.taken(positions)
        taken = edge_bin[edge]  # [runs, slots]
        histogram = torch.zeros(runs, len(counted), dtype=torch.int64, device=slots.device)
        histogram.scatter_add_(1, taken, counted[taken])
        difference = (-bound).repeat(runs, 1)
        difference.index_add_(1, bin_constraint, (histogram > 0).to(torch.int64))
        now = edge_result[edge]
        difference.index_add_(1, slots.constraint, -now)
        alone = (histogram.gather(1, taken) == 1).to(torch.int64) * counted[taken]
        others = difference.index_select(1, slots.constraint) - alone + now
        own = (taken.index_select(1, slots.of_edge) == edge_bin).to(torch.int64)
        edge_counts = counted[edge_bin]
        empty = (histogram.index_select(1, edge_bin) - own * edge_counts == 0).to(torch.int64) * edge_counts
        return compared(others.index_select(1, slots.of_edge) + empty - edge_result)

    return distances


# ── all-different, rules, Python functions ───────────────────────────────────────────────────────


def all_different(labelling: AllDifferentLabelling, slots: Slots) -> Labels:
    """From a histogram of the values now taken: the clashes of the others, and one more where one has the value."""
    edge_bin, bin_constraint = slots.tensor(labelling.edge_bin), slots.tensor(labelling.bin_constraint)
    counts = slots.tensor(labelling.bin_counts).to(torch.int32)

    def distances(positions: Tensor) -> Tensor:
        runs = len(positions)
        taken = edge_bin[slots.taken(positions)]  # [runs, slots]
        counted = counts[taken]
        histogram = torch.zeros(runs, len(counts), dtype=torch.int32, device=slots.device)
        histogram.scatter_add_(1, taken, counted)
        # Clashes of a constraint: how many variables are beyond the first on their value.
        clashes = torch.zeros(runs, len(labelling), dtype=torch.int32, device=slots.device)
        clashes.index_add_(1, bin_constraint, (histogram - 1).clamp(min=0))
        shared = (histogram.gather(1, taken) > 1).to(torch.int32) * counted
        others_clash = clashes.index_select(1, slots.constraint) - shared  # without this slot's own variable
        own = (taken.index_select(1, slots.of_edge) == edge_bin).to(torch.int32)
        on_value = histogram.index_select(1, edge_bin) - own * counts[edge_bin]
        return others_clash.index_select(1, slots.of_edge) + (on_value > 0).to(torch.int32)

    return distances


def rule(labelling: RuleLabelling, slots: Slots) -> Labels:
    """Programs are evaluated by numpy, for all constraints at once that share one and, slot by slot, their domain
    sizes; those lie side by side in a labelling."""
    sizes = labelling.domains.sizes[labelling.scope]
    starts = labelling.scope_start
    shapes = [
        (program, *sizes[first:last].tolist())
        for program, (first, last) in zip(labelling.program.tolist(), pairwise(starts.tolist()), strict=True)
    ]
    changes = [i for i in range(1, len(shapes)) if shapes[i] != shapes[i - 1]]
    groups = [_RuleGroup(labelling, first, last) for first, last in pairwise([0, *changes, len(shapes)])]

    def distances(positions: Tensor) -> Tensor:
        current = positions.cpu().numpy()
        return slots.tensor(np.concatenate([group.distances(current) for group in groups], axis=1))

    return distances


class _RuleGroup:
    """The constraints first … last of a labelling, which share program and domain sizes."""

    def __init__(self, labelling: RuleLabelling, first: int, last: int) -> None:
        domains = labelling.domains
        self.program = labelling.programs[labelling.program[first]]
        slots = slice(labelling.scope_start[first], labelling.scope_start[last])
        self.scopes = labelling.scope[slots].reshape(last - first, -1)
        """[constraints, slots]"""
        self.values = [
            domains.values[domains.start[column][:, None] + np.arange(domains.sizes[column[0]])]
            for column in self.scopes.T
        ]
        """Per slot [constraints, domain]."""
        given = slice(labelling.parameter_start[first], labelling.parameter_start[last])
        self.parameters = list(labelling.parameter[given].reshape(last - first, -1).T[:, :, None])
        """Each [constraints, 1]."""

    def distances(self, positions: IntArray) -> IntArray:
        """[runs, constraints · Σ domain]: slot by slot, all but one variable at its current value."""
        rows = np.arange(len(self.scopes))
        now = [
            values[rows, positions[:, column]][:, :, None]
            for column, values in zip(self.scopes.T, self.values, strict=True)
        ]
        parts = []
        for slot, values in enumerate(self.values):
            distance = self.program.distance([*now[:slot], values[None], *now[slot + 1 :]], self.parameters)
            parts.append(np.broadcast_to(distance, (len(positions), *values.shape)))
        return np.concatenate(parts, axis=2).astype(np.int64).reshape(len(positions), -1)


def external(labelling: ExternalLabelling, slots: Slots) -> Labels:
    """The user's function, which takes arrays."""
    return lambda positions: slots.tensor(labelling.labels(positions.cpu().numpy()))


_FAMILIES: dict[type[Labelling], Callable[[Any, Slots], Labels]] = {
    ClauseLabelling: clause,
    DenseLabelling: dense,
    ExternalLabelling: external,
    MatchingLabelling: matching,
    ShortTableLabelling: short_table,
    TupleListLabelling: tuple_list,
}
_DISTANCES: dict[type[Labelling], Callable[[Any, Slots], Labels]] = {
    AllDifferentLabelling: all_different,
    DistinctLabelling: distinct,
    ExtremumLabelling: extremum,
    LinearLabelling: residual,
    RuleLabelling: rule,
    SumLabelling: residual,
}
"""Families whose functions give whole numbers instead: how far from satisfied, 0 where the label is 1."""
