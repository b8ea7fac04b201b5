"""A folder of the user's own instances, any readable format, a fixed part of it held out for validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.errors import ProblemError
from anycsp.problem import Problem


@dataclass(frozen=True)
class Files(Distribution):
    folder: str
    held_out: float = 0.2
    """Share of the files kept for validation; which ones depends on their names only."""
    split: str = "train"
    """"train", "held-out" or "all"."""
    pattern: str = "*"
    colors: int | None = None
    """Number of colours, for files of graphs to colour."""

    @cached_property
    def paths(self) -> list[Path]:
        """The files of the split, ordered by name. At least one is held out and one trained on."""
        found = sorted(path for path in Path(self.folder).glob(self.pattern) if path.is_file())
        if len(found) < (1 if self.split == "all" else 2):
            raise ProblemError(f"{self.folder}: {len(found)} files match {self.pattern!r}, training needs at least two")
        if self.split == "all":
            return found
        shuffled = sorted(found, key=lambda path: (crc32(path.name.encode()), path.name))
        kept = min(max(1, round(self.held_out * len(found))), len(found) - 1)
        return sorted(shuffled[:kept] if self.split == "held-out" else shuffled[kept:])

    @cached_property
    def _problems(self) -> dict[Path, Problem]:
        return {}

    def draw(self, rng: np.random.Generator) -> Problem:
        path = self.paths[int(rng.integers(len(self.paths)))]
        if path not in self._problems:
            from anycsp.formats import read

            self._problems[path] = read(path, colors=self.colors)
        return self._problems[path]

    def validation(self) -> Files:
        return replace(self, split="held-out")
