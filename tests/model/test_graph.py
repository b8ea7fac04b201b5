"""The constraint value graph: labels by definition, Figure 1 literally, batches equal their parts."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import edge_labels, satisfied
from random_problems import random_positions, random_problem

from anycsp import Problem
from anycsp.graph import compile_graph
from anycsp.neural.tensors import TensorGraph


def labels_by_edge(graph: TensorGraph, labels: torch.Tensor) -> dict[tuple[int, int, int], int]:
    """Edge labels keyed like the oracle's: (constraint as added, variable, position)."""
    constraint = graph.topology.terms.index[graph.edge_constraint.numpy()]
    variable = graph.value_variable[graph.edge_value].numpy()
    position = graph.edge_value.numpy() - graph.topology.domains.start[variable]
    return {
        (int(c), int(x), int(p)): int(label)
        for c, x, p, label in zip(constraint, variable, position, labels.tolist(), strict=True)
    }


def test_figure_1_of_the_paper() -> None:
    """X ≤ Y, Y ≠ Z at α = (2, 1, 2): exactly the labels drawn there."""
    problem = Problem()
    x = problem.add_variable([1, 2, 3], "X")
    y = problem.add_variable([1, 2], "Y")
    z = problem.add_variable([1, 2], "Z")
    problem.add_linear([x, y], [1, -1], "<=", 0)
    problem.add_table([y, z], [(1, 1), (2, 2)], allowed=False)
    graph = TensorGraph(compile_graph(problem))
    positions = torch.from_numpy(problem.positions({"X": 2, "Y": 1, "Z": 2})).long()[None]
    assert graph.chosen(positions)[0].tolist() == [0, 1, 0, 1, 0, 0, 1]
    labels = labels_by_edge(graph, graph.labels(positions)[0])
    drawn = {"c1": [1, 0, 0, 0, 1], "c2": [1, 0, 0, 1]}
    assert [labels[0, 0, p] for p in range(3)] + [labels[0, 1, p] for p in range(2)] == drawn["c1"]
    assert [labels[1, 1, p] for p in range(2)] + [labels[1, 2, p] for p in range(2)] == drawn["c2"]


@given(st.integers(0, 10**6))
@settings(max_examples=150)
def test_labels_equal_the_definition(seed: int) -> None:
    problem = random_problem(seed, weighted=seed % 2 == 1)
    graph = TensorGraph(compile_graph(problem))
    runs = random_positions(problem, 2, seed)
    labels = graph.labels(torch.from_numpy(runs))
    violations = graph.violations(graph.satisfied(torch.from_numpy(runs), labels))
    for run, positions in enumerate(runs):
        assert labels_by_edge(graph, labels[run]) == edge_labels(problem, positions)
        expected = problem.violation_of_positions(positions)
        assert int(violations.violated[run, 0]) == expected.violated == satisfied(problem, positions).count(False)
        assert float(violations.weight[run, 0]) == expected.weight
        assert int(violations.hard[run, 0]) == expected.hard


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=4))
@settings(max_examples=40)
def test_relabelling_a_batch_equals_relabelling_its_parts(seeds: list[int]) -> None:
    problems = [random_problem(seed, weighted=True) for seed in seeds]
    runs = [random_positions(problem, 3, seed) for problem, seed in zip(problems, seeds, strict=True)]
    batch = TensorGraph(compile_graph(problems))
    positions = torch.from_numpy(np.concatenate(runs, axis=1))
    labels = batch.labels(positions)
    together = batch.violations(batch.satisfied(positions, labels))
    joined = [labels_by_edge(batch, row) for row in labels]
    variables = constraints = 0
    for i, (problem, own) in enumerate(zip(problems, runs, strict=True)):
        graph = TensorGraph(compile_graph(problem))
        alone = graph.labels(torch.from_numpy(own))
        apart = graph.violations(graph.satisfied(torch.from_numpy(own), alone))
        for field, expected in zip(together, apart, strict=True):
            assert torch.equal(field[:, i], expected[:, 0])
        for run in range(3):
            for (c, x, p), label in labels_by_edge(graph, alone[run]).items():
                assert joined[run][c + constraints, x + variables, p] == label
        variables += problem.num_variables
        constraints += problem.num_constraints


def test_hard_constraints_come_before_all_soft_ones_together() -> None:
    problem = Problem()
    x = problem.add_variable([0, 1])
    problem.add_table([x], [(0,)], hard=True)
    for _ in range(5):
        problem.add_table([x], [(1,)], weight=100)
    graph = TensorGraph(compile_graph(problem))
    positions = torch.tensor([[0], [1]])
    violations = graph.violations(graph.satisfied(positions, graph.labels(positions)))
    assert violations.hard[:, 0].tolist() == [0, 1]
    assert violations.score[0, 0] < violations.score[1, 0]
