"""Linear comparisons Σ a_i·X_i ∘ b over integers, ∘ one of <=, >=, ==, !=, <, >.

Labels from the residual: with the current sum S, edge (C, X_i = v) is S + a_i·(v − α(X_i)) ∘ b.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling, Positions, Terms, edges_of_slots, ragged_rows
from anycsp.domains import Domain, Domains
from anycsp.errors import ProblemError
from anycsp.lazy import lazy

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

    from anycsp.problem import Problem
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


def compare(difference: npt.NDArray[np.int64], operator: IntArray) -> npt.NDArray[np.bool_]:
    """Row by row: difference `operator` 0."""
    result = np.zeros(len(operator), dtype=np.bool_)
    for code in np.unique(operator):
        rows = operator == code
        result[rows] = _HOLDS[code](difference[rows])
    return result


@dataclass(frozen=True)
class EdgeComparison:
    """`difference ∘ 0` for every edge, ∘ the operator of the edge's constraint."""

    edges_of_operator: tuple[tuple[int, torch.Tensor], ...]

    @staticmethod
    def of(edge_operator: IntArray) -> EdgeComparison:
        codes = np.unique(edge_operator)
        return EdgeComparison(
            tuple((int(code), torch.from_numpy(np.flatnonzero(edge_operator == code))) for code in codes)
        )

    def labels(self, difference: torch.Tensor) -> torch.Tensor:
        labels = torch.empty(difference.shape, dtype=torch.uint8, device=difference.device)
        for code, edges in self.edges_of_operator:
            labels[:, edges] = _HOLDS[code](difference[:, edges]).to(torch.uint8)
        return labels

    def to(self, device: torch.device) -> EdgeComparison:
        return EdgeComparison(tuple((code, edges.to(device)) for code, edges in self.edges_of_operator))


@dataclass(frozen=True)
class LinearBlock(Block):
    kind: ClassVar[str] = "linear"
    fields: ClassVar[tuple[str, ...]] = ("coefficients", "operator", "bound")
    coefficient: IntArray
    """[slots]"""
    operator: IntArray
    """[constraints]: index into OPERATORS."""
    bound: IntArray

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
        if operator not in OPERATORS:
            raise ProblemError(f"unknown operator {operator!r}: use one of {', '.join(OPERATORS)}")
        if len(coefficients) != len(scope):
            raise ProblemError(f"{len(coefficients)} coefficients for {len(scope)} variables")
        merged: dict[int, int] = {}
        for x, coefficient in zip(scope.tolist(), coefficients, strict=True):
            if int(coefficient) != coefficient:
                raise ProblemError(f"a coefficient is an integer, not {coefficient!r}")
            merged[x] = merged.get(x, 0) + int(coefficient)
        if int(bound) != bound:
            raise ProblemError(f"the right side is an integer, not {bound!r}")
        reach = abs(int(bound)) + sum(abs(a) * int(np.abs(domains[x].values).max()) for x, a in merged.items())
        if reach >= 2**62:
            raise ProblemError("a linear sum beyond 64-bit integers")
        return LinearBlock(
            terms,
            np.array([0, len(merged)], dtype=np.int64),
            np.array(list(merged), dtype=np.int64),
            np.array(list(merged.values()), dtype=np.int64),
            np.array([OPERATORS.index(operator)], dtype=np.int64),
            np.array([int(bound)], dtype=np.int64),
        )

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {
            name: np.concatenate([getattr(b, name) for b in blocks]) for name in ("coefficient", "operator", "bound")
        }

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
            "operator": OPERATORS[self.operator[row]],
            "bound": int(self.bound[row]),
            **self._describe_terms(row),
        }

    @classmethod
    def add_described(
        cls, problem: Problem, scopes: Sequence[Sequence[int]], plain: Mapping[str, Any], weight: Any, hard: Any
    ) -> None:
        for scope, w, h in zip(scopes, weight, hard, strict=True):
            problem.add_linear(scope, plain["coefficients"], plain["operator"], plain["bound"], weight=w, hard=h)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = np.flatnonzero(self.arity > 0)
        start, slots = ragged_rows(self.scope_start, rows)
        scope, coefficient = self.scope[slots], self.coefficient[slots]
        edge_slot, edge_position = (t.numpy() for t in edges_of_slots(scope, domains))
        edge_term = coefficient[edge_slot] * domains.values[domains.start[scope][edge_slot] + edge_position]
        fields = residual_fields(self.terms.take(rows), start, scope, domains, edge_term, self.operator[rows])
        return [LinearLabelling(**fields, bound=torch.from_numpy(self.bound[rows]), coefficient=coefficient)]


def residual_fields(
    terms: Terms, start: IntArray, scope: IntArray, domains: Domains, edge_term: IntArray, operator: IntArray
) -> dict[str, Any]:
    """The fields of a ResidualLabelling but for its bound."""
    edge_slot, _ = edges_of_slots(scope, domains)
    constraint = np.repeat(np.arange(len(operator)), np.diff(start))
    return {
        "terms": terms,
        "scope_start": start,
        "scope": scope,
        "domains": domains,
        "variable": torch.from_numpy(scope),
        "constraint": torch.from_numpy(constraint),
        "slot_edge": torch.from_numpy(np.searchsorted(edge_slot.numpy(), np.arange(len(scope)))),
        "edge_slot": edge_slot,
        "edge_term": torch.from_numpy(edge_term),
        "comparison": EdgeComparison.of(operator[constraint[edge_slot.numpy()]]),
        "operator": operator,
    }


@dataclass(frozen=True)
class ResidualLabelling(Labelling):
    """Labels of Σ term ∘ bound, whatever each value's term is."""

    variable: torch.Tensor
    constraint: torch.Tensor
    slot_edge: torch.Tensor
    edge_slot: torch.Tensor
    edge_term: torch.Tensor
    """[edges]: what the value contributes to the sum; coefficient · value in a linear comparison."""
    comparison: EdgeComparison
    operator: IntArray
    bound: torch.Tensor

    def labels(self, positions: torch.Tensor) -> torch.Tensor:
        now = self.edge_term[self.slot_edge + positions.index_select(1, self.variable)]  # [runs, slots]
        total = (-self.bound).repeat(len(positions), 1)
        total.index_add_(1, self.constraint, now)
        others = total.index_select(1, self.constraint) - now
        return self.comparison.labels(others.index_select(1, self.edge_slot) + self.edge_term)

    def to(self, device: torch.device) -> Self:
        return replace(super().to(device), comparison=self.comparison.to(device))


@dataclass(frozen=True)
class LinearLabelling(ResidualLabelling):
    native_kind: ClassVar[str] = "linear"
    coefficient: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "coefficient": self.coefficient,
            "operator": self.operator.astype(np.int32),
            "bound": self.bound.numpy(),
        }
