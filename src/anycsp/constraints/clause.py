"""Clauses and nogoods: a constraint that forbids exactly one combination of values.

A SAT clause forbids the one tuple in which every literal is false; the same holds the arrays for any domain
size. A slot's label is 0 only at the forbidden value, and only when all the other slots are there already.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
)
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self


SHORT = 16
"""Literals of a clause up to which all pairs at one distance are compared at once; longer ones are sorted."""


def _with_repeats(start: IntArray, scope: IntArray, row: IntArray) -> npt.NDArray[np.bool_]:
    """[clauses]: whether a variable occurs twice, which hardly any does. `row`: the clause of every slot."""
    result = np.zeros(len(start) - 1, dtype=np.bool_)
    longest = int(np.diff(start).max(initial=0))
    if longest > SHORT:
        order = np.lexsort((scope, row))
        pairs = (order[:-1], order[1:])
        found = (scope[pairs[0]] == scope[pairs[1]]) & (row[pairs[0]] == row[pairs[1]])
        result[row[pairs[0][found]]] = True
        return result
    for distance in range(1, longest):
        equal = np.flatnonzero(scope[distance:] == scope[:-distance])
        result[row[equal][row[equal] == row[equal + distance]]] = True
    return result


@dataclass(frozen=True)
class ClauseBlock(Block):
    kind: ClassVar[str] = "clause"
    fields: ClassVar[tuple[str, ...]] = ("forbidden", "tautology")
    forbidden: IntArray
    """[slots]: the domain position at which this variable does not satisfy the clause."""
    tautology: npt.NDArray[np.bool_]
    """[constraints]: satisfied whatever happens, as x ∨ ¬x is."""

    @staticmethod
    def of(start: IntArray, scope: IntArray, forbidden: npt.NDArray[Any], terms: Terms) -> ClauseBlock:
        """Clauses in ragged rows; repeated variables are merged, contradicting repeats make a tautology."""
        forbidden = np.asarray(forbidden, dtype=np.int64)
        count = len(start) - 1
        row = np.repeat(np.arange(count), np.diff(start))
        tautology = np.zeros(count, dtype=np.bool_)
        slots = np.flatnonzero(_with_repeats(start, scope, row)[row])
        if len(slots):
            order = slots[np.lexsort((scope[slots], row[slots]))]
            same = (row[order][1:] == row[order][:-1]) & (scope[order][1:] == scope[order][:-1])
            clash = same & (forbidden[order][1:] != forbidden[order][:-1])
            tautology[row[order][1:][clash]] = True
            keep = np.ones(len(scope), dtype=np.bool_)
            keep[order[1:][same]] = False
            scope, forbidden, row = scope[keep], forbidden[keep], row[keep]
            start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))]).astype(np.int64)
        return ClauseBlock(terms, start, scope, forbidden, tautology)

    @property
    def literals(self) -> IntArray:
        """[slots]: DIMACS numbers ±(variable + 1) over two-valued variables, positive for the second value."""
        return np.where(self.forbidden == 1, -1, 1) * (self.scope + 1)

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        return {
            "forbidden": np.concatenate([b.forbidden for b in blocks]),
            "tautology": np.concatenate([b.tautology for b in blocks]),
        }

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        free = positions[self.scope] != self.forbidden
        return self.tautology | (np.bincount(self.slot_constraint()[free], minlength=len(self)) > 0)

    def rules_out(self, domains: Domains) -> IntArray:
        return np.where(self.tautology[self.slot_constraint()], 0, 1)

    def allowed(self, row: int, variable: int, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        slots = slice(self.scope_start[row], self.scope_start[row + 1])
        scope, forbidden = self.scope[slots], self.forbidden[slots]
        own = scope == variable
        result = np.ones(domains.sizes[variable], dtype=np.bool_)
        if not self.tautology[row] and (positions[scope] == forbidden)[~own].all():
            result[forbidden[own]] = False
        return result

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        return {"forbidden": self.forbidden[slots], "tautology": self.tautology[rows]}

    def restricted(self, restriction: Restriction) -> ClauseBlock:
        """A literal whose forbidden value is gone satisfies its clause; a variable that is left there is no help."""
        forbidden = restriction.place[restriction.before.start[self.scope] + self.forbidden]
        tautology = self.tautology.copy()
        tautology[self.slot_constraint()[forbidden < 0]] = True
        leaves = restriction.fixed[self.scope] | tautology[self.slot_constraint()]
        return replace(self, **self._without(leaves), forbidden=forbidden[~leaves], tautology=tautology)

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        slots = slice(self.scope_start[row], self.scope_start[row + 1])
        scope = [int(x) for x in self.scope[slots]]
        forbidden = [domains[x].external(int(p)) for x, p in zip(scope, self.forbidden[slots], strict=True)]
        tautology = {"tautology": True} if self.tautology[row] else {}
        return {"kind": "clause", "scope": scope, "forbidden": forbidden, **tautology, **self._describe_terms(row)}

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> ClauseBlock:
        return cls.from_descriptions(domains, [scope], description, terms)[0]

    @classmethod
    def from_descriptions(
        cls, domains: Sequence[Domain], scopes: Sequence[Sequence[int]], description: Mapping[str, Any], terms: Terms
    ) -> list[ClauseBlock]:
        """All of them in one block."""
        values = description["forbidden"]
        for scope in scopes:
            if len(values) != len(scope):
                raise ProblemError(f"{len(values)} forbidden values for {len(scope)} variables")
        forbidden = [domains[x].position(v) for scope in scopes for x, v in zip(scope, values, strict=True)]
        start = np.arange(len(scopes) + 1, dtype=np.int64) * len(values)
        flat = np.array([x for scope in scopes for x in scope], dtype=np.int64)
        block = cls.of(start, flat, np.array(forbidden, dtype=np.int64), terms)
        tautology = bool(description.get("tautology", False))
        return [replace(block, tautology=block.tautology | tautology)]

    def shape(self, row: int, domains: Sequence[Domain]) -> Hashable:
        slots = slice(self.scope_start[row], self.scope_start[row + 1])
        domains_of = tuple(id(domains[x]) for x in self.scope[slots].tolist())
        return bool(self.tautology[row]), self.forbidden[slots].tobytes(), domains_of

    def labellings(self, domains: Domains) -> list[Labelling]:
        forbidden = self.forbidden
        if self.tautology.any():  # it never has all its slots at −1, so no label of it is ever 0
            forbidden = np.where(np.repeat(self.tautology, self.arity), -1, forbidden)
        return [ClauseLabelling(**self.common_fields(self._nonempty(), domains), forbidden=forbidden)]


@dataclass(frozen=True)
class ClauseLabelling(Labelling):
    native_kind: ClassVar[str] = "clause"
    forbidden: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"forbidden": self.forbidden.astype(np.int32)}
