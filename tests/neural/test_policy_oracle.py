"""The policy network equals a literal transcription of Algorithm 1."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracle import Oracle
from random_problems import random_positions, random_problem

from anycsp.graph import compile_graph
from anycsp.neural.operations import Operations
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import AGGREGATIONS, PolicyConfig


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("features", ["none", "gain"])
@pytest.mark.parametrize("seed", range(6))
def test_two_steps_equal_the_transcription(aggregation: str, features: str, seed: int, ops: Operations) -> None:
    torch.manual_seed(seed)
    policy = PolicyNetwork(PolicyConfig(8, aggregation, features, inertia=features == "gain"))
    problem = random_problem(seed, weighted=seed % 2 == 1)
    graph = TensorGraph(compile_graph(problem))
    first, second = random_positions(problem, 2, seed)
    oracle = Oracle(policy)
    values = [(x, p) for x in range(problem.num_variables) for p in range(len(problem.domain(x)))]
    expected_state = {v: policy.initial_state.detach().double().numpy() for v in values}
    state = policy.start(graph, 1)
    for positions in (first, second):
        tensor = torch.from_numpy(positions)[None]
        with torch.no_grad():
            output = policy(graph, state, tensor, graph.labels(tensor), ops)
        logits, expected_state = oracle.step(problem, positions, expected_state)
        state = output.state
        np.testing.assert_allclose(output.logits[0].numpy(), [logits[v] for v in values], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(state[0].numpy(), [expected_state[v] for v in values], rtol=1e-5, atol=1e-5)
