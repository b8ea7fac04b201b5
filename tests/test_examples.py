"""The scripts in examples/ run, and the bundled files are what they should be."""

from __future__ import annotations

import os
import resource
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from repository import ROOT

from anycsp.formats import read

EXAMPLES = {"model_and_watch.py", "figure1.py", "planted.py", "train_on_your_instances.py"}


def test_every_example_script_is_run_by_a_test() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == EXAMPLES


@pytest.mark.parametrize("script", ["model_and_watch.py"])
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


GALLERY = {
    "sudoku": "first row is 5 3 4 6 7 8 9 1 2",
    "queens": "satisfied: 16 queens",
    "timetable": "weight 3 are not granted: Ada would like 9:00",
    "jobshop": "done at 11",
    "tsp": "length 354",
    "knapsack": "worth 1002, weight 395",
    "roster": "0 rules broken, 2 of 8 wishes",
    "coloring": "satisfied: 34 members",
    "qubo": "least value is -198",
    "product": "costs 700, the next ones 720 and 720",
}
LEARNING = {"training": "trained for 3 s", "folder": "learnt from 20 files"}
"""The examples of the gallery, and what they are known to find."""


def run_gallery(name: str, answer: str, folder: Path) -> float:
    """Run an example as a reader would; the seconds it computed for."""
    script = ROOT / "examples" / "gallery" / f"{name}.py"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = subprocess.run([sys.executable, script, folder], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert answer in shown
    picture = (folder / f"{name}.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    return after.ru_utime - before.ru_utime


@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery_finds_its_answers(name: str, tmp_path: Path) -> None:
    if name == "coloring":
        pytest.importorskip("networkx")
    assert run_gallery(name, GALLERY[name], tmp_path) < 10


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNING)
def test_the_gallery_learns(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run_gallery(name, LEARNING[name], tmp_path)


def test_every_example_of_the_gallery_has_its_page_and_picture() -> None:
    pages, names = ROOT / "docs" / "gallery", GALLERY.keys() | LEARNING.keys()
    assert {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")} - {"picture"} == names
    assert {path.stem for path in pages.glob("*.svg")} == names
    assert {path.stem for path in pages.glob("*.md")} - {"index"} == names
    for name in names:
        assert f'--8<-- "examples/gallery/{name}.py"' in (pages / f"{name}.md").read_text(encoding="utf-8")
        assert f"({name}.md)" in (pages / "index.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_gallery_is_typed() -> None:
    pytest.importorskip("mypy")
    scripts = sorted((ROOT / "examples" / "gallery").glob("*.py"))
    environment = {**os.environ, "MYPYPATH": f"{ROOT / 'examples' / 'gallery'}{os.pathsep}{ROOT / 'src'}"}
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        *map(str, scripts),
    ]
    checked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("problem.add_count(xs, [1], '==', 2, weight=3)", ""),
        ("problem.add_count(xs, [1], '==', 2, wieght=3)", 'Unexpected keyword argument "wieght"'),
        ("problem.add(xs[0] == 1, weigth=3)", 'Unexpected keyword argument "weigth"'),
        ("problem.add_variable(0, 9, 'x')", ""),
        ("problem.add_variables((2, 2), 0, 9)[0, 1]", ""),
        ("problem.add_variable(0, '9')", "No overload variant"),
    ],
)
def test_a_misspelt_keyword_is_an_error_that_mypy_sees(line: str, wrong: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "guess.py"
    script.write_text(
        f"from anycsp import Problem\n\nproblem = Problem()\nxs = problem.add_variables(3, 0, 9)\n{line}\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(script)]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    checked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (checked.returncode == 0) == (not wrong), checked.stdout
    assert wrong in checked.stdout
