"""What needs no torch leaves it alone: commands and searches neither import it nor ask for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anycsp import native

EXAMPLES = next(p for p in Path(__file__).resolve().parents if (p / "examples").is_dir()) / "examples"
FORMULA = EXAMPLES / "planted3sat.cnf"

needs_native = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


def python(code: str, *, hidden: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own, in which the hidden modules cannot be imported."""
    hide = "".join(f"sys.modules[{name!r}] = None\n" for name in hidden)
    return subprocess.run(
        [sys.executable, "-c", f"import sys\n{hide}{code}"], capture_output=True, text=True, check=False, timeout=120
    )


def imported_by(code: str) -> set[str]:
    """The packages a program has imported by its end."""
    result = python(f"{code}\nprint('IMPORTED', *{{name.partition('.')[0] for name in sys.modules}})")
    assert result.returncode == 0, result.stderr
    return set(result.stdout.splitlines()[-1].split()[1:])


def command(*arguments: object) -> str:
    """A program that runs one command and goes on, whatever its exit code."""
    return f"from anycsp.cli import run\nassert run({[str(a) for a in arguments]!r}) in (0, 10)"


COMMANDS = {
    "help": ("--help",),
    "solve-help": ("solve", "--help"),
    "version": ("version",),
    "models": ("models",),
    "info": ("info", FORMULA),
    "info-system": ("info", "--system"),
    "local-clauses": ("solve", FORMULA, "--search", "local", "--quiet"),
    "local-coloring": ("solve", EXAMPLES / "petersen.col", "--colors", 3, "--quiet"),
    "fewest-colors": ("solve", EXAMPLES / "petersen.col", "--quiet"),
    "local-cut": ("solve", EXAMPLES / "cube.rud", "--steps", 1000, "--quiet"),
    "neural": ("solve", FORMULA, "--search", "neural", "--steps", 20, "--quiet"),
    "hybrid": ("solve", FORMULA, "--search", "hybrid", "--steps", 5, "--quiet"),
    "evaluate": ("evaluate", FORMULA, "--model", "sat", "--steps", 5),
}


@needs_native
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_leave_torch_unimported(name: str) -> None:
    assert "torch" not in imported_by(command(*COMMANDS[name]))


@needs_native
def test_check_convert_and_generate_leave_torch_unimported(tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    solved = python(command("solve", FORMULA, "--quiet"))
    answer.write_text(solved.stdout)
    for arguments in (
        ("check", FORMULA, answer),
        ("convert", FORMULA, tmp_path / "formula.json"),
        ("generate", "sat", "--count", 2, "--out", tmp_path / "drawn"),
    ):
        assert "torch" not in imported_by(command(*arguments)), arguments


RULES = """
from anycsp import Problem, solve
problem = Problem()
x = problem.add_variables(6, range(5))
problem.add_all_different(x[:4])
problem.add_circuit(x[:4], self_loops=True)
problem.add_rule([x[4], x[5]], lambda a, b: len({a, b}) == 2)
result = solve(problem, search="SEARCH", steps=30, runs=2, threads=2)
"""


@needs_native
@pytest.mark.parametrize("search", ["local", "neural", "hybrid"])
def test_rules_in_python_are_labelled_without_torch(search: str) -> None:
    assert "torch" not in imported_by(RULES.replace("SEARCH", search))


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not {"torch", "numpy", "rich", "click", "pycsp3", "safetensors"} & imported_by("import anycsp")


def test_help_imports_the_command_line_and_nothing_heavy() -> None:
    assert not {"torch", "numpy", "rich", "pycsp3", "safetensors"} & imported_by(command("--help"))


def test_only_xcsp3_files_import_pycsp3() -> None:
    assert "pycsp3" not in imported_by(command("info", FORMULA))


# ── without torch ────────────────────────────────────────────────────────────────────────────────


@needs_native
@pytest.mark.parametrize("search", ["local", "neural", "hybrid"])
def test_every_search_works_without_torch(search: str) -> None:
    result = python(command("solve", FORMULA, "--search", search, "--steps", 30, "--quiet"), hidden=("torch",))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("train", EXAMPLES.parent / "configs" / "sat.toml", "--out", "nowhere"), "training"),
        (("solve", FORMULA, "--search", "neural", "--device", "cuda"), "device 'cuda'"),
    ],
    ids=["train", "device"],
)
def test_what_needs_torch_says_so_in_one_line(arguments: tuple[object, ...], what: str) -> None:
    code = f"from anycsp.cli import run\nsys.exit(run({[str(a) for a in arguments]!r}))"
    result = python(code, hidden=("torch",))
    assert result.returncode == 2
    assert result.stderr == f"error: {what} needs torch: pip install 'anycsp[train]'\n"


def test_without_native_module_and_torch_neural_search_says_what_to_install() -> None:
    without_native = "import os\nos.environ['ANYCSP_NATIVE'] = '0'\n"
    code = f"{without_native}from anycsp.cli import run\nsys.exit(run(['solve', {str(FORMULA)!r}]))"
    result = python(code, hidden=("torch",))
    assert result.returncode == 2
    assert result.stderr.startswith("error: neural search without the native module")
    assert result.stderr.endswith("needs torch: pip install 'anycsp[train]'\n")


def test_a_search_leaves_torchs_threads_as_they_were() -> None:
    code = """
import os
os.environ["ANYCSP_NATIVE"] = "0"
import torch
torch.set_num_threads(2)
from anycsp import Problem, solve
problem = Problem()
x = problem.add_variables(4, range(3))
problem.add_all_different(x)
solve(problem, search="neural", steps=3, threads=1)
assert torch.get_num_threads() == 2
"""
    assert python(code).returncode == 0
