"""Comparisons: what sums, extrema and numbers of distinct values end in, a difference held against 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling
from anycsp.errors import ProblemError
from anycsp.lazy import lazy
from anycsp.model.domains import Domains

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self
else:
    torch = lazy("torch")

OPERATORS = ("<=", ">=", "==", "!=", "<", ">")
"""Their order is the operator code of the arrays and of the C++ side."""

# The difference of the two sides decides; one function serves numpy arrays and torch tensors alike.
_HOLDS: tuple[Callable[[Any], Any], ...] = (
    lambda difference: difference <= 0,
    lambda difference: difference >= 0,
    lambda difference: difference == 0,
    lambda difference: difference != 0,
    lambda difference: difference < 0,
    lambda difference: difference > 0,
)


def operator_code(operator: str) -> IntArray:
    """The codes of a block of one constraint."""
    if operator not in OPERATORS:
        raise ProblemError(f"unknown operator {operator!r}: use one of {', '.join(OPERATORS)}")
    return np.array([OPERATORS.index(operator)], dtype=np.int64)


def compare(difference: npt.NDArray[np.int64], operator: IntArray) -> npt.NDArray[np.bool_]:
    """Row by row: difference `operator` 0."""
    result = np.zeros(len(operator), dtype=np.bool_)
    for code in np.unique(operator):
        rows = operator == code
        result[rows] = _HOLDS[code](difference[rows])
    return result


@dataclass(frozen=True)
class ComparisonBlock(Block):
    operator: IntArray
    """[constraints]: index into OPERATORS."""
    bound: IntArray

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {name: np.concatenate([getattr(b, name) for b in blocks]) for name in ("operator", "bound")}

    def _describe_comparison(self, row: int) -> dict[str, Any]:
        return {"operator": OPERATORS[self.operator[row]], "bound": int(self.bound[row])}

    def _common(self, rows: IntArray, domains: Domains) -> dict[str, Any]:
        own = {"operator": self.operator[rows], "bound": torch.from_numpy(self.bound[rows])}
        return {**super()._common(rows, domains), **own}


@dataclass(frozen=True)
class ComparisonLabelling(Labelling):
    """Labels edge by edge `difference ∘ 0`, ∘ the operator of the edge's constraint."""

    operator: IntArray
    bound: torch.Tensor

    @cached_property
    def _edges_by_operator(self) -> list[tuple[int, torch.Tensor]]:
        edge_operator = np.repeat(self.operator, np.diff(self.edge_start()[self.scope_start]))
        return [(int(code), self._placed(np.flatnonzero(edge_operator == code))) for code in np.unique(self.operator)]

    def compared(self, difference: torch.Tensor) -> torch.Tensor:
        labels = torch.empty(difference.shape, dtype=torch.uint8, device=difference.device)
        for code, edges in self._edges_by_operator:
            labels[:, edges] = _HOLDS[code](difference[:, edges]).to(torch.uint8)
        return labels

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"operator": self.operator.astype(np.int32), "bound": self.bound.numpy()}
