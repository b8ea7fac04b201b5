"""Weights in the method: they enter the constraint's message where the policy asks for them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from anycsp import Problem
from anycsp.graph import compile_graph
from anycsp.neural.policy import PolicyNetwork, weight_features
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")


def problem(weights: list[float], hard: list[bool]) -> Problem:
    result = Problem()
    xs = result.add_variables(4, range(3))
    for k, (w, h) in enumerate(zip(weights, hard, strict=True)):
        result.add(xs[k % 4] + xs[(k + 1) % 4] != 2, weight=w, hard=h)
    return result


def logits(policy: PolicyNetwork, instance: Problem) -> torch.Tensor:
    graph = TensorGraph(compile_graph(instance))
    positions = torch.zeros(1, graph.num_variables, dtype=torch.int64)
    return policy(graph, policy.start(graph, 1), positions, graph.labels(positions)).logits


def trained(weighted: bool, **options: object) -> PolicyNetwork:
    torch.manual_seed(0)
    policy = PolicyNetwork(PolicyConfig(hidden=8, weighted=weighted, **options))  # type: ignore[arg-type]
    if policy.weight_message is not None:
        torch.nn.init.normal_(policy.weight_message.weight)
    return policy


PLAIN, HARD = [1.0] * 4, [False] * 4


def test_a_fresh_weighted_policy_is_the_unweighted_one() -> None:
    torch.manual_seed(0)
    plain = PolicyNetwork(PolicyConfig(hidden=8))
    weighted = PolicyNetwork(PolicyConfig(hidden=8, weighted=True))
    weighted.load_state_dict(plain.state_dict(), strict=False)
    instance = problem([1.0, 7.0, 2.0, 1.0], [True, False, False, True])
    assert torch.equal(logits(plain, instance), logits(weighted, instance))


def test_a_policy_without_weights_does_not_see_them() -> None:
    policy = trained(weighted=False)
    assert torch.equal(logits(policy, problem(PLAIN, HARD)), logits(policy, problem([5, 1, 9, 2], [True, *HARD[1:]])))


def test_a_weighted_policy_sees_weight_and_hardness() -> None:
    policy = trained(weighted=True)
    base = logits(policy, problem(PLAIN, HARD))
    assert not torch.allclose(base, logits(policy, problem([5, 1, 9, 2], HARD)))
    assert not torch.allclose(base, logits(policy, problem(PLAIN, [True, False, False, False])))


def test_the_scale_of_the_weights_does_not_matter() -> None:
    for weighted, features in ((True, "none"), (True, "gain"), (False, "gain")):
        policy = trained(weighted=weighted, features=features)
        small, large = (logits(policy, problem([w * s for w in (1, 2, 3, 4)], HARD)) for s in (1, 1000))
        assert torch.allclose(small, large, atol=1e-5)


def test_features_are_log_relative_weight_and_hardness() -> None:
    graph = TensorGraph(compile_graph(problem([1.0, 3.0, 1.0, 3.0], [False, True, False, False])))
    features = weight_features(graph).numpy()[np.argsort(graph.topology.terms.index)]
    assert np.allclose(features[:, 0], np.log([0.5, 1.5, 0.5, 1.5]), atol=1e-6)
    assert features[:, 1].tolist() == [0, 1, 0, 0]


def test_a_batch_normalises_each_instance_by_itself() -> None:
    policy = trained(weighted=True)
    parts = [problem([1, 2, 3, 4], HARD), problem([100, 100, 700, 100], HARD)]
    graph = TensorGraph(compile_graph(parts))
    positions = torch.zeros(1, graph.num_variables, dtype=torch.int64)
    together = policy(graph, policy.start(graph, 1), positions, graph.labels(positions)).logits
    alone = torch.cat([logits(policy, part) for part in parts], dim=1)
    assert torch.allclose(together, alone, atol=1e-5)
