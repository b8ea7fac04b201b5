"""The compiled local search: classical strategies over any problem, R runs side by side on threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.deadline import NEVER, Deadline
from anycsp.engine import Improvement, Incomplete
from anycsp.errors import AnyCSPError
from anycsp.graph import ConstraintValueGraph

STRATEGIES = ("annealing", "tabu", "walksat", "probsat", "ccls", "weighting", "focused")

FOREVER = 1 << 62
"""More steps than any search takes."""


class LocalSearch(Incomplete):
    """R runs of one strategy on the graph of one instance; see `Engine` for the face. A step is a move of every run;
    for annealing a proposed one."""

    def __init__(
        self,
        graph: ConstraintValueGraph,
        strategy: str,
        runs: int = 1,
        seed: int = 0,
        threads: int = 1,
        *,
        steps: int | None = None,
        deadline: Deadline = NEVER,
        graded: bool = True,
        **parameters: float,
    ) -> None:
        """`steps` and `deadline` say when the search will end, where that is known: annealing cools down by then.
        `graded`: where a sum or all-different is far from satisfied, moves that bring it nearer count as better.
        `parameters` are the strategy's own, docs/guides/search.md lists them."""
        if not native.available():
            raise AnyCSPError(f"local search needs the native module, which is {native.why_not()}")
        self.strategy = strategy
        if strategy not in STRATEGIES:
            raise AnyCSPError(f"unknown strategy {strategy!r}: use one of {', '.join(STRATEGIES)}")
        self.graph, self.runs = graph, runs
        self._constant = graph.constant[0]
        self._steps, self._deadline = FOREVER if steps is None else steps, deadline
        try:
            self._search = native.module().LocalSearch(
                graph.native_problem, strategy, parameters, runs, seed & (2**64 - 1), threads, graded,
                graph.external_labels,
            )  # fmt: skip
        except ValueError as error:
            raise AnyCSPError(str(error)) from None

    @property
    def steps(self) -> int:
        """Moves that all runs have made; once one of them is done, its own."""
        moves = self._search.moves()
        return int(max(moves) if self.concluded else min(moves))

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None, steps: int | None = None) -> None:
        """`steps`: the search will end after so many, whatever was said before."""
        end = (self._steps, self._deadline.left) if steps is None else (steps, math.inf)
        self._search.start(None if positions is None else np.ascontiguousarray(positions, dtype=np.int32), *end)

    def burst(self, positions: npt.NDArray[np.integer[Any]], moves: int) -> npt.NDArray[np.int32]:
        """The best assignments found in so many moves from the given ones."""
        self.start(positions, moves)
        self.advance(moves)
        return self.best_positions()

    @property
    def temperatures(self) -> tuple[float, float]:
        """The range annealing cools through; zeros for other strategies, and until it is measured."""
        hot, cold = self._search.temperatures()
        return hot, cold

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        return int(self._search.advance(min(max_steps, FOREVER), seconds))

    @property
    def concluded(self) -> bool:
        """Only what no move can change is violated, or there is no move."""
        stuck = bool((self.graph.domains.sizes == 1).all())
        return stuck or int(self.best_score().min()) <= self._constant[3]

    def stop(self) -> None:
        """End an `advance` under way in another thread."""
        self._search.stop()

    def improvements(self) -> list[Improvement]:
        violated, weight, hard, score = self._constant.tolist()
        units = float(self.graph.units[0])
        return [
            Improvement(
                step, seconds, run, 0, count + violated, (w + weight) / units, h + hard, s + score,
                self.strategy if step else "initial",
            )
            for step, seconds, run, count, w, h, s in self._search.improvements()
        ]  # fmt: skip

    def best_score(self) -> npt.NDArray[np.int64]:
        scores: npt.NDArray[np.int64] = np.array(self._search.best_score(), dtype=np.int64)[:, None] + self._constant[3]
        return scores

    def best_positions(self) -> npt.NDArray[np.int32]:
        positions: npt.NDArray[np.int32] = self._search.best_positions()
        return positions

    @property
    def positions(self) -> npt.NDArray[np.int32]:
        """[runs, variables]: where the runs are now."""
        positions: npt.NDArray[np.int32] = self._search.positions()
        return positions

    def verify(self) -> None:
        """Raise unless every run's costs and counts equal those computed afresh from its assignment."""
        self._search.verify()
