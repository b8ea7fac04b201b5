"""A new user's path: a folder of files, `anycsp train`, and a model that beats the untrained policy on the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from anycsp import distributions
from anycsp.cli.plot import plot
from anycsp.cli.train import train
from anycsp.formats import read, write
from anycsp.graph import compile_graph
from anycsp.models import Model, load_model
from anycsp.policy import PolicyNetwork
from anycsp.search import solve
from anycsp.training.validation import VALIDATION_SEED, ValidationSet

CONFIGS = Path(__file__).parents[1] / "configs"


@pytest.mark.slow
def test_training_on_a_folder_of_files_beats_the_untrained_policy(tmp_path: Path) -> None:
    folder, run = tmp_path / "instances", tmp_path / "run"
    folder.mkdir()
    source = distributions.get("sat", n=50)
    for i in range(50):
        write(distributions.draw(source, 0, i), folder / f"{i:02}.cnf")
    arguments = [
        str(CONFIGS / "sat.toml"), "--out", str(run), "--threads", "1", "--quiet", "--set", "updates=120",
        "--set", f"distribution=files:{folder}", "--set", "validation_depths=[40, 100]",
    ]  # fmt: skip
    done = CliRunner().invoke(train, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    model = load_model(run / "best.safetensors")
    torch.manual_seed(0)
    untrained = Model("untrained", PolicyNetwork(model.policy.config))
    held_out = distributions.get(f"files:{folder}").validation().paths  # type: ignore[attr-defined]
    assert len(held_out) == 10
    left = {
        m.name: sum(solve(read(path), model=m, search="neural", steps=100, runs=2).violated for path in held_out)
        for m in (model, untrained)
    }
    assert left["best"] < 0.6 * left["untrained"], left
    assert CliRunner().invoke(plot, [str(run)], catch_exceptions=False).exit_code == 0
    assert (run / "curves.png").stat().st_size > 1000


def test_held_out_files_are_validated_on_once_each(tmp_path: Path) -> None:
    for i in range(10):
        write(distributions.draw(distributions.get("sat", n=[10, 30]), 0, i), tmp_path / f"{i}.cnf")
    held_out = distributions.get(f"files:{tmp_path}", held_out=0.5).validation()
    assert ValidationSet(held_out, 64).graph.instances == 5
    assert ValidationSet(held_out, 5).graph.instances == 5
    names = [problem.name for problem in held_out.sample(VALIDATION_SEED, 64)]
    assert len(set(names)) == 5
    few = [problem.name for problem in held_out.sample(VALIDATION_SEED, 3)]
    assert len(set(few)) == 3
    assert set(few) < set(names)
    assert few == [problem.name for problem in held_out.sample(VALIDATION_SEED, 3)]


def test_validation_sets_that_are_drawn_are_the_first_draws_of_their_seed() -> None:
    distribution = distributions.get("mixture", parts=[{"name": "sat", "n": 12}, {"name": "maxcut", "n": 9}])
    drawn = compile_graph([distributions.draw(distribution, VALIDATION_SEED, i) for i in range(6)])
    validated = ValidationSet(distribution, 6).graph
    assert validated.instances == 6
    for name in ("scope_start", "scope", "variable_instance", "constraint_instance"):
        np.testing.assert_array_equal(getattr(validated, name), getattr(drawn, name))
