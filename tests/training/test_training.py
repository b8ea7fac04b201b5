"""Training: configuration round trip, resume equals uninterrupted, divergence guard, it learns."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from repository import ROOT

from anycsp.cli import run
from anycsp.errors import AnyCSPError, FormatError, ModelError
from anycsp.neural.guidance import Guidance
from anycsp.neural.models import Model, load_model, save_model
from anycsp.neural.operations import Operations
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.weights import PolicyConfig
from anycsp.training import checkpoint
from anycsp.training.config import ConfigError, TrainingConfig
from anycsp.training.trainer import Trainer
from anycsp.training.validation import ValidationSet

EVERY_UPDATE = 1e-9
"""Minutes between validations that no update is shorter than."""

SMALL = TrainingConfig(
    distribution="sat",
    parameters={"n": 12},
    validation_parameters={"validation_n": 12},
    policy=PolicyConfig(hidden=8, features="gain", inertia=True),
    instances=4,
    replicas=2,
    window=5,
    depth=20,
    lifetime="log-uniform",
    baseline="leave-one-out",
    normalise="depth",
    entropy_floor=0.2,
    entropy_weight=0.05,
    local_expectation=True,
    updates=12,
    learning_rate=1e-2,
    final_learning_rate=1e-3,
    weight_average=0.9,
    validation_instances=4,
    validation_depths=(5, 10),
    validate_minutes=0,
)
CONFIGS = sorted((ROOT / "configs").rglob("*.toml"))


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    kept = {f"policy.{k}": v for k, v in trainer.policy.state_dict().items()}
    kept |= {f"averaged.{k}": v for k, v in trainer.averaged.state_dict().items()}
    kept |= {f"pool.{k}": v for k, v in vars(trainer.subjects[0].pool.state).items()}
    return {name: tensor.clone() for name, tensor in kept.items()}


# ── configuration ────────────────────────────────────────────────────────────────────────────────


def test_any_folder_can_be_written_in_a_config_and_read_again(tmp_path: Path) -> None:
    config = replace(SMALL, distribution='files:a "\\ \x7f \x01 é \U0001f600')
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    assert TrainingConfig.read(path) == config


def test_config_is_toml_and_back(tmp_path: Path) -> None:
    for config in (TrainingConfig(), SMALL, replace(SMALL, parameters={"density": [[4.0, 4.5]], "n": [10, 20]})):
        (tmp_path / "config.toml").write_text(config.to_toml())
        assert TrainingConfig.read(tmp_path / "config.toml") == config


def test_every_setting_says_what_it_means() -> None:
    source = Path(TrainingConfig.__module__.replace(".", "/") + ".py")
    text = (ROOT / "src" / source).read_text().splitlines()
    for f in fields(TrainingConfig):
        line = next(i for i, line in enumerate(text) if line.startswith(f"    {f.name}: "))
        assert text[line + 1].startswith('    """'), f.name


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_shipped_configs_are_valid(path: Path) -> None:
    config = TrainingConfig.read(path)
    config.training_distribution()
    config.validation_distribution()


@pytest.mark.parametrize("name", ["rb", "coloring", "sat", "maxsat", "maxcut"])
def test_paper_configs_are_the_papers_table(name: str) -> None:
    config = TrainingConfig.read(ROOT / "configs" / "paper" / f"{name}.toml")
    aggregation = {"maxsat": "mean", "maxcut": "sum"}.get(name, "max")
    assert config.policy == PolicyConfig(hidden=128, aggregation=aggregation)
    assert (config.instances, config.window, config.depth, config.discount) == (25, 40, 40, 0.75)
    assert (config.learning_rate, config.final_learning_rate, config.updates) == (5e-6, 5e-7, 500_000)
    assert (config.reward, config.baseline, config.normalise, config.replicas) == ("improve", "none", "none", 1)
    assert (config.epsilon, config.clip, config.local_expectation) == (1e-5, 1.0, False)
    assert (config.entropy_weight, config.weight_average, config.validation_instances) == (0.0, 0.0, 200)
    assert config.distribution == name
    assert not config.parameters
    assert not config.validation_parameters


def test_overrides_reach_every_setting() -> None:
    changed = SMALL.with_overrides(
        ["policy.hidden=16", "discount=0.9", "parameters.n=[10, 14]", "reward=quality", "temperatures=[1, [2, 0.5]]"]
    )
    assert (changed.policy.hidden, changed.discount, changed.reward) == (16, 0.9, "quality")
    assert changed.parameters == {"n": [10, 14]}
    assert changed.temperatures == (1.0, (2.0, 0.5))
    other = SMALL.with_overrides(["distribution=files:some/folder"])
    assert (other.distribution, other.parameters) == ("files:some/folder", {})


def test_the_order_of_overrides_does_not_matter() -> None:
    overrides = ["parameters.n=10", "validation_parameters.validation_n=20", "distribution=maxcut"]
    assert SMALL.with_overrides(overrides) == SMALL.with_overrides(overrides[::-1])
    assert SMALL.with_overrides(overrides).parameters == {"n": 10}


@pytest.mark.parametrize(
    "override",
    [
        "nonsense=1",
        "window",
        "window=0",
        "window=-1",
        "window=7",
        "reward=fame",
        "policy.hidden=many",
        "baseline=guess",
        "temperatures=[[1, 0]]",
        "guidance=[1, 2]",
        "learning_rate=-1",
        "minutes=nan",
        "seed=-1",
        "instances=1.5",
        "instances=many",
        "discount=true",
        "validation_instances=0",
        "validation_depths=[]",
        "policy.layers=3",
        "policy=16",
    ],
)
def test_impossible_settings_are_refused_in_one_line(override: str) -> None:
    with pytest.raises(AnyCSPError) as error:
        SMALL.with_overrides([override])
    assert "\n" not in str(error.value)
    assert "__" not in str(error.value)  # of Python
    assert str(error.value).count("training config") <= 1


def test_a_misspelt_setting_is_told_its_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'learningrate'; 'learning_rate'\?"):
        SMALL.with_overrides(["learningrate=1e-3"])
    with pytest.raises(ConfigError, match="'fame': expected one of improve, quality"):
        SMALL.with_overrides(["reward=fame"])


@pytest.fixture
def _on_both_backends(monkeypatch: pytest.MonkeyPatch, ops: Operations) -> None:
    monkeypatch.setattr("anycsp.training.trainer.fastest", lambda device: ops)


# ── the loop ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("_on_both_backends")
@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        replace(SMALL, depth=5, lifetime="fixed", baseline="none", normalise="none"),
        replace(SMALL, training_temperature=(2.0, 0.5)),
        replace(SMALL, policy=replace(SMALL.policy, sampling="local")),
        replace(SMALL, guidance=Guidance((0.5, 2.0), 0.9)),
        replace(SMALL, teacher="coloring", guidance=Guidance((0.5, 2.0), 0.9), training_temperature=(2.0, 0.5)),
    ],
    ids=["carried", "paper-like", "heated", "local", "guided", "taught"],
)
def test_resume_equals_uninterrupted(tmp_path: Path, config: TrainingConfig) -> None:
    whole = Trainer(config, tmp_path / "whole")
    whole.run()
    first = Trainer(config, tmp_path / "parts")
    (tmp_path / "parts").mkdir()
    for _ in range(7):
        first.update()
    first.save()
    first.close()
    second = Trainer.resume(tmp_path / "parts")
    second.run()
    assert second.counters.update == whole.counters.update == 12
    expected, got = weights(whole), weights(second)
    assert expected.keys() == got.keys()
    for name in expected:
        assert torch.equal(expected[name], got[name]), name


def test_training_goes_on_from_a_models_weights(tmp_path: Path) -> None:
    parent = tmp_path / "parent.safetensors"
    torch.manual_seed(99)
    save_model(Model("parent", PolicyNetwork(SMALL.policy).weights()), parent)
    config = replace(SMALL, start_from=str(parent))
    trainer = Trainer(config, tmp_path / "run")
    for name, weight in load_model(parent).network().state_dict().items():
        assert torch.equal(trainer.policy.state_dict()[name], weight), name
        assert torch.equal(trainer.averaged.state_dict()[name], weight), name
    with pytest.raises(ConfigError, match="policy differs"):
        Trainer(replace(config, policy=replace(SMALL.policy, hidden=16)), tmp_path)
    trainer.folder.mkdir()
    trainer.save()
    parent.unlink()  # a run once begun does not need it
    assert Trainer.resume(tmp_path / "run").config == config


def test_validation_parameters_go_over_those_of_training() -> None:
    config = replace(SMALL, distribution="sat", validation="", parameters={"n": 20, "density": [[4.0, 4.1]]})
    config = replace(config, validation_parameters={"validation_n": 30, "density": [[3.0, 3.0]]})
    assert config.training_distribution().draw(np.random.default_rng(0)).num_constraints in (80, 81, 82)
    assert config.validation_distribution().draw(np.random.default_rng(0)).num_constraints == 90


def test_a_stopped_run_leaves_a_checkpoint(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    Trainer(SMALL, tmp_path).run(stop)
    assert Trainer.resume(tmp_path).counters.update == 0


def _dies_at_call(number: int, function: Callable[[], None]) -> Callable[[], None]:
    calls = iter(range(1, number + 1))

    def dying() -> None:
        if next(calls) == number:
            raise KeyboardInterrupt
        function()

    return dying


def _dies_after_call(number: int, function: Callable[[], None]) -> Callable[[], None]:
    calls = iter(range(1, number + 1))

    def dying() -> None:
        function()
        if next(calls) == number:
            raise KeyboardInterrupt

    return dying


@pytest.mark.parametrize("dies", [_dies_at_call, _dies_after_call])
@pytest.mark.parametrize("save", [1, 2, 3, 4])
def test_a_killed_run_goes_on_from_its_last_checkpoint_in_the_same_logs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    save: int,
    dies: Callable[[int, Callable[[], None]], Callable[[], None]],
) -> None:
    """Killed before and after it saves, which it does before and after its validations, at updates 10 and 20."""

    def every_ten_updates(trainer: Trainer) -> bool:
        counters = trainer.counters
        return counters.update % 10 == 0 and counters.seconds > counters.validated_at

    monkeypatch.setattr(Trainer, "_validation_due", every_ten_updates)
    config = replace(SMALL, updates=25)
    whole = Trainer(config, tmp_path / "whole").run()
    killed = Trainer(config, tmp_path / "killed")
    killed.folder.mkdir()
    killed.save()
    killed.save = dies(save, killed.save)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        killed.run()
    resumed = Trainer.resume(tmp_path / "killed")
    resumed.run()
    assert (resumed.counters.best, resumed.counters.best_update) == (whole.best, whole.best_update)
    for table in ("train.csv", "validation.csv"):
        rows = [(tmp_path / run / table).read_text().splitlines() for run in ("whole", "killed")]
        assert [row.split(",")[0] for row in rows[0]] == [row.split(",")[0] for row in rows[1]], table
    assert [row.split(",")[0] for row in (tmp_path / "whole" / "train.csv").read_text().split()] == [
        "update",
        "10",
        "20",
        "25",
    ]


def test_a_resumed_run_keeps_what_its_state_depends_on(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, tmp_path)
    trainer.update()
    trainer.save()
    trainer.close()
    assert Trainer.resume(tmp_path, ["learning_rate=1e-3", "updates=30"]).config.updates == 30
    for override in ("policy.hidden=16", "seed=5", "parameters.n=13", "instances=5", "distribution=maxcut"):
        with pytest.raises(ConfigError, match="a resumed run keeps its"):
            Trainer.resume(tmp_path, [override])


def test_a_checkpoint_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = {"next_index": 0, "slots": [], "norm": 0, "scale_square": [], "scale_weight": []}
    facts = {"config": {}, "counters": {}, "subjects": [progress]}
    checkpoint.write(tmp_path, {"w": torch.ones(3)}, facts)

    def torn(descriptor: int) -> None:
        os.ftruncate(descriptor, 12)
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", torn)
    with pytest.raises(FormatError, match="disk full"):
        checkpoint.write(tmp_path, {"w": torch.zeros(3)}, facts)
    assert [path.name for path in tmp_path.iterdir()] == [checkpoint.FILE]
    tensors, kept = checkpoint.read(tmp_path)
    assert kept == {"format_version": checkpoint.FORMAT_VERSION, **facts}
    assert torch.equal(tensors["w"], torch.ones(3))


def test_a_checkpoint_is_safetensors_of_the_right_version(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a checkpoint"):
        checkpoint.read(tmp_path)
    (tmp_path / checkpoint.FILE).write_bytes(b"\x80\x04 a pickle")
    with pytest.raises(ModelError, match="not a checkpoint"):
        checkpoint.read(tmp_path)
    checkpoint.write(tmp_path, {}, {"format_version": 99})
    with pytest.raises(ModelError, match="version 99"):
        checkpoint.read(tmp_path)


@pytest.mark.usefixtures("_on_both_backends")
def test_a_gradient_that_is_not_finite_is_skipped_and_counted(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, tmp_path)
    trainer.update()
    before = {k: v.clone() for k, v in trainer.policy.state_dict().items()}
    handle = trainer.policy.initial_state.register_hook(lambda grad: grad * float("nan"))
    trainer.subjects[0].pool.slots[0].depth = (
        trainer.subjects[0].pool.slots[0].lifetime
    )  # a fresh instance, so that the hook is reached
    trainer.update()
    handle.remove()
    assert trainer.counters.skipped == 1
    assert all(torch.equal(v, before[k]) for k, v in trainer.policy.state_dict().items())
    trainer.update()
    assert trainer.counters.skipped == 1
    assert not all(torch.equal(v, before[k]) for k, v in trainer.policy.state_dict().items())
    trainer.close()


def test_an_exploding_gradient_is_skipped_counted_and_not_taken_for_usual(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, tmp_path)
    trainer.counters.norms = [1.0] * 20
    assert not trainer._explodes(999.0)
    assert trainer._explodes(1001.0)
    assert trainer._explodes(float("inf"))
    assert trainer.counters.norms == [1.0] * 20 + [999.0]
    trainer.counters.norms = [1e-12] * 20  # so that the next real gradient is one
    before = {k: v.clone() for k, v in trainer.policy.state_dict().items()}
    trainer.update()
    assert trainer.counters.skipped == 1
    assert all(torch.equal(v, before[k]) for k, v in trainer.policy.state_dict().items())
    trainer.close()


def test_averaged_weights_are_the_running_mean_of_the_equation(tmp_path: Path) -> None:
    trainer = Trainer(replace(SMALL, weight_average=0.75), tmp_path)
    name, expected = next((n, p.detach().clone()) for n, p in trainer.policy.named_parameters())
    for update in range(8):
        trainer.update()
        decay = min(0.75, update / (update + 1))  # a plain mean first: the initial weights are soon forgotten
        expected = decay * expected + (1 - decay) * dict(trainer.policy.named_parameters())[name].detach()
    assert torch.allclose(dict(trainer.averaged.named_parameters())[name], expected, atol=1e-6)
    trainer.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": {"hidden": 10**9}},
        {"policy": {"hidden": 16}},
        {"window": 0},
        {"instances": True},
        {"distribution": "python:os:system"},
        {"learning_rate": "fast"},
        {"unheard_of": 1},
    ],
    ids=str,
)
def test_a_checkpoint_with_a_wrong_configuration_is_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = Trainer(replace(SMALL, updates=1), tmp_path)
    trainer.run()
    trainer.close()
    tensors, facts = checkpoint.read(tmp_path)
    for key, value in changes.items():
        facts["config"][key] = {**facts["config"][key], **value} if isinstance(value, dict) else value
    del facts["format_version"]
    checkpoint.write(tmp_path, tensors, facts)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert run(["train", "--resume", "--out", str(tmp_path), "--quiet"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


HOOK = """
from anycsp import distributions

def draw(rng, n=8):
    return distributions.draw(distributions.get("sat", n=n), 0, int(rng.integers(1000)))
"""


def test_resuming_runs_the_function_that_a_checkpoint_names_only_where_that_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook, config, out = tmp_path / "mine_hook.py", tmp_path / "config.toml", tmp_path / "run"
    hook.write_text(HOOK)
    settings = replace(SMALL, distribution=f"python:{hook}:draw", parameters={}, validation_parameters={}, updates=1)
    config.write_text(settings.to_toml())
    assert run(["train", str(config), "--out", str(out), "--quiet"]) == 0
    resume = ["train", "--resume", "--out", str(out), "--set", "updates=3", "--quiet"]
    kept = (out / checkpoint.FILE).read_bytes()
    capsys.readouterr()
    assert run(resume) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--allow-hook" in error
    assert (out / checkpoint.FILE).read_bytes() == kept
    assert run([*resume, "--allow-hook"]) == 0
    assert checkpoint.read(out)[1]["counters"]["update"] == 3


def test_a_full_disk_in_training_is_one_line_and_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = tmp_path / "config.toml", tmp_path / "run"
    config.write_text(replace(SMALL, updates=2).to_toml())
    assert run(["train", str(config), "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    kept = (out / checkpoint.FILE).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("anycsp.formats.files.os.fsync", full)
    assert run(["train", "--resume", "--out", str(out), "--set", "updates=4", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no space left" in error
    assert (out / checkpoint.FILE).read_bytes() == kept
    assert not list(out.glob(".anycsp-*"))


def test_sigterm_ends_training_with_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    config, out = tmp_path / "config.toml", tmp_path / "run"
    config.write_text(replace(SMALL, updates=1_000_000).to_toml())
    command = [sys.executable, "-m", "anycsp", "train", str(config), "--out", str(out), "--threads", "1", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while time.monotonic() < until and not (out / "train.csv").exists():
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "not validated yet" in said
    assert Trainer.resume(out).counters.update >= 10
    assert load_model(out).name == "run"  # usable though it was stopped early
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "--resume continues it" in again.stderr


@pytest.mark.usefixtures("_on_both_backends")
def test_a_profile_accounts_for_the_time_and_changes_nothing(tmp_path: Path) -> None:
    plain, profiled = Trainer(SMALL, tmp_path / "plain"), Trainer(SMALL, tmp_path / "profiled")
    profiled.enable_profile()
    for trainer in (plain, profiled):
        for _ in range(3):
            trainer.update()
        trainer.close()
    expected, got = weights(plain), weights(profiled)
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert profiled.profile is not None
    assert set(profiled.profile.seconds) == {"gather", "gemm", "gru", "sample", "relabel"}
    assert sum(profiled.profile.seconds.values()) <= profiled.timing["forward"]
    report = profiled.profile_report()
    assert "GFLOPS" in report
    assert "forward: other" in report


def test_carried_searches_keep_their_state_when_others_are_replaced(tmp_path: Path) -> None:
    trainer = Trainer(replace(SMALL, lifetime="fixed"), tmp_path)
    for _ in range(3):
        trainer.update()
    pool = trainer.subjects[0].pool
    carried, old = pool.slots[1], pool.state.positions.clone()
    best = pool.state.best.clone()
    pool.slots[0].depth = pool.slots[0].lifetime
    pool.refresh()
    assert pool.slots[1] is carried
    assert pool.state.fresh.tolist() == [True, False, False, False]
    first = pool.problems[0].num_variables
    assert torch.equal(pool.state.positions[:, first : first + 12], old[:, 12:24])
    assert torch.equal(pool.state.best[:, 1:], best[:, 1:])
    assert pool.depth.tolist() == [0, 15, 15, 15]
    pool.close()


def test_a_run_leaves_model_logs_and_curves(tmp_path: Path) -> None:
    counters = Trainer(replace(SMALL, updates=2, validate_minutes=EVERY_UPDATE), tmp_path).run()
    model = load_model(tmp_path / "best.safetensors")
    assert model.weights.config == SMALL.policy
    assert model.training["validation"]["10"] == counters.best
    with open(tmp_path / "validation.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["update"]) for row in rows] == [0, 1, 2]
    assert min(float(row["depth_10"]) for row in rows) == pytest.approx(counters.best, rel=1e-4)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    judged = ["validation", "reference", "reference"]
    assert [e["event"] for e in events] == ["start", *judged, "validation", "train", "validation", "end"]
    assert TrainingConfig.read(tmp_path / "config.toml").updates == 2


@pytest.mark.slow
def test_training_beats_the_untrained_policy(tmp_path: Path) -> None:
    config = replace(
        SMALL, parameters={"n": 30}, validation_parameters={"validation_n": 30}, instances=8, replicas=4, window=10,
        updates=100, learning_rate=3e-3, validation_instances=32, validation_depths=(40,),
    )  # fmt: skip
    untrained = Trainer(config, tmp_path / "untrained")
    counters = Trainer(config, tmp_path / "trained").run()
    validation = ValidationSet(config.validation_distribution(), 32)
    before = validation.measure(untrained.policy, (40,))[40]
    untrained.close()
    assert counters.best < 0.5 * before
