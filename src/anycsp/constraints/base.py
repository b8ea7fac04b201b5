"""The protocol of a constraint family.

A family has two faces. Its *block* is what the problem stores: many constraints as numpy arrays, able to
say which are satisfied and to describe themselves as plain data. Its *labelling* is what the search uses: the
same constraints compiled to the arrays from which their edge labels L_E are computed in every step.

Layout shared by all families: constraint c owns the *slots* scope_start[c] … scope_start[c+1], slot s being
one variable of its scope; slot s owns one edge for each value of that variable, in domain order. Slots and
edges are numbered in that order, so an edge needs no index of its own.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self

IntArray = npt.NDArray[np.int64]
Positions = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Terms:
    """Each constraint's place in the problem, weight and hardness."""

    index: IntArray
    weight: npt.NDArray[np.float64]
    hard: npt.NDArray[np.bool_]

    @staticmethod
    def of(first_index: int, weight: Any, hard: Any, count: int = 1) -> Terms:
        if count == 1 and type(weight) is float and type(hard) is bool and 0 < weight < math.inf:  # by far the most
            return Terms(np.array([first_index]), np.array([weight]), np.array([hard]))
        given = np.asarray(weight)
        if given.dtype.kind not in "iufO":
            raise ProblemError(f"a weight is a positive finite number, not {weight!r}")
        try:
            weights = np.broadcast_to(given.astype(np.float64), (count,)).copy()
        except OverflowError:
            raise ProblemError("a weight is a positive finite number, not one beyond all floats") from None
        except (TypeError, ValueError):
            raise ProblemError(
                f"a weight is a positive finite number, one for each constraint, not {weight!r}"[:200]
            ) from None
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            bad = weights[~(np.isfinite(weights) & (weights > 0))][0]
            raise ProblemError(f"a weight is a positive finite number, not {bad}")
        if given.dtype.kind != "f":  # integers that floats would round
            for row in np.flatnonzero(weights >= 2**53).tolist():
                exact = int(np.broadcast_to(given, (count,))[row])
                if int(weights[row]) != exact:
                    raise ProblemError(f"constraint {first_index + row + 1} weighs {exact}: a weight has 53 bits")
        flags = np.broadcast_to(np.asarray(hard, dtype=np.bool_), (count,)).copy()
        return Terms(np.arange(first_index, first_index + count, dtype=np.int64), weights, flags)

    def take(self, rows: IntArray | npt.NDArray[np.bool_]) -> Terms:
        return Terms(self.index[rows], self.weight[rows], self.hard[rows])

    @staticmethod
    def concat(parts: Sequence[Terms]) -> Terms:
        return Terms(
            np.concatenate([p.index for p in parts]),
            np.concatenate([p.weight for p in parts]),
            np.concatenate([p.hard for p in parts]),
        )


@dataclass(frozen=True)
class Restriction:
    """Domains that have lost values: where every value that is left now stands."""

    before: Domains
    after: Domains
    place: IntArray
    """[values before]: the new position of each, −1 where it is gone."""

    @staticmethod
    def of(before: Domains, kept: npt.NDArray[np.bool_]) -> Restriction:
        """`kept` is a flag per value; every domain keeps one at least."""
        counted = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        start = counted[before.start]
        place = np.where(kept, counted[:-1] - np.repeat(start[:-1], before.sizes), -1)
        return Restriction(before, Domains(start, before.values[kept]), place)

    @property
    def fixed(self) -> npt.NDArray[np.bool_]:
        """[variables]: one value is left."""
        return np.asarray(self.after.sizes == 1)

    @cached_property
    def shape(self) -> IntArray:
        """[variables]: equal for those that had as many values and lost them at the same positions."""
        shapes: dict[bytes, int] = {}
        left, start = self.place >= 0, self.before.start.tolist()
        rows = (left[a:b].tobytes() for a, b in pairwise(start))
        return np.fromiter((shapes.setdefault(row, len(shapes)) for row in rows), np.int64, len(start) - 1)

    def kept_edges(self, scope: IntArray) -> npt.NDArray[np.bool_]:
        """[edges before] of these slots: the value is left."""
        return np.asarray(self.place[ragged_rows(self.before.start, scope)[1]] >= 0)


FAMILIES: dict[str, type[Block]] = {}
"""Every constraint family by its kind; a family registers itself by being defined."""


@dataclass(frozen=True)
class Block(ABC):
    """Many constraints of one family; subclasses add their own arrays, constraint- or slot-wise."""

    kind: ClassVar[str]
    """The family's name in JSON and in `anycsp info`."""
    fields: ClassVar[tuple[str, ...]] = ()
    """What `describe` says beside kind, scope, weight and hard."""

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            FAMILIES[cls.kind] = cls

    terms: Terms
    scope_start: IntArray
    scope: IntArray

    def __len__(self) -> int:
        return len(self.terms.index)

    @property
    def arity(self) -> IntArray:
        return np.diff(self.scope_start)

    def slot_constraint(self) -> IntArray:
        """The constraint (row of this block) of every slot."""
        return np.repeat(np.arange(len(self)), self.arity)

    def scope_of(self, row: int) -> IntArray:
        return self.scope[self.scope_start[row] : self.scope_start[row + 1]]

    def shifted(self, variables: int, constraints: int) -> Self:
        """The same block as part of a larger problem, its variables and constraints numbered from there."""
        if variables == constraints == 0:
            return self
        terms = replace(self.terms, index=self.terms.index + constraints)
        return replace(self, terms=terms, scope=self.scope + variables)

    @classmethod
    def concat(cls, blocks: Sequence[Self]) -> Self:
        """One block of all; families extend it with their own arrays in `_concat_fields`."""
        lengths = np.concatenate([b.arity for b in blocks])
        return cls(
            terms=Terms.concat([b.terms for b in blocks]),
            scope_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            scope=np.concatenate([b.scope for b in blocks]),
            **cls._concat_fields(blocks),
        )

    @classmethod
    @abstractmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        """The family's own fields joined."""

    @abstractmethod
    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        """Which constraints an assignment (one domain position per variable) satisfies."""

    def rules_out(self, domains: Domains) -> IntArray:
        """[slots]: how many values of this variable the constraint rules out at most, whatever the others take. All
        of them, unless the family knows better; one that does also has `allowed`."""
        return domains.sizes[self.scope].astype(np.int64)

    def allowed(self, row: int, variable: int, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        """Which positions of the variable satisfy a constraint, the others being where they are."""
        raise NotImplementedError(type(self).__name__)

    def take(self, rows: IntArray) -> Self:
        """Only these constraints."""
        start, slots = ragged_rows(self.scope_start, rows)
        own = self._take_fields(rows, slots)
        return replace(self, terms=self.terms.take(rows), scope_start=start, scope=self.scope[slots], **own)

    @abstractmethod
    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        """The family's own fields for these constraints, whose slots are those."""

    def restricted(self, restriction: Restriction) -> Block:
        """The same constraints over smaller domains: satisfied by the very assignments of what is left. A variable of
        one value leaves the scope where the family can say the rest without it. Families that keep values, not
        positions, have nothing to do."""
        return self

    def always_holds(self, domains: Domains) -> npt.NDArray[np.bool_]:
        """[constraints]: whatever the assignment. Those without variables that hold, and what a family can tell."""
        empty: npt.NDArray[np.bool_] = np.asarray(self.arity == 0)
        if empty.any():
            empty &= self.satisfied(domains, np.zeros(len(domains.sizes), dtype=np.int64))
        return empty

    def _without(self, leaves: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """The scopes without these slots."""
        stays = np.bincount(self.slot_constraint()[~leaves], minlength=len(self))
        return {
            "scope_start": np.concatenate([[0], np.cumsum(stays)]).astype(np.int64),
            "scope": self.scope[~leaves],
        }

    @abstractmethod
    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        """One constraint as plain JSON data in domain values, `weight` and `hard` where it is not just required."""

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> Block:
        """The inverse of `describe`: this one constraint over a scope. A family may answer with a block of another
        one that says the same."""
        raise ProblemError(f"{cls.kind} constraints cannot be read back from their description")

    @classmethod
    def from_descriptions(
        cls, domains: Sequence[Domain], scopes: Sequence[Sequence[int]], description: Mapping[str, Any], terms: Terms
    ) -> Sequence[Block]:
        """The same constraint over each of the scopes; families that have a bulk form make one block of it."""
        own = (terms.take(np.array([row])) for row in range(len(scopes)))
        return [cls.from_description(domains, scope, description, t) for scope, t in zip(scopes, own, strict=True)]

    def shape(self, row: int, domains: Sequence[Domain]) -> Hashable:
        """Equal for constraints whose descriptions differ only in scope, weight and hard; lets files share them."""
        plain = self.describe(row, domains)
        return len(plain["scope"]), json.dumps([plain.get(field) for field in self.fields])

    @abstractmethod
    def labellings(self, domains: Domains) -> list[Labelling]:
        """Compile for the search. Each constraint of non-empty scope goes into exactly one labelling."""

    def _nonempty(self) -> IntArray:
        """The constraints a search sees. Together they own all slots, so slot-wise arrays serve them as they are."""
        return np.flatnonzero(self.arity > 0)

    def common_fields(self, rows: IntArray, domains: Domains) -> dict[str, Any]:
        """The fields every labelling has, for these constraints in this order."""
        if np.array_equal(rows, np.arange(len(self))):
            return {"terms": self.terms, "scope_start": self.scope_start, "scope": self.scope, "domains": domains}
        start, slots = ragged_rows(self.scope_start, rows)
        return {"terms": self.terms.take(rows), "scope_start": start, "scope": self.scope[slots], "domains": domains}

    def _describe_terms(self, row: int) -> dict[str, Any]:
        """Nothing where it is required, a weight where it is soft; `hard` where it is required and has a weight."""
        extra: dict[str, Any] = {}
        weight, hard = float(self.terms.weight[row]), bool(self.terms.hard[row])
        if weight != 1 or not hard:
            extra["weight"] = int(weight) if weight.is_integer() else weight
            if hard:
                extra["hard"] = True
        return extra


@dataclass(frozen=True)
class Labelling(ABC):
    """Some constraints of one family, compiled: the arrays from which L_E is computed in every step.

    The native module labels them itself; `anycsp.neural.labels` says the same in PyTorch.
    """

    native_kind: ClassVar[str]
    """Selects the C++ counterpart; its arrays are `native_arrays()`."""

    terms: Terms
    scope_start: IntArray
    scope: IntArray
    domains: Domains

    def __len__(self) -> int:
        return len(self.terms.index)

    def edge_start(self) -> IntArray:
        """[slots + 1]: the first edge of every slot."""
        return np.concatenate([[0], np.cumsum(self.domains.sizes[self.scope])]).astype(np.int64)

    @abstractmethod
    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What the C++ counterpart needs beside scopes and domains."""


def edge_values(scope: IntArray, domains: Domains) -> IntArray:
    """The value of every edge of the slots."""
    return domains.values[ragged_rows(domains.start, scope)[1]]


SPARSE = 4
"""Possible pairs for each that occurs up to which they are listed; beyond, those that occur are sorted."""


def numbered_pairs(row: IntArray, value: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs that occur [pairs, 2] in order, and which of them each element is. Sorting pairs takes far longer than
    marking them, and there may be millions."""
    if not len(row):
        return np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
    low, rows = int(value.min()), int(row.max()) + 1
    span = int(value.max()) - low + 1
    if rows * span >= 1 << 62:
        pairs, number = np.unique(np.stack([row, value], axis=1), axis=0, return_inverse=True)
        return pairs, number.reshape(-1)
    key = row * span + (value - low)
    if rows * span > SPARSE * len(row):
        keys, number = np.unique(key, return_inverse=True)
    else:
        occurs = np.zeros(rows * span, dtype=np.bool_)
        occurs[key] = True
        keys, number = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[key]
    return np.stack([keys // span, keys % span + low], axis=1), number.reshape(-1)


def ragged_rows(start: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Select rows of a ragged array: the new row starts, and the indices of the kept elements."""
    lengths = (start[1:] - start[:-1])[rows]
    new_start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    within = np.arange(new_start[-1]) - np.repeat(new_start[:-1], lengths)
    return new_start, np.repeat(start[:-1][rows], lengths) + within
