"""What every result states: on which hardware, with which software, from which commit."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import anycsp


@lru_cache
def hardware() -> str:
    """Processor, cores and memory, e.g. "AMD EPYC, 2 cores, 23 GB"."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (OSError, ValueError, AttributeError):
        memory = ""
    return f"{name}, {os.cpu_count()} cores{memory}"


@lru_cache
def software() -> str:
    packages = [f"Python {platform.python_version()}"]
    for package in ("torch", "numpy"):
        try:
            packages.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(packages)


@lru_cache
def commit() -> str:
    """The commit of the source tree, with "+" where files differ from it; the version of an installed package."""
    folder = Path(anycsp.__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        if not git("ls-files", "--", "__init__.py"):
            raise ValueError("the package lies inside some other repository")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError, ValueError):
        return f"version {anycsp.__version__}"
