"""What the tests of benchmarks share."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from repository import ROOT

BENCHMARKS = str(ROOT / "benchmarks")


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Imports a script of benchmarks/ by its name; scripts find each other there, but installed packages first: one
    script is called minizinc, and CPMpy looks for the package of that name."""

    def load(name: str) -> ModuleType:
        sys.path.append(BENCHMARKS)
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(BENCHMARKS)

    return load
