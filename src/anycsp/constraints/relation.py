"""A relation: a set of tuples of domain positions, stored once however many tables share it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import (
    IntArray,
    Restriction,
)
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain

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
