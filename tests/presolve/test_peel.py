"""Setting variables aside loses nothing: the optimum of what is left, extended, is the optimum of the whole problem."""

import time
from itertools import product

import numpy as np
import pytest

from anycsp import Problem, distributions, solve
from anycsp.presolve.peel import peel


def sparse(seed: int) -> Problem:
    """Few constraints of several families, weights and hardness mixed, so that much can wait and some cannot."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    n = 6
    for _ in range(n):
        problem.add_variable(range(int(rng.integers(2, 4))))
    sizes = problem.domains.sizes
    for _ in range(int(rng.integers(4, 10))):
        scope = rng.permutation(n)[: int(rng.integers(1, 4))]
        weight, hard = float(rng.integers(1, 4)), bool(rng.integers(2))
        kind = int(rng.integers(3))
        if kind == 0:
            problem.add_nogood(scope, [int(rng.integers(sizes[x])) for x in scope], weight=weight, hard=hard)
        elif kind == 1:
            every = list(product(*(range(sizes[x]) for x in scope)))
            chosen = [t for t in every if rng.random() < 0.3]
            problem.add_table(scope, chosen, allowed=bool(rng.integers(2)), weight=weight, hard=hard)
        elif len(scope) > 1:
            problem.add_all_different(scope, weight=weight, hard=hard)
    return problem


def optimum(problem: Problem) -> tuple[int, float]:
    counts = (problem.violation_of_positions(np.array(p)) for p in product(*(range(s) for s in problem.domains.sizes)))
    return min((count.hard, count.weight) for count in counts)


@pytest.mark.parametrize("seed", range(40))
def test_extending_adds_no_violation_and_the_optimum_is_the_same(seed: int) -> None:
    problem = sparse(seed)
    peeled = peel(problem)
    assert peeled.problem.num_variables + len(peeled.waiting) == problem.num_variables
    for positions in product(*(range(s) for s in peeled.problem.domains.sizes)):
        of_rest = peeled.problem.violation_of_positions(np.array(positions))
        assert problem.violation_of_positions(peeled.extended(np.array(positions))) == of_rest
    assert optimum(peeled.problem) == optimum(problem)


def test_most_of_these_have_something_to_set_aside() -> None:
    kept = [peel(sparse(seed)).problem.num_variables for seed in range(40)]
    assert min(kept) == 1
    assert max(kept) == 6
    assert 2 < np.mean(kept) < 5


def test_the_way_back_takes_four_times_as_long_for_four_times_as_many() -> None:
    """It was quadratic: over four minutes for a million variables."""

    def seconds(n: int) -> float:
        problem = Problem()
        problem.add_variables(n, range(2))
        problem.add_clauses(np.arange(0, n + 1, 2), np.arange(1, n + 1))
        peeled = peel(problem)
        assert len(peeled.waiting) >= n // 2
        began = time.process_time()
        peeled.extended(np.zeros(peeled.problem.num_variables, dtype=np.int32))
        return time.process_time() - began

    assert min(seconds(20_000) for _ in range(3)) < 9 * min(seconds(5_000) for _ in range(3))


def test_a_tree_needs_no_search_and_the_answer_is_complete() -> None:
    problem = Problem()
    problem.add_variables(500, range(2), names=[f"v{i}" for i in range(500)])
    problem.add_not_equal([(i, (i - 1) // 2) for i in range(1, 500)])
    result = solve(problem, search="neural", steps=1)
    assert result.satisfied
    assert result.steps == 0
    assert list(result.assignment) == list(problem.names)


def test_a_long_chain_is_unravelled_from_its_ends() -> None:
    problem = Problem()
    problem.add_variables(2000, range(2))
    problem.add_not_equal([(i, i + 1) for i in range(1999)])
    assert peel(problem).problem.num_variables == 1


@pytest.mark.parametrize("search", ["neural", "local", "hybrid"])
def test_solve_gives_the_same_kind_of_answer_with_and_without(search: str) -> None:
    problem = distributions.draw(distributions.get("coloring", n=40, p=(0.05, 0.1)), 1, 0)
    for presolve in (True, False):
        result = solve(problem, search=search, steps=300, presolve=presolve)
        assert problem.violation(result.assignment).violated == result.violated
        assert result.constraints == problem.num_constraints
        assert result.trace[-1].violated == result.violated


def test_a_hint_is_begun_from_as_it_is() -> None:
    problem = Problem()
    problem.add_variables(10, range(3))
    problem.add_not_equal([(i, i + 1) for i in range(9)])
    assert solve(problem, steps=0).violated == 0
    assert solve(problem, steps=0, hint=[1] * 10).violated == 9


def test_problems_with_auxiliary_variables_are_left_alone() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(5))
    total = problem.define(x + y)
    problem.add(total == 3)
    assert peel(problem).problem is problem
