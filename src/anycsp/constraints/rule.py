"""Rules: relations given by an expression, labelled lazily.

The label of edge (C, X = v) is the expression's truth with X at v and every other variable where it is:
|scope| · domain evaluations a constraint, never the product of the domains. Constraints that share a program
(and their domain sizes) are evaluated together, vectorised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block, IntArray, Labelling, Positions, Terms, ragged_rows
from anycsp.model.bounds import bounds
from anycsp.model.domains import Domain, Domains
from anycsp.model.expressions import OPERATIONS, Operand, Variable, expression_of, joined
from anycsp.model.program import Program, compile_expression

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class RuleBlock(Block):
    kind: ClassVar[str] = "rule"
    fields: ClassVar[tuple[str, ...]] = ("expression",)
    program: IntArray
    """[constraints]: index into programs; slot k of a constraint's scope is slot k of its program."""
    programs: tuple[Program, ...]
    parameter_start: IntArray
    parameter: IntArray

    @staticmethod
    def one(expression: Operand, terms: Terms) -> RuleBlock:
        scope, program, parameters = compile_expression(expression)
        return RuleBlock(
            terms,
            np.array([0, len(scope)], dtype=np.int64),
            np.array(scope, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            (program,),
            np.array([0, len(parameters)], dtype=np.int64),
            np.array(parameters, dtype=np.int64),
        )

    @classmethod
    def _concat_fields(cls, blocks: Sequence[Self]) -> dict[str, Any]:
        index: dict[Program, int] = {}
        ids = []
        for block in blocks:
            renumber = np.array([index.setdefault(p, len(index)) for p in block.programs], dtype=np.int64)
            ids.append(renumber[block.program])
        lengths = np.concatenate([np.diff(b.parameter_start) for b in blocks])
        return {
            "program": np.concatenate(ids),
            "programs": tuple(index),
            "parameter_start": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            "parameter": np.concatenate([b.parameter for b in blocks]),
        }

    def _take_fields(self, rows: IntArray, slots: IntArray) -> dict[str, Any]:
        start, own = ragged_rows(self.parameter_start, rows)
        used, program = np.unique(self.program[rows], return_inverse=True)
        return {
            "program": program.astype(np.int64),
            "programs": tuple(self.programs[i] for i in used.tolist()),
            "parameter_start": start,
            "parameter": self.parameter[own],
        }

    def parameters_of(self, rows: IntArray) -> IntArray:
        """[rows, parameters] of constraints that share a program."""
        count = int(self.parameter_start[rows[0] + 1] - self.parameter_start[rows[0]]) if len(rows) else 0
        return np.asarray(self.parameter[self.parameter_start[rows][:, None] + np.arange(count)])

    def scopes_of(self, rows: IntArray) -> IntArray:
        """[rows, arity] of constraints that share a program."""
        arity = int(self.scope_start[rows[0] + 1] - self.scope_start[rows[0]]) if len(rows) else 0
        return np.asarray(self.scope[self.scope_start[rows][:, None] + np.arange(arity)])

    def satisfied(self, domains: Domains, positions: Positions) -> npt.NDArray[np.bool_]:
        result = np.zeros(len(self), dtype=np.bool_)
        for number, program in enumerate(self.programs):
            rows = np.flatnonzero(self.program == number)
            if len(rows) == 0:
                continue
            scopes = self.scopes_of(rows)
            values = domains.values[domains.start[scopes] + positions[scopes]]
            result[rows] = program.holds(list(values.T), list(self.parameters_of(rows).T))
        return result

    def describe(self, row: int, domains: Sequence[Domain]) -> dict[str, Any]:
        program = self.programs[self.program[row]]
        parameters = self.parameter[self.parameter_start[row] : self.parameter_start[row + 1]]
        tree: list[Any] = []
        for node, code in enumerate(program.code):
            at = program.operands[program.operand_start[node] : program.operand_start[node + 1]]
            if code == 0:
                tree.append({"slot": at[0]})
            elif code == 1:
                tree.append(int(parameters[at[0]]))
            else:
                tree.append(joined(OPERATIONS[code], [tree[i] for i in at]))
        scope = [int(x) for x in self.scope_of(row)]
        return {"kind": "rule", "scope": scope, "expression": tree[-1], **self._describe_terms(row)}

    @classmethod
    def from_description(
        cls, domains: Sequence[Domain], scope: Sequence[int], description: Mapping[str, Any], terms: Terms
    ) -> RuleBlock:
        expression = expression_of(description["expression"], [Variable(x, str(x)) for x in scope])
        bounds(expression, lambda x: domains[x].bounds)
        return cls.one(expression, terms)

    def labellings(self, domains: Domains) -> list[Labelling]:
        rows = self._nonempty()
        grouped: dict[tuple[int, ...], list[int]] = {}
        for row in rows:
            sizes = domains.sizes[self.scope_of(int(row))]
            grouped.setdefault((int(self.program[row]), *sizes.tolist()), []).append(int(row))
        order = np.array([row for members in grouped.values() for row in members], dtype=np.int64)
        parameter_start, parameters = ragged_rows(self.parameter_start, order)
        return [
            RuleLabelling(
                **self.common_fields(order, domains),
                program=self.program[order],
                programs=self.programs,
                parameter_start=parameter_start,
                parameter=self.parameter[parameters],
            )
        ]


@dataclass(frozen=True)
class RuleLabelling(Labelling):
    native_kind: ClassVar[str] = "rule"
    program: IntArray
    programs: tuple[Program, ...]
    parameter_start: IntArray
    parameter: IntArray

    def native_arrays(self) -> dict[str, npt.NDArray[Any]]:
        nodes = np.cumsum([0] + [len(p) for p in self.programs])
        return {
            "program": self.program.astype(np.int32),
            "node_start": nodes.astype(np.int32),
            "code": np.array([c for p in self.programs for c in p.code], dtype=np.int32),
            "operand_count": np.concatenate([np.diff(p.operand_start) for p in self.programs]).astype(np.int32),
            "operand": np.array([o for p in self.programs for o in p.operands], dtype=np.int32),
            "parameter_start": self.parameter_start,
            "parameter": self.parameter,
        }
