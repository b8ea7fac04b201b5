"""Tables: the scope must (or must not) take one of the listed tuples, which are a `Relation`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
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
from anycsp.constraints.relation import Relation, relation_of, relation_of_truth
from anycsp.constraints.table_layouts import dense, matching, tuple_lists
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class TableBlock(Block):
    kind: ClassVar[str] = "table"
    fields: ClassVar[tuple[str, ...]] = ("allowed", "forbidden")
    relation: IntArray
    """[constraints]: index into relations."""
    relations: tuple[Relation, ...]

    @staticmethod
    def one(domains: Sequence[Domain], scope: IntArray, tuples: Any, allowed: bool, terms: Terms) -> TableBlock:
        return TableBlock.of_relation(*relation_of(domains, scope, tuples, allowed), terms)

    @staticmethod
    def of_truth(scope: IntArray, truth: npt.NDArray[np.bool_], terms: Terms) -> TableBlock:
        """One table given cell by cell, an axis for each variable."""
        return TableBlock.of_relation(scope, relation_of_truth(truth), terms)

    @staticmethod
    def of_relation(scope: IntArray, relation: Relation, terms: Terms) -> TableBlock:
        start = np.array([0, len(scope)], dtype=np.int64)
        return TableBlock(terms, start, scope, np.zeros(1, np.int64), (relation,))

    @staticmethod
    def many(domains: Sequence[Domain], scopes: IntArray, tuples: Any, allowed: bool, terms: Terms) -> TableBlock:
        count, arity = scopes.shape
        if count == 0:
            return TableBlock(terms, np.zeros(1, np.int64), scopes.reshape(-1), np.zeros(0, np.int64), ())
        twice = np.flatnonzero((np.diff(np.sort(scopes, axis=1), axis=1) == 0).any(axis=1))
        if len(twice):
            raise ProblemError(f"scope {twice[0] + 1} of many lists a variable twice: add_table takes such a one")
        model = [domains[x] for x in scopes[0]]
        _, relation = relation_of(model, np.arange(arity), tuples, allowed)
        for column in range(arity):
            if any(domains[x] is not model[column] for x in np.unique(scopes[:, column])):
                raise ProblemError("one relation over many scopes needs the same domains in every scope")
        start = np.arange(count + 1, dtype=np.int64) * arity
        return TableBlock(terms, start, scopes.reshape(-1), np.zeros(count, np.int64), (relation,))

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        index: dict[Any, int] = {}
        relations: list[Relation] = []
        ids = []
        for block in blocks:
            renumber = np.empty(len(block.relations), dtype=np.int64)
            for i, relation in enumerate(block.relations):
                if relation.key not in index:
                    index[relation.key] = len(relations)
                    relations.append(relation)
                renumber[i] = index[relation.key]
            ids.append(renumber[block.relation] if len(block.relations) else block.relation)
        return {"relation": np.concatenate(ids), "relations": tuple(relations)}

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        result = np.zeros(len(self), dtype=np.bool_)
        taken = positions[self.scope].astype(np.int64)
        for relation, rows in self._by_relation():
            columns = self.scope_start[rows][:, None] + np.arange(len(relation.sizes))
            result[rows] = relation.contains(taken[columns]) if len(rows) else False
        return result

    def _by_relation(self) -> Iterator[tuple[Relation, IntArray]]:
        """Every relation with the constraints that use it."""
        order = np.argsort(self.relation, kind="stable")
        bounds = np.searchsorted(self.relation[order], np.arange(len(self.relations) + 1))
        for i, relation in enumerate(self.relations):
            yield relation, order[bounds[i] : bounds[i + 1]]

    def rules_out(self, domains: Domains) -> IntArray:
        result = np.zeros(len(self.scope), dtype=np.int64)
        for relation, rows in self._by_relation():
            result[self.scope_start[rows][:, None] + np.arange(len(relation.sizes))] = relation.rules_out
        return result

    def allowed(self, row: int, variable: int, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        scope, relation = self.scope_of(row), self.relations[self.relation[row]]
        rows: IntArray = np.tile(positions[scope].astype(np.int64), (domains.sizes[variable], 1))
        rows[:, scope == variable] = np.arange(len(rows))[:, None]
        satisfied: npt.NDArray[np.bool_] = relation.contains(rows)
        return satisfied

    def used(self, rows: IntArray) -> tuple[list[Relation], IntArray]:
        """The relations that some rows use, and each row's index among them."""
        used, local = np.unique(self.relation[rows], return_inverse=True)
        return [self.relations[i] for i in used], local.reshape(-1)

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        relations, relation = self.used(rows)
        return {"relation": relation, "relations": tuple(relations)}

    def restricted(self, restriction: Restriction) -> TableBlock:
        """Rows of one relation whose variables lost the same positions share what is left of it."""
        index: dict[tuple[int, ...], int] = {}
        relations: list[Relation] = []
        relation = np.empty(len(self), dtype=np.int64)
        shapes, starts = restriction.shape[self.scope].tolist(), self.scope_start.tolist()
        for row, own in enumerate(self.relation.tolist()):
            key = (own, *shapes[starts[row] : starts[row + 1]])
            if key not in index:
                index[key] = len(relations)
                relations.append(self.relations[own].restricted(restriction, self.scope_of(row)))
            relation[row] = index[key]
        leaves = restriction.fixed[self.scope]
        return replace(self, **self._without(leaves), relation=relation, relations=tuple(relations))

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        scope = self.scope_of(row).tolist()
        relation = self.relations[self.relation[row]]
        listed = [[domains[x].external(p) for x, p in zip(scope, t, strict=True)] for t in relation.tuples.tolist()]
        tuples = {"allowed" if relation.allowed else "forbidden": listed}
        return {"kind": "table", "scope": scope, **tuples, **self._describe_terms(row)}

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> TableBlock:
        tuples, allowed = listed_tuples(description)
        return cls.one(domains, np.array(scope, dtype=np.int64), tuples, allowed, terms)

    @classmethod
    def from_descriptions(
        cls, domains: Sequence[Domain], scopes: Sequence[Sequence[int]], description: Mapping[str, Any], terms: Terms
    ) -> Sequence[Block]:
        """One block and one relation where the scopes allow it."""
        if len(scopes) > 1 and _alike(domains, scopes):
            return [cls.many(domains, np.array(scopes, dtype=np.int64), *listed_tuples(description), terms)]
        return super().from_descriptions(domains, scopes, description, terms)

    def shape(self, row: int, domains: Sequence[Domain]) -> Hashable:
        return int(self.relation[row]), tuple(id(domains[x]) for x in self.scope_of(row))

    def labellings(self, domains: Domains) -> list[Labelling]:
        layouts = np.array([r.layout for r in self.relations])[self.relation] if len(self) else np.zeros(0, "U8")
        result: list[Labelling] = []
        for layout, compiled in (("matching", matching), ("dense", dense), ("tuples", tuple_lists)):
            rows = np.flatnonzero((layouts == layout) & (self.arity > 0))
            if len(rows):
                result.append(compiled(self, rows, domains))
        return result


def listed_tuples(description: Mapping[str, Any]) -> tuple[Any, bool]:
    """The tuples of a description, and whether they are the allowed ones."""
    if ("allowed" in description) == ("forbidden" in description):
        raise ProblemError("a table lists either its allowed or its forbidden tuples")
    allowed = "allowed" in description
    tuples = description["allowed" if allowed else "forbidden"]
    if not isinstance(tuples, list):
        raise ProblemError("a table is a list of tuples")
    return tuples, allowed


def _alike(domains: Sequence[Domain], scopes: Sequence[Sequence[int]]) -> bool:
    """Whether one relation can serve all the scopes at once: the same domains in each, no variable twice."""
    model = [domains[x] for x in scopes[0]]
    return all(
        len(scope) == len(model)
        and len(set(scope)) == len(scope)
        and all(domains[x] is domain for x, domain in zip(scope, model, strict=True))
        for scope in scopes
    )
