"""Stands in for the conftest.py of CPMpy's tests, which its source distribution leaves out: every test that asks for a
solver gets ours."""

from __future__ import annotations

import os
from typing import Any

import pytest

import anycsp.integrations.cpmpy  # noqa: F401 — adds the solver

SOLVER = "anycsp"
EVERY = int(os.environ.get("EVERY", "1"))
"""One in so many of the tests that are made one per expression is run."""


def pytest_configure(config: Any) -> None:
    for marker in ("requires_solver", "requires_dependency", "depends_on_solver", "generate_constraints", "flaky"):
        config.addinivalue_line("markers", f"{marker}: CPMpy's own")
    config.addinivalue_line("markers", "timeout: CPMpy's own")
    config.addinivalue_line("markers", "dataset_download: CPMpy's own")


@pytest.fixture
def solver() -> str:
    return SOLVER


def pytest_generate_tests(metafunc: Any) -> None:
    """`generate_constraints` holds a function that yields a constraint per test."""
    marker = metafunc.definition.get_closest_marker("generate_constraints")
    if marker is not None and "constraint" in metafunc.fixturenames:
        constraints = list(marker.args[0](SOLVER))[::EVERY]
        metafunc.parametrize("constraint", constraints, ids=[f"{k}-{c}"[:120] for k, c in enumerate(constraints)])


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Only what concerns a solver, and not one that is named."""
    chosen, others = [], []
    for item in items:
        named = item.get_closest_marker("requires_solver")
        ours = "solver" in item.fixturenames and (named is None or SOLVER in named.args)
        (chosen if ours else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen
