"""Search settings that differ between runs. No one setting suits all problems, so a model may have several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Setting = TypeVar("Setting")


def in_turns(settings: Sequence[Setting], runs: Iterable[int]) -> list[Setting]:
    """The setting of each run: pairs of runs take turns, as the two runs of a pair differ in their cooling already."""
    return [settings[run // 2 % len(settings)] for run in runs]
