"""Relations given by a Python function that cannot be written as an expression.

The function is called on whole arrays where it can take them, else tuple by tuple; either way only for the values
an edge needs. It lives in this process only: such a constraint has no native form and is not written to files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling, Positions, Terms
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self

Predicate = Callable[..., Any]


def vectorised(function: Predicate, samples: IntArray) -> Predicate:
    """The function on arrays: itself where it gives, array by array, what it gives tuple by tuple on the samples
    [tuples, arity]; otherwise a loop over tuples."""
    expected = [bool(function(*(int(v) for v in row))) for row in samples]
    try:
        answer = np.asarray(function(*samples.T.copy()))
        if answer.shape == (len(samples),) and [bool(a) for a in answer] == expected:
            return function
    except Exception:  # whatever the user's code raises when given arrays, the loop below is the answer
        pass

    def by_tuple(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.fromiter((bool(function(*row)) for row in rows), dtype=np.bool_, count=len(columns[0]))

    return by_tuple


@dataclass(frozen=True)
class ExternalBlock(Block):
    kind: ClassVar[str] = "external"
    function: tuple[Predicate, ...]
    """[constraints]: takes one array per slot, returns truth values."""

    @staticmethod
    def one(scope: IntArray, function: Predicate, terms: Terms) -> ExternalBlock:
        return ExternalBlock(terms, np.array([0, len(scope)], dtype=np.int64), scope, (function,))

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {"function": tuple(f for b in blocks for f in b.function)}

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        return {"function": tuple(self.function[row] for row in rows.tolist())}

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        values = domains.values[domains.start[self.scope] + positions[self.scope]]
        result = np.zeros(len(self), dtype=np.bool_)
        for row, function in enumerate(self.function):
            slots = slice(self.scope_start[row], self.scope_start[row + 1])
            result[row] = bool(np.asarray(function(*values[slots, None])).reshape(-1)[0])
        return result

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        name = getattr(self.function[row], "__qualname__", "function")
        return {"kind": "external", "scope": self.scope_of(row).tolist(), "function": name, **self._describe_terms(row)}

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        functions = tuple(self.function[row] for row in rows)
        return [ExternalLabelling(**self.common_fields(rows, domains), function=functions)]


@dataclass(frozen=True)
class ExternalLabelling(Labelling):
    native_kind: ClassVar[str] = "external"
    function: tuple[Predicate, ...]

    def labels(self, positions: Positions) -> npt.NDArray[np.uint8]:
        """[runs, variables] domain positions → [runs, edges]."""
        edge_start = self.edge_start()
        labels = np.empty((len(positions), edge_start[-1]), dtype=np.uint8)
        for row in range(len(self)):
            first, last = self.scope_start[row], self.scope_start[row + 1]
            for run, taken in enumerate(positions[:, self.scope[first:last]]):
                labels[run, edge_start[first] : edge_start[last]] = self.row_labels(row, taken)
        return labels

    def row_labels(self, row: int, positions: Positions) -> npt.NDArray[np.uint8]:
        """The labels of one constraint's edges, its scope being at these positions."""
        scope = self.scope[self.scope_start[row] : self.scope_start[row + 1]]
        taken = self.domains.values[self.domains.start[scope] + positions]
        return np.asarray(self.function[row](*self._queries(scope, taken)), dtype=np.bool_).astype(np.uint8)

    def _queries(self, scope: IntArray, taken: IntArray) -> list[IntArray]:
        """One column a slot, one row an edge: the current values but for the edge's own."""
        sizes = self.domains.sizes[scope]
        ends = np.cumsum(sizes)
        columns = [np.full(ends[-1], value) for value in taken]
        for slot, x in enumerate(scope):
            own = self.domains.values[self.domains.start[x] : self.domains.start[x + 1]]
            columns[slot][ends[slot] - sizes[slot] : ends[slot]] = own
        return columns

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {}
