"""Distillation: the divergence is what its equation says, and a student comes to do what its teacher does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from anycsp import Problem
from anycsp.graph import compile_graph
from anycsp.neural.models import Model, save_model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.sampling import sample_global
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.randomness import initial_positions
from anycsp.training.config import ConfigError, TrainingConfig
from anycsp.training.distill import divergence, lesson
from anycsp.training.trainer import Trainer
from anycsp.training.walk import Batch, SearchState

LARGE = PolicyConfig(hidden=12, features="gain", inertia=True)
SMALL = replace(LARGE, hidden=8)


def mixed_domains() -> Batch:
    """Domains of one, two and three values, so that shorter ones are padded."""
    problem = Problem()
    problem.add_variable((0, 1, 2), "x")
    problem.add_variable((0, 1), "y")
    problem.add_variable((1,), "z")
    problem.add_linear(["x", "y"], [1, -1], "!=", 0)
    problem.add_linear(["x", "z"], [1, -1], "!=", 0)
    return Batch(TensorGraph(compile_graph(problem)))


def policy(config: PolicyConfig, seed: int) -> PolicyNetwork:
    torch.manual_seed(seed)
    return PolicyNetwork(config)


def beginning(batch: Batch, hidden: int, runs: int = 2) -> SearchState:
    graph = batch.graph
    cost = torch.zeros(runs, graph.instances, dtype=torch.float64)
    return SearchState(
        torch.from_numpy(initial_positions(graph.topology.domains.sizes, 0, range(runs))),
        torch.zeros(runs, graph.num_values, hidden),
        torch.ones(graph.instances, dtype=torch.bool),
        cost,
        cost.clone(),
        torch.zeros(runs, graph.num_constraints),
    )


def test_divergence_is_that_of_the_softmax_within_each_domain() -> None:
    graph = mixed_domains().graph
    torch.manual_seed(0)
    teacher, student = torch.randn(2, 2, graph.num_values, dtype=torch.float64)
    student.requires_grad_(True)
    got = divergence(graph, teacher, student)
    expected = torch.zeros(2, 3, dtype=torch.float64)
    for run in range(2):
        for x, (first, last) in enumerate([(0, 3), (3, 5), (5, 6)]):
            p, q = teacher[run, first:last].softmax(0), student[run, first:last].softmax(0)
            expected[run, x] = (p * (p / q).log()).sum()
    torch.testing.assert_close(got, expected)
    got.sum().backward()
    # The gradient of KL(p ‖ softmax(s)) in s is softmax(s) − p; a single value has none.
    assert student.grad is not None
    difference = student.detach()[:, :3].softmax(1) - teacher[:, :3].softmax(1)
    torch.testing.assert_close(student.grad[:, :3], difference)
    assert student.grad[:, 5].abs().max() == 0


@pytest.mark.parametrize("taught", [True, False])
def test_a_student_that_is_its_teacher_has_nothing_to_learn(taught: bool) -> None:
    batch, both = mixed_domains(), policy(LARGE, 1)
    leads = torch.tensor([taught])

    def sample(logits: torch.Tensor, positions: torch.Tensor, step: int) -> torch.Tensor:
        return sample_global(batch.graph, logits, 1.0, 7, range(2), step)

    compared, end = lesson(both, both, batch, beginning(batch, 24), 6, sample, leads)
    assert compared.divergence.item() == pytest.approx(0, abs=1e-7)
    torch.testing.assert_close(end.state[..., :12], end.state[..., 12:])


def test_who_leads_decides_where_the_search_goes() -> None:
    batch, student, teacher = mixed_domains(), policy(SMALL, 1), policy(LARGE, 2)
    with torch.no_grad():  # of opposite minds: one keeps every value, the other leaves it
        assert student.inertia is not None
        assert teacher.inertia is not None
        student.inertia.fill_(50)
        teacher.inertia.fill_(-50)
    start = beginning(batch, 20)

    def sample(logits: torch.Tensor, positions: torch.Tensor, step: int) -> torch.Tensor:
        return sample_global(batch.graph, logits, 1.0, 7, range(2), step)

    ends = [
        lesson(student, teacher, batch, start, 1, sample, torch.tensor([led]))[1].positions for led in (False, True)
    ]
    assert torch.equal(ends[0], start.positions)
    assert bool((ends[1][:, :2] != start.positions[:, :2]).all())


def test_training_brings_a_small_policy_to_its_teacher(tmp_path: Path) -> None:
    teacher = tmp_path / "teacher.safetensors"
    save_model(Model("teacher", policy(LARGE, 3).weights()), teacher)
    config = TrainingConfig(
        parameters={"n": 12},
        policy=SMALL,
        teacher=str(teacher),
        instances=6,
        window=5,
        depth=20,
        training_temperature=(2.0, 0.5),
        updates=60,
        learning_rate=1e-2,
        final_learning_rate=1e-3,
    )
    trainer = Trainer(config, tmp_path / "run")
    measured = [trainer.update()["divergence"] for _ in range(60)]
    trainer.close()
    assert sum(measured[-5:]) < 0.2 * sum(measured[:5])
    assert trainer.policy.config.hidden == 8


def test_a_teacher_that_moves_one_variable_a_step_is_refused(tmp_path: Path) -> None:
    teacher = tmp_path / "teacher.safetensors"
    save_model(Model("teacher", policy(replace(LARGE, sampling="local"), 3).weights()), teacher)
    with pytest.raises(ConfigError, match="cannot be imitated"):
        Trainer(TrainingConfig(policy=SMALL, teacher=str(teacher)), tmp_path / "run")
    with pytest.raises(ConfigError, match="teacher"):
        TrainingConfig(policy=replace(SMALL, sampling="local"), teacher=str(teacher))
