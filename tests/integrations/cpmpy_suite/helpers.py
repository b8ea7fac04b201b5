"""Stands in for the helpers of CPMpy's tests, which its source distribution leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def skip_on_missing_pblib(*, skip_on_exception_only: bool = False) -> Callable[[Any], Any]:
    """A library that PySAT back ends need, and ours does not."""
    return lambda test: test


def inclusive_range(low: int, high: int) -> range:
    return range(low, high + 1)


def lambda_assert(holds: Callable[[], bool]) -> Callable[[], None]:
    """A display function that asserts."""

    def check() -> None:
        assert holds()

    return check
