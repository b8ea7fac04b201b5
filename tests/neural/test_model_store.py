"""Models on disk: what is saved is what is loaded, and nothing else is taken for a model."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from anycsp import Problem, distributions, solve
from anycsp.errors import ModelError
from anycsp.neural.guidance import Guidance
from anycsp.neural.models import Model, load_model, save_model
from anycsp.neural.models.store import SHIPPED
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.weights import PolicyConfig, parameter_shapes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    policy = PolicyNetwork(PolicyConfig(hidden=8, features="gain"))
    model = Model("mine", policy.weights(), (2.0, 0.5), 3, Guidance((1.0, 4.0), 0.9), 15.0, {"seed": 7})
    save_model(model, tmp_path / "mine")
    return tmp_path / "mine.safetensors"


def described(path: Path, **changes: Any) -> None:
    """Write another description beside the weights; `policy` and `search` are changed key by key."""
    description = json.loads(path.with_suffix(".json").read_text())
    for key, value in changes.items():
        description[key] = {**description[key], **value} if isinstance(value, dict) else value
    path.with_suffix(".json").write_text(json.dumps(description))


def test_what_is_saved_is_what_is_loaded(path: Path) -> None:
    model = load_model(path)
    torch.manual_seed(0)
    expected = PolicyNetwork(PolicyConfig(hidden=8, features="gain")).state_dict()
    assert model.network().state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.network().state_dict().items())
    assert (model.temperature, model.runs, model.domain, model.training) == ((2.0, 0.5), 3, 15.0, {"seed": 7})
    assert model.guidance == Guidance((1.0, 4.0), 0.9)


def test_a_model_may_have_settings_by_kind_of_problem(path: Path) -> None:
    clauses, cut, queens = Problem(), Problem(), distributions.draw(distributions.get("queens", n=6), 0, 0)
    x, y = clauses.add_variables(2, (0, 1)), cut.add_variables(3, (0, 1))
    for a, b in [*product((0, 1), repeat=2)] * 2:  # too dense to be satisfied
        clauses.add_clause([(x[0], a), (x[1], b)])
    cut.add(y[0] != y[1])
    cut.add(y[1] != y[2])
    own = {"maxsat": {"temperature": (1.9, 0.6), "runs": 1}, "cut": {"guidance": Guidance((0.0,), 1.0)}}
    save_model(replace(load_model(path), kinds=own), path)
    model = load_model(path)
    assert model.kinds == own
    assert model.suited_to(queens) == model
    dense, halves = model.suited_to(clauses), model.suited_to(cut)
    assert (dense.temperature, dense.runs, dense.guidance) == ((1.9, 0.6), 1, model.guidance)
    assert (halves.temperature, halves.runs, halves.guidance) == (model.temperature, 3, Guidance((0.0,), 1.0))
    assert solve(clauses, model=model, search="neural", steps=5, presolve=False).runs == 1
    assert solve(cut, model=model, search="neural", steps=5, presolve=False).runs == 3


@pytest.mark.parametrize(
    "config",
    [
        PolicyConfig(hidden=5),
        PolicyConfig(hidden=4, features="gain", inertia=True),
        PolicyConfig(hidden=4, weighted=True, sampling="local"),
    ],
    ids=["paper", "gain", "weighted"],
)
def test_the_shapes_known_without_torch_are_those_of_the_network(config: PolicyConfig) -> None:
    network = PolicyNetwork(config)
    assert parameter_shapes(config) == {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    network.weights().check("fresh")


MODELS = [*SHIPPED.glob("*.safetensors"), *SHIPPED.parents[3].glob("benchmarks/models/*.safetensors")]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_model_of_the_repository_loads(path: Path) -> None:
    """Whatever settings the training of their time had, some of which are gone."""
    model = load_model(path)
    assert PolicyConfig.from_table(model.training["config"]["policy"]) == model.weights.config


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format_version": 2}, "format version 2"),
        ({"format_version": None}, "format version None"),
        ({"policy": {"hidden": 16}}, "do not match their config"),
        ({"policy": {"features": "none"}}, "do not match their config"),
        ({"policy": {"layers": 3}}, "layers"),
        ({"policy": {"inertia": "no"}}, "inertia"),
        ({"policy": {"aggregation": "median"}}, "aggregation"),
        ({"search": {"runs": 0}}, "runs = 0: expected a whole number"),
        ({"search": {"temperature": -1}}, "temperature"),
        ({"search": {"temperature": 1e-300}}, "temperature"),
        ({"search": {"temperature": float("inf")}}, "Infinity|temperature"),
        ({"search": {"guidance": [1, 2]}}, "guidance"),
        ({"search": {"kinds": {"cuts": {}}}}, "unknown key 'cuts'; 'cut'"),
        ({"search": {"kinds": {"cut": {"temperature": 0}}}}, "kinds: cut: temperature"),
        ({"search": {"kinds": {"cut": {"kinds": {}}}}}, "unknown key 'kinds'"),
        ({"policy": {"hidden": 10**9}}, "hidden"),
        ({"policy": {"hidden": 1e9}}, "hidden"),
        ({"policy": {"hidden": True}}, "hidden"),
        ({"policy": {"hidden": float("inf")}}, "Infinity|hidden"),
    ],
)
def test_a_description_that_does_not_fit_is_refused_in_one_line(path: Path, changes: Any, reason: str) -> None:
    described(path, **changes)
    with pytest.raises(ModelError, match=reason) as error:
        load_model(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"policy": ' * 100_000 + "1" + "}" * 100_000,
        '{"format_version": ' + "9" * 100_000 + "}",
        "NaN",
        "",
    ],
    ids=["open lists", "objects", "digits", "nan", "nothing"],
)
def test_a_description_that_is_no_sane_json_is_refused_in_one_line(path: Path, text: str) -> None:
    path.with_suffix(".json").write_text(text)
    with pytest.raises(ModelError) as error:
        load_model(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300 + len(str(path))


@pytest.mark.parametrize(
    "weights", [lambda t: t.double(), lambda t: t.int(), lambda t: t * float("nan"), lambda t: t[..., :-1].contiguous()]
)
def test_weights_of_another_kind_are_refused(path: Path, weights: Any) -> None:
    tensors = safetensors.torch.load_file(path)
    safetensors.torch.save_file({name: weights(tensor) for name, tensor in tensors.items()}, path)
    with pytest.raises(ModelError, match="weights"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"\x80\x04\x95 a pickle", b"PK\x03\x04 an archive of torch.save"])
def test_only_safetensors_are_read(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a model of anycsp"):
        load_model(path)


def test_weights_without_their_description_are_refused(path: Path) -> None:
    path.with_suffix(".json").unlink()
    with pytest.raises(ModelError, match="cannot read the model's description"):
        load_model(path)
