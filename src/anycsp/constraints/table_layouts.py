"""How the search looks tables up. The shape of a relation decides (`Relation.layout`):

* matching — binary, every value conflicts with at most one value of the other side (≠, x + c ≠ y): the
  label needs only that one conflicting position, and domain size costs nothing;
* dense    — the product of the domains is small: one bit at a mixed-radix address;
* tuples   — anything else: the paper's method, matching the listed tuples against the assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import (
    IntArray,
    Labelling,
    ragged_rows,
)
from anycsp.model.domains import Domains

if TYPE_CHECKING:
    from anycsp.constraints.table import TableBlock


# ── matching: at most one conflicting value on the other side ────────────────────────────────────


def matching(block: TableBlock, rows: IntArray, domains: Domains) -> Labelling:
    relations, local = block.used(rows)
    pool, offsets = [], []
    size = 0
    for relation in relations:
        first, second = relation.conflict
        offsets.append((size, size + len(first)))
        pool += [first, second]
        size += len(first) + len(second)
    common = block.common_fields(rows, domains)
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


def dense(block: TableBlock, rows: IntArray, domains: Domains) -> Labelling:
    relations, local = block.used(rows)
    bounds = np.cumsum([0] + [r.combinations for r in relations])
    truth = np.empty(bounds[-1], dtype=np.uint8)
    for relation, first, last in zip(relations, bounds, bounds[1:], strict=False):
        relation.write_truth(truth[first:last])
    strides = np.concatenate([r.strides for r in relations]) if relations else np.zeros(0, np.int64)
    arities = np.array([len(r.sizes) for r in relations], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(arities)]).astype(np.int64)
    return DenseLabelling(
        **block.common_fields(rows, domains),
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


def tuple_lists(block: TableBlock, rows: IntArray, domains: Domains) -> Labelling:
    relations, local = block.used(rows)
    counts = np.array([len(r.tuples) for r in relations], dtype=np.int64)
    arities = np.array([len(r.sizes) for r in relations], dtype=np.int64)
    cells = counts * arities
    return TupleListLabelling(
        **block.common_fields(rows, domains),
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
