"""How much propagators remove, held against plain references: enumeration where they are to be complete, bounds or the
last open variable where they are not."""

from __future__ import annotations

from itertools import product

import families as all_families
import numpy as np
import pytest
from families import FAMILIES, Family
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, native
from anycsp.graph import compile_graph
from anycsp.presolve.network import propagation_network

pytestmark = pytest.mark.skipif(not native.available(), reason="propagation is compiled")

COMPLETE = [all_families.table_dense, all_families.table_repeated, all_families.clause]
"""Every value left is part of an assignment that satisfies the constraint."""


def one_constraint(seed: int, family: Family, *, open_variables: int | None = None) -> Problem:
    """With `open_variables` all others have one value."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    count = int(rng.integers(3, 6))
    opened = set(rng.permutation(count)[:open_variables].tolist())
    for x in range(count):
        size = int(rng.integers(2, 5)) if x in opened else 1
        problem.add_variable(rng.choice(np.arange(-3, 5), size, replace=False).tolist())
    family(problem, rng, {"hard": True})
    return problem


def supported(problem: Problem) -> np.ndarray:
    """[values]: those of some assignment that satisfies everything."""
    kept = np.zeros(len(problem.domains.values), dtype=bool)
    for at in product(*(range(len(problem.domain(x))) for x in range(problem.num_variables))):
        if problem.violation_of_positions(np.array(at)).violated == 0:
            kept[problem.domains.start[:-1] + np.array(at)] = True
    return kept


def propagated(problem: Problem) -> np.ndarray:
    """[values]: those left; none where propagation finds a contradiction."""
    graph = compile_graph(problem)
    network = propagation_network(graph)
    possible = bool(network.propagate()) and graph.constant[0, 0] == 0
    return network.domains().astype(bool) & possible


@pytest.mark.parametrize("family", COMPLETE, ids=lambda f: f.__name__)
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_what_a_table_or_clause_leaves_is_supported(family: Family, seed: int) -> None:
    problem = one_constraint(seed, family)
    assert (propagated(problem) == supported(problem)).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_what_an_all_different_leaves_is_supported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(int(rng.integers(3, 6))):
        problem.add_variable(rng.choice(6, int(rng.integers(1, 5)), replace=False).tolist())
    problem.add_all_different(problem.variables, hard=True)
    assert (propagated(problem) == supported(problem)).all()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_the_last_open_variable_keeps_what_satisfies(family: Family, seed: int) -> None:
    problem = one_constraint(seed, family, open_variables=1)
    assert (propagated(problem) == supported(problem)).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_sums_are_as_tight_as_plain_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(int(rng.integers(2, 5))):
        first = int(rng.integers(-4, 3))
        problem.add_variable(range(first, first + int(rng.integers(1, 7))))
    rows = []
    for _ in range(int(rng.integers(1, 4))):
        factors, bound = rng.integers(-3, 4, problem.num_variables), int(rng.integers(-8, 9))
        operator = str(rng.choice(["<=", ">=", "=="]))
        problem.add_linear(problem.variables, factors.tolist(), operator, bound, hard=True)
        rows += [(factors, bound)] * (operator != ">=") + [(-factors, -bound)] * (operator != "<=")
    low = np.array([problem.bounds(x)[0] for x in range(problem.num_variables)])
    high = np.array([problem.bounds(x)[1] for x in range(problem.num_variables)])
    while (low <= high).all():
        before = low.copy(), high.copy()
        for factors, bound in rows:
            least = np.where(factors > 0, factors * low, factors * high)
            room = bound - (least.sum() - least)
            if (least.sum() > bound) and not factors.any():
                low, high = high + 1, low  # nothing to move: a contradiction
                break
            up, down = factors > 0, factors < 0
            high[up] = np.minimum(high[up], room[up] // factors[up])
            low[down] = np.maximum(low[down], -(room[down] // -factors[down]))
        if (before[0] == low).all() and (before[1] == high).all():
            break
    left = propagated(problem)
    if not (low <= high).all():
        assert not left.any()
        return
    for x in range(problem.num_variables):
        values = problem.domain(x).values
        own = left[problem.domains.start[x] : problem.domains.start[x + 1]]
        assert not own[(values < low[x]) | (values > high[x])].any()
