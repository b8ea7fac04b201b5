"""Objective: how the violated weight reads in the user's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.expressions import Operand, evaluate, operation


@dataclass(frozen=True)
class Objective:
    """`kind` names it in the output. A cut is `constant − violated weight`, and so is a gain; a cost is
    `constant + violated weight`; colours counts distinct values; minimize and maximize have an expression."""

    kind: str
    constant: float = 0.0
    expression: Operand | None = None

    @property
    def is_violated_weight(self) -> bool:
        """Whether it is the violated weight in other words: any assignment that keeps the hard constraints will do."""
        return self.kind in ("cut", "gain", "cost")

    def value(self, violated_weight: float, values: npt.NDArray[np.integer[Any]]) -> float | int:
        if self.expression is not None:
            return int(evaluate(self.expression, values)[0])
        if self.kind == "colors":
            return len(np.unique(values))
        sign = -1 if self.kind in ("cut", "gain") else 1
        result = self.constant + sign * violated_weight
        return int(result) if float(result).is_integer() else result

    def better_than(self, value: int) -> Operand:
        """The condition that an assignment is better than one of this value."""
        assert self.expression is not None
        if self.kind == "maximize":
            return operation("gt", self.expression, value)
        return operation("lt", self.expression, value)
