"""The native operations of training: equal to the twin, exact gradients, deterministic, safe against bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from random_problems import random_positions, random_problem
from torch import Tensor, nn

from anycsp import native
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.operations import TWIN, Operations, fastest
from anycsp.policy import AGGREGATIONS, PolicyConfig, PolicyNetwork

pytestmark = pytest.mark.skipif(not native.available(), reason="the native module is not built")

RUNS = 2


@pytest.fixture(params=range(3))
def graph(request: pytest.FixtureRequest) -> ConstraintValueGraph:
    """Ragged domains, every family, values in no constraint."""
    problems = [random_problem(100 * request.param + i, weighted=True) for i in range(4)]
    return compile_graph(problems)


def labels_of(graph: ConstraintValueGraph, seed: int) -> Tensor:
    rng = np.random.default_rng(seed)
    sizes = graph.domains.sizes
    positions = (rng.random((RUNS, len(sizes))) * sizes).astype(np.int64)
    return graph.labels(torch.from_numpy(positions))


def networks(d: int) -> list[nn.Sequential]:
    policy = PolicyNetwork(PolicyConfig(d, features="gain"))
    return [policy.encoder, policy.value_message, policy.constraint_message, policy.value_update, policy.output]


Aggregation = Callable[[Operations, Tensor], Tensor]


def aggregations(graph: ConstraintValueGraph, labels: Tensor, how: str) -> dict[str, tuple[int, Aggregation]]:
    """Rows of messages, and the operation, by what receives them."""
    return {
        "constraints": (
            RUNS * graph.num_values * 2,
            lambda ops, messages: ops.to_constraints(graph, messages, labels, how),
        ),
        "values": (
            RUNS * graph.num_constraints * 2,
            lambda ops, messages: ops.to_values(graph, messages, labels, how),
        ),
        "variables": (RUNS * graph.num_values, lambda ops, messages: ops.to_variables(graph, messages, how)),
    }


def both(function: Callable[[Operations], Tensor], inputs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Output and gradients, native and twin, for one random cotangent."""
    results = []
    for ops in (fastest(), TWIN):
        out = function(ops)
        torch.manual_seed(5)
        grads = torch.autograd.grad(out, inputs, torch.randn_like(out), allow_unused=True)
        results.append([out.detach(), *(torch.zeros_like(x) if g is None else g for x, g in zip(inputs, grads))])
    return results[0], results[1]


TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-11}
scalars = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
widths = pytest.mark.parametrize("d", [1, 3, 8, 16, 33, 80])


def assert_equal_to_twin(function: Callable[[Operations], Tensor], inputs: list[Tensor]) -> None:
    ours, theirs = both(function, inputs)
    for a, b in zip(ours, theirs, strict=True):
        scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
        torch.testing.assert_close(a, b, rtol=0, atol=TOLERANCE[b.dtype] * scale)


@scalars
@widths
@pytest.mark.parametrize("how", AGGREGATIONS)
def test_aggregation_equals_the_twin(graph: ConstraintValueGraph, dtype: torch.dtype, d: int, how: str) -> None:
    for rows, function in aggregations(graph, labels_of(graph, 0), how).values():
        messages = torch.randn(rows, d, dtype=dtype, requires_grad=True)
        assert_equal_to_twin(lambda ops: function(ops, messages), [messages])


@scalars
@pytest.mark.parametrize("d", [8, 16, 33, 80])  # norms of fewer features amplify rounding errors without bound
@pytest.mark.parametrize("rows", [0, 1, 47, 200])
def test_row_networks_equal_the_twin(dtype: torch.dtype, d: int, rows: int) -> None:
    torch.manual_seed(0)
    for network in networks(d):
        network.to(dtype)
        width = next(p.shape[-1] for p in network.parameters())
        x, y = (torch.randn(rows, width, dtype=dtype, requires_grad=True) for _ in range(2))
        assert_equal_to_twin(lambda ops: ops.rows(network, x), [x, *network.parameters()])
        residual = width == network(x).shape[1]
        assert_equal_to_twin(lambda ops: ops.rows(network, x, y, residual), [x, y, *network.parameters()])


@scalars
@widths
def test_the_cell_equals_the_twin(graph: ConstraintValueGraph, dtype: torch.dtype, d: int) -> None:
    torch.manual_seed(0)
    cell = nn.GRUCell(d, d).to(dtype)
    z, h = (torch.randn(RUNS * graph.num_values, d, dtype=dtype, requires_grad=True) for _ in range(2))
    variable = torch.randn(RUNS * graph.num_variables, d, dtype=dtype, requires_grad=True)
    assert_equal_to_twin(lambda ops: ops.cell(graph, cell, z, variable, h), [z, variable, h, *cell.parameters()])


@pytest.mark.parametrize("how", AGGREGATIONS)
@pytest.mark.parametrize("d", [3, 8])
def test_gradients_are_those_of_finite_differences(graph: ConstraintValueGraph, how: str, d: int) -> None:
    torch.manual_seed(0)
    ops = fastest()
    for rows, function in aggregations(graph, labels_of(graph, 0), how).values():
        if rows:
            messages = torch.randn(rows, d, dtype=torch.float64, requires_grad=True)
            assert torch.autograd.gradcheck(lambda m: function(ops, m), (messages,), fast_mode=True)
    for network in networks(d):
        network.double()
        x = torch.randn(50, next(p.shape[-1] for p in network.parameters()), dtype=torch.float64, requires_grad=True)
        parameters = tuple(network.parameters())
        assert torch.autograd.gradcheck(lambda x, *_: ops.rows(network, x), (x, *parameters), fast_mode=True)
    cell = nn.GRUCell(d, d).double()
    z, h = (torch.randn(RUNS * graph.num_values, d, dtype=torch.float64, requires_grad=True) for _ in range(2))
    variable = torch.randn(RUNS * graph.num_variables, d, dtype=torch.float64, requires_grad=True)
    inputs = (z, variable, h, *cell.parameters())
    assert torch.autograd.gradcheck(lambda z, x, h, *_: ops.cell(graph, cell, z, x, h), inputs, fast_mode=True)


@scalars
@pytest.mark.parametrize("how", AGGREGATIONS)
def test_the_policys_gradient_equals_the_twins(dtype: torch.dtype, how: str) -> None:
    """Three steps on a batch with ragged domains; the loss reaches every parameter."""
    torch.manual_seed(0)
    problems = [random_problem(seed, weighted=True) for seed in range(40, 44)]
    graph = compile_graph(problems)
    policy = PolicyNetwork(PolicyConfig(16, how, "gain", inertia=True, weighted=True)).to(dtype)
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
        torch.testing.assert_close(a, b, rtol=0, atol=5 * TOLERANCE[dtype] * scale, msg=lambda m: f"{name}: {m}")


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_repeating_gives_the_same_bits(graph: ConstraintValueGraph, how: str) -> None:
    torch.manual_seed(0)
    rows, function = aggregations(graph, labels_of(graph, 0), how)["constraints"]
    network = networks(8)[1]
    x = torch.randn(rows // 2, 8, requires_grad=True)
    outcomes = []
    for _ in range(3):
        out = function(fastest(), fastest().rows(network, x).view(-1, 8))
        outcomes.append([out.detach(), *torch.autograd.grad(out.sum(), [x, *network.parameters()])])
    for again in outcomes[1:]:
        assert all(torch.equal(a, b) for a, b in zip(outcomes[0], again, strict=True))


def test_satisfied_weight_equals_the_twin_bit_for_bit(graph: ConstraintValueGraph) -> None:
    labels = labels_of(graph, 3)
    weight = graph.relative_weight
    assert torch.equal(fastest().satisfied_weight(graph, labels, weight), TWIN.satisfied_weight(graph, labels, weight))


def test_bad_input_raises(graph: ConstraintValueGraph) -> None:
    ops, module = fastest(), native.module().ops
    labels = labels_of(graph, 0)
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
        lambda: ops.satisfied_weight(graph, labels, graph.relative_weight[1:].contiguous()),
        lambda: module.RowNetwork([("linear", 4, 5, True), ("norm", 4, 4, True)]),
        lambda: module.RowNetwork([]),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([0, 1]), np.array([2])),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([0, 1]), np.array([-1])),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([1, 0]), np.array([0])),
        lambda: module.EdgeIndex(np.array([0, 2]), np.array([0, 2]), np.array([0])),
    ]
    for number, call in enumerate(bad):
        with pytest.raises((ValueError, TypeError, KeyError, RuntimeError)):
            call()
            pytest.fail(f"call {number} did not raise")
