"""Permuting variables, values or constraints permutes the logits and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import random_positions, random_problem

from anycsp import Problem
from anycsp.graph import compile_graph
from anycsp.neural.native_ops import fastest
from anycsp.neural.operations import Operations
from anycsp.neural.policy import TORCH, PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import AGGREGATIONS, PolicyConfig

BACKENDS = [TORCH] if fastest() is TORCH else [fastest(), TORCH]


def permuted(problem: Problem, seed: int) -> Problem:
    """The same problem with variables, the values of each domain and the constraints in another order."""
    rng = np.random.default_rng(seed)
    names = list(problem.names)
    rng.shuffle(names)
    other = Problem()
    for name in names:
        other.add_variable(rng.permutation(problem.domain(name).values).tolist(), name)
    constraints = list(problem.describe_constraints())
    rng.shuffle(constraints)
    for c in constraints:
        scope = [problem.names[x] for x in c["scope"]]
        terms = {"weight": c.get("weight"), "hard": c.get("hard", "weight" not in c)}
        if c["kind"] == "linear":
            other.add_linear(scope, c["coefficients"], c["operator"], c["bound"], **terms)
        elif c["kind"] == "all_different":
            other.add_all_different(scope, except_values=c.get("except", []), **terms)
        elif c["kind"] == "clause":
            forbidden = [] if c.get("tautology") else [c["forbidden"]]
            other.add_table(scope, forbidden, allowed=False, **terms)
        else:
            other.add_table(scope, c.get("allowed", c.get("forbidden")), allowed="allowed" in c, **terms)
    return other


def logits_by_value(
    problem: Problem, policy: PolicyNetwork, assignments: list[dict], ops: Operations
) -> dict[tuple[str, int], float]:
    graph = TensorGraph(compile_graph(problem))
    state = policy.start(graph, 1)
    for assignment in assignments:
        positions = torch.from_numpy(problem.positions(assignment)).long()[None]
        with torch.no_grad():
            logits, state = policy(graph, state, positions, graph.labels(positions), ops)
    variables = graph.value_variable.tolist()
    return {
        (problem.names[x], int(value)): float(o)
        for x, value, o in zip(variables, graph.topology.domains.values, logits[0], strict=True)
    }


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("ops", BACKENDS, ids=lambda ops: ops.name)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_logits_are_permuted_with_the_problem(ops: Operations, aggregation: str, seed: int) -> None:
    torch.manual_seed(0)
    policy = PolicyNetwork(PolicyConfig(16, aggregation, "gain", inertia=True, weighted=True))
    torch.nn.init.normal_(policy.weight_message.weight)
    problem = random_problem(seed, weighted=True)
    other = permuted(problem, seed)
    assignments = [problem.assignment(p) for p in random_positions(problem, 2, seed)]
    ours, theirs = (logits_by_value(p, policy, assignments, ops) for p in (problem, other))
    assert ours.keys() == theirs.keys()
    np.testing.assert_allclose([ours[k] for k in ours], [theirs[k] for k in ours], rtol=1e-4, atol=1e-5)
