"""Compiled search with advice: the two as one engine keep every promise each of them makes alone, and the network
costs little where its advice is in vain."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import torch
from random_problems import random_problem

from anycsp import Problem, distributions, native, solve
from anycsp.graph import compile_graph
from anycsp.neural.models import Model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.weights import PolicyConfig
from anycsp.search.choose import choose_strategy
from anycsp.search.hybrid import ADVICE_STEPS, HybridSearch
from anycsp.search.local import STRATEGIES, LocalSearch

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


def untrained(sampling: str = "global") -> Model:
    torch.manual_seed(7)
    return Model("untrained", PolicyNetwork(PolicyConfig(8, "max", "gain", True, sampling=sampling)).weights())


def drawn(name: str, seed: int = 0, **parameters: object) -> Problem:
    return distributions.get(name, **parameters).draw(np.random.default_rng(seed))


def unsatisfiable() -> Problem:
    """K7 with three colours: at least five edges clash."""
    problem = Problem()
    problem.add_variables(7, range(3))
    problem.add_not_equal(np.array([[i, j] for i in range(7) for j in range(i)]))
    return problem


PROBLEMS = {
    "probsat": lambda: drawn("sat", n=80, density=((4.3, 4.3),)),
    "annealing": lambda: drawn("maxcut", n=60),
    "tabu": lambda: drawn("rb", n=20, tightness=1.1),
    "weighting": lambda: random_problem(3, max_variables=30, max_constraints=80, weighted=True),
}


@pytest.mark.parametrize("strategy", PROBLEMS)
@pytest.mark.parametrize("sampling", ["global", "local"])
def test_the_same_seed_and_steps_give_the_same_answer_counted_right(strategy: str, sampling: str) -> None:
    problem = PROBLEMS[strategy]()
    assert choose_strategy(problem) == strategy
    results = [solve(problem, model=untrained(sampling), search="hybrid", steps=40, runs=3, seed=s) for s in (1, 1, 2)]
    first, again, _ = results
    assert problem.violation(first.assignment) == (first.violated, first.violated_weight, first.hard_violated)
    assert first.assignment == again.assignment
    one, two, three = ([(p.step, p.violated_weight, p.found_by) for p in result.trace] for result in results)
    assert one == two != three
    assert (first.search, first.model) == ("hybrid", "untrained")
    assert first.steps <= 40


def test_who_found_an_improvement_is_told() -> None:
    """A random start is improved upon by the compiled search, and everybody's finds are in order."""
    problem = drawn("maxcut", n=200)
    result = solve(problem, model=untrained(), search="hybrid", steps=30, seed=1)
    assert result.trace[0].found_by == "initial"
    local = set(STRATEGIES)
    assert {p.found_by for p in result.trace} <= {"initial", "network"} | local
    assert result.found_by == result.trace[-1].found_by
    assert result.found_by in local
    scores = [p.violated_weight for p in result.trace]
    assert scores == sorted(set(scores), reverse=True)
    assert [p.seconds for p in result.trace] == sorted(p.seconds for p in result.trace)


def test_the_networks_own_finds_are_called_its(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice from the first moment on, and drawn evenly: the network's first draws are better than the start."""
    monkeypatch.setattr("anycsp.search.hybrid.WARM_UP", 0.0)
    problem = drawn("maxcut", n=60)
    found = set()
    for seed in range(5):
        result = solve(problem, model=untrained(), search="hybrid", steps=3, runs=4, seed=seed, temperature=99.0)
        found |= {p.found_by for p in result.trace}
    assert {"initial", "network"} <= found


def test_advice_in_vain_costs_ever_less() -> None:
    """A network that knows nothing gets nearly half of the time at first, and then half of that, and so on."""
    graph = compile_graph(unsatisfiable())
    engine = HybridSearch(graph, LocalSearch(graph, "tabu"), untrained(), "tabu", 1, 0, 1.0, 1, steps=10_000)
    engine.start()
    engine.advance(ADVICE_STEPS, 60.0)
    early = engine.spent["advice"] / sum(engine.spent.values())
    before = dict(engine.spent)
    engine.advance(3 * ADVICE_STEPS, 60.0)
    late = {side: engine.spent[side] - before[side] for side in before}
    assert late["advice"] / sum(late.values()) < 0.25 < early < 0.55


def test_advice_is_where_compiled_search_goes_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that has learned nothing but to keep its values repeats the hint, which compiled search then solves."""
    monkeypatch.setattr("anycsp.search.hybrid.WARM_UP", 0.0)
    monkeypatch.setattr("anycsp.search.hybrid.FIRST_SHARE", 1.0)  # so the free side has no turn
    problem = drawn("forced-rb", n=25, domain=12, constraints=200, forbidden=36)
    keeps = untrained()
    keeps.weights.arrays["inertia"][...] = 1e4  # type: ignore[index]
    near = solve(problem, search="local", time_limit=30.0, seed=1)
    assert near.satisfied
    positions = np.array(near.positions)
    positions[:3] = (positions[:3] + 1) % 12
    graph = compile_graph(problem)
    engine = HybridSearch(graph, LocalSearch(graph, "tabu"), keeps, "tabu", 1, 0, 1.0, 1, steps=ADVICE_STEPS)
    engine.start(positions[None])
    engine.advance(ADVICE_STEPS, 60.0)
    best = engine.improvements()[-1]
    assert (best.violated, best.found_by, best.run) == (0, "tabu", 1)


def test_a_hint_is_where_both_sides_start() -> None:
    problem = drawn("maxcut", n=60)
    good = solve(problem, search="local", steps=300_000, seed=3)
    result = solve(problem, model=untrained(), search="hybrid", steps=3, hint=good.assignment)
    assert result.trace[0].violated_weight == good.violated_weight
    assert result.violated_weight <= good.violated_weight
    solution = {f"x{i}": 0 for i in range(3)}
    easy = Problem()
    easy.add_variables(3, range(2))
    easy.add_linear(["x0", "x1", "x2"], [1, 1, 1], "==", 0)
    result = solve(easy, model=untrained(), search="hybrid", hint=solution)
    assert (result.steps, result.found_by, result.assignment) == (0, "initial", solution)


@pytest.mark.parametrize("name", ["sat", "maxcut"])
def test_time_limits_and_stop_requests_are_obeyed(name: str) -> None:
    problem = drawn("sat", n=100, density=((7.0, 7.0),)) if name == "sat" else drawn("maxcut", n=2000, p=(0.01, 0.01))
    began = time.perf_counter()
    result = solve(problem, model=untrained(), search="hybrid", time_limit=0.4, threads=1)
    assert result.status == "best-effort"
    assert time.perf_counter() - began > 0.35  # the limit covers presolve and building too, which a busy machine delays
    assert result.seconds < 0.4 + 0.4  # 50 ms where the machine is idle
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    result = solve(problem, model=untrained(), search="hybrid", time_limit=60, stop=stop)
    assert result.status == "interrupted"
    assert result.seconds < 5


def test_planted_instances_are_solved() -> None:
    for problem in (
        drawn("forced-rb", n=25, domain=12, constraints=200, forbidden=36),
        drawn("sat", n=150, density=((3.8, 3.8),)),
    ):
        assert solve(problem, search="hybrid", time_limit=30.0, seed=1).satisfied


def test_degenerate_problems_end() -> None:
    fixed, free = Problem(), Problem()
    fixed.add_variables(2, [5])
    fixed.add_not_equal(np.array([[0, 1]]))
    free.add_variables(2, range(3))
    for problem, violated in ((fixed, 1), (free, 0)):
        for limits in ({"steps": 5}, {"time_limit": 0.1}):
            result = solve(problem, model=untrained(), search="hybrid", **limits)  # type: ignore[arg-type]
            assert result.violated == violated


def test_best_scores_belong_to_best_positions() -> None:
    problem = drawn("maxsat", n=100)
    graph, strategy = compile_graph(problem), choose_strategy(problem)
    engine = HybridSearch(graph, LocalSearch(graph, strategy), untrained(), strategy, 3, 0, 1.0, 1, steps=20)
    engine.start()
    engine.advance(20, 60.0)
    for score, positions in zip(engine.best_score()[:, 0], engine.best_positions(), strict=True):
        assert problem.violation_of_positions(positions).weight == score
