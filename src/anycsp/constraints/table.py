"""Tables: the scope must (or must not) take one of the listed tuples.

A relation is stored once, in domain positions, however many constraints share it. Its layout for the search
is chosen here by its shape:

* matching — binary, every value conflicts with at most one value of the other side (≠, x + c ≠ y): the
  label needs only that one conflicting position, and domain size costs nothing;
* dense    — the product of the domains is small: one bit at a mixed-radix address;
* tuples   — anything else: the paper's method, matching the listed tuples against the assignment.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import (
    Block,
    IntArray,
    Labelling,
    Positions,
    Restriction,
    Terms,
    ragged_rows,
)
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self

DENSE_LIMIT = 1 << 16
"""Relations over at most this many combinations are looked up in a truth table."""


@cache
def _strides(sizes: tuple[int, ...]) -> IntArray:
    """Mixed-radix strides, the last variable fastest."""
    tail = np.array([*sizes[1:], 1], dtype=np.int64)
    return np.cumprod(tail[::-1])[::-1].astype(np.int64) if sizes else np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Relation:
    """A set of tuples of domain positions, either the allowed or the forbidden ones."""

    sizes: tuple[int, ...]
    tuples: IntArray
    """[tuples, arity], distinct."""
    allowed: bool

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return self.sizes, self.allowed, len(self.tuples), self.tuples.tobytes()

    @property
    def is_diagonal(self) -> bool:
        """Whether the tuples are (v, v) for every v: those of =, or, if they are forbidden, of ≠."""
        square = len(self.sizes) == 2 and self.sizes[0] == self.sizes[1] == len(self.tuples)
        return square and bool((self.tuples[:, 0] == self.tuples[:, 1]).all())

    @property
    def strides(self) -> IntArray:
        return _strides(self.sizes)

    @property
    def combinations(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def truth(self) -> npt.NDArray[np.uint8]:
        """The dense truth table, for relations of at most DENSE_LIMIT combinations."""
        table = np.empty(self.combinations, dtype=np.uint8)
        self.write_truth(table)
        return table

    def write_truth(self, table: npt.NDArray[np.uint8]) -> None:
        table[:] = not self.allowed
        table[self.tuples @ self.strides] = self.allowed

    @cached_property
    def codes(self) -> IntArray | None:
        """The tuples' mixed-radix addresses, sorted; None where the address does not fit 64 bits."""
        return np.sort(self.tuples @ self.strides) if self.combinations < 2**62 else None

    @cached_property
    def layout(self) -> str:
        if len(self.sizes) == 2 and not self.allowed:
            if all(len(np.unique(column)) == len(column) for column in self.tuples.T):
                return "matching"
        elif len(self.sizes) == 2 and self.combinations <= DENSE_LIMIT:
            conflicts = self.truth.reshape(self.sizes) == 0
            if conflicts.sum(axis=0).max(initial=0) <= 1 and conflicts.sum(axis=1).max(initial=0) <= 1:
                return "matching"
        return "dense" if self.combinations <= DENSE_LIMIT else "tuples"

    @cached_property
    def conflict(self) -> tuple[IntArray, IntArray]:
        """For a matching: by position of the second variable the conflicting one of the first, and vice versa."""
        pairs = np.argwhere(self.truth.reshape(self.sizes) == 0) if self.allowed else self.tuples
        first, second = np.full(self.sizes[1], -1, dtype=np.int64), np.full(self.sizes[0], -1, dtype=np.int64)
        first[pairs[:, 1]], second[pairs[:, 0]] = pairs[:, 0], pairs[:, 1]
        return first, second

    @cached_property
    def rules_out(self) -> IntArray:
        """[arity]: how many values of each variable are ruled out at most, whatever the others take."""
        if self.layout == "matching":
            return np.array([(side >= 0).any() for side in self.conflict], dtype=np.int64)
        if self.layout == "tuples":
            return np.array(self.sizes, dtype=np.int64)
        table = np.empty(self.combinations, dtype=np.uint8)  # not `truth`, which would be kept
        self.write_truth(table)
        forbidden = table.reshape(self.sizes) == 0
        return np.array([forbidden.sum(axis=i).max() for i in range(len(self.sizes))], dtype=np.int64)

    def restricted(self, restriction: Restriction, scope: IntArray) -> Relation:
        """What is left of it over these variables, without the columns of those that are fixed."""
        sizes = restriction.after.sizes[scope]
        tuples = restriction.place[restriction.before.start[scope] + self.tuples]
        kept = tuples[(tuples >= 0).all(axis=1)][:, sizes > 1]
        if not (sizes > 1).any():
            kept = kept[:1]
        return Relation(tuple(sizes[sizes > 1].tolist()), np.ascontiguousarray(kept), self.allowed)

    def contains(self, rows: IntArray) -> npt.NDArray[np.bool_]:
        """Which rows of positions are in the relation."""
        if self.combinations <= DENSE_LIMIT:
            return np.asarray(self.truth[rows @ self.strides], dtype=np.bool_)
        if self.codes is not None:
            wanted = rows @ self.strides
            at = np.minimum(np.searchsorted(self.codes, wanted), max(len(self.codes) - 1, 0))
            listed = self.codes[at] == wanted if len(self.codes) else np.zeros(len(rows), np.bool_)
        else:
            members = {row.tobytes() for row in np.ascontiguousarray(self.tuples)}
            listed = np.array([row.tobytes() in members for row in np.ascontiguousarray(rows)], dtype=np.bool_)
        return listed if self.allowed else ~listed


def relation_of(domains: Sequence[Domain], scope: IntArray, tuples: Any, allowed: bool) -> tuple[IntArray, Relation]:
    """Check tuples against the domains and turn them into positions; a repeated variable keeps its first
    column and only the tuples that agree with themselves."""
    rows = _as_rows(tuples, scope, domains)
    positions = np.empty(rows.shape, dtype=np.int64)
    for column, x in enumerate(scope):
        positions[:, column] = domains[x].positions_of(rows[:, column])
    bad = np.argwhere(positions < 0)
    if len(bad):
        row, column = bad[0]
        raise ProblemError(
            f"tuple {row + 1}: value {rows[row, column]} is outside the domain {domains[scope[column]].summary()}"
        )
    unique, first = np.unique(scope, return_index=True)
    if len(unique) < len(scope):
        first = np.sort(first)
        leader = np.array([np.flatnonzero(scope == x)[0] for x in scope])
        positions = positions[(positions == positions[:, leader]).all(axis=1)][:, first]
        scope = scope[first]
    positions = np.unique(positions, axis=0) if len(scope) else positions[:1]
    return scope, Relation(tuple(len(domains[x]) for x in scope), np.ascontiguousarray(positions), allowed)


def relation_of_truth(truth: npt.NDArray[np.bool_]) -> Relation:
    """A relation given cell by cell, stored by whichever side has fewer tuples."""
    allowed = bool(2 * np.count_nonzero(truth) <= truth.size)
    tuples = np.argwhere(truth == allowed).astype(np.int64)
    return Relation(truth.shape, np.ascontiguousarray(tuples), allowed)


def _as_rows(tuples: Any, scope: IntArray, domains: Sequence[Domain]) -> IntArray:
    if not isinstance(tuples, np.ndarray):
        for number, row in enumerate(tuples, start=1):
            if len(row) != len(scope):
                raise ProblemError(f"tuple {number} has {len(row)} values for {len(scope)} variables")
        if any(domains[x].labels is not None for x in scope):
            tuples = [
                [_label_value(domains[x], value, number) for x, value in zip(scope, row, strict=True)]
                for number, row in enumerate(tuples, start=1)
            ]
    rows: npt.NDArray[Any] = np.asarray(tuples)
    if rows.size == 0:
        return np.zeros((len(rows) if len(scope) == 0 else 0, len(scope)), dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] != len(scope):
        raise ProblemError(f"tuples of shape {rows.shape} for {len(scope)} variables")
    if rows.dtype.kind not in "iu" or (rows.dtype == np.uint64 and rows.max() > np.iinfo(np.int64).max):
        raise ProblemError("a tuple holds integers, or labels of labelled domains")
    return rows.astype(np.int64)


def _label_value(domain: Domain, value: int | str, number: int) -> int:
    try:
        return int(domain.values[domain.position(value)])
    except ProblemError as error:
        raise ProblemError(f"tuple {number}: {error}") from None


@dataclass(frozen=True)
class TableBlock(Block):
    kind: ClassVar[str] = "table"
    fields: ClassVar[tuple[str, ...]] = ("allowed", "forbidden")
    relation: IntArray
    """[constraints]: index into relations."""
    relations: tuple[Relation, ...]

    @staticmethod
    def one(domains: Sequence[Domain], scope: IntArray, tuples: Any, allowed: bool, terms: Terms) -> TableBlock:
        return TableBlock.of_relation(*relation_of(domains, scope, tuples, allowed), terms)

    @staticmethod
    def of_truth(scope: IntArray, truth: npt.NDArray[np.bool_], terms: Terms) -> TableBlock:
        """One table given cell by cell, an axis for each variable."""
        return TableBlock.of_relation(scope, relation_of_truth(truth), terms)

    @staticmethod
    def of_relation(scope: IntArray, relation: Relation, terms: Terms) -> TableBlock:
        start = np.array([0, len(scope)], dtype=np.int64)
        return TableBlock(terms, start, scope, np.zeros(1, np.int64), (relation,))

    @staticmethod
    def many(domains: Sequence[Domain], scopes: IntArray, tuples: Any, allowed: bool, terms: Terms) -> TableBlock:
        count, arity = scopes.shape
        if count == 0:
            return TableBlock(terms, np.zeros(1, np.int64), scopes.reshape(-1), np.zeros(0, np.int64), ())
        model = [domains[x] for x in scopes[0]]
        _, relation = relation_of(model, np.arange(arity), tuples, allowed)
        for column in range(arity):
            if any(domains[x] is not model[column] for x in np.unique(scopes[:, column])):
                raise ProblemError("one relation over many scopes needs the same domains in every scope")
        start = np.arange(count + 1, dtype=np.int64) * arity
        return TableBlock(terms, start, scopes.reshape(-1), np.zeros(count, np.int64), (relation,))

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        index: dict[Any, int] = {}
        relations: list[Relation] = []
        ids = []
        for block in blocks:
            renumber = np.empty(len(block.relations), dtype=np.int64)
            for i, relation in enumerate(block.relations):
                if relation.key not in index:
                    index[relation.key] = len(relations)
                    relations.append(relation)
                renumber[i] = index[relation.key]
            ids.append(renumber[block.relation] if len(block.relations) else block.relation)
        return {"relation": np.concatenate(ids), "relations": tuple(relations)}

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        result = np.zeros(len(self), dtype=np.bool_)
        taken = positions[self.scope].astype(np.int64)
        for relation, rows in self._by_relation():
            columns = self.scope_start[rows][:, None] + np.arange(len(relation.sizes))
            result[rows] = relation.contains(taken[columns]) if len(rows) else False
        return result

    def _by_relation(self) -> Iterator[tuple[Relation, IntArray]]:
        """Every relation with the constraints that use it."""
        order = np.argsort(self.relation, kind="stable")
        bounds = np.searchsorted(self.relation[order], np.arange(len(self.relations) + 1))
        for i, relation in enumerate(self.relations):
            yield relation, order[bounds[i] : bounds[i + 1]]

    def rules_out(self, domains: Domains) -> IntArray:
        result = np.zeros(len(self.scope), dtype=np.int64)
        for relation, rows in self._by_relation():
            result[self.scope_start[rows][:, None] + np.arange(len(relation.sizes))] = relation.rules_out
        return result

    def allowed(self, row: int, variable: int, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        scope, relation = self.scope_of(row), self.relations[self.relation[row]]
        rows: IntArray = np.tile(positions[scope].astype(np.int64), (domains.sizes[variable], 1))
        rows[:, scope == variable] = np.arange(len(rows))[:, None]
        satisfied: npt.NDArray[np.bool_] = relation.contains(rows)
        return satisfied

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        relations, relation = _used(self, rows)
        return {"relation": relation, "relations": tuple(relations)}

    def restricted(self, restriction: Restriction) -> TableBlock:
        """Rows of one relation whose variables lost the same positions share what is left of it."""
        index: dict[tuple[int, ...], int] = {}
        relations: list[Relation] = []
        relation = np.empty(len(self), dtype=np.int64)
        shapes, starts = restriction.shape[self.scope].tolist(), self.scope_start.tolist()
        for row, own in enumerate(self.relation.tolist()):
            key = (own, *shapes[starts[row] : starts[row + 1]])
            if key not in index:
                index[key] = len(relations)
                relations.append(self.relations[own].restricted(restriction, self.scope_of(row)))
            relation[row] = index[key]
        leaves = restriction.fixed[self.scope]
        return replace(self, **self._without(leaves), relation=relation, relations=tuple(relations))

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        scope = self.scope_of(row).tolist()
        relation = self.relations[self.relation[row]]
        listed = [[domains[x].external(p) for x, p in zip(scope, t, strict=True)] for t in relation.tuples.tolist()]
        tuples = {"allowed" if relation.allowed else "forbidden": listed}
        return {"kind": "table", "scope": scope, **tuples, **self._describe_terms(row)}

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> TableBlock:
        tuples, allowed = _listed(description)
        return cls.one(domains, np.array(scope, dtype=np.int64), tuples, allowed, terms)

    @classmethod
    def from_descriptions(
        cls, domains: Sequence[Domain], scopes: Sequence[Sequence[int]], description: Mapping[str, Any], terms: Terms
    ) -> Sequence[Block]:
        """One block and one relation where the scopes allow it."""
        if len(scopes) > 1 and _alike(domains, scopes):
            return [cls.many(domains, np.array(scopes, dtype=np.int64), *_listed(description), terms)]
        return super().from_descriptions(domains, scopes, description, terms)

    def shape(self, row: int, domains: Sequence[Domain]) -> Hashable:
        return int(self.relation[row]), tuple(id(domains[x]) for x in self.scope_of(row))

    def labellings(self, domains: Domains) -> list[Labelling]:
        layouts = np.array([r.layout for r in self.relations])[self.relation] if len(self) else np.zeros(0, "U8")
        result: list[Labelling] = []
        for layout, compiled in (("matching", _matching), ("dense", _dense), ("tuples", _tuple_lists)):
            rows = np.flatnonzero((layouts == layout) & (self.arity > 0))
            if len(rows):
                result.append(compiled(self, rows, domains))
        return result


def _listed(description: Mapping[str, Any]) -> tuple[Any, bool]:
    """The tuples of a description, and whether they are the allowed ones."""
    if ("allowed" in description) == ("forbidden" in description):
        raise ProblemError("a table lists either its allowed or its forbidden tuples")
    allowed = "allowed" in description
    return description["allowed" if allowed else "forbidden"], allowed


def _alike(domains: Sequence[Domain], scopes: Sequence[Sequence[int]]) -> bool:
    """Whether one relation can serve all the scopes at once: the same domains in each, no variable twice."""
    model = [domains[x] for x in scopes[0]]
    return all(
        len(scope) == len(model)
        and len(set(scope)) == len(scope)
        and all(domains[x] is domain for x, domain in zip(scope, model, strict=True))
        for scope in scopes
    )


def _used(block: TableBlock, rows: IntArray) -> tuple[list[Relation], IntArray]:
    """The relations these rows use, and each row's index among them."""
    used, local = np.unique(block.relation[rows], return_inverse=True)
    return [block.relations[i] for i in used], local.reshape(-1)


# ── matching: at most one conflicting value on the other side ────────────────────────────────────


def _matching(block: TableBlock, rows: IntArray, domains: Domains) -> Labelling:
    relations, local = _used(block, rows)
    pool, offsets = [], []
    size = 0
    for relation in relations:
        first, second = relation.conflict
        offsets.append((size, size + len(first)))
        pool += [first, second]
        size += len(first) + len(second)
    common = block._common(rows, domains)
    offset = np.array(offsets, dtype=np.int64)[local].reshape(-1)  # slot-wise: two a constraint
    partner = common["scope"].reshape(-1, 2)[:, ::-1].reshape(-1).copy()
    return MatchingLabelling(
        **common,
        partner=partner,
        offset=offset,
        conflict=np.concatenate(pool),
    )


@dataclass(frozen=True)
class MatchingLabelling(Labelling):
    native_kind: ClassVar[str] = "matching"
    partner: IntArray
    """[slots]: the other variable."""
    offset: IntArray
    """[slots]: where this slot's conflict list begins in the pool; indexed by the partner's position."""
    conflict: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"offset": self.offset, "conflict": self.conflict.astype(np.int32)}


# ── dense: one bit at a mixed-radix address ──────────────────────────────────────────────────────


def _dense(block: TableBlock, rows: IntArray, domains: Domains) -> Labelling:
    relations, local = _used(block, rows)
    bounds = np.cumsum([0] + [r.combinations for r in relations])
    truth = np.empty(bounds[-1], dtype=np.uint8)
    for relation, first, last in zip(relations, bounds, bounds[1:], strict=False):
        relation.write_truth(truth[first:last])
    strides = np.concatenate([r.strides for r in relations]) if relations else np.zeros(0, np.int64)
    arities = np.array([len(r.sizes) for r in relations], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(arities)]).astype(np.int64)
    return DenseLabelling(
        **block._common(rows, domains),
        base=bounds[local],
        stride=strides[ragged_rows(start, local)[1]],
        truth=truth,
    )


@dataclass(frozen=True)
class DenseLabelling(Labelling):
    native_kind: ClassVar[str] = "dense"
    base: IntArray
    """[constraints]: where the relation begins in `truth`."""
    stride: IntArray
    """[slots]"""
    truth: npt.NDArray[np.uint8]

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"base": self.base, "stride": self.stride, "truth": self.truth}


# ── tuples: the paper's method ───────────────────────────────────────────────────────────────────


def _tuple_lists(block: TableBlock, rows: IntArray, domains: Domains) -> Labelling:
    relations, local = _used(block, rows)
    counts = np.array([len(r.tuples) for r in relations], dtype=np.int64)
    arities = np.array([len(r.sizes) for r in relations], dtype=np.int64)
    cells = counts * arities
    return TupleListLabelling(
        **block._common(rows, domains),
        relation=local.astype(np.int64),
        allowed=np.array([r.allowed for r in relations], dtype=np.bool_),
        tuple_start=np.concatenate([[0], np.cumsum(cells)]).astype(np.int64),
        tuple_count=counts,
        tuples=np.concatenate([r.tuples.reshape(-1) for r in relations]),
    )


@dataclass(frozen=True)
class TupleListLabelling(Labelling):
    """A tuple that agrees with the assignment in all slots but one labels that one value; a tuple that agrees
    everywhere labels every current value (Equations Label1 to Label3 of the paper)."""

    native_kind: ClassVar[str] = "tuples"
    relation: IntArray
    allowed: npt.NDArray[np.bool_]
    tuple_start: IntArray
    """[relations + 1]: first cell of each relation in `tuples`; tuples are rows of the relation's arity."""
    tuple_count: IntArray
    tuples: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "relation": self.relation.astype(np.int32),
            "allowed": self.allowed.astype(np.uint8),
            "tuple_start": self.tuple_start,
            "tuples": self.tuples.astype(np.int32),
        }
