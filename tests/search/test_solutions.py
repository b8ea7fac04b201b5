"""All solutions, one after another: none is missed, none comes twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from random_problems import random_problem

from anycsp import Problem, solve
from anycsp.deadline import NEVER, Deadline
from anycsp.search import solutions as module
from anycsp.search.result import Result
from anycsp.search.solutions import Solutions


def local(problem: Problem) -> Result:
    return solve(problem, search="local", time_limit=5, threads=1)


def expected(problem: Problem, scope: list[int]) -> set[tuple[int, ...]]:
    sizes = problem.domains.sizes.tolist()
    every = itertools.product(*(range(size) for size in sizes))
    return {
        tuple(p[x] for x in scope) for p in every if problem.violation_of_positions(np.array(p, np.int32)).violated == 0
    }


def found(problem: Problem, scope: list[int], search: Callable[[Problem], Result] = local) -> list[tuple[int, ...]]:
    solutions = Solutions(problem, [problem.variables[x] for x in scope], search, NEVER)
    result = [tuple(positions[scope].tolist()) for positions in solutions]
    assert solutions.proved
    return result


@pytest.mark.parametrize("seed", range(40))
def test_every_projection_of_a_solution_is_found_once(seed: int) -> None:
    problem = random_problem(seed, max_variables=5, max_constraints=5)
    for scope in ([*range(problem.num_variables)], [*range(0, problem.num_variables, 2)]):
        all_found = found(problem, scope)
        assert len(all_found) == len(set(all_found))
        assert set(all_found) == expected(problem, scope)


def test_queens_by_the_tree_alone() -> None:
    """One search and no more: the tree goes on from there."""
    problem = Problem()
    queens = problem.add_variables(8, range(8))
    for rows in (queens, [q + i for i, q in enumerate(queens)], [q - i for i, q in enumerate(queens)]):
        problem.add_all_different(rows)
    searches = []

    def counted(asked: Problem) -> Result:
        searches.append(asked)
        return local(asked)

    assert len(set(found(problem, [q.index for q in queens], counted))) == 92
    assert len(searches) == 1


def test_without_a_tree_the_search_is_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Solutions, "_tree", lambda self: None)
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add(x != y)
    assert set(found(problem, [0, 1])) == expected(problem, [0, 1])


def test_a_tree_that_finds_nothing_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search finds then is not told again by the tree."""
    monkeypatch.setattr(module, "LEAST_PATIENCE", 1e-9)
    problem = random_problem(3, max_variables=5, max_constraints=3)
    scope = [*range(problem.num_variables)]
    monkeypatch.setattr(module, "NODES", 1)
    all_found = found(problem, scope)
    assert len(all_found) == len(set(all_found)) == len(expected(problem, scope)) > 1


def test_the_first_is_asked_for_however_late_it_is() -> None:
    problem = Problem()
    problem.add_variable(range(3))
    solutions = Solutions(problem, problem.variables, local, Deadline.after(-1))
    assert len(list(solutions)) == 1
    assert not solutions.proved


def test_starting_times_are_enumerated_and_not_their_orders() -> None:
    """The tree decides on the order of two tasks before their times; here times are what counts."""
    problem = Problem()
    starts = problem.add_variables(3, range(6))
    problem.add_no_overlap(starts, [2, 1, 2])
    scope = [x.index for x in starts]
    all_found = found(problem, scope)
    times = itertools.product(range(6), repeat=3)
    apart = {
        t
        for t in times
        if all(t[i] + l <= t[j] or t[j] + m <= t[i] for i, j, l, m in ((0, 1, 2, 1), (0, 2, 2, 2), (1, 2, 1, 2)))
    }
    assert len(all_found) == len(apart)
    assert set(all_found) == apart
