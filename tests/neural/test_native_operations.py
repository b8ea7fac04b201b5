"""The native operations of training: equal to the reference, exact gradients, deterministic, safe against bad input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from random_problems import random_positions, random_problem
from torch import Tensor, nn

from anycsp import native
from anycsp.graph import compile_graph
from anycsp.neural.native_ops import fastest
from anycsp.neural.operations import Operations
from anycsp.neural.policy import TORCH, PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import AGGREGATIONS, FEATURES, PolicyConfig

pytestmark = pytest.mark.skipif(not native.available(), reason="the native module is not built")

RUNS = 2


@pytest.fixture(params=range(3))
def graph(request: pytest.FixtureRequest) -> TensorGraph:
    """Ragged domains, every family, values in no constraint."""
    problems = [random_problem(100 * request.param + i, weighted=True) for i in range(4)]
    return TensorGraph(compile_graph(problems))


def positions_of(graph: TensorGraph, seed: int) -> Tensor:
    rng = np.random.default_rng(seed)
    sizes = graph.topology.domains.sizes
    return torch.from_numpy((rng.random((RUNS, len(sizes))) * sizes).astype(np.int64))


def labels_of(graph: TensorGraph, seed: int) -> Tensor:
    return graph.labels(positions_of(graph, seed))


def networks(d: int) -> list[nn.Sequential]:
    policy = PolicyNetwork(PolicyConfig(d, features="gain"))
    return [policy.encoder, policy.value_message, policy.constraint_message, policy.value_update, policy.output]


def aggregations(graph: TensorGraph, labels: Tensor, how: str) -> dict[str, tuple[int, Callable[..., Tensor]]]:
    """Rows of messages, and the operation, by what receives them."""

    def to_constraints(ops: Operations, messages: Tensor) -> Tensor:
        return ops.to_constraints(graph, messages, labels, how)

    def to_values(ops: Operations, messages: Tensor) -> Tensor:
        return ops.to_values(graph, messages, labels, how)

    def to_variables(ops: Operations, messages: Tensor) -> Tensor:
        return ops.to_variables(graph, messages, how)

    return {
        "constraints": (RUNS * graph.num_values * 2, to_constraints),
        "values": (RUNS * graph.num_constraints * 2, to_values),
        "variables": (RUNS * graph.num_values, to_variables),
    }


def rows(ops: Operations, network: nn.Sequential, x: Tensor, *_: Tensor, **options: Any) -> Tensor:
    return ops.rows(network, x, **options)


def both(function: Callable[[Operations], Tensor], inputs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Output and gradients, native and PyTorch, for one random cotangent."""
    results = []
    for ops in (fastest(), TORCH):
        out = function(ops)
        torch.manual_seed(5)
        grads = torch.autograd.grad(out, inputs, torch.randn_like(out), allow_unused=True)
        reached = [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, grads, strict=True)]
        results.append([out.detach(), *reached])
    return results[0], results[1]


TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-11}
scalars = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
widths = pytest.mark.parametrize("d", [1, 3, 8, 16, 33, 80])


def assert_equal_to_reference(function: Callable[[Operations], Tensor], inputs: list[Tensor]) -> None:
    ours, theirs = both(function, inputs)
    for a, b in zip(ours, theirs, strict=True):
        scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
        torch.testing.assert_close(a, b, rtol=0, atol=TOLERANCE[b.dtype] * scale)


@scalars
@widths
@pytest.mark.parametrize("how", AGGREGATIONS)
def test_aggregation_equals_the_reference(graph: TensorGraph, dtype: torch.dtype, d: int, how: str) -> None:
    for count, function in aggregations(graph, labels_of(graph, 0), how).values():
        messages = torch.randn(count, d, dtype=dtype, requires_grad=True)
        assert_equal_to_reference(partial(function, messages=messages), [messages])


@scalars
@pytest.mark.parametrize("d", [8, 16, 33, 80])  # norms of fewer features amplify rounding errors without bound
@pytest.mark.parametrize("count", [0, 1, 47, 200])
def test_row_networks_equal_the_reference(dtype: torch.dtype, d: int, count: int) -> None:
    torch.manual_seed(0)
    for network in networks(d):
        network.to(dtype)
        width = next(p.shape[-1] for p in network.parameters())
        x, y = (torch.randn(count, width, dtype=dtype, requires_grad=True) for _ in range(2))
        parameters = list(network.parameters())
        assert_equal_to_reference(partial(rows, network=network, x=x), [x, *parameters])
        residual = width == network(x).shape[1]
        assert_equal_to_reference(partial(rows, network=network, x=x, plus=y, residual=residual), [x, y, *parameters])
        if width > 2:
            part, constant = x.detach()[:, :-2].clone().requires_grad_(), y.detach()[:, -2:]
            assert_equal_to_reference(partial(rows, network=network, x=part, constant=constant), [part, *parameters])


@scalars
@widths
def test_the_cell_equals_the_reference(graph: TensorGraph, dtype: torch.dtype, d: int) -> None:
    torch.manual_seed(0)
    cell = nn.GRUCell(d, d).to(dtype)
    z, h = (torch.randn(RUNS * graph.num_values, d, dtype=dtype, requires_grad=True) for _ in range(2))
    variable = torch.randn(RUNS * graph.num_variables, d, dtype=dtype, requires_grad=True)
    assert_equal_to_reference(lambda ops: ops.cell(graph, cell, z, variable, h), [z, variable, h, *cell.parameters()])


@pytest.mark.parametrize("how", AGGREGATIONS)
@pytest.mark.parametrize("d", [3, 8])
def test_gradients_are_those_of_finite_differences(graph: TensorGraph, how: str, d: int) -> None:
    torch.manual_seed(0)
    ops = fastest()
    for count, function in aggregations(graph, labels_of(graph, 0), how).values():
        if count:
            messages = torch.randn(count, d, dtype=torch.float64, requires_grad=True)
            assert torch.autograd.gradcheck(partial(function, ops), (messages,), fast_mode=True)
    for network in networks(d):
        network.double()
        x = torch.randn(50, next(p.shape[-1] for p in network.parameters()), dtype=torch.float64, requires_grad=True)
        parameters = tuple(network.parameters())
        assert torch.autograd.gradcheck(partial(rows, ops, network), (x, *parameters), fast_mode=True)
    cell = nn.GRUCell(d, d).double()
    z, h = (torch.randn(RUNS * graph.num_values, d, dtype=torch.float64, requires_grad=True) for _ in range(2))
    variable = torch.randn(RUNS * graph.num_variables, d, dtype=torch.float64, requires_grad=True)
    inputs = (z, variable, h, *cell.parameters())
    assert torch.autograd.gradcheck(lambda z, x, h, *_: ops.cell(graph, cell, z, x, h), inputs, fast_mode=True)


@scalars
@pytest.mark.parametrize("how", AGGREGATIONS)
def test_the_policys_gradient_equals_the_references(dtype: torch.dtype, how: str) -> None:
    """Three steps on a batch with ragged domains; the loss reaches every parameter."""
    torch.manual_seed(0)
    problems = [random_problem(seed, weighted=True) for seed in range(40, 44)]
    graph = TensorGraph(compile_graph(problems))
    features = "gain" if dtype == torch.float32 else "none"  # these are computed in float32 whatever the policy is
    policy = PolicyNetwork(PolicyConfig(16, how, features, inertia=True, weighted=True)).to(dtype)
    nn.init.normal_(policy.weight_message.weight)
    steps = [
        torch.from_numpy(np.concatenate([random_positions(p, RUNS, seed) for p in problems], axis=1))
        for seed in range(3)
    ]
    weight = torch.randn(RUNS, graph.num_values, dtype=dtype)

    def loss(ops: Operations) -> Tensor:
        state, total = policy.start(graph, RUNS), torch.zeros((), dtype=dtype)
        for positions in steps:
            logits, state = policy(graph, state, positions, graph.labels(positions), ops)
            total = total + (weight * logits).sum()
        return total

    ours, theirs = both(loss, list(policy.parameters()))
    for (name, _), a, b in zip([("loss", None), *policy.named_parameters()], ours, theirs, strict=True):
        scale = max(1.0, float(b.abs().max()))
        torch.testing.assert_close(a, b, rtol=0, atol=5 * TOLERANCE[dtype] * scale, msg=name)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_repeating_gives_the_same_bits(graph: TensorGraph, how: str) -> None:
    torch.manual_seed(0)
    count, function = aggregations(graph, labels_of(graph, 0), how)["constraints"]
    network = networks(8)[1]
    x = torch.randn(count // 2, 8, requires_grad=True)
    outcomes = []
    for _ in range(3):
        out = function(fastest(), fastest().rows(network, x).view(-1, 8))
        outcomes.append([out.detach(), *torch.autograd.grad(out.sum(), [x, *network.parameters()])])
    for again in outcomes[1:]:
        assert all(torch.equal(a, b) for a, b in zip(outcomes[0], again, strict=True))


def test_value_features_equal_the_references(graph: TensorGraph) -> None:
    positions = positions_of(graph, 3)
    labels = graph.labels(positions)
    for which in FEATURES:
        ours, theirs = (ops.value_features(graph, positions, labels, which) for ops in (fastest(), TORCH))
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def choice_terms(
    ops: Operations, graph: TensorGraph, logits: Tensor, positions: Tensor, epsilon: float, reward: Tensor
) -> Tensor:
    return torch.stack(ops.choice(graph, logits, positions, epsilon, True, reward))  # type: ignore[arg-type]


@scalars
@pytest.mark.parametrize("epsilon", [0.0, 1e-5, 0.1])
def test_choice_equals_the_reference_and_finite_differences(
    graph: TensorGraph, dtype: torch.dtype, epsilon: float
) -> None:
    torch.manual_seed(0)
    logits = (3 * torch.randn(RUNS, graph.num_values, dtype=dtype)).requires_grad_()
    reward, positions = torch.randn(RUNS, graph.num_values, dtype=dtype), positions_of(graph, 1)
    terms = partial(choice_terms, graph=graph, positions=positions, epsilon=epsilon, reward=reward)
    assert_equal_to_reference(partial(terms, logits=logits), [logits])
    alone = fastest().choice(graph, logits, positions, epsilon, False, None)
    assert alone.entropy is None
    assert alone.expected_reward is None
    assert torch.equal(alone.log_probability, terms(fastest(), logits=logits)[0])
    if dtype == torch.float64:
        assert torch.autograd.gradcheck(lambda x: terms(fastest(), logits=x), (logits,))


def test_certain_and_impossible_values_have_finite_gradients(graph: TensorGraph) -> None:
    logits = torch.zeros(RUNS, graph.num_values)
    logits[:, ::2] = 500.0
    logits.requires_grad_()
    reward, positions = torch.ones(RUNS, graph.num_values), positions_of(graph, 1)
    for epsilon in (0.0, 1e-5):
        terms = choice_terms(fastest(), graph, logits, positions, epsilon, reward)
        assert terms.isfinite().all()
        assert torch.autograd.grad(terms.sum(), logits)[0].isfinite().all()


def test_draws_are_the_references(graph: TensorGraph) -> None:
    """The same counter-based numbers pick the same values (rounding could differ once in a million draws)."""
    torch.manual_seed(0)
    for step in range(20):
        logits = 2 * torch.randn(RUNS, graph.num_values)
        for seed in (0, 1 << 60):
            runs = range(3, 3 + RUNS)
            assert torch.equal(
                fastest().draw(graph, logits, seed, runs, step), TORCH.draw(graph, logits, seed, runs, step)
            )


def test_labels_are_the_references(graph: TensorGraph) -> None:
    for seed in range(5):
        positions = positions_of(graph, seed)
        assert torch.equal(fastest().labels(graph, positions), graph.labels(positions))


def test_satisfied_weight_equals_the_reference_bit_for_bit(graph: TensorGraph) -> None:
    labels = labels_of(graph, 3)
    weight = graph.relative_weight
    assert torch.equal(fastest().satisfied_weight(graph, labels, weight), TORCH.satisfied_weight(graph, labels, weight))


def test_bad_input_raises(graph: TensorGraph) -> None:
    ops, module = fastest(), native.module().ops
    positions, labels = positions_of(graph, 0), labels_of(graph, 0)
    messages = torch.randn(RUNS * graph.num_values * 2, 8)
    network = networks(8)[1]
    cell = nn.GRUCell(8, 8)
    z, variable = torch.randn(RUNS * graph.num_values, 8), torch.randn(RUNS * graph.num_variables, 8)
    bad: list[Callable[[], object]] = [
        lambda: ops.to_constraints(graph, messages[1:], labels, "sum"),
        lambda: ops.to_constraints(graph, messages, labels[:, 1:], "max"),
        lambda: ops.to_constraints(graph, messages, labels.long(), "max"),
        lambda: ops.to_constraints(graph, messages.half(), labels, "sum"),
        lambda: ops.to_constraints(graph, messages.view(-1), labels, "sum"),
        lambda: ops.to_constraints(graph, messages, labels, "median"),
        lambda: ops.to_variables(graph, messages[1:], "sum"),
        lambda: ops.rows(network, torch.randn(4, 7)),
        lambda: ops.rows(network, torch.randn(4, 8).double()),
        lambda: ops.rows(network, torch.randn(4, 8), torch.randn(3, 8)),
        lambda: ops.rows(network, torch.randn(4, 8), residual=True),
        lambda: ops.rows(nn.Sequential(nn.Tanh()), torch.randn(4, 8)),
        lambda: ops.cell(graph, cell, z[1:], variable, z),
        lambda: ops.cell(graph, cell, z, variable[1:], z),
        lambda: ops.cell(graph, cell, z, variable, z[:, 1:]),
        lambda: ops.rows(network, torch.randn(4, 8), constant=torch.randn(4, 8)),
        lambda: ops.choice(graph, torch.randn(RUNS, graph.num_values), positions + 100, 0.0, False, None),
        lambda: ops.choice(graph, torch.randn(RUNS, graph.num_values), positions - 100, 0.0, False, None),
        lambda: ops.choice(graph, torch.randn(RUNS, graph.num_values - 1), positions, 0.0, False, None),
        lambda: ops.choice(graph, torch.randn(RUNS, graph.num_values), positions.int(), 0.0, False, None),
        lambda: ops.draw(graph, torch.randn(RUNS, graph.num_values), 0, range(RUNS + 1), 0),
        lambda: ops.value_features(graph, positions + 100, labels, "gain"),
        lambda: ops.labels(graph, positions - 1),
        lambda: ops.labels(graph, positions[:, 1:]),
        lambda: ops.satisfied_weight(graph, labels, graph.relative_weight[1:].contiguous()),
        lambda: module.RowNetwork([("linear", 4, 5, True), ("norm", 4, 4, True)]),
        lambda: module.RowNetwork([]),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([0, 1]), np.array([2])),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([0, 1]), np.array([-1])),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([1, 0]), np.array([0])),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([0, 2]), np.array([0])),
        lambda: module.EdgeIndex(np.array([0, 0, 2]), np.array([0, 1]), np.array([0])),
    ]
    for number, call in enumerate(bad):
        try:
            call()
        except (ValueError, TypeError, KeyError, RuntimeError):
            continue
        pytest.fail(f"bad call {number} did not raise")
