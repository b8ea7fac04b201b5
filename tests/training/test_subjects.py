"""Several subjects for one policy, and the solutions of compiled search as a teacher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from anycsp import Problem, native
from anycsp.neural.weights import PolicyConfig
from anycsp.training.config import ConfigError, TrainingConfig
from anycsp.training.imitate import forms, nearby_solutions
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


def test_a_solution_has_every_form_that_exchanging_values_gives_it() -> None:
    ring = Problem()
    ring.add_variables(6, range(3))
    ring.add_not_equal(np.array([[i, (i + 1) % 6] for i in range(6)]))
    solution = nearby_solutions(ring, np.zeros((1, 6), dtype=np.int64), 0)[0]
    exchanged = forms(ring, solution)
    assert len(np.unique(exchanged, axis=0)) == 6
    assert all(ring.violation_of_positions(form).violated == 0 for form in exchanged)
    ring.add_table([0], [(int(solution[0]),)])
    assert len(forms(ring, solution)) == 2  # the others exchange the value that is given
    uneven = Problem()
    uneven.add_variable(range(2))
    uneven.add_variable(range(3))
    assert len(forms(uneven, np.zeros(2, dtype=np.int32))) == 1


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
