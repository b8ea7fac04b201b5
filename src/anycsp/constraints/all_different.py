"""All-different over many variables with different domains, optionally with values that may repeat.

Labels from a histogram of the values now taken: (C, X = v) is 1 iff the other variables are pairwise
different and none of them takes v, where excepted values never clash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling, Positions, Terms, edge_values
from anycsp.lazy import lazy
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

    from anycsp.model.problem import Problem
else:
    torch = lazy("torch")


@dataclass(frozen=True)
class AllDifferentBlock(Block):
    kind: ClassVar[str] = "all_different"
    fields: ClassVar[tuple[str, ...]] = ("except",)
    except_values: tuple[tuple[int, ...], ...]
    """[constraints]: the values that may repeat."""

    @staticmethod
    def one(
        domains: Sequence[Domain], scope: IntArray, except_values: Sequence[int], terms: Terms
    ) -> AllDifferentBlock:
        start = np.array([0, len(scope)], dtype=np.int64)
        return AllDifferentBlock(terms, start, scope, (tuple(sorted({int(v) for v in except_values})),))

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {"except_values": tuple(values for b in blocks for values in b.except_values)}

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        taken = domains.values[domains.start[self.scope] + positions[self.scope]]
        result = np.ones(len(self), dtype=np.bool_)
        for row in range(len(self)):
            values = taken[self.scope_start[row] : self.scope_start[row + 1]]
            values = values[~np.isin(values, self.except_values[row])] if self.except_values[row] else values
            result[row] = len(np.unique(values)) == len(values)
        return result

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        excepted = {"except": list(self.except_values[row])} if self.except_values[row] else {}
        scope = [int(x) for x in self.scope_of(row)]
        return {"kind": "all_different", "scope": scope, **excepted, **self._describe_terms(row)}

    @classmethod
    def add_described(
        cls, problem: Problem, scopes: Sequence[Sequence[int]], plain: Mapping[str, Any], weight: Any, hard: Any
    ) -> None:
        for scope, w, h in zip(scopes, weight, hard, strict=True):
            problem.add_all_different(scope, except_values=plain.get("except", ()), weight=w, hard=h)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        # One histogram bin for every (constraint, value) that occurs; an edge knows its bin.
        edge_constraint = np.repeat(self.slot_constraint(), domains.sizes[self.scope])
        pairs = np.stack([edge_constraint, edge_values(self.scope, domains)], axis=1)
        bins, edge_bin = np.unique(pairs, axis=0, return_inverse=True)
        excepted = np.array(
            [value in self.except_values[row] for row, value in bins] if any(self.except_values) else [],
            dtype=np.bool_,
        )
        return [
            AllDifferentLabelling(
                **self._common(rows, domains),
                edge_bin=torch.from_numpy(edge_bin.reshape(-1)),
                bin_constraint=torch.from_numpy(np.searchsorted(rows, bins[:, 0])),
                bin_counts=torch.from_numpy(~excepted if len(excepted) else np.ones(len(bins), dtype=np.bool_)),
            )
        ]


@dataclass(frozen=True)
class AllDifferentLabelling(Labelling):
    native_kind: ClassVar[str] = "all_different"
    edge_bin: torch.Tensor
    bin_constraint: torch.Tensor
    bin_counts: torch.Tensor
    """[bins]: False for excepted values, which never clash."""

    def labels(self, positions: torch.Tensor) -> torch.Tensor:
        runs = len(positions)
        taken = self.edge_bin[self.slot_edge + positions.index_select(1, self.variable)]  # [runs, slots]
        counted = self.bin_counts[taken].to(torch.int32)
        histogram = torch.zeros(runs, len(self.bin_constraint), dtype=torch.int32, device=positions.device)
        histogram.scatter_add_(1, taken, counted)
        # Clashes of a constraint: how many variables are beyond the first on their value.
        clashes = torch.zeros(runs, len(self), dtype=torch.int32, device=positions.device)
        clashes.index_add_(1, self.bin_constraint, (histogram - 1).clamp(min=0))
        shared = (histogram.gather(1, taken) > 1).to(torch.int32) * counted
        others_clash = clashes.index_select(1, self.slot_constraint) - shared  # without this slot's own variable
        own = (taken.index_select(1, self.edge_slot) == self.edge_bin).to(torch.int32)
        on_value = histogram.index_select(1, self.edge_bin) - own * self.bin_counts[self.edge_bin].to(torch.int32)
        return ((others_clash.index_select(1, self.edge_slot) == 0) & (on_value == 0)).to(torch.uint8)

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "edge_bin": self.edge_bin.numpy().astype(np.int32),
            "bin_counts": self.bin_counts.numpy().astype(np.uint8),
            "bin_constraint": self.bin_constraint.numpy().astype(np.int32),
        }
