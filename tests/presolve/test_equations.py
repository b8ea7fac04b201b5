"""Equations taken together keep the very values that are part of a solution of all of them, and are refuted where there
is none."""

import itertools
import time

import numpy as np
import pytest

from anycsp import Problem, native, solve
from anycsp.presolve import equations
from anycsp.presolve.equations import restrict_by_equations


def drawn(seed: int) -> Problem:
    """A few equations over some of the variables, which may fall apart; values that may be negative or far apart."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    x = [problem.add_variable(sorted({int(v) for v in rng.integers(-5, 9, 3)} | {1})) for _ in range(7)]
    solution = [int(rng.choice(v.domain.values)) for v in x]
    for _ in range(int(rng.integers(1, 4))):
        scope = rng.permutation(7)[: int(rng.integers(2, 6))].tolist()
        coefficients = [int(a) for a in rng.integers(-40, 90, len(scope))]
        total = sum(a * solution[k] for a, k in zip(coefficients, scope, strict=True))
        problem.add_linear([x[k] for k in scope], coefficients, "==", total + int(rng.integers(4) == 0))
    return problem


def in_a_solution(problem: Problem) -> np.ndarray:
    kept = np.zeros(len(problem.domains.values), dtype=np.bool_)
    for positions in itertools.product(*(range(size) for size in problem.domains.sizes)):
        if problem.violation_of_positions(np.array(positions)).violated == 0:
            kept[problem.domains.start[:-1] + np.array(positions)] = True
    return kept


@pytest.mark.parametrize("seed", range(40))
def test_values_stay_that_are_in_a_solution_and_no_others(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "MANY_SOLUTIONS", 1e9)
    problem = drawn(seed)
    kept = np.ones(len(problem.domains.values), dtype=np.bool_)
    expected = in_a_solution(problem)
    possible = restrict_by_equations(problem, kept, np.ones(problem.num_constraints, dtype=np.bool_))
    assert possible == bool(expected.any())
    assert not possible or (kept == expected).all()


def test_the_equations_drawn_are_of_both_kinds() -> None:
    solvable = [bool(in_a_solution(drawn(seed)).any()) for seed in range(40)]
    assert 10 < sum(solvable) < 40


def test_what_need_not_hold_takes_nothing_away() -> None:
    problem = drawn(0)
    kept = np.ones(len(problem.domains.values), dtype=np.bool_)
    assert restrict_by_equations(problem, kept, np.zeros(problem.num_constraints, dtype=np.bool_))
    assert kept.all()


@pytest.mark.parametrize("planted", [True, False])
def test_a_market_is_split_or_proved_not_to_be_at_once(planted: bool) -> None:
    """A tree of 10⁹ assignments: it took 1.5 s where moves were lucky, and was never refuted."""
    rng = np.random.default_rng(1)
    problem = Problem()
    x = problem.add_variables(30, range(2))
    split = rng.integers(0, 2, 30)
    for row in rng.integers(0, 100, (4, 30)):
        problem.add_linear(x, row.tolist(), "==", int(row @ split) if planted else int(row.sum()) // 2)
    began = time.process_time()
    result = solve(problem, search="local", time_limit=20, threads=1)
    assert result.status == ("satisfied" if planted else "unsatisfiable")
    unoptimised = "-O0" in native.module().build  # under sanitizers
    assert time.process_time() - began < (30 if unoptimised else 3)
