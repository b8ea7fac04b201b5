"""The objective as one constraint whose bound moves: what a search that satisfies constraints needs to optimise.

`minimize e` becomes `e ≤ bound`. Whenever a better assignment is found the bound moves past it, in the arrays that the
engines read, so that no problem is copied and no engine is built anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from anycsp.constraints.comparison import OPERATORS, ComparisonBlock
from anycsp.constraints.linear import LinearBlock
from anycsp.errors import ProblemError
from anycsp.graph import ConstraintValueGraph
from anycsp.model.bounds import bounds
from anycsp.model.expressions import Expression, Operand, Variable, operation, total
from anycsp.model.lowering import block_alike, block_of, linear_form, unary_values
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem
from anycsp.model.program import compile_expression

MOST_PARTS = 60_000
"""Parts of an objective: each becomes a variable and a constraint, 20 milliseconds per thousand to build."""


class TooWide(Exception):
    """The objective is neither a sum, an extremum nor a count, and an auxiliary variable for it would be too wide."""


class BoundedProblem:
    """The problem, all of it hard, without its objective, and the constraint in its place, satisfied by all at
    first."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        assert objective.expression is not None
        self.original = problem
        self.problem = problem.copy()
        self.problem.objective = None
        self._minimizes = objective.kind == "minimize"
        low, high = bounds(objective.expression, problem.bounds)
        self._loose, self._best_possible = (high, low) if self._minimizes else (low, high)
        self._value, self._gain = self._loose, 1
        self._objective, self._demanded = objective, False
        block = self._comparison(objective.expression)
        self._index = self.problem.num_constraints
        self.problem.add_block(block)
        # `min(…) ≥ c` is kept as `max(−…) ≤ −c`: the bound then moves the other way.
        kept = OPERATORS[block.operator[0]] in ("<=", "<")
        self._first, self._sign = int(block.bound[0]), 1 if kept == self._minimizes else -1

    def _comparison(self, expression: Operand) -> ComparisonBlock:
        """The expression itself against the bound where it is a sum, an extremum or a count, or a sum once its parts
        are auxiliary variables, otherwise an auxiliary variable equal to it."""
        problem = self.problem
        if not isinstance(expression, Variable):
            block = self._block(expression)
            try:
                if block is None:
                    block = self._block(self._with_defined_parts(expression))
                if block is not None:
                    return block
                expression = problem.define(expression)
            except ProblemError as error:
                raise TooWide(str(error)) from error
        symbol = "<=" if self._minimizes else ">="
        scope = np.array([expression.index], dtype=np.int64)
        return LinearBlock.one(problem.domain_list, scope, [1], symbol, self._loose, problem.new_terms(1.0, True))

    def _block(self, expression: Operand) -> ComparisonBlock | None:
        comparison = operation("le" if self._minimizes else "ge", expression, self._loose)
        block = block_of(self.problem, comparison, self.problem.new_terms(1.0, True))
        return block if isinstance(block, ComparisonBlock) and len(block.scope) else None

    def _with_defined_parts(self, expression: Operand) -> Operand:
        """A sum of parts over several variables each, as a sum of auxiliary variables: then every part is propagated
        and kept up to date by itself, as if the model had been written so."""
        parts, constant = linear_form(expression)
        domains = self.problem.domain_list
        alike: dict[Hashable, list[int]] = defaultdict(list)
        scopes = []
        for place, (_, part) in enumerate(parts):
            scope, program, parameters = compile_expression(part)
            form = (program, *parameters, *(domains[x].key for x in scope))
            alike[form].append(place)
            scopes.append(scope)
        several = [places for places in alike.values() if unary_values(self.problem, parts[places[0]][1]) is None]
        if len(parts) < 2 or not 0 < sum(map(len, several)) <= MOST_PARTS:
            return expression
        simple = [part for _, part in parts]
        for places in several:
            defined = self._defined([parts[k][1] for k in places], [scopes[k] for k in places])
            for k, auxiliary in zip(places, defined, strict=True):
                simple[k] = auxiliary
        return total([factor * part for (factor, _), part in zip(parts, simple, strict=True)]) + constant

    def _defined(self, parts: Sequence[Expression], scopes: Sequence[list[int]]) -> list[Variable]:
        """Auxiliary variables for parts that are alike but for their variables: what defines the first is lowered, and
        taken for all."""
        problem, first = self.problem, self.problem.define(parts[0])
        domain = problem.domain(first)
        auxiliaries = [first, *(problem.add_auxiliary(domain, part) for part in parts[1:])]  # type: ignore[arg-type]
        one = block_of(problem, operation("eq", first, parts[0]), problem.new_terms())
        own = [[auxiliary.index, *scope] for auxiliary, scope in zip(auxiliaries[1:], scopes[1:], strict=True)]
        problem.add_block(block_alike(one, [first.index, *scopes[0]], own, problem.new_terms(count=len(own))))
        return auxiliaries

    def attach(self, graph: ConstraintValueGraph) -> int:
        """Find the bound in the arrays of the graph of `problem`; returns the constraint's number there."""
        constraint = int(np.flatnonzero(graph.terms.index == self._index)[0])
        for _, first, last, arrays in graph.native_families:
            if first <= constraint < last:
                self._bounds: npt.NDArray[np.int64] = arrays["bound"]
                self._row = constraint - first
        return constraint

    def is_better(self, value: int, than: int) -> bool:
        return value < than if self._minimizes else value > than

    def improves(self, positions: npt.NDArray[np.int32]) -> bool:
        """Whether an assignment's own value of the objective is better than what was found before."""
        own = self.original.values(positions[: self.original.num_variables])
        value = self._objective.value(0.0, own)
        return value is not None and (not self._demanded or self.is_better(int(value), self._value))

    def extended(self, positions: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """An assignment of the problem with the auxiliary variable that the bound may have brought along."""
        own = len(positions)
        result = np.zeros(self.problem.num_variables, dtype=np.int32)
        result[:own] = positions
        self.problem.complete(result, range(own, len(result)))
        return result

    def demand_better(self, value: int) -> None:
        """From now on only assignments better than this value satisfy the constraint, and twice as much better as was
        asked for last: a wide objective is crossed in logarithmically many demands. The tree keeps a bound of its own,
        which is exact, so that what it proves is proved."""
        self._demanded = True
        self._value, self._gain = value, min(2 * self._gain, abs(value - self._best_possible) or 1)
        self._move()

    def retreat(self) -> bool:
        """Ask for less, where more than the least gain was asked for; returns whether it was."""
        asked, self._gain = self._gain, max(1, self._gain // 4)
        self._move()
        return asked > 1

    def _move(self) -> None:
        limit = self._value - self._gain if self._minimizes else self._value + self._gain
        self._bounds[self._row] = self._first + self._sign * (limit - self._loose)
