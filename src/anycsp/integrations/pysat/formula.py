"""PySAT formulas as problems: `CNF` (every clause counts 1) and `WCNF` (hard and weighted soft clauses)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from anycsp.errors import ProblemError
from anycsp.model.builders import formula_problem
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem

AtMost = tuple[list[int], int, list[int]]
"""Literals, the bound, and a weight per literal: the weights of those that are true sum to at most the bound."""


def from_formula(formula: Any) -> Problem:
    """The problem of a `pysat.formula.CNF` or `WCNF`; variable i is named `i` and takes 0 or 1. The `atmosts` of
    `CNFPlus` and `WCNFPlus` must hold."""
    weighted = hasattr(formula, "hard") and hasattr(formula, "soft")
    at_most = [at_most_of(bound) for name in ("atmosts", "atms") for bound in getattr(formula, name, ())]
    if weighted:
        return weighted_problem(int(formula.nv), formula.hard, formula.soft, formula.wght, at_most)
    clauses = [clause_of(clause) for clause in formula.clauses]
    offsets, literals = _arrays(clauses)
    problem = formula_problem(int(formula.nv), offsets, literals, hard=bool(at_most))
    add_at_most(problem, at_most)
    return problem


def weighted_problem(
    variables: int,
    hard: Iterable[Sequence[int]],
    soft: Iterable[Sequence[int]],
    weights: Iterable[Any],
    at_most: Iterable[AtMost] = (),
) -> Problem:
    """Clauses that must hold, and clauses that cost their weight where they do not."""
    demanded, wished = [clause_of(clause) for clause in hard], [clause_of(clause) for clause in soft]
    offsets, literals = _arrays([*demanded, *wished])
    weight = np.array([1.0] * len(demanded) + [float(w) for w in weights], dtype=np.float64)
    if (weight < 0).any():
        raise ProblemError("a soft clause of negative weight: negate its literals, each with the weight's amount")
    is_hard = np.arange(len(demanded) + len(wished)) < len(demanded)
    problem = formula_problem(variables, offsets, literals, weight=weight, hard=is_hard)
    add_at_most(problem, at_most)
    problem.objective = Objective("cost")
    return problem


def required_problem(variables: int, clauses: Sequence[Sequence[int]], at_most: Iterable[AtMost] = ()) -> Problem:
    """Clauses that must all hold, given as `clause_of` has them."""
    problem = formula_problem(variables, *_arrays(clauses), hard=True)
    add_at_most(problem, at_most)
    problem.objective = Objective("cost")  # all of it required: a question of yes or no, however dense the formula is
    return problem


def clause_of(clause: Iterable[Any]) -> list[int]:
    """A clause as a list of whole numbers, none of them 0."""
    literals = list(clause)
    if any(not isinstance(l, (int, np.integer)) or not l for l in literals):
        raise ProblemError(f"a clause is a list of non-zero integers, not {literals}"[:200])
    return [int(l) for l in literals]


def at_most_of(bound: Sequence[Any]) -> AtMost:
    """PySAT's `[literals, bound]` or `[literals, bound, weights]`."""
    literals = clause_of(bound[0])
    weights = [int(w) for w in bound[2]] if len(bound) > 2 and bound[2] else [1] * len(literals)
    if len(weights) != len(literals):
        raise ProblemError(f"{len(weights)} weights for {len(literals)} literals of a cardinality constraint")
    return literals, int(bound[1]), weights


def add_at_most(problem: Problem, bounds: Iterable[AtMost]) -> None:
    """A negated literal with weight w counts w − w·x."""
    for literals, bound, weights in bounds:
        taken: dict[int, int] = {}
        for literal, weight in zip(literals, weights, strict=True):
            x = abs(literal) - 1
            taken[x] = taken.get(x, 0) + (weight if literal > 0 else -weight)
        negated = sum(w for l, w in zip(literals, weights, strict=True) if l < 0)
        open_ = {x: w for x, w in taken.items() if w}
        if open_:
            problem.add_linear(list(open_), list(open_.values()), "<=", bound - negated, hard=True)
        elif negated > bound:
            problem.add(0)


def _arrays(clauses: Sequence[Sequence[int]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where each clause begins, and all literals."""
    offsets = np.cumsum([0, *map(len, clauses)]).astype(np.int64)
    return offsets, np.array(list(chain.from_iterable(clauses)), dtype=np.int64)
