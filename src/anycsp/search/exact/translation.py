"""From a problem to a CP-SAT model: what must hold, what may be given up at a price, and what is optimised.

Weights enter as the whole numbers of `model/score.py`, so that an optimum of the model is one of the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.model.structure import is_decision
from anycsp.search.exact.expressions import Expressions
from anycsp.search.exact.families import add_constraint
from anycsp.search.exact.model import ExactModel, Literal, Number
from anycsp.search.exact.whole import add_whole

Positions = npt.NDArray[np.int32]


def must_hold(problem: Problem, decision: bool | None = None) -> npt.NDArray[np.bool_]:
    """[constraints]: all of them beside an objective of the problem's own, and in a decision without hard constraints
    or unequal weights; otherwise the hard ones. `decision`: whether it is one, where it does not look it any more."""
    hard, weight = np.zeros(problem.num_constraints, dtype=np.bool_), np.ones(problem.num_constraints)
    for block in problem.blocks:
        hard[block.terms.index], weight[block.terms.index] = block.terms.hard, block.terms.weight
    if problem.objective is not None and problem.objective.expression is not None:
        return np.ones_like(hard)
    if problem.scoring.all_required:
        hard[:] = False  # none comes before another: all must hold in a decision, otherwise as many as can
    decision = is_decision(problem) if decision is None else decision
    if not hard.any() and decision and bool((weight == weight[:1]).all()):
        return np.ones_like(hard)
    return hard


def refuted_together(problem: Problem) -> npt.NDArray[np.bool_]:
    """[constraints]: what "unsatisfiable" is said of. The hard ones; all beside an objective of the problem's own, and
    where none is hard."""
    hard = np.zeros(problem.num_constraints, dtype=np.bool_)
    for block in problem.blocks:
        hard[block.terms.index] = block.terms.hard
    own = problem.objective is not None and problem.objective.expression is not None
    return np.ones_like(hard) if own or not hard.any() else hard


@dataclass(frozen=True)
class Translation:
    """A CP-SAT model and the way back from its solutions."""

    exact: ExactModel
    optimises: bool
    """Whether a solution may be worse than another."""
    maximises: bool

    @property
    def model(self) -> Any:
        return self.exact.model

    def positions(self, solution: npt.NDArray[np.int64]) -> Positions:
        """Domain positions of a solution, which has a value for every variable of the model."""
        result = np.zeros(len(self.exact.variables), dtype=np.int32)
        for x, variable in enumerate(self.exact.variables):
            value, domain = int(solution[variable.index]), self.exact.domains[x]
            result[x] = value if len(domain) == 2 else domain.position(value)
        return result

    def hint(self, positions: npt.NDArray[np.integer[Any]]) -> None:
        """Begin the next search at this assignment."""
        self.model.clear_hints()
        for x, variable in enumerate(self.exact.variables):
            self.model.add_hint(variable, self.internal(x, int(positions[x])))

    def internal(self, x: int, position: int) -> int:
        """The value that the variable of the model takes for a position."""
        domain = self.exact.domains[x]
        return position if len(domain) == 2 else int(domain.values[position])


class Stopped(Exception):
    """The search was over before the model was made."""


def translated(
    problem: Problem, stopped: Callable[[], bool] = lambda: False, decision: bool | None = None
) -> Translation:
    """The problem as a whole: see `must_hold` for what its solutions satisfy. A ProblemError names a constraint that
    cannot be translated."""
    exact = ExactModel(problem)
    required = must_hold(problem, decision)
    done = add_whole(exact, problem, required)
    penalties: list[Literal] = []
    prices: list[int] = []
    for block in problem.blocks:
        for row, index in enumerate(block.terms.index.tolist()):
            if done[index]:
                continue
            if stopped():
                raise Stopped
            if required[index]:
                add_constraint(exact, block, row, ())
                continue
            penalty = exact.model.new_bool_var("")
            add_constraint(exact, block, row, [~penalty])
            penalties.append(penalty)
            prices.append(int(problem.scoring.weight[index]))
    exact.constraint = None
    objective = problem.objective
    maximises = objective is not None and objective.expression is not None and objective.kind == "maximize"
    optimises = bool(penalties)
    if objective is not None and objective.expression is not None:
        optimises = True
        value = _objective(exact, problem)
        (exact.model.maximize if maximises else exact.model.minimize)(value.expression)
    elif penalties:
        exact.model.minimize(exact.cp.LinearExpr.weighted_sum(penalties, prices))
    return _validated(Translation(exact, optimises, maximises))


def _objective(exact: ExactModel, problem: Problem) -> Number:
    """The problem's own objective, which has to be defined."""
    assert problem.objective is not None
    assert problem.objective.expression is not None
    expressions = Expressions(exact)
    value = expressions.number(problem.objective.expression)
    for condition in expressions.conditions:
        exact.model.add_bool_or([condition])
    return value


def _validated(translation: Translation) -> Translation:
    wrong = translation.model.validate()
    if wrong:
        raise ProblemError(f"exact search cannot take this problem: {' '.join(wrong.split())[:200]}")
    return translation


def assumed(problem: Problem) -> tuple[Translation, list[Literal]]:
    """Every constraint that a refutation is about, under an assumption of its own, in their order; the rest left
    out."""
    exact, required = ExactModel(problem), refuted_together(problem)
    literals: dict[int, Literal] = {}
    for block in problem.blocks:
        for row, index in enumerate(block.terms.index.tolist()):
            if required[index]:
                literals[index] = exact.model.new_bool_var("")
                add_constraint(exact, block, row, [literals[index]])
    return _validated(Translation(exact, False, False)), [literals[index] for index in sorted(literals)]
