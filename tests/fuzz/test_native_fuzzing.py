"""The targets of tests/native build, run and find nothing within seconds; `make fuzz-native` runs them for longer."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from repository import ROOT

SCRIPT = ROOT / ".ci" / "fuzz-native"
SECONDS = 4
TARGETS = {path.stem.removeprefix("target-") for path in (ROOT / "tests" / "native").glob("target-*.cpp")}


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.exists(), reason="not a checkout")
def test_every_native_target_runs_and_finds_nothing(tmp_path: Path) -> None:
    if subprocess.run([SCRIPT, "compiler"], capture_output=True).returncode:
        pytest.skip("no clang with libFuzzer")
    ran = subprocess.run(
        [SCRIPT, str(SECONDS), "1"],
        env=os.environ | {"KEPT": str(tmp_path), "OPTIMISE": "-O0"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    executions = dict(re.findall(r"^(\w+): (\d+) executions", ran.stdout, re.MULTILINE))
    assert executions.keys() == TARGETS
    assert all(int(many) > 0 for many in executions.values())
