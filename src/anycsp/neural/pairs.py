"""All-different as the network sees it: a ≠ for every two variables that can clash.

A constraint is one vertex of the graph, violated or not. Where it is over many variables that says little: an
all-different in which two are equal looks like one in which all are, no single move satisfies either, and as one
constraint against many it is the one that a search gives up (magic squares). Its pairs say who clashes with whom, and
guidance gives each of them a memory of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.all_different import AllDifferentBlock
from anycsp.constraints.base import Block
from anycsp.constraints.relation import Relation
from anycsp.constraints.table import TableBlock
from anycsp.deadline import NEVER, Deadline
from anycsp.engine import WORST, Improvement, Incomplete, NeuralEngine
from anycsp.model.domains import Domain
from anycsp.model.problem import Problem, Violation

IntArray = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]

MOST_PAIRS = 50_000
"""All together. Beyond, a step takes longer than with the constraints as they are, and so does making them."""

PAIR_SECONDS = 2e-6
"""What a pair takes to be made, and compiled."""


def in_pairs(problem: Problem, deadline: Deadline = NEVER) -> Problem:
    """The same problem with pairs in place of all that must be different; the very problem where nothing must be, where
    there would be too many or no time for them, or where not everything is required: pairs would cost more than what
    they stand for."""
    different = [block for block in problem.blocks if isinstance(block, AllDifferentBlock)]
    pairs = sum(int((block.arity * (block.arity - 1) // 2).sum()) for block in different)
    in_time = pairs * PAIR_SECONDS < deadline.left
    if not 0 < pairs <= MOST_PAIRS or not in_time or not problem.scoring.all_required:
        return problem
    blocks = (_pairs(block, problem) if isinstance(block, AllDifferentBlock) else block for block in problem.blocks)
    return problem.over(problem.domain_list, blocks)


def _pairs(block: AllDifferentBlock, problem: Problem) -> Block:
    domains, relations = problem.domain_list, list[Relation]()
    numbers: dict[tuple[int, int, tuple[int, ...]], int] = {}  # equal domains of a problem are one object
    row_of, relation_of, scope = list[int](), list[int](), list[tuple[int, int]]()
    for row, excepted in enumerate(block.except_values):
        for x, y in combinations(block.scope_of(row).tolist(), 2):
            key = (id(domains[x]), id(domains[y]), excepted)
            if key not in numbers:
                numbers[key] = len(relations)
                relations.append(_differ(domains[x], domains[y], excepted))
            if len(relations[numbers[key]].tuples):
                row_of.append(row)
                relation_of.append(numbers[key])
                scope.append((x, y))
    return TableBlock(
        block.terms.take(np.array(row_of, dtype=np.int64)),
        np.arange(len(row_of) + 1, dtype=np.int64) * 2,
        np.array(scope, dtype=np.int64).reshape(-1),
        np.array(relation_of, dtype=np.int64),
        tuple(relations),
    )


def _differ(first: Domain, second: Domain, excepted: tuple[int, ...]) -> Relation:
    common, x, y = np.intersect1d(first.values, second.values, return_indices=True)
    clash = ~np.isin(common, excepted)
    return Relation((len(first.values), len(second.values)), np.stack([x[clash], y[clash]], axis=1), False)


class PairsEngine(Incomplete):
    """A network's engine that searches pairs; what it finds is judged by the constraints as they were written, in
    which a run's best assignment may be another one. See `Engine` for the face."""

    def __init__(self, engine: NeuralEngine, count: Callable[[Positions], tuple[int, Violation]]) -> None:
        """`count`: an assignment's score, and what it violates."""
        self.engine, self._count = engine, count

    @property
    def steps(self) -> int:
        return self.engine.steps

    @property
    def positions(self) -> npt.NDArray[np.integer[Any]]:
        return self.engine.positions

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self.engine.start(positions)
        self._best: Positions = self.engine.best_positions().copy()
        self._score = np.full((len(self._best), 1), WORST, dtype=np.int64)
        self._improvements: list[Improvement] = []
        self._judge()

    def advance(self, max_steps: int, seconds: float = math.inf) -> int:
        taken = self.engine.advance(max_steps, seconds)
        self._judge()
        return taken

    def improvements(self) -> list[Improvement]:
        found, self._improvements = self._improvements, []
        return found

    def best_score(self) -> npt.NDArray[np.int64]:
        return self._score

    def best_positions(self) -> Positions:
        return self._best

    def _judge(self) -> None:
        """Count anew what got better in pairs; of each run the last, since only that is there to be looked at."""
        news = {found.run: found for found in self.engine.improvements()}
        positions = self.engine.best_positions() if news else self._best
        for run, found in news.items():
            score, violation = self._count(positions[run])
            if score < self._score[run, 0]:
                self._score[run], self._best[run] = score, positions[run]
                violated, weight, hard = violation
                self._improvements.append(found._replace(violated=violated, weight=weight, hard=hard, score=score))
