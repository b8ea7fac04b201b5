"""What the documentation shows works: Python blocks run, examples are read, every option is described."""

from __future__ import annotations

import lzma
import re
import runpy
from pathlib import Path

import pytest
from repository import ROOT

from anycsp import search
from anycsp.cli import COMMANDS
from anycsp.cli.solve import solve as solve_command
from anycsp.constraints.base import FAMILIES
from anycsp.formats import FORMATS, read, read_text


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, model: Path, tmp_path: Path) -> None:
    """Searches of the documentation, shortened, with whatever policy; files it names lie in the current folder."""
    real = search.solve

    def short(problem, **options):  # type: ignore[no-untyped-def]
        return real(problem, **{**options, "time_limit": 0.2, "model": str(model)})

    monkeypatch.setattr(search, "solve", short)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "formula.cnf.xz").write_bytes(lzma.compress(b"p cnf 2 1\n1 2 0\n"))


@pytest.mark.parametrize("page", ["README.md", "docs/python-api.md"])
@pytest.mark.usefixtures("shown")
def test_python_blocks_run_from_top_to_bottom(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})


@pytest.mark.parametrize("script", ["queens.py", "sudoku.py"])
@pytest.mark.usefixtures("shown")
def test_example_scripts_run(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert "constraints" in capsys.readouterr().out


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


def test_the_json_of_the_documentation_is_read() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert read_text(block).num_constraints == 4


def test_every_option_command_and_format_is_described() -> None:
    cli = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for parameter in solve_command.params:
        assert any(option in cli for option in parameter.opts if option.startswith("--")) or parameter.name == "file"
    formats = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in formats for name in FORMATS)
    assert all(f"`{kind}`" in formats for kind in FAMILIES if kind != "external")
    documentation = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert all(f"anycsp {name}" in documentation for name in COMMANDS)
