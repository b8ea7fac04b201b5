"""Cost functions as weighted constraints: one constraint for every level of cost.

With levels 0 = c_0 < c_1 < … (after taking out the smallest, a constant) the k-th constraint says "the cost is below
c_k" and weighs c_k − c_{k−1}: the violated weight is then exactly the cost. Costs of at least `top` are forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock
from anycsp.errors import ProblemError
from anycsp.model.expressions import Expression
from anycsp.model.problem import Problem
from anycsp.model.score import as_written, written

LEVEL_LIMIT = 10_000
"""Levels of one cost function."""


def add_costs(
    problem: Problem,
    scope: Sequence[int],
    tuples: npt.NDArray[np.int64],
    costs: npt.NDArray[np.float64],
    default: float,
    top: float,
) -> float:
    """The listed tuples (domain positions) cost as given, all others `default`; returns the constant taken out."""
    combinations = 1
    for x in scope:
        combinations *= len(problem.domain(x))
    if len(set(scope)) < len(scope):
        raise ProblemError("a cost function lists a variable twice")
    if len(tuples):
        distinct, last = np.unique(tuples[::-1], axis=0, return_index=True)  # a tuple listed twice: the last counts
        tuples, costs = distinct, costs[::-1][last]
    complete = len(tuples) == combinations
    possible = costs if complete else np.append(costs, default)
    constant = float(possible.min()) if possible.min() < top else 0.0
    levels = np.unique(np.minimum(possible, top)) if np.isfinite(top) else np.unique(possible)
    levels = levels[levels > constant]
    if len(levels) > LEVEL_LIMIT:
        raise ProblemError(f"a cost function of {len(levels):,} levels: at most {LEVEL_LIMIT:,} are supported")
    sizes = tuple(len(problem.domain(x)) for x in scope)
    start, indices = np.array([0, len(scope)], dtype=np.int64), np.array(scope, dtype=np.int64)
    below = constant
    for level in levels.tolist():
        hard = level >= top
        reached = costs >= level
        # List whichever side the default is not on.
        allowed = not complete and default >= level
        relation = Relation(sizes, np.ascontiguousarray(tuples[~reached if allowed else reached]), allowed)
        terms = problem.new_terms(1.0 if hard else written(as_written(level) - as_written(below), "costs"), hard)
        problem.add_block(TableBlock(terms, start, indices, np.zeros(1, np.int64), (relation,)))
        below = level
    return constant


def add_constant(problem: Problem, cost: float, top: float) -> float:
    """A cost without variables: returns it, or, where it is forbidden, adds a constraint that nothing satisfies."""
    if cost < top:
        return cost
    problem.add(0)
    return 0.0


def as_cost(cost: int, top: int) -> float:
    """A whole cost as a float, one that is forbidden as the bound itself; refused where a float would round it."""
    if cost >= top:
        return float(top)
    if int(float(cost)) != cost:
        raise ProblemError(f"a cost of {cost}: costs below the bound have 53 bits")
    return float(cost)


def add_graded(problem: Problem, conditions: Sequence[Expression], costs: Sequence[float], top: float) -> None:
    """A violation that grows in steps: the k-th condition fails from the k-th step on, where the cost is costs[k]."""
    below = 0.0
    for condition, cost in zip(conditions, costs, strict=True):
        if cost >= top:
            problem.add(condition, hard=True)
            return
        if cost > below:
            problem.add(condition, weight=written(as_written(cost) - as_written(below), "costs"))
        below = cost
