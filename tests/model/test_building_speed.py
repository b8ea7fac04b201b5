"""Models are built fast. The bars are those of benchmarks/building.py with a margin for a busy machine."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from repository import ROOT

MARGIN = 3


@pytest.mark.parametrize("title", ["queens by expressions", "linear constraints"])
def test_models_are_built_fast(title: str) -> None:
    script = runpy.run_path(str(Path(ROOT) / "benchmarks" / "building.py"))
    build, size, _, bar = script["MODELS"][title]
    assert min(script["seconds"](build, size) for _ in range(2)) < MARGIN * bar
