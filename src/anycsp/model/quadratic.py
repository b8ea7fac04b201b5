"""A quadratic objective over 0/1 variables, with nothing else to satisfy, is a weighted cut in other words.

Its products become soft constraints, which compiled search moves through at millions of moves per second.
"""

from __future__ import annotations

from collections import defaultdict

from anycsp.model.builders import quadratic_problem
from anycsp.model.expressions import Expression, Operand, Operation, Variable
from anycsp.model.lowering import linear_form
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem
from anycsp.model.score import LARGEST_WEIGHT


def as_soft_constraints(problem: Problem) -> Problem | None:
    """A problem whose violated weight plus a constant is the objective (its negative, to maximise); None where the
    objective is no quadratic form over 0/1 variables, its coefficients are too large for weights, or there are
    constraints."""
    objective = problem.objective
    if objective is None or objective.expression is None or problem.num_constraints or problem.definitions:
        return None
    if any(len(d) != 2 or d.values.tolist() != [0, 1] for d in problem.domain_list):  # in this order: its positions
        return None
    terms, constant = _quadratic_form(objective)
    if terms is None or sum(map(abs, terms.values())) > LARGEST_WEIGHT:
        return None
    return quadratic_problem(problem.num_variables, terms, constant, name=problem.name, names=problem.names)


def _quadratic_form(objective: Objective) -> tuple[dict[tuple[int, ...], int] | None, int]:
    """Coefficients by the variables of a product, of what is to be minimised, and the constant."""
    sign = 1 if objective.kind == "minimize" else -1
    assert objective.expression is not None
    parts, constant = linear_form(objective.expression, sign)
    terms: dict[tuple[int, ...], int] = defaultdict(int)
    for coefficient, part in parts:
        product = _product(part)
        if product is None or len(product[1]) > 2:
            return None, 0
        terms[tuple(sorted(product[1]))] += coefficient * product[0]
    return terms, constant


def _product(part: Operand) -> tuple[int, set[int]] | None:
    """The constant and the distinct variables of a product (x·x is x over 0 and 1); None where it is none."""
    if isinstance(part, Variable):
        return 1, {part.index}
    if not isinstance(part, Expression):
        return int(part), set()
    if not isinstance(part, Operation) or part.operator not in ("mul", "sqr", "neg"):
        return None
    factor, variables = -1 if part.operator == "neg" else 1, set[int]()
    for operand in part.operands:
        inner = _product(operand)
        if inner is None:
            return None
        factor *= inner[0] ** (2 if part.operator == "sqr" else 1)
        variables |= inner[1]
    return factor, variables
