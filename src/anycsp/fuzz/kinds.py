"""What a campaign can try: each kind draws cases, checks them, and knows smaller ones."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

Case = Mapping[str, Any]
"""Plain data, so that it can be kept as a JSON file and run again."""


@dataclass(frozen=True)
class Kind:
    name: str
    draw: Callable[[Random], Case]
    check: Callable[[Case], str]
    """A word for the tally; raises where something is wrong."""
    smaller: Callable[[Case], Iterator[Case]]
    seconds: float
    """The most work of a trial: one that takes more hangs."""

    def case(self, seed: int, trial: int) -> Case:
        """Trial k of a seed is the same alone as in a campaign."""
        return self.draw(Random(f"{self.name}/{seed}/{trial}"))


SECONDS = {"problems": 10.0, "languages": 20.0, "files": 20.0, "models": 30.0, "faults": 60.0}
"""By the name of the kind, which is also that of its module."""


def kind(name: str) -> Kind:
    """Imported when asked for: some need more than others."""
    package = f"anycsp.fuzz.{name}"
    parts = {part: importlib.import_module(f"{package}.{part}") for part in ("draw", "check", "smaller")}
    return Kind(name, parts["draw"].draw, parts["check"].check, parts["smaller"].smaller, SECONDS[name])
