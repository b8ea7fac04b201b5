"""Linear comparisons Σ a_i·X_i ∘ b over integers, ∘ one of <=, >=, ==, !=, <, >.

Labels from the residual: with the current sum S, edge (C, X_i = v) is S + a_i·(v − α(X_i)) ∘ b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import IntArray, Labelling, Positions, Restriction, Terms, edge_values
from anycsp.constraints.comparison import ComparisonBlock, ComparisonLabelling, compare, operator_code
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains, whole_number

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class LinearBlock(ComparisonBlock):
    kind: ClassVar[str] = "linear"
    fields: ClassVar[tuple[str, ...]] = ("coefficients", "operator", "bound")
    coefficient: IntArray
    """[slots]"""

    @staticmethod
    def one(
        domains: Sequence[Domain],
        scope: IntArray,
        coefficients: Sequence[int],
        operator: str,
        bound: int,
        terms: Terms,
    ) -> LinearBlock:
        """One comparison; coefficients of a repeated variable are added up."""
        if len(coefficients) != len(scope):
            raise ProblemError(f"{len(coefficients)} coefficients for {len(scope)} variables")
        merged: dict[int, int] = {}
        for x, coefficient in zip(scope.tolist(), coefficients, strict=True):
            merged[x] = merged.get(x, 0) + whole_number(coefficient, "a coefficient")
        bound = whole_number(bound, "the right side")
        reach = abs(bound) + sum(abs(a) * max(map(abs, domains[x].bounds)) for x, a in merged.items())
        if reach >= 2**62:
            raise ProblemError("a linear sum beyond 64-bit integers")
        return LinearBlock(
            terms,
            np.array([0, len(merged)], dtype=np.int64),
            np.array(list(merged), dtype=np.int64),
            operator_code(operator),
            np.array([bound], dtype=np.int64),
            np.array(list(merged.values()), dtype=np.int64),
        )

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {**super()._concat_fields(blocks), "coefficient": np.concatenate([b.coefficient for b in blocks])}

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        return {**super()._take_fields(rows, slots), "coefficient": self.coefficient[slots]}

    def restricted(self, restriction: Restriction) -> LinearBlock:
        leaves, after = restriction.fixed[self.scope], restriction.after
        term = self.coefficient * after.values[after.start[self.scope]]
        return replace(self, **self._fold(leaves, term), coefficient=self.coefficient[~leaves])

    def always_holds(self, domains: Domains) -> npt.NDArray[np.bool_]:
        sizes = domains.sizes[self.scope]
        edge_term = np.repeat(self.coefficient, sizes) * edge_values(self.scope, domains)
        return super().always_holds(domains) | self._holds_for_sums(edge_term, sizes)

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        values = domains.values[domains.start[self.scope] + positions[self.scope]]
        total = np.zeros(len(self), dtype=np.int64)
        np.add.at(total, self.slot_constraint(), self.coefficient * values)
        return compare(total - self.bound, self.operator)

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        slots = slice(self.scope_start[row], self.scope_start[row + 1])
        return {
            "kind": "linear",
            "scope": self.scope[slots].tolist(),
            "coefficients": self.coefficient[slots].tolist(),
            **self._describe_comparison(row),
            **self._describe_terms(row),
        }

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> LinearBlock:
        coefficients, operator, bound = (description[key] for key in cls.fields)
        return cls.one(domains, np.array(scope, dtype=np.int64), coefficients, operator, bound, terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        edge_term = np.repeat(self.coefficient, domains.sizes[self.scope]) * edge_values(self.scope, domains)
        return [
            LinearLabelling(
                **self.common_fields(self._nonempty(), domains),
                edge_term=edge_term,
                coefficient=self.coefficient,
            )
        ]


@dataclass(frozen=True)
class ResidualLabelling(ComparisonLabelling):
    """Labels of Σ term ∘ bound, whatever each value's term is."""

    edge_term: IntArray
    """[edges]: what the value contributes to the sum; coefficient · value in a linear comparison."""


@dataclass(frozen=True)
class LinearLabelling(ResidualLabelling):
    native_kind: ClassVar[str] = "linear"
    coefficient: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"coefficient": self.coefficient, **super().native_arrays()}
