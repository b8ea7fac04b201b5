"""The Makefile says what it offers: every target has its line in `make help`."""

from __future__ import annotations

import re
import subprocess

from repository import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def made(*arguments: str) -> str:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_help_describes_every_target() -> None:
    targets = {name for line in re.findall(r"^\.PHONY:(.*)", MAKEFILE, re.MULTILINE) for name in line.split()}
    rules = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
    assert targets == rules
    described = dict(re.findall(r"^make (\S+) +(\S.*)$", made("help"), re.MULTILINE))
    assert described.keys() == targets


def test_the_targets_that_scripts_rely_on_exist() -> None:
    """A dry run fails where a target or what it depends on is missing."""
    for target in ("install", "demo", "test", "check", "sanitize", "bench-quick"):
        assert made("--dry-run", "--always-make", target)


def test_plain_make_installs() -> None:
    assert made("--dry-run", "--always-make") == made("--dry-run", "--always-make", "install")
