"""The constructed first assignment: where greedy construction is exact it solves, and it never breaks what follows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anycsp import Problem, distributions, native, solve
from anycsp.distributions.coloring import Coloring
from anycsp.model.builders import coloring_problem
from anycsp.presolve.construct import constructed


def clique_chain(cliques: int, size: int, shared: int, seed: int) -> Problem:
    """Cliques that overlap in `shared` vertices, as of a program's live ranges, vertices in random order."""
    edges: set[tuple[int, int]] = set()
    vertices = shared + cliques * (size - shared)
    for c in range(cliques):
        first = c * (size - shared)
        edges |= set(itertools.combinations(range(first, first + size), 2))
    order = np.random.default_rng(seed).permutation(vertices)
    return coloring_problem(vertices, order[np.array(sorted(edges))], size)


@pytest.mark.parametrize("seed", range(3))
def test_interval_graphs_and_bipartite_graphs_are_solved_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = np.argwhere(rng.random((30, 40)) < 0.2) + np.array([0, 30])
    for problem in (clique_chain(8, 25, 15, seed), coloring_problem(70, edges, 3)):
        positions = constructed(problem)
        assert positions is not None
        assert problem.violation_of_positions(positions).violated == 0


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
def test_local_and_hybrid_search_begin_there_and_a_hint_goes_first() -> None:
    problem = clique_chain(20, 30, 20, 0)
    for search in ("local", "hybrid"):
        assert solve(problem, search=search, time_limit=20, seed=1, presolve=False).found_by == "initial"
    names = list(solve(problem, search="local", steps=0).assignment)
    poor = dict.fromkeys(names, 1)
    assert solve(problem, search="local", steps=0, hint=poor).violated == problem.num_constraints
    assert solve(problem, search="neural", model="coloring", steps=0, presolve=False).violated > 0


def test_conflicts_are_those_of_the_relations_and_weights_decide() -> None:
    """x + 1 ≠ y and the like: the value that costs least is taken, a hard constraint before any soft ones."""
    problem = Problem()
    x, y, z = (problem.add_variable(range(3)) for _ in range(3))
    problem.add_table([x, y], [(a, (a + 1) % 3) for a in range(3)], allowed=False, weight=2)
    problem.add_table([y, z], [(0, 2), (2, 0), (1, 1)], allowed=False)
    problem.add_table([x, z], [(0, 0), (1, 1), (2, 2)], allowed=False, hard=True)
    positions = constructed(problem)
    assert positions is not None
    assert problem.violation_of_positions(positions).violated == 0


@pytest.mark.parametrize("seed", range(5))
def test_every_variable_gets_a_value_of_its_domain_better_than_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Coloring(n=60).draw(rng)
    positions = constructed(problem)
    assert positions is not None
    sizes = problem.domains.sizes
    assert ((positions >= 0) & (positions < sizes)).all()
    chance = problem.violation_of_positions(rng.integers(sizes)).violated
    assert problem.violation_of_positions(positions).violated < chance / 3


def test_other_problems_are_left_alone() -> None:
    for name in ("sat", "maxcut", "rb"):
        assert constructed(distributions.draw(distributions.get(name), 0, 0)) is None
