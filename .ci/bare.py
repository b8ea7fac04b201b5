"""Solve with an installed wheel in an environment that has nothing else: by local and by native neural search.

    python .ci/bare.py CHECKOUT

Fails where the native module is missing, where torch is installed or asked for, or where an answer does not check.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path


def anycsp(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anycsp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def main() -> None:
    formula = str(Path(sys.argv[1]) / "examples" / "planted3sat.cnf")
    assert importlib.util.find_spec("torch") is None, "this environment has torch"
    for search in ("local", "neural"):
        solved = anycsp("solve", formula, "--search", search, "--time-limit", "20", "--json")
        assert solved.returncode == 10, solved.stdout + solved.stderr
        answer = Path(f"bare-{search}.json")
        answer.write_text(solved.stdout, encoding="utf-8")
        checked = anycsp("check", formula, str(answer))
        answer.unlink()
        assert checked.returncode == 0, checked.stdout + checked.stderr
        print(f"{search}: {json.loads(solved.stdout)['status']}")
    trained = anycsp("train", str(Path(sys.argv[1]) / "configs" / "sat.toml"), "--out", "never")
    assert trained.returncode == 2, trained.stdout + trained.stderr
    assert "anycsp[train]" in trained.stderr, trained.stderr
    assert len(trained.stderr.splitlines()) == 1, trained.stderr


main()
