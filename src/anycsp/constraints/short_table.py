"""Short tables: tuples whose cells are intervals of domain positions, `*` being the whole domain.

Used where the product of the domains is too large for a truth table and the listed tuples would be too many.
A tuple that holds in all slots but possibly one labels, in that slot, its whole interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling, Positions, Restriction, Terms
from anycsp.constraints.relation import DENSE_LIMIT
from anycsp.constraints.table import TableBlock, listed_tuples
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains, whole_number

if TYPE_CHECKING:
    from typing_extensions import Self

Cell = Any
"""A value, "*", a range of values, or a set of values."""


@dataclass(frozen=True, eq=False)
class ShortRelation:
    """Rows of position intervals, either the allowed or the forbidden ones."""

    low: IntArray
    """[rows, arity]"""
    high: IntArray
    """[rows, arity], inclusive."""
    allowed: bool

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return self.low.shape, self.allowed, self.low.tobytes(), self.high.tobytes()

    def restricted(self, restriction: Restriction, scope: IntArray) -> ShortRelation:
        """The values left of an interval are an interval of what is left."""
        low, high = np.empty_like(self.low), np.empty_like(self.high)
        for i, x in enumerate(scope.tolist()):
            left = restriction.place[restriction.before.start[x] : restriction.before.start[x + 1]] >= 0
            before = np.concatenate([[0], np.cumsum(left)])
            low[:, i], high[:, i] = before[self.low[:, i]], before[self.high[:, i] + 1] - 1
        some = (low <= high).all(axis=1)
        return ShortRelation(low[some], high[some], self.allowed)

    @staticmethod
    def of(domains: Sequence[Domain], rows: Sequence[Sequence[Cell]], allowed: bool) -> ShortRelation:
        """Rows over these domains; a row with a cell that no value satisfies is dropped."""
        intervals: list[tuple[tuple[int, int], ...]] = []
        for number, row in enumerate(rows, start=1):
            if len(row) != len(domains):
                raise ProblemError(f"tuple {number} has {len(row)} values for {len(domains)} variables")
            intervals.extend(product(*(position_runs(d, cell) for d, cell in zip(domains, row, strict=True))))
        cells = np.array(intervals, dtype=np.int64).reshape(len(intervals), len(domains), 2)
        return ShortRelation(cells[:, :, 0].copy(), cells[:, :, 1].copy(), allowed)


def position_runs(domain: Domain, cell: Cell) -> list[tuple[int, int]]:
    """The runs of consecutive domain positions a cell stands for."""
    if isinstance(cell, str) and cell == "*" and (domain.labels is None or "*" not in domain.labels):
        return [(0, len(domain) - 1)]
    if isinstance(cell, (range, set, frozenset, list, tuple)):
        wanted = (
            np.array([value in cell for value in domain.values.tolist()])
            if isinstance(cell, range)
            else (
                np.isin(
                    domain.values,
                    [domain.integer(v) if isinstance(v, str) else whole_number(v, "a cell's value") for v in cell],
                )
            )
        )
        edges = np.flatnonzero(np.diff(np.concatenate([[0], wanted.astype(np.int8), [0]])))
        return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
    position = domain.position(cell)
    return [(position, position)]


@dataclass(frozen=True)
class ShortTableBlock(Block):
    kind: ClassVar[str] = "short_table"
    fields: ClassVar[tuple[str, ...]] = ("allowed", "forbidden")
    relation: IntArray
    """[constraints]: index into relations."""
    relations: tuple[ShortRelation, ...]

    @staticmethod
    def one(scope: IntArray, relation: ShortRelation, terms: Terms) -> ShortTableBlock:
        start = np.array([0, len(scope)], dtype=np.int64)
        return ShortTableBlock(terms, start, scope, np.zeros(1, np.int64), (relation,))

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        index: dict[Any, int] = {}
        relations: list[ShortRelation] = []
        ids = []
        for block in blocks:
            for relation in block.relations:
                if relation.key not in index:
                    index[relation.key] = len(relations)
                    relations.append(relation)
            renumber = np.array([index[r.key] for r in block.relations], dtype=np.int64)
            ids.append(renumber[block.relation])
        return {"relation": np.concatenate(ids), "relations": tuple(relations)}

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        used, relation = np.unique(self.relation[rows], return_inverse=True)
        return {"relation": relation.astype(np.int64), "relations": tuple(self.relations[i] for i in used.tolist())}

    def restricted(self, restriction: Restriction) -> ShortTableBlock:
        """Rows of one relation whose variables lost the same positions share what is left of it."""
        relations: dict[tuple[int, ...], ShortRelation] = {}
        relation, index = np.empty(len(self), dtype=np.int64), dict[tuple[int, ...], int]()
        for row, own in enumerate(self.relation.tolist()):
            scope = self.scope_of(row)
            key = (own, *restriction.shape[scope].tolist())
            if key not in relations:
                relations[key] = self.relations[own].restricted(restriction, scope)
            relation[row] = index.setdefault(key, len(index))
        return replace(self, relation=relation, relations=tuple(relations.values()))

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        result = np.zeros(len(self), dtype=np.bool_)
        for row in range(len(self)):
            relation = self.relations[self.relation[row]]
            now = positions[self.scope_of(row)]
            listed = bool(((relation.low <= now) & (now <= relation.high)).all(axis=1).any())
            result[row] = listed == relation.allowed
        return result

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        scope = self.scope_of(row).tolist()
        relation = self.relations[self.relation[row]]
        rows = []
        for low, high in zip(relation.low.tolist(), relation.high.tolist(), strict=True):
            cells: list[Any] = []
            for x, a, b in zip(scope, low, high, strict=True):
                whole = a == 0 and b == len(domains[x]) - 1
                cells.append("*" if whole else domains[x].values[a : b + 1].tolist())
            rows.append(cells)
        tuples = {"allowed" if relation.allowed else "forbidden": rows}
        return {"kind": "short_table", "scope": scope, **tuples, **self._describe_terms(row)}

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> Block:
        tuples, allowed = listed_tuples(description)
        rows = []
        for row in tuples:
            cells = zip(scope, row, strict=True)
            rows.append([c if c == "*" else {domains[x].integer(v) for v in c} for x, c in cells])
        return short_table(domains, np.array(scope, dtype=np.int64), rows, allowed, terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        common = self.common_fields(rows, domains)
        return [ShortTableLabelling(**common, relation=self.relation[rows], relations=self.relations)]


def short_table(
    domains: Sequence[Domain], scope: IntArray, rows: Sequence[Sequence[Cell]], allowed: bool, terms: Terms
) -> Block:
    """One constraint; an ordinary table where all its combinations can be listed."""
    if len(np.unique(scope)) < len(scope):
        raise ProblemError("a short table over a repeated variable: list each variable once")
    own = [domains[x] for x in scope.tolist()]
    relation, sizes = ShortRelation.of(own, rows, allowed), [len(domain) for domain in own]
    if math.prod(sizes) > DENSE_LIMIT:
        return ShortTableBlock.one(scope, relation, terms)
    truth = np.full(sizes, not allowed)
    for low, high in zip(relation.low.tolist(), relation.high.tolist(), strict=True):
        truth[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] = allowed
    return TableBlock.of_truth(scope, truth, terms)


@dataclass(frozen=True)
class ShortTableLabelling(Labelling):
    native_kind: ClassVar[str] = "short_tuples"
    relation: IntArray
    relations: tuple[ShortRelation, ...]

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        cells = [r.low.size for r in self.relations]
        return {
            "relation": self.relation.astype(np.int32),
            "allowed": np.array([r.allowed for r in self.relations], dtype=np.uint8),
            "tuple_start": np.cumsum([0, *cells]).astype(np.int64),
            "low": np.concatenate([r.low.reshape(-1) for r in self.relations]).astype(np.int32),
            "high": np.concatenate([r.high.reshape(-1) for r in self.relations]).astype(np.int32),
        }
