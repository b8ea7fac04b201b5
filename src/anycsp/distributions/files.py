"""A folder of the user's own instances, any readable format, a fixed part of it held out for validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.distributions.folder import format_of, problem_files
from anycsp.distributions.graphs import greedy_colors
from anycsp.distributions.parameters import Kind, check
from anycsp.errors import FormatError, ProblemError
from anycsp.formats import col, parse
from anycsp.formats.files import Source, load
from anycsp.model.coloring import large_clique
from anycsp.model.problem import Problem
from anycsp.schema import shown

SPLITS = ("train", "held-out", "all")


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

    def __post_init__(self) -> None:
        check(Kind.NUMBER, 0, 1, held_out=self.held_out)
        if self.colors is not None:
            check(Kind.WHOLE, 1, colors=self.colors)
        if self.split not in SPLITS:
            raise ProblemError(f"split = {shown(self.split)}: expected one of {', '.join(SPLITS)}")
        _ = self.paths  # a folder that cannot be used is told of now, not at the first draw

    @cached_property
    def paths(self) -> list[Path]:
        """The files of the split, ordered by name. At least one is held out and one trained on."""
        found = problem_files(self.folder, self.pattern)
        needed = 1 if self.split == "all" else 2
        if len(found) < needed:
            enough = "one is needed" if needed == 1 else "training needs at least two, one of them held out"
            raise ProblemError(f"readable files that match {shown(self.pattern)}: {len(found)}; {enough}")
        if self.split == "all":
            return found
        shuffled = sorted(found, key=lambda path: (crc32(path.name.encode()), path.name))
        kept = min(max(1, round(self.held_out * len(found))), len(found) - 1)
        return sorted(shuffled[:kept] if self.split == "held-out" else shuffled[kept:])

    def draw(self, rng: np.random.Generator) -> Problem:
        return self._problem(self.paths[int(rng.integers(len(self.paths)))])

    def sample(self, seed: int, count: int) -> list[Problem]:
        """As many as there are, none twice: a repeated file would judge a model no better, only slower."""
        chosen = np.random.default_rng(seed).permutation(len(self.paths))[:count]
        return [self._problem(self.paths[i]) for i in sorted(chosen.tolist())]

    def validation(self) -> Files:
        return replace(self, split="held-out")

    @cached_property
    def _problems(self) -> dict[Path, Problem]:
        return {}

    def _problem(self, path: Path) -> Problem:
        if path not in self._problems:
            try:
                self._problems[path] = self._read(load(path))
            except FormatError as error:
                advice = "mend it, or keep it out of the folder or the pattern"
                raise FormatError(error.path, f"{error.reason} ({advice})", error.line) from None
        return self._problems[path]

    def _read(self, source: Source) -> Problem:
        chosen = format_of(source)
        if chosen is None:
            raise source.error("of unknown format")
        colors = self.colors
        if colors is None and chosen.takes_colors:
            colors = _colors_worth_asking(col.read_graph(source))
        return parse(source, format=chosen.name, colors=colors)


def _colors_worth_asking(graph: col.ColoringGraph) -> int:
    """One less than greedy needs, as in `coloring`: not trivial, mostly possible. Never fewer than a clique has, which
    is impossible, nor than three, as two colours need no search. Without the bound of ten that the paper sets for its
    small graphs: a folder's graphs may need a hundred colours, and with ten nothing would be learnt of them."""
    greedy = greedy_colors(graph.vertices, graph.edges)
    clique = large_clique(graph.vertices, graph.edges.tolist(), enough=greedy)
    return max(greedy - 1, len(clique), 3)
