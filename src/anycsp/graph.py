"""The constraint value graph: the fixed topology of one problem or a batch of them, as arrays.

Constraints are renumbered so that each labelling owns a contiguous range; within it, slots and edges follow
the layout of `constraints.base`. Only labels change during a search, never the topology.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.constraints.base import Block, IntArray, Labelling, Terms
from anycsp.constraints.external import ExternalLabelling
from anycsp.deadline import NEVER, Deadline
from anycsp.footprint import check_memory
from anycsp.model.domains import Domains
from anycsp.model.score import Scoring

if TYPE_CHECKING:
    from anycsp.model.problem import Problem


@dataclass(frozen=True)
class ConstraintValueGraph:
    """Vertices: variables, values (domain positions end to end), constraints. Edges: (constraint, value)."""

    domains: Domains
    labellings: tuple[Labelling, ...]
    terms: Terms
    """Weights of the constraints in graph order; `terms.index` is the order they were added in."""
    scope_start: IntArray
    scope: IntArray
    instances: int
    variable_instance: IntArray
    constraint_instance: IntArray
    scorings: tuple[Scoring, ...]
    """[instances]: what violated constraints cost."""
    weight: IntArray
    """[constraints]: in units of its instance's scoring."""
    score: IntArray
    """[constraints]: what a violated one adds to the score."""
    deadline: Deadline
    """When what only Python can evaluate is not evaluated any more: it may take as long as it likes."""
    constant: IntArray
    """[instances, 4]: count, weight in units, hard count and score of violated constraints with empty scope."""

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

    @cached_property
    def units(self) -> npt.NDArray[np.float64]:
        """[instances]: how many units a weight of 1 has."""
        return np.array([scoring.units for scoring in self.scorings])

    @cached_property
    def priority(self) -> IntArray:
        """[instances]: 1 + all soft weight, in units."""
        return np.array([scoring.priority for scoring in self.scorings], dtype=np.int64)

    @cached_property
    def hard_unit(self) -> IntArray:
        """[instances]: the weight, in units, that hard constraints are counted in."""
        return np.array([scoring.hard_unit for scoring in self.scorings], dtype=np.int64)

    @cached_property
    def native_families(self) -> list[tuple[str, int, int, dict[str, npt.NDArray[Any]]]]:
        """(kind, first constraint, last constraint, arrays) of every labelling, as the native module reads them."""
        families, first = [], 0
        for labelling in self.labellings:
            families.append((labelling.native_kind, first, first + len(labelling), labelling.native_arrays()))
            first += len(labelling)
        return families

    @cached_property
    def external_labels(self) -> Callable[[int, bytes], bytes] | None:
        """The labels of one constraint that only Python can evaluate, by the positions of its scope; None where there
        is no such constraint."""
        first, owners = 0, {}
        for labelling in self.labellings:
            if isinstance(labelling, ExternalLabelling):
                owners.update({first + row: (labelling, row) for row in range(len(labelling))})
            first += len(labelling)
        if not owners:
            return None

        def labels(constraint: int, scope_positions: bytes) -> bytes:
            self.deadline.check()
            labelling, row = owners[constraint]
            return labelling.row_labels(row, np.frombuffer(scope_positions, dtype=np.int32)).tobytes()

        return labels

    @property
    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All but the families, as the native module reads it."""
        return {
            "value_start": self.domains.start.astype(np.int32),
            "value": self.domains.values,
            "scope_start": self.scope_start.astype(np.int32),
            "scope": self.scope.astype(np.int32),
            "weight": np.ascontiguousarray(self.weight),
            "score": np.ascontiguousarray(self.score),
            "priority": self.priority,
            "hard_unit": self.hard_unit,
            "hard": self.terms.hard.astype(np.uint8),
            "variable_instance": self.variable_instance.astype(np.int32),
            "constraint_instance": self.constraint_instance.astype(np.int32),
        }

    @cached_property
    def native_problem(self) -> Any:
        """The same in the native module, checked there once."""
        return native.module().make_problem(self.native_arrays, self.native_families)


def compile_graph(
    problems: Problem | Sequence[Problem],
    *,
    memory_limit: int | None = None,
    deadline: Deadline = NEVER,
    of_one_kind: bool = False,
) -> ConstraintValueGraph:
    """The graph of one problem, or of a batch as a disjoint union. Refuses what would not fit in memory.

    `of_one_kind`: where every constraint is required none comes before another, and none is hard in the graph. They are
    then searched as in the paper: as few violated as can be.
    """
    batch = [problems] if not isinstance(problems, Sequence) else list(problems)
    check_memory(batch, memory_limit, hidden=1)  # a network's states are its engine's
    by_family: dict[type[Block], list[Block]] = {}
    variables = constraints = 0
    variable_instance, constraint_offset = [], []
    for instance, problem in enumerate(batch):
        for block in _of_one_kind(problem) if of_one_kind else problem.blocks:
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
    scorings = tuple(problem.scoring for problem in batch)
    weight, score = (_concat([getattr(s, name) for s in scorings]) for name in ("weight", "score"))
    return ConstraintValueGraph(
        domains=domains,
        labellings=labellings,
        terms=terms,
        scope_start=np.concatenate([[0], np.cumsum(arity)]).astype(np.int64),
        scope=_concat([l.scope for l in labellings]),
        instances=len(batch),
        variable_instance=np.concatenate(variable_instance),
        constraint_instance=np.searchsorted(offsets, terms.index, side="right") - 1,
        scorings=scorings,
        deadline=deadline,
        weight=weight[terms.index],
        score=score[terms.index],
        constant=_constant_violations(blocks, domains, offsets, weight, score),
    )


def _of_one_kind(problem: Problem) -> list[Block]:
    if not problem.scoring.all_required:
        return problem.blocks
    return [replace(b, terms=replace(b.terms, hard=np.zeros(len(b), dtype=np.bool_))) for b in problem.blocks]


def _concat(parts: Sequence[IntArray]) -> IntArray:
    """One array of all, without a copy of a single one."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def _joined(parts: Sequence[Domains]) -> Domains:
    sizes = np.concatenate([d.sizes for d in parts])
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Domains(start, np.concatenate([d.values for d in parts]))


def _constant_violations(
    blocks: Sequence[Block], domains: Domains, offsets: IntArray, weight: IntArray, score: IntArray
) -> IntArray:
    """Constraints with empty scope are true or false for good: counted once, kept out of the graph."""
    constant = np.zeros((len(offsets), 4), dtype=np.int64)
    nothing = np.zeros(len(domains.start) - 1, dtype=np.int64)
    for block in blocks:
        if (block.arity > 0).all():
            continue
        violated = ~block.satisfied(domains, nothing) & (block.arity == 0)
        terms = block.terms.take(violated)
        instance = np.searchsorted(offsets, terms.index, side="right") - 1
        columns = [np.ones_like(instance), weight[terms.index], terms.hard.astype(np.int64), score[terms.index]]
        np.add.at(constant, instance, np.stack(columns, axis=1))
    return constant
