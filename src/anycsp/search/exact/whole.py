"""Global constraints that CP-SAT has as one, though our families hold them in parts.

A problem remembers what was posted whole (`Problem.whole`) and which constraints it became. Where all of those must
hold, the one native constraint takes their place: its propagation sees more than that of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.expressions import Operand
from anycsp.model.problem import Problem
from anycsp.search.exact.expressions import Expressions
from anycsp.search.exact.model import ExactModel, Number


def add_whole(exact: ExactModel, problem: Problem, required: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Add every global constraint that must hold; returns which constraints are thereby done."""
    done = np.zeros(problem.num_constraints, dtype=np.bool_)
    for kind, operands, constraints in problem.whole:
        if len(constraints) and required[constraints].all() and kind in _WHOLE:
            exact.constraint = int(constraints[0])
            if _WHOLE[kind](exact, *operands):
                done[constraints] = True
    return done


def _affine(exact: ExactModel, operand: Operand) -> Number | None:
    """The operand as CP-SAT takes it; None where it may be undefined."""
    expressions = Expressions(exact)
    number = expressions.number(operand)
    return None if expressions.conditions else Number(exact.affine(number), number.low, number.high)


def _all_different(exact: ExactModel, scope: list[Operand]) -> bool:
    numbers = [_affine(exact, operand) for operand in scope]
    if any(number is None for number in numbers):
        return False
    exact.model.add_all_different([number.expression for number in numbers if number is not None])
    return True


def _intervals(exact: ExactModel, origins: list[Operand], lengths: list[Operand]) -> list[Any] | None:
    """Tasks of positive length, None where there are others: CP-SAT and XCSP3 mean different things by empty ones."""
    intervals = []
    for origin, length in zip(origins, lengths, strict=True):
        start, size = _affine(exact, origin), _affine(exact, length)
        if start is None or size is None or size.low <= 0:
            return None
        end = exact.affine(exact.within(start.plus(size)))
        intervals.append(exact.model.new_interval_var(start.expression, size.expression, end, ""))
    return intervals


def _no_overlap(exact: ExactModel, origins: list[list[Operand]], lengths: list[list[Operand]]) -> bool:
    """Tasks on a line, or boxes in a plane."""
    axes = range(len(origins[0]))
    if len(axes) > 2:
        return False
    by_axis = [_intervals(exact, [o[axis] for o in origins], [l[axis] for l in lengths]) for axis in axes]
    if any(intervals is None for intervals in by_axis):
        return False
    (exact.model.add_no_overlap if len(by_axis) == 1 else exact.model.add_no_overlap_2d)(*by_axis)
    return True


def _cumulative(
    exact: ExactModel, origins: list[Operand], lengths: list[Operand], heights: list[Operand], limit: Operand
) -> bool:
    demands, capacity = [_affine(exact, height) for height in heights], _affine(exact, limit)
    if capacity is None or capacity.low < 0 or any(demand is None or demand.low < 0 for demand in demands):
        return False  # CP-SAT refuses them
    intervals = _intervals(exact, origins, lengths)
    if intervals is None:
        return False
    exact.model.add_cumulative(intervals, [d.expression for d in demands if d is not None], capacity.expression)
    return True


def _inverse(exact: ExactModel, first: list[Operand], second: list[Operand]) -> bool:
    numbers = [[_affine(exact, operand) for operand in side] for side in (first, second)]
    if any(number is None for side in numbers for number in side):
        return False
    exact.model.add_inverse(*([exact.variable(number) for number in side if number is not None] for side in numbers))
    return True


_WHOLE: dict[str, Callable[..., bool]] = {
    "all_different": _all_different,
    "no_overlap": _no_overlap,
    "cumulative": _cumulative,
    "inverse": _inverse,
}
