"""Grades: 0 where the label is 1, else how far from satisfied; the same natively and in PyTorch."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from families import FAMILIES, Family
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem
from anycsp.graph import compile_graph
from anycsp.neural.native_ops import fastest
from anycsp.neural.policy import TORCH, PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import KINDS, PolicyConfig, widened


def graph_of(problem: Problem) -> TensorGraph:
    return TensorGraph(compile_graph(problem))


def grades_at(problem: Problem, *values: int) -> list[float]:
    """At the assignment of these values: for each edge, in the order of constraints, variables, values."""
    graph = graph_of(problem)
    positions = torch.from_numpy(problem.positions(dict(zip(problem.names, values, strict=True)))).long()[None]
    found: list[float] = graph.grades(positions, graph.labels(positions))[0].tolist()
    return found


def test_a_sum_counts_by_the_logarithm_of_its_error() -> None:
    problem = Problem()
    problem.add_variable(range(10), "x")
    problem.add_linear(["x"], [1], "==", 2)
    assert grades_at(problem, 9) == pytest.approx([2, 1, 0, *(1 + math.log2(error) for error in range(1, 8))])


def test_an_all_different_counts_its_clashes() -> None:
    problem = Problem()
    problem.add_variables(4, range(3))
    problem.add_all_different(problem.variables)
    assert grades_at(problem, 0, 0, 0, 1)[:3] == [2, 2, 1]  # the first variable: the others clash once already


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_grades_agree_with_labels_and_with_the_native_ones(family: Family, seed: int) -> None:
    rng, problem = np.random.default_rng(seed), Problem()
    for size in rng.integers(1, 6, size=5).tolist():
        problem.add_variable(range(size))
    for _ in range(3):
        family(problem, rng, {})
    graph = graph_of(problem)
    sizes = graph.topology.domains.sizes
    positions = torch.from_numpy(rng.integers(0, sizes, size=(2, len(sizes))))
    labels = graph.labels(positions)
    grades = graph.grades(positions, labels)
    assert ((grades == 0) == (labels == 1)).all()
    assert ((grades == 0) | (grades >= 1)).all()
    torch.testing.assert_close(fastest().grades(graph, positions, labels), grades)


def test_a_policy_with_more_inputs_does_at_first_what_it_did_without() -> None:
    problem = Problem()
    problem.add_variables(5, range(4))
    problem.add_all_different(problem.variables)
    graph = graph_of(problem)
    small = PolicyConfig(hidden=8, features="gain", inertia=True)
    policy = PolicyNetwork(small)
    larger = widened(policy.weights(), replace(small, features="graded", kinds=True))
    assert larger is not None
    positions = torch.tensor([[0, 1, 1, 2, 3]])
    labels = graph.labels(positions)
    outputs = [p(graph, p.start(graph, 1), positions, labels, TORCH).logits for p in (policy, PolicyNetwork.of(larger))]
    torch.testing.assert_close(outputs[0], outputs[1])
    assert widened(policy.weights(), replace(small, hidden=16)) is None
    assert widened(larger, small) is None


def test_the_kind_and_arity_of_a_constraint_are_what_it_is() -> None:
    problem = Problem()
    x = problem.add_variables(4, range(4))
    problem.add_all_different(x)
    problem.add_linear(x[:2], [1, 1], "==", 3)
    features = graph_of(problem).kind_features
    assert sorted(features[:, 0].tolist()) == [math.log2(2) / 4, math.log2(4) / 4]
    assert {KINDS[int(column)] for column in features[:, 1:].argmax(dim=1)} == {"all_different", "sum"}
