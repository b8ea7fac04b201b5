"""Small random problems that mix every basic family, for property tests."""

from __future__ import annotations

import numpy as np

from anycsp import Problem
from anycsp.constraints.comparison import OPERATORS


def random_problem(seed: int, max_variables: int = 6, max_constraints: int = 8, weighted: bool = False) -> Problem:
    """Mixed domains (sizes 1–4, negative integers too), every family, repeated variables, unary and duplicates."""
    rng = np.random.default_rng(seed)
    problem = Problem(f"random-{seed}")
    count = int(rng.integers(1, max_variables + 1))
    for _ in range(count):
        size = int(rng.integers(1, 5))
        problem.add_variable(rng.choice(np.arange(-4, 7), size, replace=False).tolist())
    for _ in range(int(rng.integers(0, max_constraints + 1))):
        add_random_constraint(problem, rng, weighted)
    return problem


def add_random_constraint(problem: Problem, rng: np.random.Generator, weighted: bool) -> None:
    count = problem.num_variables
    arity = int(rng.integers(1, min(count, 4) + 1))
    scope = [int(x) for x in rng.choice(count, arity, replace=bool(rng.integers(2)))]
    terms = {"weight": float(rng.integers(1, 6)), "hard": bool(rng.integers(3) == 0)} if weighted else {}
    kind = rng.integers(5)
    if kind == 0:
        coefficients = rng.integers(-3, 4, arity).tolist()
        operator = OPERATORS[rng.integers(len(OPERATORS))]
        problem.add_linear(scope, coefficients, operator, int(rng.integers(-5, 6)), **terms)
    elif kind == 1:
        excepted = rng.integers(-4, 7, 2).tolist() if len(set(scope)) == len(scope) and rng.integers(2) else []
        problem.add_all_different(scope, except_values=excepted, **terms)
    elif kind == 2:
        problem.add_nogood(scope, np.array([rng.integers(len(problem.domain(x))) for x in scope]), **terms)
    else:
        rows = [[int(rng.choice(problem.domain(x).values)) for x in scope] for _ in range(rng.integers(0, 7))]
        problem.add_table(scope, rows, allowed=bool(rng.integers(2)), **terms)


def random_positions(problem: Problem, runs: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sizes = problem.domains.sizes
    return (rng.random((runs, len(sizes))) * sizes).astype(np.int64)
