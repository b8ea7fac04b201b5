"""Search: deterministic, anytime, exact about its best, and bounded."""

from __future__ import annotations

import threading
import time
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import random_problem

from anycsp import AnyCSPError, Problem, ProblemError, solve
from anycsp.deadline import Deadline
from anycsp.distributions import draw, get
from anycsp.graph import compile_graph
from anycsp.neural.engine_torch import TorchEngine
from anycsp.neural.models import Model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.search.driver import Limits, Progress, drive


def untrained(sampling: str = "global", aggregation: str = "max") -> Model:
    torch.manual_seed(7)
    return Model("untrained", PolicyNetwork(PolicyConfig(8, aggregation, "gain", True, sampling=sampling)).weights())


def unsatisfiable() -> Problem:
    """K5 with three colours: at least two edges clash."""
    problem = Problem()
    problem.add_variables(5, range(3))
    problem.add_not_equal(np.array([[i, j] for i in range(5) for j in range(i)]))
    return problem


@given(seed=st.integers(0, 10**6), sampling=st.sampled_from(["global", "local"]))
@settings(max_examples=30)
def test_the_answer_is_the_answer_counted(seed: int, sampling: str) -> None:
    problem = random_problem(seed, weighted=True)
    result = solve(problem, model=untrained(sampling), search="neural", steps=10, runs=3, seed=seed)
    assert problem.violation(result.assignment) == (result.violated, result.violated_weight, result.hard_violated)
    assert (result.status == "satisfied") == (result.violated == 0)
    assert result.trace[-1].violated == result.violated
    assert len(result.best_per_run) == 3


@pytest.mark.parametrize("sampling", ["global", "local"])
def test_the_same_seed_gives_the_same_answer(sampling: str) -> None:
    runs = [solve(unsatisfiable(), model=untrained(sampling), search="neural", steps=30, runs=4, seed=3) for _ in "ab"]
    assert runs[0].assignment == runs[1].assignment
    assert [(p.step, p.violated) for p in runs[0].trace] == [(p.step, p.violated) for p in runs[1].trace]
    other = solve(unsatisfiable(), model=untrained(sampling), search="neural", steps=0, runs=1, seed=4)
    first = solve(unsatisfiable(), model=untrained(sampling), search="neural", steps=0, runs=1, seed=3)
    assert other.assignment != first.assignment


def test_a_run_does_not_depend_on_how_many_run_beside_it() -> None:
    graph, model = TensorGraph(compile_graph(unsatisfiable())), untrained()
    few, many = (TorchEngine(graph, model.network(), runs, seed=5) for runs in (2, 6))
    for engine in (few, many):
        engine.start()
        engine.advance(20, 60.0)
    np.testing.assert_array_equal(few.positions, many.positions[:2])


def test_local_sampling_moves_at_most_one_variable_and_never_stays() -> None:
    graph, model = TensorGraph(compile_graph([unsatisfiable(), unsatisfiable()])), untrained("local")
    engine = TorchEngine(graph, model.network(), 3, seed=1)
    engine.start()
    for _ in range(10):
        before = engine.positions.copy()
        engine.advance(1, 60.0)
        moved = (engine.positions != before).reshape(3, 2, 5).sum(axis=2)
        assert (moved == 1).all()


def test_best_positions_are_those_of_the_best_score() -> None:
    problems = [random_problem(seed, weighted=True) for seed in range(20, 24)]
    graph = TensorGraph(compile_graph(problems))
    engine = TorchEngine(graph, untrained().network(), 3, seed=2)
    engine.start()
    engine.advance(15, 60.0)
    positions = torch.from_numpy(engine.best_positions()).long()
    recount = graph.violations(graph.satisfied(positions, graph.labels(positions)))
    np.testing.assert_allclose(recount.score.numpy(), engine.best_score())


def test_a_solution_as_hint_is_found_at_step_zero() -> None:
    problem = Problem()
    xs = problem.add_variables(6, range(6))
    problem.add_all_different(xs)
    solution = {x.name: i for i, x in enumerate(xs)}
    result = solve(problem, model=untrained(), hint=solution, time_limit=5)
    assert result.status == "satisfied"
    assert (result.steps, result.found_by, result.assignment) == (0, "initial", solution)


def test_a_partial_hint_sets_the_named_variables_at_the_start() -> None:
    problem = unsatisfiable()
    result = solve(problem, model=untrained(), search="neural", hint={"x0": 2}, steps=0)
    assert result.assignment["x0"] == 2


def test_time_limit_and_stop_request_end_a_search() -> None:
    began = time.perf_counter()
    result = solve(unsatisfiable(), model=untrained(), time_limit=0.3)
    assert result.status == "best-effort"
    assert time.perf_counter() - began < 3
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    result = solve(unsatisfiable(), model=untrained(), time_limit=60, stop=stop)
    assert result.status == "interrupted"
    assert result.seconds < 10


def test_no_step_is_begun_that_would_end_after_the_time_limit() -> None:
    class SlowSearch(TorchEngine):
        def advance(self, max_steps: int, seconds: float) -> int:
            time.sleep(0.2)
            self.steps += 1
            return 1

    engine = SlowSearch(TensorGraph(compile_graph(unsatisfiable())), untrained().network(), 1, seed=0)
    engine.start()
    outcome = drive(engine, Limits(Deadline.after(0.7)))
    assert 2 <= engine.steps <= 3
    assert outcome.seconds < 0.7


def test_a_callback_sees_progress_and_can_stop() -> None:
    seen = []
    result = solve(
        unsatisfiable(), model=untrained(), time_limit=60, callback=lambda p: (seen.append(p), len(seen) >= 3)[1]
    )
    assert result.status == "interrupted"
    assert seen[0].improved
    assert seen[-1].violated >= result.violated


@pytest.mark.parametrize("build", ["no constraints", "single values", "true and false"])
def test_degenerate_problems_are_legal(build: str) -> None:
    problem = Problem()
    if build == "no constraints":
        problem.add_variables(3, range(4))
        expected = 0
    elif build == "single values":
        x, y = problem.add_variables(2, [7])
        problem.add_all_different([x, y])
        expected = 1
    else:
        x = problem.add_variable([0, 1])
        problem.add_table([], [], weight=2)  # false for good
        problem.add_table([], [()])  # true for good
        problem.add_clause([(x, 0), (x, 1)])  # tautology
        problem.add_linear([x, x], [1, -1], "==", 0)  # coefficients cancel
        expected = 1
    for sampling in ("global", "local"):
        result = solve(problem, model=untrained(sampling), search="neural", steps=5)
        assert result.violated == expected == problem.violation(result.assignment).violated


def test_memory_does_not_grow_with_steps() -> None:
    engine = TorchEngine(TensorGraph(compile_graph(unsatisfiable())), untrained().network(), 4)
    engine.start()
    engine.advance(50, 60.0)
    tracemalloc.start()
    engine.advance(50, 60.0)
    first = tracemalloc.get_traced_memory()[0]
    engine.advance(400, 60.0)
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 20_000


def test_bad_arguments_are_named() -> None:
    with pytest.raises(AnyCSPError, match="runs"):
        solve(unsatisfiable(), model=untrained(), runs=0)
    with pytest.raises(AnyCSPError, match="temperature"):
        solve(unsatisfiable(), model=untrained(), temperature=0)
    with pytest.raises(ProblemError, match="outside the domain"):
        solve(unsatisfiable(), model=untrained(), hint={"x0": 99})
    with pytest.raises(ProblemError, match="without variables"):
        solve(Problem(), model=untrained())
    with pytest.raises(ProblemError, match=r"solve takes a Problem, not 'graph\.col': anycsp\.formats\.read makes one"):
        solve("graph.col")  # type: ignore[arg-type]


def test_a_callback_hears_of_every_run_and_who_found_what() -> None:
    problem = draw(get("coloring"), 0, 0)
    heard: list[Progress] = []
    result = solve(problem, search="neural", runs=3, steps=40, callback=lambda progress: heard.append(progress))
    found = [improvement for progress in heard for improvement in progress.improvements]
    assert {improvement.run for improvement in found} == {0, 1, 2}
    for run in range(3):
        scores = [improvement.score for improvement in found if improvement.run == run]
        assert scores == sorted(set(scores), reverse=True)
    assert heard[-1].found_by == result.found_by == "network"
    assert min(improvement.violated for improvement in found) == result.violated


def test_a_callback_hears_what_the_network_leans_to() -> None:
    problem = draw(get("coloring"), 0, 0)
    heard: list[Progress] = []
    solve(problem, search="neural", steps=40, callback=lambda progress: heard.append(progress))
    assert heard[-1].leaning is not None
    positions, confidence = heard[-1].leaning()
    assert (positions < problem.domain_sizes).all()
    assert (positions >= 0).all()
    assert (confidence > 0).all()
    assert (confidence <= 1).all()
    assert confidence.mean() > 0.5, "after 40 steps it is surer than chance"
    heard.clear()
    solve(problem, search="local", steps=1000, callback=lambda progress: heard.append(progress))
    assert heard[-1].leaning is None


def test_a_callback_hears_who_improved_an_objective() -> None:
    problem = draw(get("jobshop", minimize=True), 0, 0)
    heard: list[Progress] = []
    result = solve(problem, search="local", steps=3000, callback=lambda progress: heard.append(progress))
    assert result.objective is not None
    last = [progress for progress in heard if progress.improved and progress.objective is not None][-1]
    assert (last.objective, last.found_by) == (result.objective["value"], result.found_by)


@pytest.mark.parametrize("search", ["auto", "local", "hybrid"])
@pytest.mark.parametrize("size", [2, 20])
def test_what_is_false_without_variables_is_a_proof(search: str, size: int) -> None:
    problem = Problem()
    x = problem.add_variables(size, range(6))
    problem.add(x[0] != x[1])
    problem.add(0)
    assert solve(problem, search=search, time_limit=2).status == "unsatisfiable"
    problem.minimize(x[0])
    assert solve(problem, search=search, time_limit=2).status == "unsatisfiable"


def test_a_wish_without_variables_is_no_proof() -> None:
    problem = Problem()
    problem.add_variables(2, range(3))
    problem.add(0, weight=2)
    assert solve(problem, search="local", time_limit=1).status == "best-effort"


@pytest.mark.parametrize("search", ["local", "auto"])
def test_a_quadratic_objective_over_values_in_falling_order(search: str) -> None:
    problem = Problem()
    x, y = problem.add_variable([0, 1], "x"), problem.add_variable([1, 0], "y")
    problem.maximize(x - y)
    result = solve(problem, search=search, time_limit=1, threads=1)
    assert (result[x], result[y]) == (1, 0)
    assert result.objective == {"kind": "maximize", "value": 1}
