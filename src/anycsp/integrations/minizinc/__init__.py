"""anycsp as a solver of MiniZinc: `fzn-anycsp` reads FlatZinc, `anycsp.msc` tells MiniZinc of it, and `mznlib` says
which global constraints it wants whole.

    anycsp minizinc install
    minizinc --solver anycsp model.mzn data.dzn
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import anycsp
from anycsp.errors import AnyCSPError
from anycsp.formats.files import write_whole

LIBRARY = Path(__file__).parent / "mznlib"
"""The predicates that MiniZinc leaves whole for anycsp."""


def executable() -> Path:
    """The command `fzn-anycsp`: beside this Python, or wherever the shell finds it."""
    beside = Path(sys.executable).parent / "fzn-anycsp"
    found = str(beside) if beside.exists() else shutil.which("fzn-anycsp")
    if found is None:
        raise AnyCSPError("the command fzn-anycsp is not installed: reinstall the package with pip install anycsp")
    return Path(found).absolute()


def configuration() -> dict[str, Any]:
    """What `anycsp.msc` holds: paths are those of this installation."""
    return {
        "id": "org.anycsp.anycsp",
        "name": "anycsp",
        "description": "Local search, tree search and a learned policy for any constraint problem",
        "version": anycsp.__version__,
        "mznlib": str(LIBRARY),
        "executable": str(executable()),
        "tags": ["cp", "int", "anycsp"],
        "stdFlags": ["-a", "-f", "-i", "-n", "-p", "-r", "-s", "-t", "-v"],
        "extraFlags": [["--search", "Which search to use", "opt:auto:local:exact:hybrid:neural", "auto"]],
        "supportsMzn": False,
        "supportsFzn": True,
        "needsSolns2Out": True,
        "needsMznExecutable": False,
        "needsStdlibDir": False,
        "isGUIApplication": False,
    }


def user_folder() -> Path:
    """Where MiniZinc looks for the solvers of a user."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home())) / "MiniZinc" / "solvers"
    return Path.home() / ".minizinc" / "solvers"


def install(folder: Path | None = None) -> Path:
    """Write `anycsp.msc`, by default where MiniZinc finds it; the path of the file."""
    folder = user_folder() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "anycsp.msc", json.dumps(configuration(), indent=2) + "\n")
    return folder / "anycsp.msc"


def solver_path() -> Path:
    """A folder with `anycsp.msc` for the environment variable MZN_SOLVER_PATH; MiniZinc's own stay as they are."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return install(cache / "anycsp" / "minizinc").parent
