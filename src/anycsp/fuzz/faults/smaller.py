"""An earlier fault, or a smaller file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def smaller(case: Any) -> Iterator[Any]:
    if case["variables"] > 50:
        yield {**case, "variables": 50}
    if case["moment"] > 0.01:
        yield {**case, "moment": round(case["moment"] / 2, 4)}
    if case["seed"]:
        yield {**case, "seed": 0}
