"""All-different over many variables with different domains, optionally with values that may repeat.

Labels from a histogram of the values now taken: (C, X = v) is 1 iff the other variables are pairwise
different and none of them takes v, where excepted values never clash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import (
    Block,
    IntArray,
    Labelling,
    Positions,
    Restriction,
    Terms,
    edge_values,
    numbered_pairs,
)
from anycsp.constraints.table import TableBlock
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class AllDifferentBlock(Block):
    kind: ClassVar[str] = "all_different"
    fields: ClassVar[tuple[str, ...]] = ("except",)
    except_values: tuple[tuple[int, ...], ...]
    """[constraints]: the values that may repeat."""

    @staticmethod
    def one(scope: IntArray, except_values: Sequence[int], terms: Terms) -> AllDifferentBlock:
        start = np.array([0, len(scope)], dtype=np.int64)
        return AllDifferentBlock(terms, start, scope, (tuple(sorted({int(v) for v in except_values})),))

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {"except_values": tuple(values for b in blocks for values in b.except_values)}

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        return {"except_values": tuple(self.except_values[row] for row in rows.tolist())}

    def restricted(self, restriction: Restriction) -> AllDifferentBlock:
        """A variable of one value leaves where nobody else of its scope can take that."""
        after = restriction.after
        edge_slot = np.repeat(np.arange(len(self.scope)), after.sizes[self.scope])
        _, edge_bin = numbered_pairs(self.slot_constraint()[edge_slot], edge_values(self.scope, after))
        takers = np.bincount(edge_bin)
        alone = np.ones(len(self.scope), dtype=np.bool_)
        np.logical_and.at(alone, edge_slot, takers[edge_bin] == 1)
        return replace(self, **self._without(alone & restriction.fixed[self.scope]))

    def always_holds(self, domains: Domains) -> npt.NDArray[np.bool_]:
        return np.asarray(self.arity <= 1)

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
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> Block:
        return all_different(domains, np.array(scope, dtype=np.int64), description.get("except", ()), terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        # One histogram bin for every (constraint, value) that occurs; an edge knows its bin.
        edge_constraint = np.repeat(self.slot_constraint(), domains.sizes[self.scope])
        bins, edge_bin = numbered_pairs(edge_constraint, edge_values(self.scope, domains))
        excepted = np.array(
            [value in self.except_values[row] for row, value in bins] if any(self.except_values) else [],
            dtype=np.bool_,
        )
        return [
            AllDifferentLabelling(
                **self.common_fields(rows, domains),
                edge_bin=edge_bin,
                bin_constraint=np.searchsorted(rows, bins[:, 0]),
                bin_counts=~excepted if len(excepted) else np.ones(len(bins), dtype=np.bool_),
            )
        ]


def all_different(domains: Sequence[Domain], scope: IntArray, except_values: Sequence[int], terms: Terms) -> Block:
    """One constraint. A variable that is listed twice never differs from itself: no assignment satisfies that, which
    a table without tuples says."""
    if len(np.unique(scope)) == len(scope):
        return AllDifferentBlock.one(scope, except_values, terms)
    if except_values:
        raise ProblemError("all-different with excepted values over a repeated variable: list each variable once")
    return TableBlock.one(domains, np.array(list(dict.fromkeys(scope.tolist())), dtype=np.int64), [], True, terms)


@dataclass(frozen=True)
class AllDifferentLabelling(Labelling):
    native_kind: ClassVar[str] = "all_different"
    edge_bin: IntArray
    bin_constraint: IntArray
    bin_counts: npt.NDArray[np.bool_]
    """[bins]: False for excepted values, which never clash."""

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "edge_bin": self.edge_bin.astype(np.int32),
            "bin_counts": self.bin_counts.astype(np.uint8),
            "bin_constraint": self.bin_constraint.astype(np.int32),
        }
