"""Objective: how the violated weight reads in the user's own terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError
from anycsp.model.bounds import bounds as bounds_of
from anycsp.model.bounds import may_be_undefined
from anycsp.model.expressions import Operand, operation
from anycsp.model.program import Program, compile_expression, evaluate
from anycsp.model.score import as_written

VariableBounds = Callable[[int], tuple[int, int]]
"""The least and greatest value of a variable, by its index."""


@dataclass(frozen=True)
class Objective:
    """`kind` names it in the output. A cut is `constant − violated weight`, and so is a gain; a cost is
    `constant + violated weight`; colours counts distinct values; minimize and maximize have an expression."""

    kind: str
    constant: float = 0.0
    expression: Operand | None = None
    goals: tuple[Operand, ...] = ()
    """Where there are several in order of priority: each of them; the expression is `in_order` of all."""

    @cached_property
    def compiled(self) -> tuple[list[int], Program, list[int]]:
        """The expression's scope, program and parameters, made once: its value is asked for at every improvement."""
        assert self.expression is not None
        return compile_expression(self.expression)

    @property
    def is_violated_weight(self) -> bool:
        """Whether it is the violated weight in other words: any assignment that keeps the hard constraints will do."""
        return self.kind in ("cut", "gain", "cost")

    def may_be_undefined(self, bounds: VariableBounds) -> bool:
        """Whether values within these bounds may leave it without a value."""
        return self.expression is not None and may_be_undefined(self.expression, bounds)

    def value(self, violated_weight: float, values: npt.NDArray[np.integer[Any]]) -> float | int | None:
        """None where the expression is undefined: such an assignment is no answer."""
        if self.expression is not None:
            scope, program, parameters = self.compiled
            value, undefined = program.evaluate([values[x] for x in scope], parameters)
            return None if undefined else int(value)
        if self.kind == "colors":
            return len(np.unique(values))
        return self.of_weight(violated_weight)

    def values(self, values: npt.NDArray[np.integer[Any]]) -> list[int]:
        """What each of several goals comes to."""
        return [int(evaluate(goal, values)[0]) for goal in self.goals]

    def of_weight(self, violated_weight: float) -> float | int:
        """The value where it is the violated weight in other words."""
        sign = -1 if self.kind in ("cut", "gain") else 1
        result = float(as_written(self.constant) + sign * as_written(violated_weight))
        return int(result) if result.is_integer() else result

    def is_defined(self, bounds: VariableBounds) -> Operand:
        """The condition that there is a value at all: it is at least the least one possible."""
        assert self.expression is not None
        return operation("ge", self.expression, bounds_of(self.expression, bounds)[0])

    def better_than(self, value: int) -> Operand:
        """The condition that an assignment is better than one of this value."""
        assert self.expression is not None
        if self.kind == "maximize":
            return operation("gt", self.expression, value)
        return operation("lt", self.expression, value)


def in_order(goals: Sequence[Operand], bounds: VariableBounds) -> Operand:
    """One expression that orders assignments as the goals do one after the other: every goal is a digit, as wide as the
    range of its values, and the first is the leading one."""
    combined, width = goals[0], 1
    for goal in goals[1:]:
        low, high = bounds_of(goal, bounds)
        width *= high - low + 1
        combined = operation("add", operation("mul", combined, high - low + 1), operation("sub", goal, low))
    low, high = bounds_of(goals[0], bounds)
    if width * (max(abs(low), abs(high)) + 1) >= 2**53:
        raise ProblemError("the goals in order span more than 53 bits: narrow the domains of their variables")
    return combined
