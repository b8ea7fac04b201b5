"""The conformance suite: every family against brute force. A new family joins by a line in tests/families.py."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from families import FAMILIES, Drawn, Family
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, native
from anycsp.checker.check import recount
from anycsp.checker.problem import from_description
from anycsp.constraints.base import FAMILIES as KINDS
from anycsp.graph import compile_graph
from anycsp.model.description import describe
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig

EXAMPLES = 200
seeds = st.integers(0, 2**32 - 1)


def draw_problem(family: Family, rng: np.random.Generator) -> tuple[Problem, list[Drawn]]:
    problem = Problem()
    for _ in range(rng.integers(2, 5)):
        size = int(rng.integers(1, 5))
        problem.add_variable(rng.choice(np.arange(-3, 5), size, replace=False).tolist())
    drawn = []
    for _ in range(rng.integers(1, 4)):
        terms = {"weight": float(rng.integers(1, 5)), "hard": bool(rng.integers(2))}
        drawn.append(family(problem, rng, terms))
    return problem, drawn


def draw_positions(problem: Problem, rng: np.random.Generator, runs: int) -> np.ndarray:
    sizes = problem.domains.sizes
    if np.prod(sizes) <= runs:
        return np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64).reshape(-1, len(sizes))
    return (rng.random((runs, len(sizes))) * sizes).astype(np.int64)


def expected_labels(problem: Problem, drawn: list[Drawn], values: list[int]) -> dict[tuple[int, int, int], bool]:
    """(constraint, variable, position) → whether the constraint holds with that variable there."""
    labels = {}
    for c, (scope, holds) in enumerate(drawn):
        for x in set(scope):
            for position, value in enumerate(problem.domain(x).values.tolist()):
                moved = [value if y == x else values[y] for y in scope]
                labels[c, x, position] = bool(holds(moved))
    return labels


def check(problem: Problem, drawn: list[Drawn], positions: np.ndarray) -> None:
    graph = TensorGraph(compile_graph(problem))
    labels = graph.labels(torch.from_numpy(positions))
    satisfied = graph.satisfied(torch.from_numpy(positions), labels)
    violations = graph.violations(satisfied)
    constraint = graph.topology.terms.index[graph.edge_constraint.numpy()]
    value = graph.edge_value.numpy()
    variable = graph.value_variable.numpy()[value]
    position = value - graph.topology.domains.start[variable]
    edges = list(zip(constraint.tolist(), variable.tolist(), position.tolist(), strict=True))
    described = list(problem.describe_constraints())
    for run in range(len(positions)):
        values = problem.values(positions[run]).tolist()
        wanted = expected_labels(problem, drawn, values)
        assert labels[run].tolist() == [wanted[edge] for edge in edges], (values, described)
        broken = [c for c, (scope, holds) in enumerate(drawn) if not holds([values[x] for x in scope])]
        counted = problem.violation_of_positions(positions[run])
        weight = sum(described[c].get("weight", 1) for c in broken)
        hard = sum(described[c].get("hard", "weight" not in described[c]) for c in broken)
        assert counted == (len(broken), weight, hard), (values, described)
        of_graph = (int(violations[0][run, 0]), float(violations[1][run, 0]), int(violations[2][run, 0]))
        assert of_graph == (len(broken), weight, hard)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=EXAMPLES)
@given(seed=seeds)
def test_labels_and_violations_equal_brute_force(family: Family, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, drawn = draw_problem(family, rng)
    check(problem, drawn, draw_positions(problem, rng, 6))


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.__name__ != "external"], ids=lambda f: f.__name__)
@settings(max_examples=50)
@given(seed=seeds)
def test_independent_checker_counts_the_same(family: Family, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, _ = draw_problem(family, rng)
    for row in draw_positions(problem, rng, 4):
        counted = problem.violation_of_positions(row)
        again = recount(from_description(describe(problem)), problem.values(row).tolist())
        assert counted == (again.violated, again.violated_weight, again.hard_violated)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=30)
@given(seed=seeds)
def test_batch_equals_its_parts(family: Family, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [draw_problem(family, rng)[0] for _ in range(3)]
    positions = [(rng.random((4, p.num_variables)) * p.domains.sizes).astype(np.int64) for p in parts]
    together = TensorGraph(compile_graph(parts))
    joined = torch.from_numpy(np.concatenate(positions, axis=1))
    violations = together.violations(together.satisfied(joined, together.labels(joined)))
    for instance, (problem, own) in enumerate(zip(parts, positions, strict=True)):
        for run in range(4):
            alone = problem.violation_of_positions(own[run])
            assert tuple(float(v[run, instance]) for v in violations[:3]) == tuple(map(float, alone))


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.__name__ != "external"], ids=lambda f: f.__name__)
@settings(max_examples=50)
@given(seed=seeds)
def test_description_reads_back_as_the_same_constraints(family: Family, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, drawn = draw_problem(family, rng)
    again = Problem()
    for x in range(problem.num_variables):
        again.add_variable(problem.domain(x).values.tolist())
    for data in problem.describe_constraints():
        plain = json.loads(json.dumps(data))
        terms = again.new_terms(plain.get("weight"), plain.get("hard"))
        again.add_block(KINDS[plain["kind"]].from_description(again.domain_list, plain["scope"], plain, terms))
    assert [{**d, "kind": ""} for d in again.describe_constraints() if d["kind"] == "rule"] == [
        {**d, "kind": ""} for d in problem.describe_constraints() if d["kind"] == "rule"
    ]
    check(again, drawn, draw_positions(problem, rng, 4))


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=60)
@given(seed=seeds)
def test_native_labels_equal_the_reference(family: Family, seed: int) -> None:
    from anycsp.neural.engine_native import NativeEngine

    rng = np.random.default_rng(seed)
    problem, _ = draw_problem(family, rng)
    graph = TensorGraph(compile_graph(problem))
    if graph.num_constraints == 0:
        return
    positions = (rng.random((5, problem.num_variables)) * problem.domains.sizes).astype(np.int64)
    search = NativeEngine(graph.topology, PolicyNetwork(PolicyConfig(hidden=8)).weights(), runs=5)
    search.start(positions)
    assert (search.labels() == graph.labels(torch.from_numpy(positions)).numpy()).all()


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("family", [f for f in FAMILIES if f.__name__ != "external"], ids=lambda f: f.__name__)
@settings(max_examples=30)
@given(seed=seeds)
def test_local_search_state_stays_true(family: Family, graded: bool, seed: int) -> None:
    """After any moves the state of local search is what the assignment says: `verify` recomputes it."""
    rng = np.random.default_rng(seed)
    problem, _ = draw_problem(family, rng)
    graph = TensorGraph(compile_graph(problem))
    if graph.num_constraints == 0 or (problem.domains.sizes == 1).all():
        return
    search = native.module().LocalSearch(
        problem=graph.topology.native_problem, strategy="tabu", parameters={}, runs=2, seed=seed % 1000, threads=1,
        graded=graded, external=None,
    )  # fmt: skip
    search.start(None)
    search.advance(50, 1.0)
    search.verify()
    for row, score in zip(search.best_positions(), search.best_score(), strict=True):
        counted = problem.violation_of_positions(row)
        searched = counted.violated - int(graph.topology.constant[0, 0])  # constraints on no variable are not searched
        assert (score == 0) == (searched == 0)
