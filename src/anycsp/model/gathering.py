"""Comparisons that are added one by one, as plain lists until their arrays are asked for: arrays of its own for each
constraint would take ten times as long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from anycsp.constraints.base import Block, Terms
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock


class Rows:
    """The constraints of one family: place, weight, hardness and scope of each."""

    def __init__(self) -> None:
        self.index: list[int] = []
        self.weight: list[float] = []
        self.hard: list[bool] = []
        self.scope: list[int] = []
        self.arity: list[int] = []

    def append(self, index: int, weight: float, hard: bool, scope: Iterable[int], arity: int) -> None:
        self.index.append(index)
        self.weight.append(weight)
        self.hard.append(hard)
        self.scope.extend(scope)
        self.arity.append(arity)

    def pop(self) -> None:
        for column in (self.index, self.weight, self.hard):
            column.pop()
        del self.scope[len(self.scope) - self.arity.pop() :]

    @property
    def terms(self) -> Terms:
        return Terms(
            np.array(self.index, dtype=np.int64),
            np.array(self.weight, dtype=np.float64),
            np.array(self.hard, dtype=np.bool_),
        )

    @property
    def scope_start(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.concatenate([[0], np.cumsum(self.arity)]).astype(np.int64)


class Gathered:
    """Constraints added one after another, of whatever family."""

    def __init__(self) -> None:
        self._linear, self._pairs = Rows(), Rows()
        self._coefficient: list[int] = []
        self._operator: list[int] = []
        self._bound: list[int] = []
        self._relation: list[Relation] = []
        self._tables_first = False

    def add_linear(
        self, place: tuple[int, float, bool], scope: Sequence[int], coefficients: Sequence[int], code: int, bound: int
    ) -> None:
        """`place` is index, weight and hardness; `code` that of the comparison (constraints/comparison.py)."""
        self._linear.append(*place, scope, len(scope))
        self._coefficient.extend(coefficients)
        self._operator.append(code)
        self._bound.append(bound)

    def add_pair(self, place: tuple[int, float, bool], scope: Sequence[int], relation: Relation) -> None:
        self._tables_first = self._tables_first or not self._linear.index
        self._pairs.append(*place, scope, 2)
        self._relation.append(relation)

    def remove(self, index: int) -> None:
        """Take the last constraint, whose place this is, away again."""
        if self._linear.index and self._linear.index[-1] == index:
            del self._coefficient[len(self._coefficient) - self._linear.arity[-1] :]
            self._linear.pop()
            self._operator.pop()
            self._bound.pop()
        else:
            assert self._pairs.index[-1] == index
            self._pairs.pop()
            self._relation.pop()

    def blocks(self) -> list[Block]:
        """One per family, in the order in which families came up."""
        blocks: list[Block] = []
        if self._linear.index:
            blocks.append(
                LinearBlock(
                    self._linear.terms,
                    self._linear.scope_start,
                    np.array(self._linear.scope, dtype=np.int64),
                    np.array(self._operator, dtype=np.int64),
                    np.array(self._bound, dtype=np.int64),
                    np.array(self._coefficient, dtype=np.int64),
                )
            )
        if self._pairs.index:
            number: dict[int, int] = {}
            ids = [number.setdefault(id(relation), len(number)) for relation in self._relation]
            relations = {id(relation): relation for relation in self._relation}
            blocks.append(
                TableBlock(
                    self._pairs.terms,
                    self._pairs.scope_start,
                    np.array(self._pairs.scope, dtype=np.int64),
                    np.array(ids, dtype=np.int64),
                    tuple(relations.values()),
                )
            )
        return blocks[::-1] if self._tables_first else blocks
