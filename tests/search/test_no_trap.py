"""No search is trapped: every strategy comes to the optimum from every start, alone, with nothing but its restarts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from random_problems import random_problem

from anycsp import Problem, native, solve
from anycsp.engine import Engine
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.presolve.network import required
from anycsp.search import enumeration
from anycsp.search.invariants import InvariantSearch
from anycsp.search.local import STRATEGIES, LocalSearch
from anycsp.search.portfolio import LocalMember, Portfolio

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")

TINY = 1000
FAST = 30
"""So many of them are in the fast tests."""
STEPS, MOST_STEPS = 2000, 400_000
"""Between two looks at the score, and of a run that is trapped; the slowest of the thousand took 60,000."""
BOUT = 8
"""Moves of the first bout: a problem this small is done in as many."""


def tiny_problems(numbers: range) -> Iterator[tuple[int, ConstraintValueGraph, np.ndarray, int]]:
    """With every assignment, and the least score of all; those where all are equal are left out."""
    for number in numbers:
        problem = random_problem(number, max_variables=3, weighted=bool(number % 2))
        graph = compile_graph(problem)
        every = np.array(list(product(*map(range, graph.domains.sizes.tolist()))), dtype=np.int32)
        counter = LocalSearch(graph, "walksat", len(every))
        counter.start(every)
        score = counter.best_score()[:, 0]
        if score.min() < score.max():
            yield number, graph, every, int(score.min())


def engine_of(strategy: str, graph: ConstraintValueGraph, seed: int) -> Engine:
    if strategy == "invariants":
        return InvariantSearch(graph, required(graph), 1, seed)
    member = LocalMember(LocalSearch(graph, strategy, 1, seed), 1.0, np.random.default_rng(seed), bout=BOUT)
    return Portfolio(graph, None, 0.0, [member], by_steps=True)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "invariants"])
@pytest.mark.parametrize("numbers", [range(FAST), pytest.param(range(FAST, TINY), marks=pytest.mark.slow)], ids=str)
def test_every_strategy_finds_the_optimum_of_tiny_problems_from_every_start(strategy: str, numbers: range) -> None:
    for number, graph, every, least in tiny_problems(numbers):
        if strategy == "invariants" and least > 0:
            continue  # it keeps some of what must hold, whatever that costs elsewhere
        for start, positions in enumerate(every):
            engine = engine_of(strategy, graph, number)
            engine.start(positions[None, :])
            for _ in range(MOST_STEPS // STEPS):
                if engine.best_score().min() == least:
                    break
                engine.advance(STEPS, 1e9)
            assert engine.best_score().min() == least, (number, start)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("enumerated", [True, False])
def test_six_assignments(enumerated: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From [1, 1], which violates 12, no single move is better; [2, 0] and others violate 8."""
    if not enumerated:
        monkeypatch.setattr(enumeration, "MOST_ASSIGNMENTS", 0)
    problem = Problem()
    x0, x1 = problem.add_variable(range(1, 4)), problem.add_variable((0, 1))
    problem.add(x0 - 2 * x1 < -2, weight=8)
    problem.add_distinct([x0, x1], ">=", 2, weight=8)
    problem.add_all_different([x1], weight=6)
    problem.add_table([x1, x0], [(a, b) for a in (0, 1) for b in (1, 3)], weight=4)
    result = solve(problem, search="local", hint=[1, 1], steps=20_000, seed=seed)
    assert result.violated_weight == 8
