"""Domains: the finite sets variables range over, and their layout end to end as the values of the graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError


def whole_number(value: Any, what: str) -> int:
    """An integer of any type, or a float that is one."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value:
        raise ProblemError(f"{what} is an integer, not {value!r}"[:200])
    return number


@dataclass(frozen=True, eq=False)
class Domain:
    """Distinct integers in a fixed order, with optional labels; a *position* is an index into that order."""

    values: npt.NDArray[np.int64]
    labels: tuple[str, ...] | None = None

    @staticmethod
    def of(spec: Domain | Iterable[int | str] | Mapping[str, int]) -> Domain:
        if isinstance(spec, Domain):
            return spec
        labels: tuple[str, ...] | None = None
        if isinstance(spec, range) and spec:
            if min(spec[0], spec[-1]) < -(1 << 63) or max(spec[0], spec[-1]) >= 1 << 63:
                raise ProblemError("a domain holds 64-bit integers, or labels only")
            return Domain(np.arange(len(spec), dtype=np.int64) * spec.step + spec.start)
        if isinstance(spec, Mapping):
            labels, items = tuple(str(k) for k in spec), list(spec.values())
        else:
            items = list(spec)
            if items and all(isinstance(item, str) for item in items):
                labels, items = tuple(str(item) for item in items), list(range(len(items)))
        if not items:
            raise ProblemError("empty domain")
        try:
            values = np.array([int(item) for item in items], dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            raise ProblemError("a domain holds 64-bit integers, or labels only") from None
        if any(value != item for value, item in zip(values.tolist(), items, strict=True)):
            raise ProblemError("a domain holds 64-bit integers, or labels only")
        if len(np.unique(values)) < len(values) or (labels is not None and len(set(labels)) < len(labels)):
            raise ProblemError("a domain lists a value twice")
        return Domain(values, labels)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return int(self.values.min()), int(self.values.max())

    @cached_property
    def key(self) -> Hashable:
        return self.values.tobytes(), self.labels

    @cached_property
    def _positions(self) -> dict[int | str, int]:
        by_value: dict[int | str, int] = {int(v): i for i, v in enumerate(self.values)}
        if self.labels is not None:
            by_value.update({label: i for i, label in enumerate(self.labels)})
        return by_value

    def position(self, value: int | str) -> int:
        """The position of a value given as integer or label."""
        known = isinstance(value, (str, int, np.integer, np.bool_))
        position = self._positions.get(value if isinstance(value, str) else int(value)) if known else None
        if position is None:
            raise ProblemError(f"value {value!r} is outside the domain {self.summary()}")
        return position

    def integer(self, value: int | str) -> int:
        """The integer a value stands for, given as integer or label."""
        return int(self.values[self.position(value)])

    def by_position(self, pairs: Iterable[Sequence[int | str]]) -> npt.NDArray[np.int64]:
        """An integer for every position, from pairs (value, integer); 0 where no pair names the value."""
        result = np.zeros(len(self), dtype=np.int64)
        for value, number in pairs:
            result[self.position(value)] = whole_number(number, "a term")
        return result

    def positions_of(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Vectorised `position`; −1 for values outside the domain."""
        order = np.argsort(self.values, kind="stable")
        ordered = self.values[order]
        slot = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
        return np.where(ordered[slot] == values, order[slot], -1)

    def external(self, position: int) -> int | str:
        """The value at a position as the user wrote it."""
        return self.labels[position] if self.labels is not None else int(self.values[position])

    def subset(self, positions: npt.NDArray[np.int64]) -> Domain:
        """The values at these positions, in their order."""
        labels = None if self.labels is None else tuple(self.labels[p] for p in positions.tolist())
        return Domain(self.values[positions], labels)

    def summary(self) -> str:
        if self.labels is not None:
            names = list(self.labels[:4]) + (["…"] if len(self.labels) > 4 else [])
            return "{" + ", ".join(names) + "}"
        low, high = int(self.values.min()), int(self.values.max())
        if high - low + 1 == len(self.values):
            return f"{low}..{high}"
        return "{" + ", ".join(str(v) for v in self.values[:4]) + (", …}" if len(self.values) > 4 else "}")


def sizes_of(domains: Sequence[Domain]) -> npt.NDArray[np.int64]:
    if domains and _all_the_same(domains):
        return np.full(len(domains), len(domains[0]), dtype=np.int64)
    return np.fromiter((len(d.values) for d in domains), dtype=np.int64, count=len(domains))


def _all_the_same(domains: Sequence[Domain]) -> bool:
    """Whether they are one object: a file may have a million variables, and mostly they share their domain."""
    return len(set(map(id, domains))) == 1


@dataclass(frozen=True)
class Domains:
    """Every domain laid end to end: the value vertices of the constraint value graph."""

    start: npt.NDArray[np.int64]
    """[variables + 1]: the values of X are rows start[X] … start[X+1]."""
    values: npt.NDArray[np.int64]
    """[values]: the integer each value vertex stands for."""

    @staticmethod
    def of(domains: Sequence[Domain]) -> Domains:
        sizes = sizes_of(domains)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if domains and _all_the_same(domains):
            values = np.tile(domains[0].values, len(domains))
        else:
            values = np.concatenate([d.values for d in domains]) if domains else np.zeros(0, np.int64)
        return Domains(start, values)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """[variables]"""
        return np.diff(self.start)
