"""Extrema: max f_i(X_i) ∘ b or ∘ g(Y), where f_i and g give every value its own integer.

A minimum is the maximum of the negated functions. Labels from the largest and second largest term: without its
own variable a constraint has the second largest where that variable alone holds the largest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import IntArray, Labelling, Positions, Restriction, Terms, ragged_rows
from anycsp.constraints.comparison import (
    ComparisonBlock,
    ComparisonLabelling,
    bound_of,
    compare,
    comparison_in,
    operator_code,
)
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self

NOTHING = -(2**61)
"""The maximum of no terms: below every term, and safe to subtract from."""


LARGEST_TERM = 2**59
"""Terms and bounds are smaller, so that differences between them and `NOTHING` stay within 64 bits."""


def fits(terms_of_slots: Sequence[IntArray], bound: int) -> bool:
    """Whether the family can count so far; where it cannot, a rule says the same."""
    return max([abs(bound), *(int(np.abs(terms).max()) for terms in terms_of_slots)]) < LARGEST_TERM


@dataclass(frozen=True)
class ExtremumBlock(ComparisonBlock):
    kind: ClassVar[str] = "extremum"
    fields: ClassVar[tuple[str, ...]] = ("terms", "operator", "bound", "result")
    term_start: IntArray
    """[slots + 1]"""
    term: IntArray
    """One integer a slot and value, in domain order."""
    has_result: npt.NDArray[np.bool_]
    """[constraints]: the last slot is Y, and the bound is added to its term."""

    @staticmethod
    def one(
        scope: IntArray, terms_of_slots: Sequence[IntArray], operator: str, bound: int, has_result: bool, terms: Terms
    ) -> ExtremumBlock:
        """One comparison over distinct variables; with `has_result` the last of them is the right side."""
        if len(scope) == has_result:
            raise ProblemError("a maximum or minimum of no terms")
        if not fits(terms_of_slots, bound):
            raise ProblemError("a maximum or minimum of terms beyond 60 bits")
        return ExtremumBlock(
            terms,
            np.array([0, len(scope)], dtype=np.int64),
            scope,
            operator_code(operator),
            bound_of(bound),
            np.cumsum([0, *(len(t) for t in terms_of_slots)]).astype(np.int64),
            np.concatenate(terms_of_slots).astype(np.int64),
            np.array([has_result]),
        )

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        sizes = np.concatenate([np.diff(b.term_start) for b in blocks])
        return {
            **super()._concat_fields(blocks),
            "term_start": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            "term": np.concatenate([b.term for b in blocks]),
            "has_result": np.concatenate([b.has_result for b in blocks]),
        }

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        start, own = ragged_rows(self.term_start, slots)
        fields = {"term_start": start, "term": self.term[own], "has_result": self.has_result[rows]}
        return {**super()._take_fields(rows, slots), **fields}

    def restricted(self, restriction: Restriction) -> ExtremumBlock:
        sizes = restriction.after.sizes[self.scope]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return replace(self, term_start=start, term=self.term[restriction.kept_edges(self.scope)])

    def _is_result(self) -> npt.NDArray[np.bool_]:
        result = np.zeros(len(self.scope), dtype=np.bool_)
        result[self.scope_start[1:][self.has_result] - 1] = True
        return result

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        now = self.term[self.term_start[:-1] + positions[self.scope]]
        constraint, is_result = self.slot_constraint(), self._is_result()
        largest = np.full(len(self), NOTHING, dtype=np.int64)
        np.maximum.at(largest, constraint[~is_result], now[~is_result])
        target = self.bound.copy()
        target[constraint[is_result]] += now[is_result]
        return compare(largest - target, self.operator)

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        terms = []
        for slot in range(self.scope_start[row], self.scope_start[row + 1]):
            own = self.term[self.term_start[slot] : self.term_start[slot + 1]].tolist()
            values = domains[self.scope[slot]].values.tolist()
            terms.append([[v, t] for v, t in zip(values, own, strict=True)])
        return {
            "kind": "extremum",
            "scope": self.scope_of(row).tolist(),
            "terms": terms,
            **self._describe_comparison(row),
            **({"result": True} if self.has_result[row] else {}),
            **self._describe_terms(row),
        }

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> ExtremumBlock:
        by_slot = [domains[x].by_position(given) for x, given in zip(scope, description["terms"], strict=True)]
        indices, result = np.array(scope, dtype=np.int64), bool(description.get("result"))
        return cls.one(indices, by_slot, *comparison_in(description), result, terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        return [
            ExtremumLabelling(
                **self.common_fields(rows, domains),
                edge_term=self.term,
                is_result=self._is_result(),
                has_result=self.has_result[rows],
            )
        ]


@dataclass(frozen=True)
class ExtremumLabelling(ComparisonLabelling):
    native_kind: ClassVar[str] = "extremum"
    edge_term: IntArray
    is_result: npt.NDArray[np.bool_]
    """[slots]"""
    has_result: npt.NDArray[np.bool_]

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "term": self.edge_term,
            **super().native_arrays(),
            "has_result": self.has_result.astype(np.uint8),
        }
