"""What the elements of an XCSP3 file become: pycsp3's parsed entries, one after the other, into a Problem.

Variables, operands, conditions, tables and objectives are here; `xcsp3_constraints` has a function for every kind of
constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from pycsp3.classes.auxiliary.conditions import ConditionInterval, ConditionSet, ConditionValue, ConditionVariable
from pycsp3.classes.auxiliary.enums import TypeCtr, TypeObj, TypeVar
from pycsp3.classes.nodes import Node, TypeNode
from pycsp3.parser.xentries import XBlock, XCtr, XGroup, XSlide, XVar
from pycsp3.tools.utilities import ANY

from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock
from anycsp.errors import ProblemError
from anycsp.formats.budget import REPETITIONS
from anycsp.formats.files import Source, shown
from anycsp.formats.xcsp3_constraints import READERS, Arguments, unsupported
from anycsp.model.expressions import (
    CODE,
    SYMBOL,
    Expression,
    Operand,
    Variable,
    all_of,
    any_of,
    distinct,
    maximum,
    minimum,
    operation,
    total,
)
from anycsp.model.lowering import conjuncts
from anycsp.model.problem import Problem


class Loader:
    """Fills a problem; `where` names the element at hand, for errors."""

    def __init__(self, problem: Problem, source: Source) -> None:
        self.problem, self.budget, self._deadline = problem, source.budget, source.deadline
        self.where = ""
        self._variable: dict[str, Variable] = {}
        self._symbol: dict[str, int] = {}
        self._relation: dict[tuple[Any, ...], Relation] = {}
        self._stars: dict[int, bool] = {}
        self._number = 0

    # ── variables ────────────────────────────────────────────────────────────────────────────────────

    def variables(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            cells = [entry] if isinstance(entry, XVar) else entry.variables
            # A cell is None where the file leaves it undefined; neighbours mostly share one object as their domain.
            for _, group in groupby((x for x in cells if x is not None), key=lambda x: id(x.domain)):
                same = list(group)
                self.where = f"variable {same[0].id}: "
                names = [x.id for x in same]
                if split := next((name for name in names if name.split() != [name]), None):
                    raise ProblemError(f"a name without spaces is asked for, not {shown(split)}")
                variables = self.problem.add_variables(len(names), self._domain(same[0]), names=names)
                self._variable.update(zip(names, variables, strict=True))

    def _domain(self, x: XVar) -> Any:
        if x.type == TypeVar.SYMBOLIC:
            # One code for a symbol wherever it occurs, so that symbolic variables can be compared.
            return {symbol: self._code(symbol) for symbol in x.domain}
        if len(x.domain) == 1 and isinstance(x.domain[0], range):
            return x.domain[0]
        # The standard asks for increasing order, but files out of order are about. They keep the order they have: where
        # nothing decides otherwise a variable takes the first value, and that one the official checker, which looks
        # values up by bisection, knows even of `1 -1`.
        values = [v for part in x.domain for v in ([part] if isinstance(part, int) else part)]
        return values

    def _code(self, symbol: str) -> int:
        return self._symbol.setdefault(symbol, len(self._symbol))

    def _known_code(self, symbol: str) -> int:
        if symbol not in self._symbol:
            raise ProblemError(f"unknown variable or symbol {symbol!r}")
        return self._symbol[symbol]

    # ── operands ─────────────────────────────────────────────────────────────────────────────────────

    def operand(self, item: Any) -> Operand:
        if isinstance(item, int):
            return item
        if isinstance(item, XVar):
            return self._variable[item.id]
        if isinstance(item, Node):
            return self.expression(item)
        if isinstance(item, str):
            return self._known_code(item)
        raise unsupported(f"cannot take {item!r} here")

    def operands(self, items: Sequence[Any]) -> list[Operand]:
        return [self.operand(item) for item in items]

    def expression(self, node: Node, arguments: Sequence[Any] = ()) -> Operand:
        kind = node.type
        if kind == TypeNode.VAR:
            return self._variable[node.cnt.id]
        if kind == TypeNode.INT:
            return int(node.cnt)
        if kind == TypeNode.SYMBOL:
            return self._known_code(node.cnt)
        if kind == TypeNode.PAR:
            return self.operand(arguments[node.cnt])
        if kind in (TypeNode.IN, TypeNode.NOTIN):
            left = self.expression(node.cnt[0], arguments)
            members = [self.expression(son, arguments) for son in node.cnt[1].cnt]
            constant = all(isinstance(m, int) for m in members)
            inside: Expression = (
                operation("in", left, *members) if constant else any_of([operation("eq", left, m) for m in members])
            )
            return inside if kind == TypeNode.IN else ~inside
        name = kind.lowercase_name
        if name not in CODE:
            raise unsupported(f"the operator {name} is not supported")
        sons = [self.expression(son, arguments) for son in node.cnt]
        if kind == TypeNode.NE and len(sons) > 2:
            pairs = [(a, b) for i, a in enumerate(sons) for b in sons[i + 1 :]]
            return all_of([operation("ne", a, b) for a, b in pairs])
        return operation(name, *sons)

    def condition(self, left: Operand, condition: Any) -> Operand:
        """`left` compared as a <condition> says."""
        name = condition.operator.name.lower()
        if isinstance(condition, ConditionValue):
            return operation(name, left, condition.value)
        if isinstance(condition, ConditionVariable):
            return operation(name, left, self.operand(condition.variable))
        if isinstance(condition, ConditionInterval):
            if name == "in":
                return all_of(operation("ge", left, condition.min), operation("le", left, condition.max))
            return any_of(operation("lt", left, condition.min), operation("gt", left, condition.max))
        if isinstance(condition, ConditionSet):
            inside = operation("in", left, *sorted(condition.t))
            return inside if name == "in" else ~inside
        raise unsupported(f"cannot take the condition {condition}")

    def comparison(self, condition: Any) -> tuple[str, Operand]:
        """A condition that is one comparison, as operator and right side."""
        name = condition.operator.name.lower()
        if isinstance(condition, ConditionValue):
            return SYMBOL[name], int(condition.value)
        if isinstance(condition, ConditionVariable):
            return SYMBOL[name], self.operand(condition.variable)
        raise unsupported(f"cannot take the condition {condition} here")

    def post(self, expression: Operand) -> None:
        for part in conjuncts(expression):
            self.problem.add(part)

    # ── constraints ──────────────────────────────────────────────────────────────────────────────────

    def constraints(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            if isinstance(entry, XBlock):
                self.constraints(entry.subentries)
            elif isinstance(entry, XGroup):
                self._templated(entry.template, entry.all_args)
            elif isinstance(entry, XSlide):
                self._templated(entry.template, entry.scopes)
            elif isinstance(entry, XCtr):
                self.constraint(entry)
            else:
                raise unsupported(f"cannot take {type(entry).__name__}")

    def _templated(self, template: XCtr, all_arguments: Sequence[Any]) -> None:
        for arguments in all_arguments:
            if template.type == TypeCtr.INTENSION:
                self._locate(template)
                self.post(self.expression(template.abstraction.abstract_ctr_vals[0], arguments))
            else:
                template.abstraction.concretize(arguments)
                self.constraint(template)

    def _locate(self, constraint: XCtr) -> None:
        self._deadline.check()
        self._number += 1
        name = constraint.type.name.lower()
        tag = name.split("_")[0] + "".join(part.title() for part in name.split("_")[1:])
        self.where = f"<{tag}{f' id={constraint.id!r}' if constraint.id else ''}> (constraint {self._number}): "

    def constraint(self, constraint: XCtr) -> None:
        self._locate(constraint)
        reader = READERS.get(constraint.type)
        if reader is None:
            raise unsupported("this kind of constraint is not supported")
        reader(self, Arguments(constraint))

    # ── objectives ───────────────────────────────────────────────────────────────────────────────────

    def objectives(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            self.where = f"<{'minimize' if entry.minimize else 'maximize'}>: "
            expression = self.expression(entry.root) if entry.type == TypeObj.EXPRESSION else self._special(entry)
            self.problem.require_all()
            (self.problem.minimize if entry.minimize else self.problem.maximize)(expression)

    def _special(self, entry: Any) -> Operand:
        terms = self.operands(entry.terms)
        if entry.coefficients is not None:
            terms = [operation("mul", t, c) for t, c in zip(terms, self.operands(entry.coefficients), strict=True)]
        combine: dict[TypeObj, Callable[[list[Operand]], Operand]] = {
            TypeObj.SUM: total,
            TypeObj.PRODUCT: lambda items: operation("mul", *items),
            TypeObj.MINIMUM: minimum,
            TypeObj.MAXIMUM: maximum,
            TypeObj.NVALUES: distinct,
        }
        if entry.type not in combine:
            raise unsupported(f"an objective of type {entry.type.name.lower()} is not supported")
        return combine[entry.type](terms)

    # ── tables ───────────────────────────────────────────────────────────────────────────────────────

    def table(self, scope: list[Variable], tuples: Any, allowed: bool) -> None:
        """A table; equal lists over equal domains are converted once."""
        domains = [self.problem.domain(x) for x in scope]
        repeated = len({x.index for x in scope}) < len(scope)
        if not tuples:
            self.problem.add_table(scope, [], allowed=allowed)
        elif len(scope) == 1:
            self.budget.spend(REPETITIONS, sum(len(part) for part in tuples if isinstance(part, range)))
            values = [v for part in tuples for v in ([part] if isinstance(part, (int, str)) else part)]
            inside = [(v,) for v in values if self._known(domains[0], v)]
            self.problem.add_table(scope, inside, allowed=allowed)
        elif self._has_stars(tuples):
            rows = [["*" if cell is ANY else cell for cell in row] for row in tuples]
            kept = [r for r in rows if all(c == "*" or self._known(d, c) for d, c in zip(domains, r, strict=True))]
            if repeated:
                scope, kept = _listed_once(scope, kept)
            self.problem.add_short_table(scope, kept, allowed=allowed)
        elif repeated or any(d.labels is not None for d in domains):
            kept = [r for r in tuples if all(self._known(d, c) for d, c in zip(domains, r, strict=True))]
            self.problem.add_table(scope, kept, allowed=allowed)
        else:
            key = (id(tuples), allowed, *(d.key for d in domains))
            if key not in self._relation:
                self._relation[key] = _relation(domains, tuples, allowed)
            start = np.array([0, len(scope)], dtype=np.int64)
            indices = np.array([x.index for x in scope], dtype=np.int64)
            terms = self.problem.new_terms()
            self.problem.add_block(TableBlock(terms, start, indices, np.zeros(1, np.int64), (self._relation[key],)))

    def _has_stars(self, tuples: Any) -> bool:
        """Groups have one list for all their constraints, and it may be long."""
        if id(tuples) not in self._stars:
            self._stars[id(tuples)] = any(cell is ANY or cell == "*" for row in tuples for cell in row)
        return self._stars[id(tuples)]

    @staticmethod
    def _known(domain: Any, value: int | str) -> bool:
        try:
            domain.position(value)
        except ProblemError:
            return False
        return True

    def scope(self, items: Sequence[Any]) -> list[Variable]:
        """Plain variables; where a view stands, an auxiliary variable takes its place."""
        result = []
        for item in items:
            operand = self.operand(item)
            result.append(operand if isinstance(operand, Variable) else self.problem.define(operand))
        return result


def _relation(domains: Sequence[Any], tuples: Any, allowed: bool) -> Relation:
    rows = np.array(tuples, dtype=np.int64)
    positions = np.stack([d.positions_of(rows[:, k]) for k, d in enumerate(domains)], axis=1)
    positions = np.unique(positions[(positions >= 0).all(axis=1)], axis=0)
    return Relation(tuple(len(d) for d in domains), np.ascontiguousarray(positions), allowed)


def _listed_once(scope: Sequence[Variable], rows: Sequence[Sequence[Any]]) -> tuple[list[Variable], list[list[Any]]]:
    """A short table whose scope lists a variable several times, as one that does not."""
    places: dict[int, list[int]] = {}
    for k, x in enumerate(scope):
        places.setdefault(x.index, []).append(k)
    merged = []
    for row in rows:
        cells = [{row[k] for k in same} - {"*"} or {"*"} for same in places.values()]
        if all(len(cell) == 1 for cell in cells):
            merged.append([cell.pop() for cell in cells])
    return [scope[same[0]] for same in places.values()], merged
