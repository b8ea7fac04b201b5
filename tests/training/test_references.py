"""What a run is held against, and what the command says about it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from anycsp import Problem, load_model, native
from anycsp.cli import run as main
from anycsp.formats import write
from anycsp.training.references import Reference, load, verdict

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
TINY = [
    "--set", "updates=2", "--set", "instances=2", "--set", "window=5", "--set", "depth=5",
    "--set", "temperatures=[1.0]", "--set", "validation_depths=[5, 10]", "--set", "validation_instances=2",
    "--set", "validate_minutes=1e-9", "--threads", "1", "--quiet",
]  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command prints."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "instances").mkdir()
    for i in range(10):
        problem = Problem(str(i))
        x, y, z = problem.add_variables(3, range(1, 6))
        problem.add(x * y * z == 2 ** (i % 5 + 1))
        write(problem, tmp_path / "instances" / f"{i}.json")
    return tmp_path / "instances"


def test_a_folder_is_all_that_training_needs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    said = run(capsys, "train", f"files:{folder}", "--out", out, *TINY)
    assert "the same 2 instances: 0 by the default search" in said
    assert load_model(out).weights.config == load_model("universal").weights.config
    with open(out / "validation.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["update"]) for row in rows] == [0, 1, 2]
    references = load(out)
    assert [r.search for r in references] == ["default search", "model"]
    assert references[0].unsatisfied == {"5": 0, "10": 0}
    events = [json.loads(line)["event"] for line in (out / "events.jsonl").read_text().splitlines()]
    assert events.count("reference") == 2
    # The start is kept where training loses it.
    assert load_model(out).training["validation"]["10"] <= float(rows[0]["depth_10"])


@pytest.mark.parametrize("killed", [True, False])
def test_a_run_that_ends_before_it_is_compared_is_compared_when_it_goes_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    out = tmp_path / "run"

    def ends(*_: object) -> list[Reference]:
        raise KeyboardInterrupt

    if killed:
        monkeypatch.setattr("anycsp.training.references.measured", ends)
        assert main(["train", f"files:{folder}", "--out", str(out), *TINY]) == 130
        monkeypatch.undo()
    else:
        main(["train", f"files:{folder}", "--out", str(out), *TINY])
        (out / "references.json").unlink()
    assert not load(out)
    capsys.readouterr()
    said = run(capsys, "train", "--out", out, "--resume", "--quiet", "--threads", "1")
    assert "the same 2 instances: 0 by the default search" in said
    with open(out / "validation.csv") as file:
        assert [int(row["update"]) for row in csv.DictReader(file)] == [0, 1, 2]


def test_a_single_instance_to_validate_on_ends_where_it_is_solved(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only_one = ["--set", "validation_instances=1", "--set", "validation_depths=[2000]"]
    assert "the same 1 instances" in run(
        capsys, "train", f"files:{folder}", "--out", tmp_path / "run", *TINY, *only_one
    )


def test_training_may_begin_with_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "train", f"files:{folder}", "--from", "none", "--out", tmp_path / "run", *TINY)
    assert load_model(tmp_path / "run").weights.config.hidden == 16


def test_what_is_neither_a_file_nor_a_distribution_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "sta", "--out", str(tmp_path / "run")]) == 2
    assert "neither a configuration file nor a distribution" in capsys.readouterr().err


def test_the_verdict_says_who_is_better() -> None:
    default = Reference("default search", "the default search", 0.5, 12, {"40": 1.0, "200": 1.0})
    model = Reference("model", "the model general", 0.1, 12, {"40": 5.0, "200": 2.0})
    assert verdict(1.5, []) == ""
    assert verdict(1.5, [default, model]).endswith("the default search is better")
    assert verdict(2.5, [default, model]).endswith("the default search and the model general are better")
    assert verdict(1.0, [default, model]).endswith("no better than the default search")
    assert verdict(0.5, [default, model]).endswith("better than both")
    assert "1 by the default search in 0.5 s each, 2 by the model general" in verdict(0.5, [default, model])
    assert "no better" not in verdict(0.5, [replace(default, unsatisfied={"200": 3.0}), model])


def test_evaluate_compares_searches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(capsys, "evaluate", folder, "--search", "neural", "--search", "local", "--steps", 5000, "--threads", 1)
    assert said.count("by local") == 10
    assert "local: 10 of 10 solved, 0.000 unsatisfied on average" in said
