"""Local search's incremental state equals the definition, after any moves and changes of weight, in every family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, Family
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, native
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.neural.tensors import TensorGraph

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")

seeds = st.integers(0, 2**32 - 1)


def draw_problem(families: list[Family], rng: np.random.Generator, constraints: int, boolean: bool) -> Problem:
    problem = Problem()
    for _ in range(int(rng.integers(4, 8))):
        size = 2 if boolean else int(rng.integers(1, 6))
        problem.add_variable(rng.choice(np.arange(-3, 6), size, replace=False).tolist())
    for _ in range(constraints):
        weight = float(rng.choice([1.0, 1.0, 3.0, 0.75]))
        families[rng.integers(len(families))](problem, rng, {"weight": weight, "hard": bool(rng.integers(4) == 0)})
    return problem


def new_state(graph: ConstraintValueGraph, graded: bool = False, on_demand: bool = False) -> Any:
    return native.module().LocalState(graph.native_problem, graded, on_demand, graph.external_labels)


def defined(graph: ConstraintValueGraph, positions: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The difference of every value by the labels' definition, and which constraints are violated."""
    tensors, given = TensorGraph(graph), torch.from_numpy(positions.astype(np.int64))
    labels = tensors.labels(given)
    violated = ~tensors.satisfied(given, labels)[0].numpy()
    cost = np.zeros(graph.num_values, dtype=np.int64)
    unsatisfied = 1 - labels[0].numpy().astype(np.int64)
    np.add.at(cost, tensors.edge_value.numpy(), unsatisfied * weights[tensors.edge_constraint.numpy()])
    now = cost[graph.domains.start[:-1] + positions[0]]
    return cost - np.repeat(now, graph.domains.sizes), violated


def wander(state: Any, graph: ConstraintValueGraph, rng: np.random.Generator, steps: int) -> Any:
    """Random moves and weight changes from a random start; yields positions and weights after each."""
    sizes = graph.domains.sizes
    positions = rng.integers(0, sizes)[None].astype(np.int32)
    weights = np.array(state.score_weights(), dtype=np.int64)
    state.place(positions, weights.tolist())
    yield positions, weights
    for _ in range(steps):
        if rng.integers(3) == 0:
            c, amount = int(rng.integers(graph.num_constraints)), int(rng.integers(1, 9))
            weights[c] += amount
            state.reweigh(c, amount)
        else:
            x = int(rng.integers(graph.num_variables))
            positions[0, x] = rng.integers(sizes[x])
            state.move(x, int(positions[0, x]))
        yield positions, weights


@pytest.mark.parametrize("on_demand", [False, True])
@pytest.mark.parametrize("family", [*FAMILIES, None], ids=lambda f: f.__name__ if f else "mixed")
@settings(max_examples=12)
@given(seed=seeds)
def test_differences_and_counts_equal_the_definition(family: Family | None, on_demand: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    families = FAMILIES if family is None else [family]
    problem = draw_problem(families, rng, 4 if family else 12, boolean=bool(rng.integers(4) == 0))
    graph = compile_graph(problem)
    if graph.num_constraints == 0:
        return
    state = new_state(graph, on_demand=on_demand)
    for positions, weights in wander(state, graph, rng, 25):
        differences, violated = defined(graph, positions, weights)
        assert (np.array(state.differences()) == differences).all()
        assert sorted(state.violated()) == np.flatnonzero(violated).tolist()
        assert state.counts() == (violated.sum(), (violated & graph.terms.hard).sum())
        assert state.score() == np.array(state.score_weights())[violated].sum()
        slots = np.repeat(violated, np.diff(graph.scope_start))
        assert sorted(state.conflicted()) == np.unique(graph.scope[slots]).tolist()


def test_clauses_that_always_hold_can_be_given_weight() -> None:
    """Where all clauses are tautologies no move concerns any of them, and still each has its state."""
    problem = Problem()
    x = problem.add_variable([0, 1])
    for _ in range(1000):
        problem.add_clause([(x, 0), (x, 1)])
    state = new_state(compile_graph(problem))
    state.place(np.zeros((1, 1), np.int32), state.score_weights())
    for constraint in range(1000):
        state.reweigh(constraint, 1)
    assert list(state.differences()) == [0, 0]
    assert state.score() == 0


@settings(max_examples=40)
@given(seed=seeds)
def test_graded_differences_count_clashes_and_distances(seed: int) -> None:
    """A graded all-different costs its clashes; a graded sum its distance in steps; both are 0 iff it is satisfied."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    xs = problem.add_variables(6, range(-2, 5))
    scope = rng.choice(6, int(rng.integers(2, 7)), replace=False).tolist()
    except_values = rng.integers(-2, 5, 2).tolist() if rng.integers(2) else []
    problem.add_all_different([xs[i] for i in scope], except_values=except_values)
    coefficients = rng.integers(-3, 4, 6)
    bound = int(rng.integers(-9, 10))
    problem.add_linear(xs, coefficients.tolist(), "<=", bound)
    graph = compile_graph(problem)
    step = max(1, int(np.abs(coefficients[coefficients != 0]).sum()) * 6 // (4 * len(xs)))

    def costs(positions: np.ndarray) -> dict[str, int]:
        values = positions - 2
        counted = [v for v in values[scope] if v not in except_values]
        over = int(coefficients @ values) - bound
        return {
            "all_different": len(counted) - len(set(counted)),
            "linear": 0 if over <= 0 else 1 + (over - 1) // step,
        }

    order = [l.native_kind for l in graph.labellings]
    for on_demand in (False, True):
        state = new_state(graph, graded=True, on_demand=on_demand)
        for positions, weights in wander(state, graph, np.random.default_rng(seed), 25):
            expected = []
            for x in range(6):
                for v in range(7):
                    moved = positions[0].copy()
                    moved[x] = v
                    before, after = costs(positions[0]), costs(moved)
                    expected.append(sum((after[k] - before[k]) * weights[order.index(k)] for k in before))
            assert state.differences() == expected


def test_scores_order_assignments_hard_constraints_first() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(2))
    for weight in (0.5, 2.25):
        problem.add_table([x], [[1]], weight=weight)
    problem.add_table([y], [[1]], hard=True, weight=0.5)
    graph = compile_graph(problem)
    state = new_state(graph)
    state.place(np.array([[0, 1]], dtype=np.int32), state.score_weights())
    all_soft = state.score()
    state.place(np.array([[1, 0]], dtype=np.int32), state.score_weights())
    assert state.score() > all_soft > 0


def test_bad_arguments_raise() -> None:
    problem = Problem()
    problem.add_variables(2, range(3))
    problem.add_not_equal(np.array([[0, 1]]))
    state = new_state(compile_graph(problem))
    weights = state.score_weights()
    for positions in (np.zeros((1, 3), np.int32), np.array([[0, 3]], np.int32), np.array([[-1, 0]], np.int32)):
        with pytest.raises(ValueError, match="position"):
            state.place(positions, weights)
    with pytest.raises(ValueError, match="weight"):
        state.place(np.zeros((1, 2), np.int32), [])
    state.place(np.zeros((1, 2), np.int32), weights)
    for x, v in ((2, 0), (-1, 0), (0, 3), (0, -1)):
        with pytest.raises(ValueError, match="move"):
            state.move(x, v)
    with pytest.raises(ValueError, match="constraint"):
        state.reweigh(1, 1)
