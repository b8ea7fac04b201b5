"""Presolve by propagation: what is left says what the whole problem says, and every answer leads back to it."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from families import FAMILIES, Family
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, maximum, native, solve
from anycsp.constraints.base import Restriction
from anycsp.graph import compile_graph
from anycsp.presolve.propagate import is_propagated, propagate
from anycsp.presolve.reduce import propagated

pytestmark = pytest.mark.skipif(not native.available(), reason="propagation is compiled")


def drawn(seed: int, families: list[Family], most: int, **terms: bool) -> Problem:
    """A few constraints over few variables, some of them equal to others."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(int(rng.integers(3, 6))):
        size = int(rng.integers(1, 5))
        problem.add_variable(rng.choice(np.arange(-3, 5), size, replace=False).tolist())
    for _ in range(int(rng.integers(1, most + 1))):
        families[rng.integers(len(families))](problem, rng, terms)
    if rng.integers(2):
        x, y = (problem.variables[i] for i in rng.choice(problem.num_variables, 2, replace=False))
        problem.add(x == y, **terms)
    return problem


def assignments(problem: Problem) -> list[np.ndarray]:
    grid = product(*(range(len(problem.domain(x))) for x in range(problem.num_variables)))
    return [np.array(at, dtype=np.int32) for at in grid]


def solutions(problem: Problem) -> set[tuple[int, ...]]:
    every = assignments(problem)
    return {tuple(at.tolist()) for at in every if problem.violation_of_positions(at).violated == 0}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_a_restricted_constraint_says_what_it_said(family: Family, seed: int) -> None:
    problem = drawn(seed, [family], most=3)
    rng = np.random.default_rng(seed)
    kept = rng.random(len(problem.domains.values)) < 0.6
    kept[problem.domains.start[:-1]] |= np.add.reduceat(kept, problem.domains.start[:-1]) == 0
    restriction = Restriction.of(problem.domains, kept)
    places = [np.flatnonzero(kept[a:b]) for a, b in zip(problem.domains.start, problem.domains.start[1:], strict=False)]
    grid = list(product(*(range(len(p)) for p in places)))
    for block in problem.blocks:
        smaller, rows = block.restricted(restriction), np.flatnonzero(rng.random(len(block)) < 0.7)
        taken, holds = smaller.take(rows), smaller.always_holds(restriction.after)
        assert (taken.terms.index == block.terms.index[rows]).all()
        for at in map(np.array, grid[:: len(grid) // 30 + 1]):
            expected = block.satisfied(problem.domains, np.array([p[i] for p, i in zip(places, at, strict=True)]))
            assert (smaller.satisfied(restriction.after, at) == expected).all()
            assert (taken.satisfied(restriction.after, at) == expected[rows]).all()
            assert (holds <= expected).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_the_solutions_are_those_of_the_whole_problem(seed: int) -> None:
    problem = drawn(seed, FAMILIES, most=5, hard=True)
    reduced = propagated(problem)
    if reduced.refuted_by is not None:
        assert not solutions(problem)
        return
    assert reduced.problem.num_constraints <= problem.num_constraints
    # Variables that were merged into others are free in what is left: several answers lead to one.
    found = {tuple(reduced.extended(np.array(at)).tolist()) for at in solutions(reduced.problem)}
    assert found == solutions(problem)


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_soft_constraints_cost_what_they_cost(seed: int) -> None:
    """Where hard constraints shrink domains, every assignment left violates there what it violates in the whole."""
    problem = drawn(seed, FAMILIES, most=3, hard=True)
    rng = np.random.default_rng(seed)
    for weight in (2.0, 3.0):
        FAMILIES[rng.integers(len(FAMILIES))](problem, rng, {"weight": weight})
    reduced = propagated(problem)
    every = assignments(reduced.problem)
    for at in every[:: len(every) // 30 + 1]:
        whole = problem.violation_of_positions(reduced.extended(at))
        assert reduced.problem.violation_of_positions(at) == whole


def test_equal_variables_are_merged_and_fixed_ones_leave_their_constraints() -> None:
    problem = Problem()
    x, y, z, w = problem.add_variables(4, range(6))
    problem.add(x == y, hard=True)
    problem.add(y + z <= 4, hard=True)
    problem.add(w == 3, hard=True)
    problem.add(z + w >= 5, hard=True)
    problem.add_all_different([z, w], hard=True)
    reduced = propagated(problem)
    assert reduced.problem.num_constraints == 1, "only y + z <= 4 is still open"
    assert reduced.problem.domain_sizes.tolist() == [3, 3, 2, 1]
    assert reduced.extended(np.array([2, 0, 0, 0])).tolist() == [2, 2, 2, 3]


def test_the_constraint_without_an_assignment_is_named() -> None:
    problem = Problem()
    x = problem.add_variables(12, range(3))
    problem.add(x[0] + x[1] <= 4)
    problem.add_all_different(x[:4])
    result = solve(problem, search="local", time_limit=5)
    assert (result.status, result.refuted_by) == ("unsatisfiable", 1)
    problem.minimize(x[0] + x[1])
    result = solve(problem, search="local", time_limit=5)
    assert (result.status, result.refuted_by) == ("unsatisfiable", 1)


def test_probing_finds_what_no_single_constraint_says() -> None:
    problem = Problem()
    x, y, z, w = problem.add_variables(4, range(2))
    problem.add(x + y + z + w <= 4, hard=True)  # one sum, so that it is no formula
    for a, b in ((x, y), (y, z), (x, z)):
        problem.add_clause([(a, 0), (b, 0)], hard=True)
    problem.add_clause([(y, 1), (z, 1)], hard=True)
    found = propagate(problem, compile_graph(problem))
    assert found.reduction is not None
    assert found.reduction.problem.domain_sizes.tolist()[0] == 1


@pytest.mark.parametrize("search", ["local", "neural"])
def test_every_engine_searches_what_is_left(search: str) -> None:
    problem = Problem()
    x = problem.add_variables(9, range(1, 10))
    problem.add_all_different(x)
    for k in range(7):
        problem.add(x[k] == k + 1)
    result = solve(problem, search=search, steps=0, runs=1, threads=1)
    assert [result.assignment[f"x{k}"] for k in range(7)] == list(range(1, 8))
    assert {result.assignment["x7"], result.assignment["x8"]} <= {8, 9}


def test_what_may_be_violated_rules_nothing_out() -> None:
    """Max-SAT and MaxCSP: a unit clause is a wish like any other."""
    problem = Problem()
    x, y = problem.add_variables(2, range(2))
    problem.add_clause([(x, 1)], weight=1)
    problem.add_clause([(x, 0), (y, 1)], weight=1)
    assert not is_propagated(problem)
    problem.add_clause([(y, 0)])
    assert is_propagated(problem)
    assert propagated(problem).problem.domain_sizes.tolist() == [2, 1]


def test_a_rule_of_a_hundred_variables_most_of_them_fixed_is_tabulated() -> None:
    problem = Problem()
    fixed, free = problem.add_variables(97, range(3)), problem.add_variables(3, range(3))
    for x in fixed:
        problem.add(x == 2)
    problem.add(maximum([x * y for x, y in pairwise(fixed)]) + free[0] * free[1] == 4 + free[2] * 2)
    result = solve(problem, time_limit=5, search="local")
    assert result.satisfied
    assert result[free[0]] * result[free[1]] == 2 * result[free[2]]
