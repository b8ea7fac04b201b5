"""Sums of contributions: Σ f_i(X_i) ∘ b, where f_i gives every value of X_i its own integer.

The common form of everything that counts: how often values occur (count, among, atLeast, atMost, exactly,
cardinality), loads of bins, Boolean combinations of conditions on single variables, and linear comparisons of
functions of one variable each. Labels as for linear comparisons, from the residual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import IntArray, Labelling, Positions, Restriction, Terms, ragged_rows
from anycsp.constraints.comparison import ComparisonBlock, bound_of, compare, comparison_in, operator_code
from anycsp.constraints.linear import ResidualLabelling
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class SumBlock(ComparisonBlock):
    kind: ClassVar[str] = "sum"
    fields: ClassVar[tuple[str, ...]] = ("contributions", "operator", "bound")
    contribution_start: IntArray
    """[slots + 1]"""
    contribution: IntArray
    """One integer a slot and value, in domain order."""

    @staticmethod
    def one(scope: IntArray, contributions: Sequence[IntArray], operator: str, bound: int, terms: Terms) -> SumBlock:
        """One comparison over distinct variables; `contributions[i]` follows the domain of `scope[i]`."""
        if abs(bound) + sum(int(np.abs(c).max()) for c in contributions) >= 2**62:
            raise ProblemError("a sum beyond 64-bit integers")
        sizes = [0, *(len(c) for c in contributions)]
        return SumBlock(
            terms,
            np.array([0, len(scope)], dtype=np.int64),
            scope,
            operator_code(operator),
            bound_of(bound),
            np.cumsum(sizes).astype(np.int64),
            np.concatenate(contributions).astype(np.int64) if len(contributions) else np.zeros(0, np.int64),
        )

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        sizes = np.concatenate([np.diff(b.contribution_start) for b in blocks])
        return {
            **super()._concat_fields(blocks),
            "contribution_start": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            "contribution": np.concatenate([b.contribution for b in blocks]),
        }

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        start, own = ragged_rows(self.contribution_start, slots)
        return {
            **super()._take_fields(rows, slots),
            "contribution_start": start,
            "contribution": self.contribution[own],
        }

    def restricted(self, restriction: Restriction) -> SumBlock:
        left = self.contribution[restriction.kept_edges(self.scope)]
        sizes, leaves = restriction.after.sizes[self.scope], restriction.fixed[self.scope]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return replace(
            self,
            **self._fold(leaves, left[start[:-1]]),
            contribution_start=np.concatenate([[0], np.cumsum(sizes[~leaves])]).astype(np.int64),
            contribution=left[np.repeat(~leaves, sizes)],
        )

    def always_holds(self, domains: Domains) -> npt.NDArray[np.bool_]:
        sums = self._holds_for_sums(self.contribution, np.diff(self.contribution_start))
        return super().always_holds(domains) | sums

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        total = np.zeros(len(self), dtype=np.int64)
        taken = self.contribution[self.contribution_start[:-1] + positions[self.scope]]
        np.add.at(total, self.slot_constraint(), taken)
        return compare(total - self.bound, self.operator)

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        slots = range(self.scope_start[row], self.scope_start[row + 1])
        contributions = []
        for slot in slots:
            own = self.contribution[self.contribution_start[slot] : self.contribution_start[slot + 1]]
            values = domains[self.scope[slot]].values
            contributions.append([[int(values[p]), int(own[p])] for p in np.flatnonzero(own).tolist()])
        return {
            "kind": "sum",
            "scope": self.scope_of(row).tolist(),
            "contributions": contributions,
            **self._describe_comparison(row),
            **self._describe_terms(row),
        }

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> SumBlock:
        pairs = zip(scope, description["contributions"], strict=True)
        contributions = [domains[x].by_position(given) for x, given in pairs]
        indices = np.array(scope, dtype=np.int64)
        return cls.one(indices, contributions, *comparison_in(description), terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        common = self.common_fields(self._nonempty(), domains)
        return [SumLabelling(**common, edge_term=self.contribution)]


@dataclass(frozen=True)
class SumLabelling(ResidualLabelling):
    native_kind: ClassVar[str] = "sum"

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"term": self.edge_term, **super().native_arrays()}
