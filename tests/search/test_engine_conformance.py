"""The conformance suite of engines: what every engine promises, whoever drives it.

A new engine joins by one line in `ENGINES`, a new search of `solve` by one in `SEARCHES`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from random_problems import random_positions, random_problem

from anycsp import Problem, ProblemError, distributions, native, solve
from anycsp.deadline import NEVER, Deadline
from anycsp.engine import Engine, Improvement
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.neural.cooling import CoolingEngine
from anycsp.neural.engine_native import NativeEngine
from anycsp.neural.engine_torch import TorchEngine
from anycsp.neural.models import Model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.search.driver import Limits, Progress, drive
from anycsp.search.hybrid import HybridSearch
from anycsp.search.invariants import InvariantSearch
from anycsp.search.local import STRATEGIES, LocalSearch
from anycsp.search.options import SEARCHES as OFFERED

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")

RUNS = 3


@dataclass(frozen=True)
class Made:
    """What an engine is made of; `steps` and `deadline` say when the search will end, where that is known."""

    graph: ConstraintValueGraph
    seed: int = 0
    steps: int | None = None
    deadline: Deadline = NEVER


def untrained(sampling: str = "global") -> Model:
    torch.manual_seed(7)
    return Model("untrained", PolicyNetwork(PolicyConfig(8, "max", "gain", True, sampling=sampling)).weights())


def local(strategy: str) -> Callable[[Made], Engine]:
    return lambda of: LocalSearch(of.graph, strategy, RUNS, of.seed, 1, steps=of.steps, deadline=of.deadline)


def neural_native(sampling: str) -> Callable[[Made], Engine]:
    return lambda of: NativeEngine(of.graph, untrained(sampling).weights, RUNS, of.seed)


def neural_torch(sampling: str) -> Callable[[Made], Engine]:
    return lambda of: TorchEngine(TensorGraph(of.graph), untrained(sampling).network(), RUNS, of.seed)


def cooled(of: Made) -> Engine:
    engine = NativeEngine(of.graph, untrained().weights, RUNS, of.seed)
    return CoolingEngine(engine, RUNS, 1.5, 0.5, of.steps, of.deadline)


def hybrid(of: Made) -> Engine:
    free = LocalSearch(of.graph, "tabu", RUNS, of.seed, deadline=of.deadline)
    return HybridSearch(
        of.graph, free, untrained(), "tabu", RUNS, of.seed, 1.0, 1, steps=of.steps, deadline=of.deadline
    )


def invariants(of: Made) -> Engine:
    """All constraints soft: what begins somewhere stays there until it moves."""
    return InvariantSearch(of.graph, np.zeros(of.graph.num_constraints, dtype=np.uint8), RUNS, of.seed)


ENGINES: dict[str, Callable[[Made], Engine]] = {
    **{strategy: local(strategy) for strategy in STRATEGIES},
    "neural native": neural_native("global"),
    "neural native, one variable a step": neural_native("local"),
    "neural native, cooled": cooled,
    "neural torch": neural_torch("global"),
    "neural torch, one variable a step": neural_torch("local"),
    "hybrid": hybrid,
    "invariants": invariants,
}
SEARCHES = ("neural", "local", "hybrid", "exact")

every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())
every_search = pytest.mark.parametrize("search", SEARCHES)


# ── problems ─────────────────────────────────────────────────────────────────────────────────────


def cut() -> Problem:
    """A MaxCut of 40 vertices that no assignment satisfies: there is always something left to search for."""
    return distributions.get("maxcut", n=40).draw(np.random.default_rng(0))


def mixed(seed: int) -> Problem:
    """Every basic family with weights and hard constraints, some of them violated for good."""
    return random_problem(seed, max_variables=20, max_constraints=50, weighted=True)


def different() -> tuple[Problem, npt.NDArray[np.int64]]:
    """Six different values, and a solution."""
    problem = Problem()
    problem.add_all_different(problem.add_variables(6, range(6)))
    return problem, np.arange(6)


# ── engines ──────────────────────────────────────────────────────────────────────────────────────


def score_of(problem: Problem, positions: npt.NDArray[np.integer[Any]]) -> int:
    """By definition, from the problem's own count of what is violated; test_score.py guards the definition."""
    score = 0
    for block in problem.blocks:
        violated = ~block.satisfied(problem.domains, positions)
        score += sum(problem.scoring.score[block.terms.index[violated]].tolist())
    return score


def told(improvement: Improvement) -> tuple[int, float, int]:
    return improvement.violated, improvement.weight, improvement.hard


def advanced(engine: Engine, steps: int, start: npt.NDArray[np.integer[Any]] | None = None) -> list[Improvement]:
    engine.start(start)
    engine.advance(steps, math.inf)
    return engine.improvements()


@every_engine
@pytest.mark.parametrize("seed", range(6))
def test_what_it_counts_is_what_the_problem_counts(make: Callable[[Made], Engine], seed: int) -> None:
    problem = mixed(seed)
    engine = make(Made(compile_graph(problem), seed, steps=60))
    improvements = advanced(engine, 60)
    scores, positions = engine.best_score()[:, 0], engine.best_positions()
    assert len(scores) == len(positions) >= RUNS
    for score, best in zip(scores, positions, strict=True):
        assert score == score_of(problem, best)
    best = min(improvements, key=lambda i: i.score)
    assert best.score == scores.min()
    assert told(best) == tuple(problem.violation_of_positions(positions[best.run]))


def weighed(seed: int) -> Problem:
    """Weights that doubles would round and binary fractions are not, hard constraints far lighter than soft ones."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    xs = problem.add_variables(8, range(3))
    for _ in range(24):
        weight = float(rng.choice([0.001, 0.1, 0.2, 0.3, 100.0, 1e4, 1e6]))
        scope = rng.choice(8, 2, replace=False)
        pairs = [pair for pair in np.ndindex(3, 3) if rng.random() < 0.4]
        problem.add_table([xs[x] for x in scope], pairs, weight=weight, hard=bool(rng.random() < 0.3 and weight < 1))
    problem.add_clause([], weight=0.7, hard=True)
    return problem


@every_engine
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_exact_whatever_the_weights(make: Callable[[Made], Engine], seed: int) -> None:
    problem = weighed(seed)
    engine = make(Made(compile_graph(problem), seed, steps=60))
    improvements = advanced(engine, 60)
    for score, best in zip(engine.best_score()[:, 0].tolist(), engine.best_positions(), strict=True):
        assert score == score_of(problem, best)
    best = min(improvements, key=lambda i: i.score)
    assert told(best) == tuple(problem.violation_of_positions(engine.best_positions()[best.run]))


@every_engine
def test_the_same_seed_gives_the_same_search(make: Callable[[Made], Engine]) -> None:
    graph = compile_graph(cut())
    engines = [make(Made(graph, seed, steps=50)) for seed in (1, 1, 2)]
    found = [[(i.step, i.run, i.score, i.found_by) for i in advanced(engine, 50)] for engine in engines]
    assert found[0] == found[1] != found[2]
    np.testing.assert_array_equal(engines[0].best_positions(), engines[1].best_positions())


@every_engine
def test_runs_begin_at_different_places(make: Callable[[Made], Engine]) -> None:
    engines = [make(Made(compile_graph(cut()), seed)) for seed in (0, 1)]
    for engine in engines:
        engine.start()
    starts = {tuple(row) for engine in engines for row in engine.best_positions()[:RUNS].tolist()}
    assert len(starts) == 2 * RUNS


@every_engine
def test_never_more_steps_than_allowed(make: Callable[[Made], Engine]) -> None:
    engine = make(Made(compile_graph(cut()), steps=40))
    engine.start()
    assert engine.steps == 0
    for allowed in (1, 2, 0, 7):
        before = engine.steps
        taken = engine.advance(allowed, math.inf)
        assert engine.steps - before == taken <= allowed
    drive(engine, Limits(steps=40))
    assert engine.steps == 40


@every_engine
def test_a_slice_ends_in_time(make: Callable[[Made], Engine]) -> None:
    engine = make(Made(compile_graph(cut())))
    engine.start()
    began = time.perf_counter()
    engine.advance(10**15, 0.2)
    assert 0.15 < time.perf_counter() - began < 0.2 + 1.0  # 10 ms where the machine is idle


@every_engine
def test_a_time_limit_and_a_request_to_stop_end_it(make: Callable[[Made], Engine]) -> None:
    graph = compile_graph(cut())
    engine = make(Made(graph, deadline=Deadline.after(0.3)))
    engine.start()
    outcome = drive(engine, Limits(Deadline.after(0.3)))
    assert not outcome.interrupted
    assert 0.2 < outcome.seconds < 0.3 + 1.0
    stop = threading.Event()
    engine = make(Made(graph))
    engine.start()
    threading.Timer(0.1, stop.set).start()
    outcome = drive(engine, Limits(stop=stop))
    assert outcome.interrupted
    assert outcome.seconds < 5


@every_engine
def test_it_begins_where_it_is_told_to(make: Callable[[Made], Engine]) -> None:
    problem = cut()
    start = random_positions(problem, RUNS, seed=5)
    engine = make(Made(compile_graph(problem)))
    engine.start(start)
    np.testing.assert_array_equal(engine.best_positions()[:RUNS], start)
    first = engine.improvements()
    assert {(i.step, i.found_by) for i in first} == {(0, "initial")}
    for improvement in first:
        row = start[improvement.run % RUNS]
        assert told(improvement) == pytest.approx(tuple(problem.violation_of_positions(row)))
    before = engine.best_score().copy()
    engine.advance(20, math.inf)
    assert (engine.best_score() <= before).all(), "the best is never lost"


@every_engine
def test_improvements_only_get_better(make: Callable[[Made], Engine]) -> None:
    engine = make(Made(compile_graph(cut()), steps=200))
    engine.start()
    improvements: list[Improvement] = []
    for _ in range(4):
        engine.advance(50, math.inf)
        improvements += engine.improvements()
        assert engine.improvements() == []
    assert len(improvements) > RUNS
    for run in {i.run for i in improvements}:
        own = [i for i in improvements if i.run == run]
        assert [i.score for i in own] == sorted({i.score for i in own}, reverse=True)
        assert [i.step for i in own] == sorted(i.step for i in own)
        assert [i.seconds for i in own] == sorted(i.seconds for i in own)
    assert improvements[-1].found_by != "initial"
    assert min(i.score for i in improvements) == engine.best_score().min()


@every_engine
def test_a_solution_ends_it_at_once(make: Callable[[Made], Engine]) -> None:
    problem, solution = different()
    engine = make(Made(compile_graph(problem)))
    engine.start(np.tile(solution, (RUNS, 1)))
    assert engine.advance(10**9, 60.0) == engine.steps == 0
    assert engine.best_score().min() == 0
    free = Problem()
    free.add_variables(3, range(4))
    engine = make(Made(compile_graph(free)))
    engine.start()
    assert engine.advance(10**9, 60.0) == 0
    assert engine.improvements()[0].violated == 0


@every_engine
def test_a_problem_without_choice_ends(make: Callable[[Made], Engine]) -> None:
    problem = Problem()
    problem.add_all_different(problem.add_variables(2, [7]))
    engine = make(Made(compile_graph(problem), steps=30))
    engine.start()
    outcome = drive(engine, Limits(Deadline.after(0.2), steps=30))
    assert told(outcome.best) == (1, 1.0, 1)  # an all-different without a weight is required
    assert outcome.seconds < 5


# ── searches of `solve` ──────────────────────────────────────────────────────────────────────────


def test_every_search_is_in_the_suite() -> None:
    assert {*SEARCHES, "auto"} == set(OFFERED)


@every_search
@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_the_answer_counted(search: str, seed: int) -> None:
    problem = mixed(seed)
    answers = [solve(problem, model=untrained(), search=search, steps=30, runs=2, seed=seed) for _ in "ab"]
    first, again = answers
    assert problem.violation(first.assignment) == (first.violated, first.violated_weight, first.hard_violated)
    assert (first.status == "satisfied") == (first.violated == 0)
    assert (first.search, first.seed, first.runs) == (search, seed, 2)
    assert first.best_step <= first.steps <= 30
    assert first.best_seconds <= first.seconds
    assert first.assignment == again.assignment


@every_search
def test_a_hint_is_where_it_begins(search: str) -> None:
    problem = cut()
    good = solve(problem, search="local", steps=20_000, seed=3)
    result = solve(problem, model=untrained(), search=search, steps=3, hint=good.assignment)
    assert result.trace[0].violated_weight == good.violated_weight
    assert result.violated_weight <= good.violated_weight
    problem, solution = different()
    named = dict(zip(problem.names, solution.tolist(), strict=True))
    result = solve(problem, model=untrained(), search=search, hint=named)
    assert (result.status, result.steps, result.found_by, result.assignment) == ("satisfied", 0, "initial", named)


@every_search
def test_a_callback_sees_it_get_better_and_can_end_it(search: str) -> None:
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) == 4

    result = solve(cut(), model=untrained(), search=search, time_limit=60, callback=watch)
    assert result.status == "interrupted"
    assert len(seen) == 4
    assert seen[0].improved
    assert [p.violated_weight for p in seen] == sorted((p.violated_weight for p in seen), reverse=True)
    assert [p.step for p in seen] == sorted(p.step for p in seen)
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)
    assert result.violated_weight == seen[-1].violated_weight


@every_search
def test_a_search_ends_at_its_time_limit(search: str) -> None:
    result = solve(cut(), model=untrained(), search=search, time_limit=0.3)
    assert result.status == "best-effort"
    assert 0.2 < result.seconds < 0.3 + 1.0
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    result = solve(cut(), model=untrained(), search=search, time_limit=60, stop=stop)
    assert result.status == "interrupted"
    assert result.seconds < 5


@every_search
def test_a_light_hard_constraint_comes_before_heavy_soft_ones(search: str) -> None:
    problem = Problem()
    a = problem.add_variable((0, 1), "a")
    problem.add_table([a], [[0]], weight=0.001, hard=True)
    problem.add_table([a], [[1]], weight=0.1)
    problem.add_table([a], [[1]], weight=100)
    result = solve(problem, search=search, steps=7, time_limit=5.0, threads=1, hint={"a": 0})
    assert (result.assignment, result.hard_violated, result.violated_weight) == ({"a": 0}, 0, 100.1)


@every_search
def test_weights_that_have_no_exact_score_are_refused(search: str) -> None:
    problem = Problem()
    problem.add_variables(2, (0, 1))
    for weight in (1e308, 1e-300):
        problem.add_table([0, 1], [[0, 0]], weight=weight)
    with pytest.raises(ProblemError, match="constraint 1 weighs"):
        solve(problem, search=search, steps=5, threads=1)
