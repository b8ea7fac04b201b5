"""PySAT formulas as problems: `CNF` (every clause counts 1) and `WCNF` (hard and weighted soft clauses)."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from anycsp.errors import ProblemError
from anycsp.model.builders import formula_problem
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem


def from_formula(formula: Any) -> Problem:
    """The problem of a `pysat.formula.CNF` or `WCNF`; variable i is named `i` and takes 0 or 1."""
    weighted = hasattr(formula, "hard") and hasattr(formula, "soft")
    clauses = [*formula.hard, *formula.soft] if weighted else list(formula.clauses)
    if any(not all(isinstance(l, (int, np.integer)) and l for l in clause) for clause in clauses):
        raise ProblemError("a clause is a list of non-zero integers")
    offsets = np.cumsum([0, *(len(clause) for clause in clauses)]).astype(np.int64)
    literals = np.array(list(chain.from_iterable(clauses)), dtype=np.int64)
    if not weighted:
        return formula_problem(int(formula.nv), offsets, literals)
    weight = np.array([1.0] * len(formula.hard) + [float(w) for w in formula.wght], dtype=np.float64)
    hard = np.arange(len(clauses)) < len(formula.hard)
    problem = formula_problem(int(formula.nv), offsets, literals, weight=weight, hard=hard)
    problem.objective = Objective("cost")
    return problem
