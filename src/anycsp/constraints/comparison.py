"""Comparisons: what sums, extrema and numbers of distinct values end in, a difference held against 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling
from anycsp.errors import ProblemError
from anycsp.model.domains import Domains, whole_number
from anycsp.model.expressions import COMPARISON

if TYPE_CHECKING:
    from typing_extensions import Self

OPERATORS = tuple(COMPARISON)
"""Their order is the operator code of the arrays and of the C++ side."""

HOLDS: tuple[Callable[[Any], Any], ...] = (
    lambda difference: difference <= 0,
    lambda difference: difference >= 0,
    lambda difference: difference == 0,
    lambda difference: difference != 0,
    lambda difference: difference < 0,
    lambda difference: difference > 0,
)
"""By operator code: the difference of the two sides decides. Any array of integers will do."""

DISTANCE: tuple[Callable[[Any], Any], ...] = (
    lambda difference: difference.clip(min=0),
    lambda difference: (-difference).clip(min=0),
    abs,
    lambda difference: (difference == 0) * 1,
    lambda difference: (difference + 1).clip(min=0),
    lambda difference: (1 - difference).clip(min=0),
)
"""By operator code: how far the difference is from one that satisfies. Any array or tensor of integers will do."""


def operator_code(operator: str) -> IntArray:
    """The codes of a block of one constraint."""
    if operator not in OPERATORS:
        raise ProblemError(f"unknown operator {operator!r}: use one of {', '.join(OPERATORS)}")
    return np.array([OPERATORS.index(operator)], dtype=np.int64)


def comparison_in(description: Mapping[str, Any]) -> tuple[str, int]:
    """The operator and the bound that a description gives."""
    return description["operator"], whole_number(description["bound"], "the bound")


LARGEST_BOUND = 2**61
"""Differences from a bound within this, of sums within the same, stay within 64 bits."""


def bound_of(bound: int) -> IntArray:
    """The bounds of a block of one constraint."""
    if abs(bound) > LARGEST_BOUND:
        raise ProblemError(f"a bound of {bound}: beyond 2^61 a difference from it would not fit into 64 bits")
    return np.array([bound], dtype=np.int64)


def compare(difference: npt.NDArray[np.int64], operator: IntArray) -> npt.NDArray[np.bool_]:
    """Row by row: difference `operator` 0."""
    result = np.zeros(len(operator), dtype=np.bool_)
    for code in np.unique(operator):
        rows = operator == code
        result[rows] = HOLDS[code](difference[rows])
    return result


@dataclass(frozen=True)
class ComparisonBlock(Block):
    operator: IntArray
    """[constraints]: index into OPERATORS."""
    bound: IntArray

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {name: np.concatenate([getattr(b, name) for b in blocks]) for name in ("operator", "bound")}

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        return {"operator": self.operator[rows], "bound": self.bound[rows]}

    def _fold(self, leaves: npt.NDArray[np.bool_], term: IntArray) -> dict[str, Any]:
        """The scopes without these slots of a sum, whose terms ([slots]) move to the right side."""
        bound = self.bound.copy()
        np.subtract.at(bound, self.slot_constraint()[leaves], term[leaves])
        return {**self._without(leaves), "bound": bound}

    def _holds_for_sums(self, edge_term: IntArray, sizes: IntArray) -> npt.NDArray[np.bool_]:
        """[constraints]: a sum holds both at its least and at its greatest, and so (but for ≠) between. `edge_term` is
        what each value adds, `sizes` the number of values of each slot."""
        first = np.cumsum(sizes) - sizes
        slot = self.slot_constraint()
        holds: npt.NDArray[np.bool_] = np.asarray(self.operator != OPERATORS.index("!="))
        for extreme in (np.minimum, np.maximum):
            total = -self.bound
            if len(sizes):
                np.add.at(total, slot, extreme.reduceat(edge_term, first))
            holds &= compare(total, self.operator)
        return holds

    def _describe_comparison(self, row: int) -> dict[str, Any]:
        return {"operator": OPERATORS[self.operator[row]], "bound": int(self.bound[row])}

    def common_fields(self, rows: IntArray, domains: Domains) -> dict[str, Any]:
        own = {"operator": self.operator[rows], "bound": self.bound[rows]}
        return {**super().common_fields(rows, domains), **own}


@dataclass(frozen=True)
class ComparisonLabelling(Labelling):
    """Labels edge by edge `difference ∘ 0`, ∘ the operator of the edge's constraint."""

    operator: IntArray
    bound: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"operator": self.operator.astype(np.int32), "bound": self.bound}
