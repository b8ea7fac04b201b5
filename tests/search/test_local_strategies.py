"""Local search: every strategy keeps a true state, is deterministic, bounded, resumable and exact about its best."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from random_problems import random_problem

from anycsp import AnyCSPError, Problem, distributions, native, solve
from anycsp.graph import compile_graph
from anycsp.model.builders import cut_problem
from anycsp.search.local import STRATEGIES, LocalSearch

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


def drawn(name: str, seed: int = 0, **parameters: object) -> Problem:
    return distributions.get(name, **parameters).draw(np.random.default_rng(seed))


def mixed(seed: int) -> Problem:
    """Every basic family with weights and hard constraints, large enough to move about in."""
    return random_problem(seed, max_variables=30, max_constraints=80, weighted=True)


def unsatisfiable() -> Problem:
    """K7 with three colours."""
    problem = Problem()
    problem.add_variables(7, range(3))
    problem.add_not_equal(np.array([[i, j] for i in range(7) for j in range(i)]))
    return problem


def list_coloring(vertices: int = 40) -> Problem:
    """A random graph near the threshold of three colours; every vertex has two to four of its own."""
    rng = np.random.default_rng(9)
    problem = Problem()
    colors = [rng.choice(np.arange(3, 7), int(rng.integers(2, 5)), replace=False).tolist() for _ in range(vertices)]
    color = [problem.add_variable(own) for own in colors]
    for x, y in rng.integers(vertices, size=(3 * vertices, 2)):
        if x != y:
            problem.add(color[x] != color[y])
    return problem


PROBLEMS = {
    "sat": lambda: drawn("sat", n=60),
    "maxsat": lambda: drawn("maxsat", n=60),
    "maxcut": lambda: drawn("maxcut", n=60),
    "coloring": unsatisfiable,
    "list coloring": list_coloring,
    "rb": lambda: drawn("rb", n=15),
    "mixed": lambda: mixed(3),
    "mixed too": lambda: mixed(4),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_state_is_true_after_any_number_of_moves(kind: str, strategy: str) -> None:
    problem = PROBLEMS[kind]()
    graph = compile_graph(problem)
    for graded in (False, True):
        search = LocalSearch(graph, strategy, runs=2, seed=1, graded=graded)
        search.start()
        for moves in (1, 7, 500):
            search.advance(moves)
            search.verify()
        for run, positions in enumerate(search.best_positions()):
            counted = problem.violation_of_positions(positions)
            last = [i for i in search.improvements() if i.run == run]
            if last:
                assert (counted.violated, counted.hard) == (last[-1].violated, last[-1].hard)
                assert counted.weight == pytest.approx(last[-1].weight)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["maxsat", "rb", "mixed", "list coloring"])
def test_results_do_not_depend_on_threads_or_pauses(kind: str, strategy: str) -> None:
    graph = compile_graph(PROBLEMS[kind]())
    results = []
    for threads, pieces in ((1, [3000]), (3, [3000]), (2, [1, 10, 989, 2000])):
        search = LocalSearch(graph, strategy, runs=5, seed=2, threads=threads)
        search.start()
        for moves in pieces:
            search.advance(moves)
        # Once a run is solved the others stop where they are, which a pause may bring about earlier.
        solved = np.flatnonzero(search.best_score()[:, 0] == 0)[:1]
        runs = solved.tolist() or list(range(5))
        trace = sorted((i.run, i.step, i.score) for i in search.improvements() if i.run in runs)
        results.append((search.best_positions()[runs].tolist(), search.positions[runs].tolist(), trace))
    assert results[0] == results[1] == results[2]


def test_the_first_solution_does_not_depend_on_threads() -> None:
    graph = compile_graph(drawn("sat", n=100, density=((4.0, 4.0),)))
    answers = []
    for threads in (1, 2, 4):
        search = LocalSearch(graph, "probsat", runs=4, seed=5, threads=threads)
        search.start()
        search.advance(10**9, 60.0)
        answers.append((search.best_score().tolist(), search.best_positions().tolist()))
    assert min(answers[0][0]) == [0.0]
    assert answers[0] == answers[1] == answers[2]


def test_runs_and_seeds_differ() -> None:
    graph = compile_graph(drawn("maxcut", n=60))
    search = LocalSearch(graph, "annealing", runs=2, seed=0)
    search.start()
    other = LocalSearch(graph, "annealing", runs=2, seed=1)
    other.start()
    starts = [tuple(row) for row in [*search.positions.tolist(), *other.positions.tolist()]]
    assert len(set(starts)) == 4


def test_a_start_is_kept_and_never_lost() -> None:
    problem = drawn("maxcut", n=60)
    graph = compile_graph(problem)
    good = LocalSearch(graph, "annealing", seed=3)
    good.start()
    good.advance(200_000)
    start = good.best_positions()
    for strategy in STRATEGIES:
        search = LocalSearch(graph, strategy)
        search.start(start)
        assert search.positions.tolist() == start.tolist()
        first = search.improvements()
        assert [(i.step, i.found_by) for i in first] == [(0, "initial")]
        search.advance(100)
        assert search.best_score()[0, 0] <= first[0].score
    with pytest.raises(ValueError, match="outside"):
        search.start(start + 2)


def test_improvements_get_better_and_steps_count_moves() -> None:
    search = LocalSearch(compile_graph(drawn("maxsat", n=80)), "tabu", runs=3)
    search.start()
    assert search.advance(1000) == 1000
    assert search.advance(500) == 500
    assert search.steps == 1500
    improvements = search.improvements()
    for run in range(3):
        own = [i for i in improvements if i.run == run]
        assert [i.score for i in own] == sorted({i.score for i in own}, reverse=True)
        assert [i.step for i in own] == sorted(i.step for i in own)
        assert own[-1].score == search.best_score()[run, 0]
    assert search.improvements() == []


def test_time_limits_are_kept() -> None:
    graph = compile_graph(drawn("maxsat", n=5000))
    for strategy in STRATEGIES:
        search = LocalSearch(graph, strategy, runs=3, threads=2)
        search.start()
        began = time.perf_counter()
        search.advance(10**15, 0.2)
        assert 0.15 < time.perf_counter() - began < 0.2 + 0.25  # 50 ms where the machine is idle


def test_another_thread_can_stop_it() -> None:
    search = LocalSearch(compile_graph(unsatisfiable()), "tabu", threads=2, runs=2)
    search.start()
    threading.Timer(0.1, search.stop).start()
    began = time.perf_counter()
    search.advance(10**15)
    assert time.perf_counter() - began < 5.0


def test_annealing_plans_its_last_cycle_to_the_end() -> None:
    """A planned search of N moves ends cold: one more cycle's worth of moves finds little more."""
    graph = compile_graph(drawn("maxcut", n=300))
    moves = 300 * 3000
    planned = LocalSearch(graph, "annealing", steps=moves)
    planned.start()
    planned.advance(moves - 1)
    final = planned.positions
    search = LocalSearch(graph, "tabu")
    search.start(final)
    assert search.best_score()[0, 0] <= planned.best_score()[0, 0] * 1.02


def test_problems_without_choice_end() -> None:
    fixed = Problem()
    fixed.add_variables(2, [5])
    fixed.add_not_equal(np.array([[0, 1]]))
    free = Problem()
    free.add_variables(2, range(3))
    for strategy in STRATEGIES:
        for problem, violated in ((fixed, 1), (free, 0)):
            search = LocalSearch(compile_graph(problem), strategy)
            search.start()
            search.advance(100, 1.0)
            assert [i.violated for i in search.improvements()] == [violated]


def test_bad_arguments_raise() -> None:
    graph = compile_graph(unsatisfiable())
    with pytest.raises(AnyCSPError, match="unknown strategy"):
        LocalSearch(graph, "magic")
    with pytest.raises(AnyCSPError, match="unknown parameter"):
        LocalSearch(graph, "tabu", noise=0.5)
    with pytest.raises(AnyCSPError, match="outside"):
        LocalSearch(graph, "walksat", noise=1.5)
    with pytest.raises(AnyCSPError, match="one instance"):
        LocalSearch(compile_graph([unsatisfiable(), unsatisfiable()]), "tabu")


def test_errors_of_python_constraints_come_through() -> None:
    calls = []

    def moody(x: int, y: int) -> bool:
        calls.append(1)
        if len(calls) > 500:
            raise ZeroDivisionError("moody")
        return x + y > 100

    problem = Problem()
    xs = problem.add_variables(2, range(60))
    from anycsp.constraints.external import ExternalBlock

    problem.add_block(
        ExternalBlock.one(np.array([0, 1]), np.vectorize(moody), problem.new_terms(weight=1.0, hard=False))
    )
    problem.add_linear(xs, [1, 1], "<=", 20)
    search = LocalSearch(compile_graph(problem), "tabu", runs=3, threads=2)

    def run() -> None:
        search.start()
        search.advance(10**6, 20.0)

    with pytest.raises(ZeroDivisionError, match="moody"):
        run()


@pytest.mark.parametrize("kind", PROBLEMS)
def test_solve_by_local_search_is_what_a_recount_says(kind: str) -> None:
    problem = PROBLEMS[kind]()
    result = solve(problem, search="local", steps=2000, runs=2, seed=4)
    assert problem.violation(result.assignment) == (result.violated, result.violated_weight, result.hard_violated)
    again = solve(problem, search="local", steps=2000, runs=2, seed=4, threads=1)
    assert again.assignment == result.assignment
    assert result.search == "local"
    assert result.found_by in ("initial", "tree", "invariants", *STRATEGIES)


@pytest.mark.parametrize("vertices", [16, 20, 40, 100])
def test_annealing_two_colours_rings(vertices: int) -> None:
    """Faults of a ring cost the same wherever they are; they have to meet to vanish."""
    ring = cut_problem(vertices, np.array([[i, (i + 1) % vertices] for i in range(vertices)]))
    for seed in range(3):
        assert solve(ring, search="local", steps=3_000_000, runs=1, threads=1, seed=seed).violated == 0


def test_planted_instances_are_solved() -> None:
    for problem in (
        drawn("forced-rb", n=25, domain=12, constraints=200, forbidden=36),
        drawn("sat", n=150, density=((3.8, 3.8),)),
    ):
        assert solve(problem, search="local", time_limit=30.0, seed=1).satisfied
