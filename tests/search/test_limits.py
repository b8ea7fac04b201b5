"""Limits hold, and whatever they cut short there is an answer that recounts."""

from __future__ import annotations

import math
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, native, solve
from anycsp.alarm import raising_at
from anycsp.cli.solve import Clock
from anycsp.constraints.base import Terms, numbered_pairs
from anycsp.constraints.clause import SHORT, ClauseBlock
from anycsp.deadline import NEVER, Deadline, OutOfTime, process_began, slowdown
from anycsp.errors import AnyCSPError, FormatError
from anycsp.formats import parse
from anycsp.formats.col import ColoringGraph
from anycsp.formats.files import LINES_PER_LOOK, Source
from anycsp.graph import compile_graph
from anycsp.model.builders import formula_problem
from anycsp.model.coloring import by_independent_sets, dsatur
from anycsp.presolve.peel import peel
from anycsp.search import driver
from anycsp.search.enumeration import is_tiny
from anycsp.search.fewest_colors import fewest_colors
from anycsp.search.heuristic import Heuristic
from anycsp.search.prepare import COUNTING_SHARE, counting_seconds, counts_in_time

compiled = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")

PASSED = Deadline(0.0)


def formula(variables: int, clauses: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    literals = rng.integers(1, variables + 1, clauses * 3) * rng.choice([-1, 1], clauses * 3)
    return formula_problem(variables, np.arange(clauses + 1) * 3, literals)


# ── the clock ────────────────────────────────────────────────────────────────────────────────────


def test_a_deadline_is_one_moment_for_all() -> None:
    deadline = Deadline.after(100.0, began=time.perf_counter() - 40)
    assert 59 < deadline.left <= 60
    assert deadline.within(1e9) == deadline
    assert deadline.within(5.0).left <= 5
    assert 49 < deadline.earlier(10.0).left <= 50
    assert NEVER.seconds is None
    assert NEVER.left == math.inf
    assert PASSED.left == 0
    with pytest.raises(OutOfTime):
        PASSED.check()


def test_a_busy_machine_gives_a_small_file_the_time_to_be_read() -> None:
    began = time.perf_counter() - 100 * time.process_time()
    assert 90 < slowdown(began) < 110
    assert slowdown(time.perf_counter()) == 1
    assert Clock(0.2, began).read_until().left > 10
    assert Clock(0.2, time.perf_counter()).read_until().left < 0.3


@compiled
@pytest.mark.parametrize("search", ["auto", "local", "neural", "hybrid"])
def test_limits_beyond_64_bits_are_as_good_as_none(search: str) -> None:
    problem = Problem()
    x = problem.add_variables(3, 0, 2)
    problem.add_all_different(x)
    for limits in ({"steps": 10**30}, {"time_limit": 10**400}, {"steps": 100, "threads": 10**30, "runs": 1}):
        assert solve(problem, search=search, **limits).satisfied  # type: ignore[arg-type]


def test_the_process_began_before_all_of_this() -> None:
    age = time.perf_counter() - process_began()
    assert time.process_time() - 0.1 <= age < 24 * 3600


# ── an answer whatever happens ───────────────────────────────────────────────────────────────────


@compiled
@pytest.mark.parametrize("search", ["local", "neural", "hybrid"])
def test_out_of_time_the_answer_is_what_the_search_would_have_begun_with(search: str) -> None:
    problem = formula(20, 80)
    result = solve(problem, search=search, time_limit=PASSED, seed=3)
    assert (result.steps, result.found_by, result.search) == (0, "initial", search)
    assert problem.violation(result.assignment).violated == result.violated == result.trace[0].violated
    hint = [x % 2 for x in range(20)]
    assert list(solve(problem, search=search, time_limit=PASSED, hint=hint).assignment.values()) == hint


@compiled
def test_out_of_time_an_objective_has_its_value_and_auxiliary_variables_follow() -> None:
    problem = Problem()
    x = problem.add_variables(6, range(5))
    twice = problem.define(x[0] * x[1])
    problem.add(twice >= 0)
    problem.maximize(sum(x[2:], x[0]))
    result = solve(problem, time_limit=0.0)
    assert result.objective == {"kind": "maximize", "value": sum(result.assignment.values()) - result.assignment["x1"]}
    assert result.satisfied


@compiled
@pytest.mark.parametrize("search", ["local", "neural"])
def test_a_constraint_that_takes_long_does_not_outlast_the_limit(search: str) -> None:
    """Once the first sixteen moves were made without a look at the clock, and two thousand tried before them."""

    def slow(*values: int) -> bool:
        time.sleep(0.001 * (not isinstance(values[0], np.ndarray)))
        return len({int(v) for v in values}) == len(values)

    problem = Problem()
    x = problem.add_variables(8, range(12))
    for first in range(4):
        problem.add_rule(x[first : first + 5], slow)
    began = time.perf_counter()
    result = solve(problem, search=search, time_limit=0.3, threads=1)
    assert time.perf_counter() - began < 4
    assert problem.violation(result.assignment).violated == result.violated


@compiled
def test_propagators_are_built_in_time_or_not_at_all() -> None:
    from anycsp.presolve.network import propagation_network, tree_search

    graph = compile_graph(formula(20, 80))
    for build in (lambda: propagation_network(graph, PASSED), lambda: tree_search(graph, built_by=PASSED)):
        with pytest.raises(OutOfTime):
            build()
    assert tree_search(graph).advance(10, 1.0) > 0


@compiled
def test_a_step_of_the_network_is_given_up_at_the_deadline() -> None:
    from anycsp.neural.engine_native import NativeEngine
    from anycsp.neural.models import load_model

    problem = formula(50, 200)
    engine = NativeEngine(compile_graph(problem), load_model("general").weights, deadline=PASSED)
    engine.start()
    assert engine.advance(10, 1.0) == engine.steps == 0
    (first,) = engine.improvements()
    assert problem.violation_of_positions(engine.best_positions()[0]).violated == first.violated


@given(st.integers(0, 2**32), st.floats(0, 0.001))
@settings(max_examples=30, deadline=None)
def test_what_is_peeled_in_the_time_there_is_extends_to_an_answer_that_violates_no_more(seed: int, left: float) -> None:
    problem = formula(60, 70, seed)
    peeled = peel(problem, Deadline.after(left))
    positions = np.random.default_rng(seed).integers(0, 2, peeled.problem.num_variables)
    before = peeled.problem.violation_of_positions(positions).violated
    assert problem.violation_of_positions(peeled.extended(positions)).violated == before


def test_colouring_by_hand_is_proper_in_a_hurry_too() -> None:
    rng = np.random.default_rng(1)
    edges = [(int(u), int(v)) for u, v in rng.integers(0, 50, (300, 2)) if u != v]
    for deadline in (NEVER, PASSED):
        color = dsatur(60, edges, deadline)
        assert len(color) == 60
        assert all(color[u] != color[v] for u, v in edges)


@compiled
def test_fewest_colours_has_a_colouring_when_there_is_no_time() -> None:
    source = Source("x.col", b"p edge 5 5\ne 1 2\ne 2 3\ne 3 4\ne 4 5\ne 5 1\n")
    from anycsp.formats.col import read_graph

    _, result = fewest_colors(read_graph(source), time_limit=0.0)
    assert result.satisfied
    assert result.objective == {"kind": "colors", "value": 3}


@compiled
def test_a_graph_too_large_for_good_bounds_still_gets_an_answer() -> None:
    ring = np.stack([np.arange(100_000), (np.arange(100_000) + 1) % 100_000], axis=1)
    problem, result = fewest_colors(ColoringGraph(100_000, ring, ()), time_limit=0.0)
    assert result.violated == problem.violation_of_positions(result.positions).violated


def test_colouring_by_independent_sets_is_proper() -> None:
    rng = np.random.default_rng(1)
    for vertices in (1, 7, 60):
        edges = rng.integers(0, vertices, (4 * vertices, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        color = by_independent_sets(vertices, edges)
        assert color.min() >= 0
        assert (color[edges[:, 0]] != color[edges[:, 1]]).all()
    assert len(by_independent_sets(5, np.array([[0, 1]]), PASSED)) == 5


def test_a_claim_that_takes_longer_than_the_time_left_is_refused() -> None:
    with pytest.raises(FormatError, match="takes longer to read"):
        parse(Source("x.cnf", b"p cnf 1000000 0\n", deadline=Deadline.after(0.1)))


def test_an_alarm_ends_reading_that_does_not_look_at_the_clock() -> None:
    with raising_at(Deadline.after(0.05)), pytest.raises(OutOfTime):
        sum(1 for _ in range(10**12))
    time.sleep(0.05)  # and rings no more


def test_an_alarm_that_strikes_where_nobody_can_catch_it_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`anycsp solve` with a limit of 0.02 s printed a traceback once in 3,000 files: "Exception ignored in …"."""

    class Lingers:
        def __del__(self) -> None:
            while True:  # until the alarm
                time.sleep(0.001)

    def work() -> None:
        Lingers()
        time.sleep(5)

    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    with raising_at(Deadline.after(0.05)), pytest.raises(OutOfTime):
        work()
    assert not printed
    assert sys.unraisablehook == printed.append


@pytest.mark.parametrize(
    "source",
    [
        Source("x.col", b"p edge 9 0\n" + b"c\n" * LINES_PER_LOOK, deadline=PASSED),
        pytest.param(
            Source(
                "x.xml",
                b'<instance format="XCSP3" type="CSP"><variables><var id="x"> 0 1 </var></variables>'
                b"<constraints><intension> eq(x,1) </intension></constraints></instance>",
                deadline=PASSED,
            ),
            id="xcsp3",
        ),
    ],
)
def test_a_file_that_takes_too_long_to_read_is_given_up_in_a_line(source: Source) -> None:
    if source.path.endswith("xml") and find_spec("pycsp3") is None:
        pytest.skip("needs pycsp3")
    with pytest.raises(FormatError, match="takes longer to read than the time limit allows") as refused:
        parse(source)
    assert "\n" not in str(refused.value)


# ── ends that come ───────────────────────────────────────────────────────────────────────────────


def stuck() -> Problem:
    """Nothing can move, and something is violated."""
    problem = Problem()
    x = problem.add_variables(3, [1])
    problem.add(x[0] != x[1])
    return problem


def empty_clause() -> Problem:
    return formula_problem(2, np.array([0, 0, 2]), np.array([1, 2]))


def cube() -> Problem:
    from anycsp.model.builders import cut_problem

    edges = [(a, a ^ b) for a in range(8) for b in (1, 2, 4) if a < a ^ b]
    return cut_problem(8, np.array(edges))


def contradiction() -> Problem:
    return formula_problem(1, np.array([0, 1, 2]), np.array([1, -1]))


def maximum() -> Problem:
    problem = Problem()
    problem.maximize(problem.add_variable(range(10)) + 0)
    return problem


@compiled
@pytest.mark.parametrize("make", [stuck, empty_clause, cube, contradiction, maximum])
@pytest.mark.parametrize("limit", [{"steps": 10**12}, {"time_limit": 600.0}])
def test_finished_work_ends(make: Any, limit: dict[str, Any]) -> None:
    result = solve(make(), search="local", threads=1, **limit)
    assert result.seconds < 60


@compiled
def test_many_variables_are_not_multiplied_out() -> None:
    graph = compile_graph(formula_problem(200_000, np.array([0, 1]), np.array([1])))
    began = time.process_time()
    assert not is_tiny(graph.domains.sizes)
    assert time.process_time() - began < 1


def sums_of_products(optimised: bool) -> Problem:
    problem = Problem()
    x = problem.add_variables(12, range(6))
    problem.add_all_different(x[:6])
    for a, b, c in zip(x, x[3:], x[5:], strict=False):
        problem.add(a * b != c + 1)
        problem.add(a + b + c == 7)
    if optimised:
        problem.minimize(x[0] * 3 - x[7] + x[4] * x[9])
    return problem


def overfull_formula() -> Problem:
    """Too many clauses for all to hold, so that every run goes on to its last step."""
    rng, clauses = np.random.default_rng(0), 260
    literals = rng.integers(1, 51, 3 * clauses) * rng.choice([-1, 1], 3 * clauses)
    return formula_problem(50, np.arange(0, 3 * clauses + 1, 3), literals)


@compiled
@pytest.mark.parametrize("search", ["auto", "local", "neural", "hybrid", "exact"])
@pytest.mark.parametrize(
    "problem",
    [sums_of_products(False), sums_of_products(True), overfull_formula()],
    ids=["satisfiable", "optimised", "overfull"],
)
def test_with_steps_an_answer_repeats_whatever_threads_and_clocks_do(
    problem: Problem, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if search == "exact" and find_spec("ortools") is None:
        pytest.skip("needs OR-Tools")
    steps = {"neural": 100, "hybrid": 40, "exact": 2}.get(search, 300)
    answers = []
    for threads, slice_seconds in ((1, 0.05), (2, 1e-5), (3, 1e-3)):
        monkeypatch.setattr(driver, "SLICE_SECONDS", slice_seconds)
        result = solve(problem, search=search, steps=steps, runs=2, seed=5, threads=threads)
        answers.append((result.assignment, result.status))
    assert answers[0] == answers[1] == answers[2]


# ── arguments ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "wrong",
    [
        {"runs": 2.5}, {"runs": 0}, {"runs": True}, {"runs": "2"}, {"seed": "a"}, {"seed": 1.5}, {"seed": None},
        {"solutions": 2.5}, {"solutions": None}, {"solutions": np.array([1, 2])}, {"device": 2.5}, {"stop": 2.5},
        {"min_distance": 1.5, "solutions": 2}, {"distinct_on": 3, "solutions": 2}, {"search": np.array([1, 2])},
        {"threads": 0}, {"threads": -1}, {"threads": 1.0}, {"steps": -1}, {"steps": True}, {"steps": "9"},
        {"time_limit": float("nan")}, {"time_limit": -1}, {"time_limit": "1"}, {"time_limit": True},
        {"time_limit": [1]}, {"hint": 3}, {"hint": "abc"}, {"hint": {"1": None}}, {"hint": [None, 1, 0]},
        {"hint": {"1": 0.5}}, {"callback": 3}, {"model": 7}, {"search": "tabu"},
        {"branching": 3}, {"branching": "first"}, {"branching": ["first"]},
        {"presolve": "no"}, {"profile": 1}, {"verbose": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_arguments_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(AnyCSPError, match=next(iter(wrong))):
        solve(formula(3, 4), **{"steps": 5, **wrong})


@compiled
def test_numbers_of_numpy_are_numbers() -> None:
    result = solve(formula(30, 140), runs=np.int64(2), seed=np.uint8(3), steps=np.int32(50), time_limit=np.float32(9))
    assert (result.runs, result.seed) == (2, 3)


@compiled
def test_solving_leaves_the_process_as_it_was() -> None:
    def state() -> tuple[Any, ...]:
        import os
        import signal
        import sys

        torch = sys.modules.get("torch")
        return (
            threading.active_count(),
            len(os.listdir("/proc/self/task")) if Path("/proc/self/task").exists() else 0,
            dict(os.environ),
            signal.getsignal(signal.SIGINT),
            np.random.get_state()[1].tolist(),  # type: ignore[index, union-attr]
            None if torch is None else torch.get_num_threads(),
        )

    before = state()
    for search in ("local", "neural", "hybrid"):
        solve(formula(30, 150), search=search, steps=30, threads=3)
        assert state() == before


# ── clauses ──────────────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(st.lists(st.integers(1, 5).flatmap(lambda v: st.sampled_from([v, -v])), max_size=SHORT + 4), max_size=6)
)
@settings(max_examples=100, deadline=None)
def test_repeated_literals_are_merged_and_contradicting_ones_hold_always(clauses: list[list[int]]) -> None:
    start = np.cumsum([0, *map(len, clauses)])
    literals = np.array([l for clause in clauses for l in clause], dtype=np.int64)
    block = ClauseBlock.of(
        start, abs(literals) - 1, (literals < 0).astype(np.int64), Terms.of(0, 1.0, False, len(clauses))
    )
    for row, clause in enumerate(clauses):
        assert bool(block.tautology[row]) == any(-l in clause for l in clause)
        assert block.scope_of(row).tolist() == list(dict.fromkeys(abs(l) - 1 for l in clause))


# ── sizes ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", [3, 50, 10**6, 2**62])
def test_pairs_are_numbered_as_sorting_would(scale: int) -> None:
    rng = np.random.default_rng(scale % 97)
    for count in (0, 1, 7, 40):
        row, value = rng.integers(0, 5, count), rng.integers(-scale, scale, count)
        pairs, number = numbered_pairs(row, value)
        assert pairs.tolist() == [list(pair) for pair in sorted({*zip(row.tolist(), value.tolist(), strict=True)})]
        assert (pairs[number] == np.stack([row, value], axis=1)).all()


@compiled
def test_a_rule_too_long_to_evaluate_in_time_is_not_begun() -> None:
    problem = Problem()
    problem.add_circuit(problem.add_variables(1500, range(1500)), self_loops=True)
    began = time.process_time()
    result = solve(problem, search="local", time_limit=0.5, threads=1)
    assert result.found_by == "initial"
    assert time.process_time() - began < 1.5  # measured 0.2; evaluating it takes 2.5


@compiled
def test_invariants_that_cannot_be_built_in_time_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million clauses under a limit of two seconds ended after 2.9: the graph of invariants took the last 1.3."""
    monkeypatch.setattr("anycsp.search.prepare.INVARIANT_SECONDS", 1.0)
    problem = formula(60, 240)
    for shares in ({"invariants": 0.5, "weighting": 0.5}, {"tree": 0.1, "invariants": 0.9}):
        result = solve(problem, model=Heuristic(shares=shares), search="local", time_limit=0.3, threads=1)
        assert result.found_by != "invariants"
        assert problem.violation(result.assignment).violated == result.violated


@compiled
def test_a_formula_is_counted_where_that_takes_less_than_the_alternative() -> None:
    """One of a million clauses was left to the tree and to invariants in short searches: 124,756 violated after two
    seconds, where a local strategy leaves 16,000."""
    problem = formula(25_000, 100_000)
    deadline = Deadline.after(2 * counting_seconds(problem))
    assert counting_seconds(problem) > COUNTING_SHARE * deadline.left
    assert counts_in_time(problem, deadline)


@pytest.mark.skipif(find_spec("ortools") is None, reason="needs OR-Tools")
def test_or_tools_is_not_imported_where_the_time_is_up_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "ortools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("anycsp.search.engines.IMPORTING_SECONDS", 60.0)
    result = solve(formula(60, 240), search="exact", time_limit=1.0, threads=1)
    assert result.found_by == "initial"
    assert "ortools" not in sys.modules
