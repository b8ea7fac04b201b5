"""Fixing the colours of a clique: a colouring is there after it iff it was before, and every count stays true."""

from itertools import combinations, product

import numpy as np
import pytest

from anycsp import Problem, solve
from anycsp.model.coloring import large_clique
from anycsp.presolve.clique import clique_fixed
from anycsp.presolve.peel import peel
from anycsp.presolve.reduce import presolved

TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def coloring(vertices: int, edges: list[tuple[int, int]], colors: int) -> Problem:
    problem = Problem()
    problem.add_variables(vertices, range(colors))
    problem.add_not_equal(edges)
    return problem


def with_triangle(seed: int) -> Problem:
    """Seven vertices, three colours; some of these graphs have a colouring and some have none."""
    rng = np.random.default_rng(seed)
    others = [edge for edge in combinations(range(7), 2) if edge not in TRIANGLE and rng.random() < 0.4]
    order = rng.permutation(7)
    return coloring(7, [(order[x], order[y]) for x, y in TRIANGLE + others], 3)


def counts(problem: Problem) -> list[int]:
    every = product(*(range(size) for size in problem.domains.sizes))
    return [problem.violation_of_positions(np.array(positions)).violated for positions in every]


@pytest.mark.parametrize("seed", range(30))
def test_a_colouring_is_found_iff_there_is_one_and_counts_stay_true(seed: int) -> None:
    problem = with_triangle(seed)
    for reduced in (clique_fixed(problem), presolved(problem)):
        if reduced is None:
            continue
        assert (min(counts(reduced.problem)) == 0) == (min(counts(problem)) == 0)
        for positions in product(*(range(size) for size in reduced.problem.domains.sizes)):
            violated = reduced.problem.violation_of_positions(np.array(positions)).violated
            assert problem.violation_of_positions(reduced.extended(np.array(positions))).violated == violated


def test_these_graphs_are_of_all_kinds() -> None:
    problems = [with_triangle(seed) for seed in range(30)]
    fixed = [clique_fixed(problem) for problem in problems]
    colorable = [min(counts(problem)) == 0 for problem in problems]
    assert 5 < sum(f is not None for f in fixed) < 30
    assert 5 < sum(colorable) < 25
    assert any(f is not None and f.problem.num_constraints > 0 for f in fixed)


def near(vertices: int, reach: float, seed: int) -> Problem:
    """Points of the unit square are adjacent where they are close; as many colours as a large clique has."""
    points = np.random.default_rng(seed).random((vertices, 2))
    pairs = combinations(range(vertices), 2)
    edges = [(x, y) for x, y in pairs if np.hypot(*(points[x] - points[y])) < reach]
    return coloring(vertices, edges, len(large_clique(vertices, edges)))


def test_a_graph_may_dissolve_that_setting_aside_alone_leaves() -> None:
    problem = near(60, 0.4, seed=2)
    assert peel(problem).problem.num_variables == 29
    result = solve(problem, search="neural", steps=0)
    assert result.satisfied
    assert problem.violation(result.assignment).violated == 0


def test_a_clique_that_decides_little_is_left_alone() -> None:
    queens = [divmod(square, 12) for square in range(144)]
    edges = [
        (x, y)
        for x, y in combinations(range(144), 2)
        if 0 in (queens[x][0] - queens[y][0], queens[x][1] - queens[y][1])
        or abs(queens[x][0] - queens[y][0]) == abs(queens[x][1] - queens[y][1])
    ]
    problem = coloring(144, edges, 12)
    assert clique_fixed(problem) is not None
    assert presolved(problem).problem is problem


def test_a_wheel_that_three_colours_do_not_suffice_for_is_left_as_it_is() -> None:
    rim = [(i, i % 5 + 1) for i in range(1, 6)]
    problem = coloring(6, [*rim, *((0, i) for i in range(1, 6))], 3)
    assert clique_fixed(problem) is None
    assert solve(problem, steps=200).violated == 1


def test_weights_labels_and_hardness_are_kept() -> None:
    problem = Problem()
    colors = ["red", "green", "blue", "grey"]
    problem.add_variables(7, colors)
    edges = [*combinations(range(4), 2), (4, 5), (5, 6), (4, 6), (0, 4), (1, 4), (2, 5), (3, 6)]
    for x, y in edges:
        problem.add_table([x, y], [(c, c) for c in colors], allowed=False, weight=2.0, hard=True)
    fixed = clique_fixed(problem)
    assert fixed is not None
    assert [len(fixed.problem.domain(x)) for x in range(3)] == [2, 3, 3]
    assert set(fixed.problem.domain(0).labels or ()) == set(colors) - {"red", "green"}
    (block,) = fixed.problem.blocks
    assert len(block) == 3
    assert (block.terms.weight == 2).all()
    assert block.terms.hard.all()


def test_problems_that_are_no_plain_colouring_are_left_alone() -> None:
    cut = coloring(3, TRIANGLE, 2)
    weighted = Problem()
    weighted.add_variables(3, range(3))
    weighted.add_not_equal(TRIANGLE, weight=np.array([1.0, 1.0, 2.0]))
    shifted = coloring(3, TRIANGLE, 3)
    shifted.add_linear([0, 1], [1, -1], "!=", 1)
    more_colors = coloring(3, TRIANGLE, 4)
    assert [clique_fixed(problem) for problem in (cut, weighted, shifted, more_colors)] == [None] * 4
    assert clique_fixed(coloring(3, TRIANGLE, 3)) is not None


@pytest.mark.parametrize("search", ["neural", "local", "hybrid"])
def test_answers_are_those_of_the_whole_graph(search: str) -> None:
    problem = near(60, 0.4, seed=3)
    assert clique_fixed(problem) is not None
    result = solve(problem, search=search, steps=300)
    assert problem.violation(result.assignment).violated == result.violated
    assert result.constraints == problem.num_constraints


def test_a_clique_search_stops_at_enough() -> None:
    windmill = [edge for i in range(1, 20, 2) for edge in ((0, i), (0, i + 1), (i, i + 1))]
    edges = [*windmill, *combinations(range(21, 27), 2)]
    assert large_clique(27, edges) == [21, 22, 23, 24, 25, 26]
    assert large_clique(27, edges, enough=3) == [0, 1, 2]
