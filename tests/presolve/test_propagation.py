"""Propagation and the tree search over it, held against enumeration: no solution is lost, none is invented."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from families import FAMILIES, Family
from hypothesis import assume, given
from hypothesis import strategies as st

from anycsp import Problem, native
from anycsp.constraints.rule import RuleBlock
from anycsp.graph import compile_graph
from anycsp.model.expressions import operation
from anycsp.presolve.network import propagation_network, tree_search

pytestmark = pytest.mark.skipif(not native.available(), reason="propagation is compiled")


def drawn(seed: int, families: list[Family], most: int = 4) -> Problem:
    """A few constraints over few variables, so that all assignments can be listed."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(int(rng.integers(3, 6))):
        size = int(rng.integers(1, 5))
        problem.add_variable(rng.choice(np.arange(-3, 5), size, replace=False).tolist())
    for _ in range(int(rng.integers(1, most + 1))):
        families[rng.integers(len(families))](problem, rng, {})
    return problem


def solutions(problem: Problem) -> np.ndarray:
    """The domain positions of every assignment that violates nothing."""
    grid = product(*(range(len(problem.domain(x))) for x in range(problem.num_variables)))
    found = [at for at in grid if problem.violation_of_positions(np.array(at, dtype=np.int32)).violated == 0]
    return np.array(found, dtype=np.int32).reshape(-1, problem.num_variables)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@given(seed=st.integers(0, 1 << 30))
def test_no_value_of_a_solution_is_removed(family: Family, seed: int) -> None:
    problem = drawn(seed, [family])
    network = propagation_network(compile_graph(problem))
    possible, probed = network.propagate(), None
    if possible:
        kept = network.domains().astype(bool)
        probed = network.probe(1 << 30)
        kept_after_probing = network.domains().astype(bool)
    start = problem.domains.start[:-1]
    every = solutions(problem)
    if not possible or not probed:
        assert len(every) == 0
        return
    for solution in every:
        assert kept[start + solution].all()
        assert kept_after_probing[start + solution].all()


@given(seed=st.integers(0, 1 << 30))
def test_the_tree_finds_a_solution_where_there_is_one_and_exhausts_where_there_is_none(seed: int) -> None:
    problem = drawn(seed, FAMILIES, most=6)
    graph = compile_graph(problem)
    assume(graph.constant[0, 0] == 0)  # constraints without variables are no part of the graph
    tree = tree_search(graph, seed=seed)
    tree.advance(1 << 30, 1e9)
    assert tree.exhausted
    every = solutions(problem)
    assert (tree.solutions > 0) == (len(every) > 0)
    if tree.solutions:
        assert problem.violation_of_positions(tree.solution()).violated == 0


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@given(seed=st.integers(0, 1 << 30))
def test_fixed_variables_decide_each_family(family: Family, seed: int) -> None:
    """A full assignment passes the propagators exactly where it violates nothing."""
    problem = drawn(seed, [family], most=2)
    rng = np.random.default_rng(seed)
    at = np.array([rng.integers(len(problem.domain(x))) for x in range(problem.num_variables)], dtype=np.int32)
    fixed = problem.copy()
    for x, position in enumerate(at):
        fixed.add(fixed.variables[x] == int(problem.domain(x).values[position]))
    holds = problem.violation_of_positions(at).violated == 0
    graph = compile_graph(fixed)
    assume(graph.constant[0, 0] == 0)
    tree = tree_search(graph)
    tree.advance(1 << 30, 1e9)
    assert tree.exhausted
    assert (tree.solutions > 0) == holds


def test_a_condition_on_one_variable_leaves_the_values_that_meet_it() -> None:
    problem = Problem()
    x, y, z = problem.add_variables(3, range(4))
    problem.add(x == 1)
    problem.add(y >= 2)
    problem.add_table([z], [[0], [3]], allowed=False)
    network = propagation_network(compile_graph(problem))
    assert network.propagate()
    assert network.domains().tolist() == [0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("wanted", [True, False])
def test_what_a_set_holds_may_be_variables(wanted: bool) -> None:
    """Their least values were taken for constants, and x ∈ {y, z} with x from 1 to 2 for a contradiction."""
    problem = Problem()
    x, y, z = problem.add_variable([1, 2]), *problem.add_variables(2, range(3))
    among = operation("in", x, y, z)
    problem.add_block(RuleBlock.one(among if wanted else operation("not", among), problem.new_terms()))
    every = solutions(problem)
    network = propagation_network(compile_graph(problem))
    assert network.propagate()
    kept = network.domains().astype(bool)
    assert all(kept[problem.domains.start[:-1] + solution].all() for solution in every)
    tree = tree_search(compile_graph(problem))
    tree.enumerate(np.ones(3, dtype=np.uint8))
    while not tree.exhausted:
        tree.advance(1 << 30, 1e9)
    assert tree.solutions == len(every)
