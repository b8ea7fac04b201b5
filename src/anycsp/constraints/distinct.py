"""Numbers of distinct values: |{X_1, …, X_n}| ∘ b or ∘ Y, optionally not counting some values.

Serves nValues, all-equal (at most one) and not-all-equal (at least two). Labels from a histogram of the values
now taken: without its own variable a constraint counts one less where that variable is alone on its value, and
moving it to v counts one more where nobody is at v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import IntArray, Labelling, Positions, Terms, edge_values, numbered_pairs
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


@dataclass(frozen=True)
class DistinctBlock(ComparisonBlock):
    kind: ClassVar[str] = "distinct"
    fields: ClassVar[tuple[str, ...]] = ("operator", "bound", "result", "except")
    except_values: tuple[tuple[int, ...], ...]
    """[constraints]: values that do not count."""
    has_result: npt.NDArray[np.bool_]
    """[constraints]: the last slot is Y, and the bound is added to it."""

    @staticmethod
    def one(
        scope: IntArray, except_values: Sequence[int], operator: str, bound: int, result: int | None, terms: Terms
    ) -> DistinctBlock:
        slots = scope if result is None else np.append(scope, result)
        if len(np.unique(slots)) < len(slots):
            raise ProblemError("distinct values over a repeated variable: list each variable once")
        return DistinctBlock(
            terms,
            np.array([0, len(slots)], dtype=np.int64),
            slots.astype(np.int64),
            operator_code(operator),
            bound_of(bound),
            (tuple(sorted({int(v) for v in except_values})),),
            np.array([result is not None]),
        )

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {
            **super()._concat_fields(blocks),
            "except_values": tuple(values for b in blocks for values in b.except_values),
            "has_result": np.concatenate([b.has_result for b in blocks]),
        }

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        excepted = tuple(self.except_values[row] for row in rows.tolist())
        return {**super()._take_fields(rows, slots), "except_values": excepted, "has_result": self.has_result[rows]}

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        taken = domains.values[domains.start[self.scope] + positions[self.scope]]
        difference = -self.bound
        for row in range(len(self)):
            values = taken[self.scope_start[row] : self.scope_start[row + 1]]
            if self.has_result[row]:
                values, difference[row] = values[:-1], difference[row] - values[-1]
            difference[row] += len(set(values.tolist()) - set(self.except_values[row]))
        return compare(difference, self.operator)

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        scope = self.scope_of(row).tolist()
        excepted = {"except": list(self.except_values[row])} if self.except_values[row] else {}
        return {
            "kind": "distinct",
            "scope": scope,
            **self._describe_comparison(row),
            **({"result": True} if self.has_result[row] else {}),
            **excepted,
            **self._describe_terms(row),
        }

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> DistinctBlock:
        listed, result = (scope[:-1], scope[-1]) if description.get("result") else (scope, None)
        indices, excepted = np.array(listed, dtype=np.int64), description.get("except", ())
        return cls.one(indices, excepted, *comparison_in(description), result, terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        sizes = domains.sizes[self.scope]
        is_result = np.zeros(len(self.scope), dtype=np.bool_)
        is_result[self.scope_start[1:][self.has_result] - 1] = True
        # One bin for every (constraint, value) that occurs; the result's values fall into bins that never count.
        of_result, value = np.repeat(is_result, sizes), edge_values(self.scope, domains)
        bins, edge_bin = numbered_pairs(2 * np.repeat(self.slot_constraint(), sizes) + of_result, value)
        counts = np.array(
            [row % 2 == 0 and v not in self.except_values[row // 2] for row, v in bins.tolist()], dtype=np.bool_
        )
        return [
            DistinctLabelling(
                **self.common_fields(rows, domains),
                edge_bin=edge_bin,
                edge_result=np.where(of_result, value, 0),
                bin_constraint=np.searchsorted(rows, bins[:, 0] // 2),
                bin_counts=counts,
                has_result=self.has_result[rows],
            )
        ]


@dataclass(frozen=True)
class DistinctLabelling(ComparisonLabelling):
    native_kind: ClassVar[str] = "distinct"
    edge_bin: IntArray
    edge_result: IntArray
    """[edges]: the value where the slot is the result, else 0."""
    bin_constraint: IntArray
    bin_counts: npt.NDArray[np.bool_]
    """[bins]: False for excepted values and for the result's."""
    has_result: npt.NDArray[np.bool_]

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "edge_bin": self.edge_bin.astype(np.int32),
            "bin_counts": self.bin_counts.astype(np.uint8),
            "bin_constraint": self.bin_constraint.astype(np.int32),
            **super().native_arrays(),
            "has_result": self.has_result.astype(np.uint8),
        }
