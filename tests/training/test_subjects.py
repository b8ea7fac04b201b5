"""Several subjects for one policy, and the solutions of compiled search as a teacher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from anycsp import Problem, distributions, native
from anycsp.neural.weights import PolicyConfig
from anycsp.training.config import ConfigError, TrainingConfig
from anycsp.training.imitate import nearby_solutions
from anycsp.training.trainer import Trainer

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")

COURSE = TrainingConfig(
    policy=PolicyConfig(hidden=8, features="graded", inertia=True, kinds=True),
    instances=3,
    window=5,
    depth=10,
    normalise="depth",
    local_expectation=True,
    updates=12,
    learning_rate=1e-2,
    final_learning_rate=1e-3,
    validation_parameters={"validation_n": 12},
    validation_instances=3,
    validation_depths=(5,),
    validate_minutes=0,
    subjects=(
        {"distribution": "sat", "parameters": {"n": 10}, "teacher": "sat", "teacher_temperature": 0.5},
        {"distribution": "parity", "parameters": {"side": 4}, "teacher": "search", "depth": 5, "share": 2.0},
        {"distribution": "queens", "parameters": {"n": [4, 6]}, "graded": True},
    ),
)


def test_a_course_is_toml_and_back(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(COURSE.to_toml())
    assert TrainingConfig.read(tmp_path / "config.toml") == COURSE
    taught = COURSE.taught()
    assert [t.distribution for t in taught] == ["sat", "parity", "queens"]
    assert [t.depth for t in taught] == [10, 5, 10]
    assert SINGLE.taught() == [SINGLE]
    with pytest.raises(ConfigError, match="subjects"):
        replace(COURSE, subjects=({"distribution": "sat", "learning_rate": 1.0},))


SINGLE = replace(COURSE, subjects=(), distribution="sat", parameters={"n": 10})


def test_a_course_takes_its_subjects_in_turns_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = Trainer(COURSE, tmp_path / "whole")
    whole.run()
    assert all(subject.pool.next_index > 0 for subject in whole.subjects)
    first = Trainer(COURSE, tmp_path / "parts")
    first.folder.mkdir()
    for _ in range(7):
        first.update()
    first.save()
    first.close()
    second = Trainer.resume(tmp_path / "parts")
    second.run()
    for name, weight in whole.policy.state_dict().items():
        assert torch.equal(weight, second.policy.state_dict()[name]), name
    header, *rows = (tmp_path / "whole" / "train.csv").read_text().splitlines()
    assert {"return", "divergence", "surprise"} <= set(header.split(","))
    assert {len(row.split(",")) for row in rows} == {len(header.split(","))}


def test_nearby_solutions_are_solutions_and_the_nearer_of_two_opposites() -> None:
    for index in range(8):
        problem = distributions.draw(distributions.get("parity", side=4), 3, index)
        rng = np.random.default_rng(index)
        positions = rng.integers(2, size=(3, problem.num_variables))
        found = nearby_solutions(problem, positions, index)
        assert all(problem.violation_of_positions(run).violated == 0 for run in found)
        assert ((found != positions).mean(axis=1) <= 0.5).all()


def test_where_there_is_no_solution_nothing_is_imitated() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(2))
    problem.add(x == y)
    problem.add(x != y)
    assert (nearby_solutions(problem, np.zeros((2, 2), dtype=np.int64), 0, moves=100) == -1).all()


def test_imitation_makes_solutions_likely(tmp_path: Path) -> None:
    config = replace(
        SINGLE, distribution="parity", parameters={"side": 2, "different": 1.0}, teacher="search", instances=8, depth=5,
        updates=60,
    )  # fmt: skip
    trainer = Trainer(config, tmp_path)
    surprise = [trainer.update()["surprise"] for _ in range(60)]
    trainer.close()
    assert np.mean(surprise[-5:]) < 0.8 * np.mean(surprise[:5])
