"""Tasks one at a time: the orders the tree branches on and the machine's propagator, against all starting times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_models import FT06, job_shop

from anycsp import Problem, native, solve
from anycsp.graph import compile_graph
from anycsp.presolve.network import propagation_network, tree_search

pytestmark = pytest.mark.skipif(not native.available(), reason="propagation is compiled")

TIMES = 24
"""Fewer and a table says which times go together."""


def machine(seed: int) -> tuple[Problem, np.ndarray]:
    """Three or four tasks on one machine and sometimes one beside it, and all starting times that go together."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 5))
    problem = Problem()
    times = []
    for _ in range(count):
        first = int(rng.integers(0, 4))
        times.append(np.sort(rng.choice(np.arange(first, first + TIMES + 3), TIMES, replace=False)))
    start = [problem.add_variable(t.tolist()) for t in times]
    length = rng.integers(1, 14, count).tolist()
    on_machine = count - int(rng.integers(2))
    problem.add_no_overlap(start[:on_machine], length[:on_machine])
    if on_machine < count:  # in a pair with one task only
        problem.add((start[0] + length[0] <= start[-1]) | (start[-1] + length[-1] < start[0]))
    latest = int(rng.integers(12, 40))
    problem.add(start[0] + length[0] <= latest)
    grid = np.meshgrid(*times, indexing="ij")
    holds = grid[0] + length[0] <= latest
    for i in range(on_machine):
        for j in range(i):
            holds &= (grid[i] + length[i] <= grid[j]) | (grid[j] + length[j] <= grid[i])
    if on_machine < count:
        holds &= (grid[0] + length[0] <= grid[-1]) | (grid[-1] + length[-1] < grid[0])
    return problem, np.argwhere(holds)


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_a_machine_removes_no_time_of_a_solution(seed: int) -> None:
    problem, every = machine(seed)
    network = propagation_network(compile_graph(problem))
    if not network.propagate():
        assert len(every) == 0
        return
    kept = network.domains().astype(bool)
    for x, column in enumerate(every.T):
        assert kept[problem.domains.start[x] + np.unique(column)].all()


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_the_tree_over_orders_is_complete(seed: int) -> None:
    problem, every = machine(seed)
    tree = tree_search(compile_graph(problem), seed=seed)
    tree.advance(1 << 30, 1e9)
    assert tree.exhausted
    assert (tree.solutions > 0) == (len(every) > 0)
    if tree.solutions:
        assert problem.violation_of_positions(tree.solution()).violated == 0


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 30))
def test_the_least_end_is_found_and_proved(seed: int) -> None:
    problem, every = machine(seed)
    if not len(every):
        return
    last = problem.variables[-1]
    problem.minimize(last * 3 - problem.variables[1])
    values = [problem.domains.values[problem.domains.start[x] + every[:, x]] for x in range(problem.num_variables)]
    result = solve(problem, search="local", time_limit=20, threads=1, seed=seed)
    assert result.objective is not None
    assert result.objective["value"] == (values[-1] * 3 - values[1]).min()
    assert result.seconds < 15, "the tree has proved that nothing is better"


def test_the_parts_of_a_proof_are_few_for_a_small_shop() -> None:
    """36 tasks on six machines: without edge finding and orders this takes seconds, with them hundredths of one."""
    result = solve(job_shop(FT06, makespan_variable=False), search="local", steps=20_000, threads=1)
    assert result.objective == {"kind": "minimize", "value": 55}
    assert result.steps < 20_000, "proved"
