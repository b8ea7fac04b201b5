"""What the documentation shows works: blocks of Python and of commands run, every option is described, every file that
is named exists, and the site builds without a warning or an outside request."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT

import anycsp
from anycsp.cli import COMMANDS
from anycsp.cli.solve import solve as solve_command
from anycsp.constraints.base import FAMILIES
from anycsp.formats import FORMATS, read_text

DOCS = ROOT / "docs"
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md"))]
OTHERS = {
    "integrations": ["networkx"],
    "cpmpy": ["cpmpy"],
    "pysat": ["pysat"],
    "dwave": ["dimod"],
    "gymnasium": ["gymnasium"],
}
"""What the code of a page needs beside this package."""
ABBREVIATED = """
# Stands in for `anycsp` while the documentation's commands are tried: the same program with shorter limits.
import sys
from anycsp.cli import main
arguments = sys.argv[1:]
for option, least in (("--minutes", "0.02"), ("--time-limit", "0.5")):
    if option in arguments:
        arguments[arguments.index(option) + 1] = least
if arguments[0] in ("solve", "evaluate") and not {"--time-limit", "--steps"} & set(arguments):
    arguments += ["--time-limit", "0.5"]
if arguments[0] == "train":
    for setting in ("instances=2", "validate_minutes=0.01", "validation_instances=2", "validation_depths=[10]"):
        arguments += ["--set", setting] if "--resume" not in arguments or setting.startswith("validate") else []
if arguments[0] in ("tune", "learn"):
    arguments += ["--processes", "1", "--seeds", "1"] + ["--judges", "2", "--instances", "2"] * (arguments[0] == "tune")
if arguments[0] == "bench":
    arguments += ["--plan"]
try:
    sys.argv[1:] = arguments
    main()
except SystemExit as end:
    sys.exit(0 if end.code in (10, 30) else end.code)  # solved and proved are no reason for the shell to stop
"""


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def workplace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty current folder with what the documentation expects at the top of the repository."""
    for folder in ("examples", "configs", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
@pytest.mark.usefixtures("workplace", "short_searches")
def test_python_blocks_run_from_top_to_bottom(page: str) -> None:
    for library in OTHERS.get(Path(page).stem, ()):
        pytest.importorskip(library)
    exec(compile("\n".join(blocks(page, "python")), page, "exec"), {})


def commands(page: str) -> str:
    """The page's shell commands, but for those that install or test: tests cannot run those."""
    lines = "\n".join(blocks(page, "sh")).splitlines()
    missing = () if shutil.which("minizinc") else ("minizinc ",)
    return "\n".join(line for line in lines if not line.startswith(("make ", "pip ", ".ci/", *missing)))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_run_from_top_to_bottom(page: str, workplace: Path, request: pytest.FixtureRequest) -> None:
    if page.endswith("tutorial.md"):
        exec(compile("\n".join(blocks(page, "python")), page, "exec"), {})  # writes the file its commands read
    if "bench all" in commands(page):
        (workplace / "DATA").symlink_to(request.getfixturevalue("data"))
    else:
        (workplace / "DATA").mkdir()
    if "report" in commands(page):
        records = ROOT / "research" / "reports" / "paper" / "runs.jsonl"
        for folder in ("runs/quick", "runs/bench"):
            (workplace / folder).mkdir(parents=True)
            shutil.copy(records, workplace / folder)
    (workplace / "program.py").write_text(ABBREVIATED)
    (workplace / "bin").mkdir()
    program = workplace / "bin" / "anycsp"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{workplace}/program.py" "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = f"set -eo pipefail\n{commands(page)}\n"
    ended = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, f"{page}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"


def test_make_targets_and_scripts_that_are_shown_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*PAGES, "CONTRIBUTING.md"]:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets, page
        for script in re.findall(r"(?:`|^)(\.ci/[a-z-]+)", text, re.MULTILINE):
            assert os.access(ROOT / script, os.X_OK), f"{page}: {script}"


def test_the_json_of_the_documentation_is_read() -> None:
    (block,) = blocks("docs/guides/formats.md", "json")
    assert read_text(block).num_constraints == 4


def test_every_option_command_and_format_is_described() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    for parameter in solve_command.params:
        assert any(option in text for option in parameter.opts if option.startswith("--")) or parameter.name == "files"
    assert set(re.findall(r"^## (\S+)$", text, re.MULTILINE)) == set(COMMANDS)
    formats = (DOCS / "guides" / "formats.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in formats for name in FORMATS)
    assert all(f"`{kind}`" in formats for kind in FAMILIES if kind != "external")


def test_every_public_name_is_in_the_reference() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    errors = {name for name in anycsp.__all__ if name.endswith("Error")}  # all of the module, on one page
    assert "::: anycsp.errors" in reference
    for name in set(anycsp.__all__) - errors - {"__version__"}:
        assert re.search(rf"::: anycsp\.(\S+\.)?{name}$|members: .*\b{name}\b", reference, re.MULTILINE), name


def _texts() -> Iterator[tuple[Path, str]]:
    for folder in ("src", "cpp", "docs", "research", "configs", "benchmarks", "examples", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".cpp", ".h", ".md", ".toml") and path.is_file() and path != Path(__file__):
                yield path, path.read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml", "Makefile"):
        yield ROOT / name, (ROOT / name).read_text(encoding="utf-8")


def test_every_file_that_a_text_names_exists() -> None:
    gone = []
    for path, text in _texts():
        named = re.findall(
            r"\b((?:docs|research|examples|configs|benchmarks)/[\w./-]+\.(?:md|py|csv|png|toml))\b", text
        )
        real = [name for name in named if "NAME" not in name]
        gone += [f"{path.relative_to(ROOT)}: {name}" for name in real if not (ROOT / name).exists()]
    assert not gone


def test_every_source_file_that_the_documentation_names_exists() -> None:
    """A path in backticks is looked for from the top and in the package."""
    gone = []
    for page in [*PAGES, "CONTRIBUTING.md"]:
        for name in re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|cpp|h)|(?:[\w-]+/)+)`", (ROOT / page).read_text()):
            places = (ROOT, ROOT / "src" / "anycsp")
            unreal = re.search(
                r"NAME|FAMILY|DATA|MODEL|OUT|path/to|^(gset|col|satlib|rb50|figures|tensorboard)/$", name
            )
            if not unreal and not any((place / name).exists() for place in places):
                gone.append(f"{page}: {name}")
    assert not gone


def test_every_extra_is_described() -> None:
    extras = re.search(
        r"\[project.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.DOTALL
    )
    assert extras is not None
    names = re.findall(r"^(\w+) = ", extras[1], re.MULTILINE)
    table = (DOCS / "index.md").read_text(encoding="utf-8")
    assert names
    assert [name for name in names if f"| `{name}` |" not in table] == []


def test_every_link_between_pages_outside_the_site_leads_somewhere() -> None:
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "research").rglob("*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_curve_is_named_by_the_research() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "research").glob("*.md"))
    assert [curve.stem for curve in (ROOT / "research" / "curves").glob("*.csv") if f"`{curve.stem}`" not in text] == []


def test_the_readme_has_the_structured_numbers_of_the_results() -> None:
    names = {"compiled search alone": "local", "default, with CP-SAT beside it": "auto", "CP-SAT alone": "CP-SAT"}
    readme = re.search(r"^Structured files.*?\n\n(.*?)\n\n", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.M)
    assert readme is not None
    results = (DOCS / "results.md").read_text("utf-8")
    for row in readme[1].splitlines()[2:]:
        system, *said = [cell.strip(" *") for cell in row.strip("|").split("|")]
        (measured,) = re.findall(rf"^\| \**{names.get(system, system)}\b.*$", results, re.MULTILINE)[:1]
        assert re.sub(r" \(\d+%\)", "", measured).split(" | ")[1:4] == said, system


def test_the_changelog_knows_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(anycsp.__version__)}\b", text, re.MULTILINE)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(), "the version is said in one place"


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_nothing_of_other_hosts(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert len(list(site.rglob("*.html"))) >= len(list(DOCS.rglob("*.md")))
    outside = r"""(?:<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["']|url\(["']?|@import ["'])(?:https?:)?//"""
    for page in [*site.rglob("*.html"), *site.rglob("*.css")]:
        assert not re.search(outside, page.read_text(encoding="utf-8")), page
