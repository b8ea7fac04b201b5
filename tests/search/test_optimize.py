"""Optimisation: bounds tighten from the best assignment, and an answer never violates what must hold."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anycsp import Problem, ProblemError, native
from anycsp.checker.check import first_difference, recount
from anycsp.checker.problem import from_description
from anycsp.model.description import describe
from anycsp.model.expressions import Operation, Variable, element, operation, total
from anycsp.search.bound import BoundedProblem
from anycsp.search.driver import Progress
from anycsp.search.optimize import optimize
from anycsp.search.options import SearchOptions
from anycsp.search.solve import solve_with

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


WEIGHTS, PROFITS, CAPACITY = (3, 5, 7, 4, 6, 2, 8, 5), (4, 7, 9, 5, 8, 2, 11, 6), 20


def knapsack() -> Problem:
    problem = Problem()
    xs = problem.add_variables(8, (0, 1))
    problem.add_linear(xs, WEIGHTS, "<=", CAPACITY, hard=True)
    problem.maximize(sum(x * p for x, p in zip(xs, PROFITS, strict=True)))
    return problem


def run(problem: Problem, **options: Any) -> Any:
    return optimize(
        problem, SearchOptions(**{"time_limit": 1.5, "search": "local", "threads": 1, **options}), solve_with
    )


def test_a_small_knapsack_comes_near_its_optimum() -> None:
    choices = np.array(list(itertools.product((0, 1), repeat=8)))
    optimum = (choices @ PROFITS)[choices @ WEIGHTS <= CAPACITY].max()
    result = run(knapsack())
    assert result.violated == 0
    assert result.objective["kind"] == "maximize"
    assert 0.95 * optimum <= result.objective["value"] <= optimum


def test_minimum_of_a_wide_objective_is_not_descended_one_by_one() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(0, 60_000, 7))
    problem.add(x + y >= 50_001, hard=True)
    problem.minimize(2 * x + y)
    heard: list[float] = []

    def listen(progress: Progress) -> None:
        if progress.improved and progress.objective is not None:
            heard.append(progress.objective)

    result = run(problem, time_limit=3.0, callback=listen)
    assert heard == sorted(heard, reverse=True)
    assert result.objective["value"] == heard[-1]
    assert len(heard) < 200
    assert result.objective["value"] < 60_000


def test_infeasible_ends_with_the_least_violated() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add(x + y == 9, hard=True)
    problem.add(x == 2, hard=True)
    problem.minimize(x)
    result = run(problem, time_limit=0.3)
    assert result.status == "unsatisfiable"
    assert result.violated == 1


def test_stopping_returns_the_best_so_far() -> None:
    stop = threading.Event()

    def enough(progress: Progress) -> bool:
        return progress.objective is not None

    result = run(knapsack(), callback=enough, stop=stop, time_limit=30.0)
    assert result.status == "interrupted"
    assert result.violated == 0
    assert result.seconds < 10


def test_the_problem_is_left_as_it_was() -> None:
    problem = knapsack()
    run(problem, time_limit=0.2)
    assert problem.num_constraints == 1
    assert problem.objective is not None


UNDEFINED: dict[str, Callable[[Variable, Variable], Operation]] = {
    "div": lambda a, b: operation("div", a, b),
    "floormod": lambda a, b: operation("floormod", a, b),
    "pow": lambda a, b: operation("pow", a, operation("sub", b, 1)),
    "element": lambda a, b: element([a, a, 3], operation("sub", b, 1)),
}
"""Undefined where b is 0."""


@pytest.mark.parametrize("search", ["local", "neural", "hybrid"])
@pytest.mark.parametrize("name", UNDEFINED)
@pytest.mark.parametrize("domain", [(0,), (0, 1)], ids=["everywhere", "where the constraint holds"])
def test_an_undefined_objective_is_no_answer(search: str, name: str, domain: tuple[int, ...]) -> None:
    problem = Problem()
    a, b = problem.add_variable((1, 2), "a"), problem.add_variable(domain, "b")
    problem.add(a + b <= 1)
    problem.add(a * b <= 0)
    problem.minimize(UNDEFINED[name](a, b))
    result = solve_with(problem, SearchOptions(search=search, steps=30, time_limit=1.0, threads=1))
    assert result.status == "best-effort"
    assert result.constraints == problem.num_constraints
    if result.assignment["b"] == 0:
        assert result.objective is None
    count = recount(from_description(describe(problem)), result.assignment)
    assert count.violated == result.violated
    assert first_difference(from_description(describe(problem)), result.to_json(), count) is None
    assert not count.feasible("minimize")


@pytest.mark.parametrize("search", ["local", "neural", "hybrid"])
@pytest.mark.parametrize("name", UNDEFINED)
def test_an_objective_is_taken_where_it_is_defined(search: str, name: str) -> None:
    problem = Problem()
    a, b = problem.add_variable((1, 2), "a"), problem.add_variable((0, 1), "b")
    problem.add(a + b >= 1)
    problem.minimize(UNDEFINED[name](a, b))
    result = solve_with(problem, SearchOptions(search=search, steps=60, time_limit=1.0, threads=1))
    assert (result.status, result.assignment["b"]) == ("satisfied", 1)
    assert result.objective is not None


def test_no_proof_where_only_the_objective_fails_and_one_where_it_cannot() -> None:
    for domain, status in (((0, 1), "best-effort"), ((1, 2), "unsatisfiable")):
        problem = Problem()
        a, b = problem.add_variable((0, 1), "a"), problem.add_variable(domain, "b")
        problem.add(a * b > 5, hard=True)
        problem.minimize(operation("div", a, b))
        result = solve_with(problem, SearchOptions(search="local", time_limit=1.0, threads=1))
        assert result.status == status


def test_claims_about_an_undefined_objective_are_lies() -> None:
    problem = Problem()
    a, b = problem.add_variable((0, 1), "a"), problem.add_variable((0, 1), "b")
    problem.maximize(operation("div", a, b))
    checked = from_description(describe(problem))
    count = recount(checked, {"a": 1, "b": 0})
    assert count.objective is None
    for claims in ({"status": "satisfied"}, {"s": "SATISFIABLE"}, {"objective": {"kind": "maximize", "value": 0}}):
        assert first_difference(checked, claims, count) is not None
    assert first_difference(checked, {"status": "best-effort", "objective": None, "violated": 0}, count) is None


def test_objectives_beyond_64_bits_are_refused_at_once() -> None:
    """Whatever is to search for them: a network would otherwise add up what has wrapped around."""
    problem = Problem()
    x = problem.add_variable([0, 2**33])
    with pytest.raises(ProblemError, match="64-bit"):
        problem.minimize(x * x)
    assert problem.objective is None


@pytest.mark.skipif(not native.available(), reason="compiled search")
@pytest.mark.parametrize("search", ["hybrid", "local"])
def test_steps_end_where_no_move_can_improve_the_objective(search: str) -> None:
    """The objective is constant, so that asking for better adds a constraint that never holds."""
    problem = Problem()
    problem.add_variable([0, 1])
    problem.minimize(operation("neg", 5))
    options = SearchOptions(search=search, model="sat" if search == "hybrid" else "auto", steps=3, threads=1)
    result = optimize(problem, options, solve_with)
    assert (result.status, result.objective) == ("satisfied", {"kind": "minimize", "value": -5})


def test_a_sum_of_rules_is_bounded_part_by_part() -> None:
    """Each part over several variables is an auxiliary variable that follows from an assignment, and the bound is on
    their sum: once the whole sum was one rule, and a search reached 19203 where parts written out reach 230."""
    rng = np.random.default_rng(0)
    problem = Problem()
    x = problem.add_variables(6, range(-3, 4))
    parts = [3 * (x[0] * x[1]), -2 * abs(x[2] - x[3]), (x[1] <= x[4]), x[5], x[5] * x[5]]
    problem.minimize(total(parts) + 7)
    assert problem.objective is not None
    bounded = BoundedProblem(problem, problem.objective)
    assert len(bounded.problem.definitions) == 3
    bound = list(bounded.problem.describe_constraints())[-1]
    constants = set()
    for _ in range(50):
        positions = rng.integers(7, size=6).astype(np.int32)
        extended = bounded.extended(positions)
        assert bounded.problem.violation_of_positions(extended).violated == 0
        value = problem.objective.value(0.0, problem.values(positions))
        taken = bounded.problem.values(extended)
        numbers = [dict(pairs) for pairs in bound["contributions"]]
        left = sum(of.get(int(taken[y]), 0) for of, y in zip(numbers, bound["scope"], strict=True))
        constants.add(value - left)
    assert len(constants) == 1
