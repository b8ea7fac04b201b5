"""CPMpy's own tests of solvers, run against our back end. They are part of its source distribution, which is fetched
into build/ and not kept here."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from repository import ROOT

pytest.importorskip("cpmpy", reason="needs the extra anycsp[cpmpy]")
pytest.importorskip("ortools", reason="several tests ask for proofs")

OURS = Path(__file__).parent / "cpmpy_suite"
FILES = (
    "solverinterface", "solvers", "solveAll", "solvers_solhint", "constraints", "globalconstraints", "tools_mus",
)  # fmt: skip
"""Those that take a solver. `test_examples` does too, but runs CPMpy's examples, which its source distribution lacks;
the others test transformations and expressions, for which a solver is only a means."""
EVERY = 100
"""There are 14,000 tests made one per expression; CI runs one in so many, since all of them take half an hour."""
LISTED = {
    "test_status_runtime": "it leaves the search what rewriting 2130 clauses leaves of 3 s, on a busy machine nothing"
}
"""Tests that may fail, by name, with the reason; docs/guides/cpmpy.md repeats it."""


def suite() -> Path:
    """The folder of CPMpy's tests, of the version that is installed."""
    version = importlib.metadata.version("cpmpy")
    folder = ROOT / "build" / f"cpmpy-{version}-tests"
    if not folder.exists():
        where = ROOT / "build" / "cpmpy-source"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        fetched = subprocess.run([*command, "--dest", str(where), f"cpmpy=={version}"], capture_output=True, text=True)
        archive = where / f"cpmpy-{version}.tar.gz"
        if fetched.returncode or not archive.exists():
            pytest.skip(f"the source of cpmpy {version} cannot be fetched here")
        with tarfile.open(archive) as source:
            source.extractall(where, filter="data")
        shutil.move(where / f"cpmpy-{version}" / "tests", folder)
    # Under names of their own here: pytest would take a conftest.py for one of ours.
    shutil.copy(OURS / "harness.py", folder / "conftest.py")
    shutil.copy(OURS / "helpers.py", folder / "utils.py")
    return folder


@pytest.mark.slow
def test_cpmpys_own_tests_pass_or_are_listed() -> None:
    folder = suite()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", "--rootdir", str(folder)]
    command += ["-o", "addopts="]  # not those of this repository
    ended = subprocess.run(
        [*command, *(f"test_{name}.py" for name in FILES)],
        cwd=folder,
        env={**os.environ, "EVERY": str(EVERY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert int(passed[1]) > 200, "the tests were not found"
    failed = re.findall(r"^FAILED (\S+)", ended.stdout, re.MULTILINE)
    surprising = [test for test in failed if test.split("::")[-1].split("[")[0] not in LISTED]
    assert not surprising, ended.stdout[-6000:]
