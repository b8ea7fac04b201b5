"""The gradient of every option, in exact expectation over all trajectories of a tiny problem."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from anycsp.graph import compile_graph
from anycsp.model.problem import Problem
from anycsp.neural.operations import Operations
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.training.config import TrainingConfig
from anycsp.training.local_moves import choice_of_move
from anycsp.training.reinforce import (
    RunningScale,
    depth_bucket,
    discounted_returns,
    leave_one_out,
    move_reward,
    reinforce,
)
from anycsp.training.rollout import Window, rollout
from anycsp.training.walk import Batch, SearchState

STEPS = 2
EXACT = TrainingConfig(epsilon=0.0, discount=1.0, window=STEPS, depth=STEPS, policy=PolicyConfig(hidden=4))


def tiny_problem(domains: Sequence[int]) -> Problem:
    """Weighted, and with a different violated weight for almost every assignment, so that no error cancels."""
    rng = np.random.default_rng(5)
    problem = Problem()
    variables = [problem.add_variable(range(d)) for d in domains]
    for weight in (1.0, 2.0, 5.0):
        tuples = [t for t in itertools.product(*map(range, domains)) if rng.random() < 0.5]
        problem.add_table(variables, tuples, weight=weight)
    return problem


def small_policy(sampling: str) -> PolicyNetwork:
    torch.manual_seed(0)
    return PolicyNetwork(PolicyConfig(hidden=4, features="gain", inertia=True, sampling=sampling)).double()


@pytest.fixture(scope="module")
def policy() -> PolicyNetwork:
    return small_policy("global")


def start_state(policy: PolicyNetwork, batch: Batch, runs: int, carried: bool) -> SearchState:
    torch.manual_seed(1)
    graph = batch.graph
    positions = torch.zeros(runs, graph.num_variables, dtype=torch.int64)
    state = torch.randn(1, graph.num_values, policy.config.hidden, dtype=torch.float64).expand(runs, -1, -1)
    best = torch.full((runs, 1), 3.0, dtype=torch.float64)  # a record from before the window
    initial = torch.full((runs, 1), 6.0, dtype=torch.float64)
    trace = torch.zeros(runs, graph.num_constraints, dtype=torch.float64)
    return SearchState(positions, state, torch.tensor([not carried]), best, initial, trace)


def cost_of(batch: Batch, positions: Tensor) -> Tensor:
    return batch.cost(batch.graph.satisfied(positions, batch.graph.labels(positions)))


@pytest.fixture(autouse=True)
def _on_both_backends(monkeypatch: pytest.MonkeyPatch, ops: Operations) -> None:
    monkeypatch.setattr(sys.modules[__name__], "rollout", partial(rollout, ops=ops))


Trajectory = tuple[tuple[int, ...], ...]


def trajectories(domains: Sequence[int], sampling: str = "global") -> list[Trajectory]:
    """All there are; under local sampling those that move one variable a step, from the start at zeros."""
    assignments = list(itertools.product(*map(range, domains)))
    every = itertools.product(assignments, repeat=STEPS)
    if sampling == "global":
        return list(every)
    zeros = (0,) * len(domains)
    return [t for t in every if all(_moved(a, b) == 1 for a, b in itertools.pairwise((zeros, *t)))]


def _moved(before: Sequence[int], after: Sequence[int]) -> int:
    return sum(a != b for a, b in zip(before, after, strict=True))


def forced(
    policy: PolicyNetwork, config: TrainingConfig, batch: Batch, chosen: Sequence[Trajectory], carried: bool
) -> tuple[Window, SearchState]:
    """The rollout in which run i takes trajectory i."""
    table = torch.tensor(chosen)  # [runs, steps, variables]
    start = start_state(policy, batch, len(chosen), carried)
    return rollout(
        policy,
        batch,
        start,
        STEPS,
        lambda logits, before, step: table[:, step],
        config.epsilon,
        entropy=config.entropy_weight > 0,
        move_reward=move_reward(config),
    )


def gradient(value: Tensor, policy: PolicyNetwork) -> Tensor:
    grads = torch.autograd.grad(value, list(policy.parameters()), allow_unused=True)
    return torch.cat(
        [(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(grads, policy.parameters(), strict=True)]
    )


def probability(window: Window) -> Tensor:
    """[runs], differentiable."""
    return torch.stack(window.log_probability).sum(dim=(0, 2)).exp()


def expected_gradient(
    policy: PolicyNetwork, config: TrainingConfig, domains: Sequence[int], carried: bool, replicas: int = 1
) -> Tensor:
    """Σ over all (tuples of) trajectories of probability · gradient of the loss."""
    batch = Batch(TensorGraph(compile_graph(tiny_problem(domains))))
    total: Tensor | float = 0.0
    for chosen in itertools.product(trajectories(domains, policy.config.sampling), repeat=replicas):
        window, end = forced(policy, config, batch, chosen, carried)
        likelihood = float(probability(window).detach().prod())
        loss = reinforce(config, batch, window, end.initial, torch.tensor([0]), RunningScale())
        total = total + likelihood * gradient(loss.value, policy)
    assert isinstance(total, Tensor)
    return total


def exact_gradient(policy: PolicyNetwork, config: TrainingConfig, domains: Sequence[int], carried: bool) -> Tensor:
    """−∇ E[Σ_t r^(t)] by enumeration, rewards counted here in plain Python."""
    problem = tiny_problem(domains)
    batch = Batch(TensorGraph(compile_graph(problem)))
    every = trajectories(domains, policy.config.sampling)
    window, end = forced(policy, config, batch, every, carried)
    rewards = []
    for run, trajectory in enumerate(every):
        initial = float(end.initial[run, 0])
        best = 3.0 if carried else initial
        collected = 0.0
        for assignment in trajectory:
            cost = problem.violation(assignment).weight
            collected += max(0.0, best - cost) if config.reward == "improve" else initial - cost
            best = min(best, cost)
        rewards.append(collected / 8.0)  # the total weight
    return gradient(-(probability(window) * torch.tensor(rewards, dtype=torch.float64)).sum(), policy)


@pytest.mark.parametrize("carried", [False, True], ids=["fresh", "carried"])
@pytest.mark.parametrize("reward", ["improve", "quality"])
@pytest.mark.parametrize("local_expectation", [False, True], ids=["sampled", "local-expectation"])
@pytest.mark.parametrize("sampling", ["global", "local"])
def test_expected_gradient_is_that_of_the_expected_reward(
    sampling: str, reward: str, local_expectation: bool, carried: bool
) -> None:
    policy = small_policy(sampling)
    config = replace(EXACT, reward=reward, local_expectation=local_expectation)
    domains = (2, 3)
    exact = exact_gradient(policy, config, domains, carried)
    assert exact.norm() > 1e-3
    torch.testing.assert_close(expected_gradient(policy, config, domains, carried), exact, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("local_expectation", [False, True], ids=["sampled", "local-expectation"])
def test_a_baseline_leaves_the_expected_gradient_unchanged(policy: PolicyNetwork, local_expectation: bool) -> None:
    config = replace(EXACT, baseline="leave-one-out", replicas=2, local_expectation=local_expectation)
    exact = exact_gradient(policy, config, (3,), True)
    torch.testing.assert_close(expected_gradient(policy, config, (3,), True, 2), exact, rtol=1e-8, atol=1e-10)


def test_the_loss_is_the_papers_with_discount_and_epsilon(policy: PolicyNetwork) -> None:
    """Σ_t G_t Σ_X log(φ(α(X)) + ε), averaged over trajectories, G_t summed as Appendix A writes it."""
    config = replace(EXACT, discount=0.75, epsilon=1e-5)
    batch = Batch(TensorGraph(compile_graph(tiny_problem((2, 3)))))
    chosen = trajectories((2, 3))[:7]
    window, end = forced(policy, config, batch, chosen, False)
    loss = reinforce(config, batch, window, end.initial, torch.tensor([0]), RunningScale())
    expected = 0.0
    for run in range(len(chosen)):
        cost = [float(c[run, 0]) / 8 for c in window.cost]
        best = [float(b[run, 0]) / 8 for b in window.best_before]
        r = [max(0.0, b - c) for b, c in zip(best, cost, strict=True)]
        returns = [sum(0.75 ** (k - t) * r[k] for k in range(t, STEPS)) for t in range(STEPS)]
        for t in range(STEPS):
            expected -= returns[t] * float(window.log_probability[t][run].detach().sum()) / len(chosen)
    assert float(loss.value.detach()) == pytest.approx(expected, rel=1e-9)
    window_without, _ = forced(policy, EXACT, batch, chosen, False)
    shifted = torch.log(window_without.log_probability[0].exp() + 1e-5)
    torch.testing.assert_close(window.log_probability[0], shifted)


def test_returns_and_baselines_by_hand() -> None:
    rewards = torch.tensor([1.0, 0.0, 4.0]).view(3, 1, 1)
    assert discounted_returns(rewards, 0.5).flatten().tolist() == [2.0, 2.0, 4.0]
    returns = torch.tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 30.0]]).view(1, 3, 2)
    assert leave_one_out(returns)[0, :, 0].tolist() == [4.0, 3.5, 1.5]


def test_scales_are_kept_apart_by_depth() -> None:
    depth = torch.tensor([0, 10, 20, 30, 70, 1000])
    assert depth_bucket(depth, 10).tolist() == [0, 1, 1, 2, 3, 6]
    scale = RunningScale()
    bucket = torch.tensor([0, 1])
    for _ in range(300):
        factor = scale.factors(torch.tensor([4.0, 0.5]).expand(3, 2, 2), bucket)
    assert factor.tolist() == pytest.approx([0.25, 2.0])


@pytest.mark.parametrize("normalise", ["rms", "depth"])
def test_normalisation_only_rescales_the_gradient(policy: PolicyNetwork, normalise: str) -> None:
    plain = replace(EXACT, local_expectation=True)
    config = replace(plain, normalise=normalise)
    batch = Batch(TensorGraph(compile_graph(tiny_problem((2, 3)))))
    grads = []
    for c in (plain, config):
        window, end = forced(policy, c, batch, trajectories((2, 3)), False)
        loss = reinforce(c, batch, window, end.initial, torch.tensor([0]), RunningScale())
        grads.append(gradient(loss.value, policy))
    ratio = grads[1].norm() / grads[0].norm()
    torch.testing.assert_close(grads[1], grads[0] * ratio, rtol=1e-6, atol=1e-9)
    rms = loss.returns.square().mean().sqrt()
    assert float(ratio) == pytest.approx(1 / float(rms), rel=1e-6)


def test_the_moves_of_an_instance_are_one_distribution() -> None:
    """Probabilities over all moves sum to one and match the sampler's weights; an instance that cannot move stays."""
    movable, stuck = tiny_problem((2, 3, 2)), tiny_problem((1, 1))
    graph = TensorGraph(compile_graph([movable, stuck, movable]))
    torch.manual_seed(3)
    logits = torch.randn(1, graph.num_values, dtype=torch.float64)
    before = torch.tensor([[1, 2, 0, 0, 0, 0, 1, 1]])
    reward = torch.randn_like(logits)
    moves = [(x, v) for x, d in enumerate((2, 3, 2)) for v in range(d) if v != before[0, x]]
    probabilities, expected, entropy = [], 0.0, 0.0
    for x, v in moves:
        after = before.clone()
        after[0, x] = v
        choice = choice_of_move(graph, logits, before, after, 0.0, True, reward)
        p = float(choice.log_probability[0, 0].exp())
        probabilities.append(p)
        expected += p * float(reward[0, graph.value_start[x] + v])
        entropy -= p * float(np.log(p))
        assert choice.log_probability[0, 1:].tolist() == [0.0, 0.0]
    weights = np.exp([float(logits[0, graph.value_start[x] + v]) for x, v in moves])
    np.testing.assert_allclose(probabilities, weights / weights.sum())
    assert choice.expected_reward is not None
    assert choice.entropy is not None
    assert choice.expected_reward[0, 0] == pytest.approx(expected)
    assert choice.entropy[0].tolist()[:2] == pytest.approx([entropy, 0.0])


@pytest.mark.parametrize("floor", [1e-3, 100.0], ids=["above the floor", "below the floor"])
def test_entropy_bonus_acts_below_its_floor_only(policy: PolicyNetwork, floor: float) -> None:
    config = replace(EXACT, entropy_floor=floor, entropy_weight=0.5)
    batch = Batch(TensorGraph(compile_graph(tiny_problem((2, 3)))))
    chosen = trajectories((2, 3))[:5]
    window, end = forced(policy, config, batch, chosen, False)
    with_bonus = reinforce(config, batch, window, end.initial, torch.tensor([0]), RunningScale())
    grad = gradient(with_bonus.value, policy)
    window, end = forced(policy, config, batch, chosen, False)
    without = reinforce(
        replace(config, entropy_weight=0.0), batch, window, end.initial, torch.tensor([0]), RunningScale()
    )
    entropy = torch.stack(window.entropy).sum(dim=(0, 2)).mean()
    expected = without.value - (0.5 * entropy if floor > 1 else 0.0)
    torch.testing.assert_close(grad, gradient(expected, policy))


def test_best_so_far_survives_the_end_of_a_window(policy: PolicyNetwork) -> None:
    batch = Batch(TensorGraph(compile_graph(tiny_problem((2, 3)))))
    window, end = forced(policy, EXACT, batch, trajectories((2, 3)), True)
    assert (end.best <= 3.0).all()
    assert (end.initial == 6.0).all()
    lowest = torch.minimum(torch.stack(window.cost).amin(dim=0), torch.tensor(3.0))
    torch.testing.assert_close(end.best, lowest, check_dtype=False)
    assert not end.state.requires_grad


def test_a_temperature_divides_the_logits(policy: PolicyNetwork) -> None:
    """The same window as of a policy whose logits are that much smaller."""
    batch = Batch(TensorGraph(compile_graph(tiny_problem((2, 3)))))
    cooler = deepcopy(policy)
    with torch.no_grad():
        for parameter in (*cooler.output[-1].parameters(), cooler.inertia):
            parameter.div_(2.5)

    def window(network: PolicyNetwork, temperature: Tensor | None) -> Window:
        start = start_state(network, batch, 3, True)
        table = torch.tensor([[0, 1], [1, 2], [1, 0]])
        options = {"entropy": True, "move_reward": move_reward(replace(EXACT, local_expectation=True))}
        return rollout(network, batch, start, STEPS, lambda *_: table, 0.0, **options, temperature=temperature)[0]

    heated, expected = window(policy, torch.tensor([2.5], dtype=torch.float64)), window(cooler, None)
    for name in ("log_probability", "entropy", "expected_reward"):
        torch.testing.assert_close(getattr(heated, name), getattr(expected, name))
