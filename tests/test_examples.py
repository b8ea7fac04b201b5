"""The scripts in examples/ run, and the bundled files are what they should be."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

from anycsp.formats import read

EXAMPLES = {"queens.py", "sudoku.py", "model_and_watch.py", "figure1.py", "planted.py", "train_on_your_instances.py"}


def test_every_example_script_is_run_by_a_test() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == EXAMPLES


@pytest.mark.parametrize("script", ["queens.py", "sudoku.py", "model_and_watch.py"])
@pytest.mark.usefixtures("short_searches")
def test_example_scripts_run(script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [script])
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert "constraints" in capsys.readouterr().out


@pytest.mark.parametrize(("script", "made"), [("figure1.py", "docs/figure1.svg"), ("planted.py", "planted3sat.cnf")])
def test_example_scripts_write_the_files_that_are_bundled(script: str, made: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / script, tmp_path / "examples")
    subprocess.run([sys.executable, f"examples/{script}"], cwd=tmp_path, check=True)
    bundled = ROOT / made if "/" in made else ROOT / "examples" / made
    written = tmp_path / made if "/" in made else tmp_path / "examples" / made
    assert written.read_text() == bundled.read_text()


@pytest.mark.slow
def test_the_training_example_ends_with_a_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "examples/train_on_your_instances.py", "--minutes", "0.05", "--out", str(tmp_path)]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "unsatisfied after" in shown
    assert (tmp_path / "run" / "best.safetensors").exists()


def test_example_files_are_read_and_satisfiable_where_they_say_so() -> None:
    names = {
        path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".cnf", ".col", ".rud", ".json", ".xml")
    }
    assert names == {"planted3sat.cnf", "petersen.col", "cube.rud", "timetable.json", "magic-square.xml"}
    for name in names:
        assert read(ROOT / "examples" / name).num_constraints > 0
    colouring = [1, 2, 1, 2, 3, 2, 1, 3, 3, 2]
    assert read(ROOT / "examples" / "petersen.col", colors=3).violation(colouring).violated == 0
    square = [2, 7, 6, 9, 5, 1, 4, 3, 8]
    assert read(ROOT / "examples" / "magic-square.xml").violation(square).violated == 0
