"""All-different in pairs: the same solutions, results in terms of what was written, and magic squares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from anycsp import Problem, distributions, native, solve
from anycsp.deadline import Deadline
from anycsp.neural.pairs import in_pairs

needs_native = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


def different(except_values: tuple[int, ...] = ()) -> Problem:
    """Two that overlap, over domains that differ, beside a sum."""
    problem = Problem()
    x = [problem.add_variable(domain) for domain in ([1, 2, 3], [3, 1], [0, 2, 3], [0, 1], [7])]
    problem.add_linear(x[:2], [1, 1], "<=", 4)
    problem.add_all_different(x[:3], except_values=except_values)
    problem.add_all_different(x[1:], except_values=except_values)
    return problem


@pytest.mark.parametrize("except_values", [(), (3,), (0, 1)])
def test_the_same_assignments_satisfy_all(except_values: tuple[int, ...]) -> None:
    problem = different(except_values)
    pairs = in_pairs(problem)
    assert pairs.num_constraints > problem.num_constraints
    solutions = 0
    for positions in product(*(range(size) for size in problem.domain_sizes.tolist())):
        satisfied = [p.violation_of_positions(np.array(positions)).violated == 0 for p in (problem, pairs)]
        assert satisfied[0] == satisfied[1]
        solutions += satisfied[0]
    assert solutions


def test_those_that_cannot_clash_are_no_pair() -> None:
    pairs = in_pairs(different())
    assert sorted(tuple(block.scope_of(row).tolist()) for block in pairs.blocks[1:] for row in range(len(block))) == [
        (0, 1), (0, 2), (1, 2), (1, 2), (1, 3), (2, 3)
    ]  # fmt: skip


def test_stays_as_it_is_where_pairs_would_cost_more_or_take_too_long() -> None:
    soft = different()
    soft.add_linear([0], [1], "==", 1, weight=2)
    assert in_pairs(soft) is soft
    nothing = Problem()
    nothing.add_variables(3, range(2))
    assert in_pairs(nothing) is nothing
    large = Problem()
    large.add_all_different(large.add_variables(400, range(400)))
    assert in_pairs(large) is large
    late = different()
    assert in_pairs(late, Deadline.after(0)) is late


@needs_native
@pytest.mark.parametrize("runs", [1, 4])
def test_results_count_what_was_written(runs: int) -> None:
    """Seven pigeons in five holes clash in two pairs at least, of one constraint."""
    problem = Problem()
    x = problem.add_variables(7, range(5))
    problem.add_all_different(x)
    problem.add_linear(x, [1] * 7, "==", 14)
    result = solve(problem, search="neural", runs=runs, steps=60, presolve=False, threads=1)
    assert result.violated == 1
    assert result.constraints == 2
    assert problem.violation_of_positions(result.positions).violated == 1
    assert result.trace[-1].violated == 1
    assert max(point.violated for point in result.trace) <= 2
    assert result.best_per_run == [1.0] * runs


@needs_native
def test_a_magic_square_of_order_4_is_found() -> None:
    """With all-different as one constraint it was the one that every search left."""
    square = distributions.get("magic-square", order=4, given=[0.0, 0.0]).draw(np.random.default_rng(0))
    assert solve(square, search="neural", model="universal", steps=4000, threads=1).satisfied
