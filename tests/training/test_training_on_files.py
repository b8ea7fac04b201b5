"""A new user's path: a folder of files, `anycsp train`, and a model that beats the untrained policy on the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from repository import ROOT

from anycsp import distributions
from anycsp.formats import write
from anycsp.graph import compile_graph
from anycsp.neural.models import Model, load_model, save_model
from anycsp.neural.policy import PolicyNetwork
from anycsp.training.validation import VALIDATION_SEED, ValidationSet

CONFIGS = ROOT / "configs"


def anycsp(*arguments: object) -> str:
    """Run the command as a user does; what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "anycsp", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 10), done.stderr
    return done.stdout


@pytest.mark.slow
def test_training_on_a_folder_of_files_beats_the_untrained_policy(tmp_path: Path) -> None:
    folder, run, untrained = tmp_path / "instances", tmp_path / "run", tmp_path / "untrained.safetensors"
    anycsp("generate", "sat", "--count", 50, "--seed", 0, "--set", "n=50", "--out", folder)
    distribution = f"distribution=files:{folder}"
    said = anycsp("train", CONFIGS / "sat.toml", "--set", distribution, "--out", run, "--minutes", 3, "--threads", 1)
    assert str(run / "best.safetensors") in said
    torch.manual_seed(0)
    save_model(Model("untrained", PolicyNetwork(load_model(run).weights.config).weights()), untrained)
    held_out = distributions.get(f"files:{folder}").validation().paths  # type: ignore[attr-defined]
    assert len(held_out) == 10
    left = dict.fromkeys((run, untrained), 0)
    for model in left:
        for path in held_out:
            answer = anycsp("solve", path, "--model", model, "--steps", 100, "--runs", 2, "--threads", 1, "--json")
            left[model] += json.loads(answer)["violated"]
    assert left[run] < 0.5 * left[untrained], left
    anycsp("plot", run)
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
