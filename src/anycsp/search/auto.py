"""The rule behind `--search auto`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anycsp import native

if TYPE_CHECKING:
    from anycsp.models import Model
    from anycsp.problem import Problem


def choose_search(problem: Problem, model: str | Model) -> str:
    """Local search wherever it was built."""
    return "local" if native.available() else "neural"
