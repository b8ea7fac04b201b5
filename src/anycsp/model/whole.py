"""Global constraints that a problem holds in parts, kept whole for searches that know them as one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp.model.expressions import scope_of

IntArray = npt.NDArray[np.int64]


class Whole(NamedTuple):
    """A global constraint as it was posted, for searches that know it as one."""

    kind: str
    operands: tuple[Any, ...]
    constraints: IntArray
    """The numbers of the constraints it became; together they say the same."""

    @property
    def scope(self) -> list[int]:
        """The variables it is over."""
        found: list[int] = []
        pending: list[Any] = list(self.operands)
        while pending:
            operand = pending.pop()
            if isinstance(operand, list):
                pending += operand
            else:
                found += scope_of(operand)
        return found
