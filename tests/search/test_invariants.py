"""The search over an invariant graph: what is kept up to date equals a recount, and what moves keep holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import structured_models as models
from families import FAMILIES, Family
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, native, solve
from anycsp.graph import compile_graph
from anycsp.model.expressions import maximum, total
from anycsp.presolve.network import required
from anycsp.search.bound import BoundedProblem
from anycsp.search.invariants import InvariantSearch, possible_values

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


def search_for(problem: Problem, seed: int = 0, *, propagated: bool = True) -> InvariantSearch:
    """All constraints required; started at random."""
    bounded = None if problem.objective is None else BoundedProblem(problem, problem.objective)
    asked = problem if bounded is None else bounded.problem
    graph = compile_graph(asked)
    search = InvariantSearch(
        graph,
        np.ones(graph.num_constraints, dtype=np.uint8),
        1,
        seed,
        defined=asked.definitions,
        objective=-1 if bounded is None else bounded.attach(graph),
        kept=possible_values(graph) if propagated else None,
    )
    search.start()
    return search


def current(search: InvariantSearch) -> tuple[np.ndarray, tuple[int, int, int]]:
    """Where the run is, and what it says that this violates: count, weight in units, hard count."""
    run: Any = search._searches[0]
    return run.positions(), run.now[:3]


def check_count(problem: Problem, search: InvariantSearch) -> None:
    search.verify()
    positions, (violated, weight, hard) = current(search)
    counted = problem.violation_of_positions(positions[: problem.num_variables])
    empty = search.graph.constant[0]
    said = violated + empty[0], (weight + empty[1]) / float(search.graph.units[0]), hard + empty[2]
    assert said == pytest.approx(tuple(counted))


def drawn(seed: int, families: list[Family], most: int, weighted: bool) -> Problem:
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(int(rng.integers(3, 7))):
        size = int(rng.integers(1, 6))
        problem.add_variable(rng.choice(np.arange(-3, 6), size, replace=False).tolist())
    for _ in range(int(rng.integers(1, most + 1))):
        terms = {"weight": float(rng.integers(1, 5)), "hard": bool(rng.integers(2))} if weighted else {}
        families[rng.integers(len(families))](problem, rng, terms)
    return problem


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=40)
@given(seed=st.integers(0, 1 << 30))
def test_after_any_moves_the_counts_equal_a_recount(family: Family, seed: int) -> None:
    problem = drawn(seed, [family], 4, weighted=True)
    search = search_for(problem, seed, propagated=bool(seed % 2))
    check_count(problem, search)
    for moves in (1, 7, 60):
        search.advance(moves, 1e9)
        check_count(problem, search)


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 30))
def test_one_relation_of_positions_over_other_domains_defines_other_values(seed: int) -> None:
    """Costs 0 or 1, 0 or 10, … of the same pairs of positions: once all of them were those of the first."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    costs = [rng.integers(3, size=(3, 3))] * 3 if rng.integers(2) else list(rng.integers(3, size=(3, 3, 3)))
    for k, table in enumerate(costs):
        x, y = problem.add_variable([k, k + 2, 9]), problem.add_variable([0, 3, 4 + k, 20][: 3 + int(rng.integers(2))])
        cost = problem.add_variable([0, 10**k, 2 * 10**k])
        rows = [
            (int(problem.domain(x).values[i]), int(problem.domain(y).values[j]), int(table[i, j]) * 10**k)
            for i in range(3)
            for j in range(3)
        ]
        problem.add_table([x, y, cost], rows)
    search = search_for(problem, seed)
    for moves in (0, 1, 20):
        search.advance(moves, 1e9)
        check_count(problem, search)


@settings(max_examples=100)
@given(seed=st.integers(0, 1 << 30))
def test_families_together_and_an_objective(seed: int) -> None:
    problem = drawn(seed, FAMILIES, 7, weighted=False)
    rng = np.random.default_rng(seed)
    parts = [int(rng.integers(-3, 4)) * x for x in problem.variables]
    expression = [total(parts), maximum(parts), problem.variables[0] * parts[-1]][rng.integers(3)]
    problem.minimize(expression) if rng.integers(2) else problem.maximize(expression)
    search = search_for(problem, seed)
    sign = 1 if problem.objective is not None and problem.objective.kind == "minimize" else -1
    for moves in (0, 1, 50, 500):
        search.advance(moves, 1e9)
        search.verify()
        best = search.best_objective()
        if best is not None:
            positions = search.best_positions()[0][: problem.num_variables]
            assert problem.violation_of_positions(positions).violated == 0
            assert problem.objective is not None
            assert problem.objective.value(0.0, problem.values(positions)) == sign * best


IMPLICIT = {
    "swaps": lambda: models.magic_square(4),
    "swaps with spare values": lambda: different(6, 9),
    "swaps in rows that are given in part": lambda: models.quasigroup_with_holes(8, 0.8, 0),
    "counted values": lambda: models.nurse_roster(models.Ward(0), soft=False),
    "exact sums": lambda: exact_sums(3),
    "circuit": lambda: models.travelling_salesman(models.distances(9, 0)),
}


def exact_sums(seed: int) -> Problem:
    """Rows that add up to what they do in a hidden table, over domains with holes, and bounds on the columns."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    values = [0, 1, 2, 3, 5, 8][int(rng.integers(2)) :]
    hidden = rng.choice(values, (4, 5))
    rows = [[problem.add_variable(values) for _ in row] for row in hidden]
    factor = int(rng.integers(1, 4))
    for row, taken in zip(rows, hidden, strict=True):
        problem.add_linear(row, [factor] * 5, "==", factor * int(taken.sum()))
    for k in range(5):
        problem.add(total([row[k] for row in rows]) <= int(hidden[:, k].sum()))
    return problem


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 30))
def test_transfers_keep_exact_sums_and_equal_a_recount(seed: int) -> None:
    problem = exact_sums(seed)
    plain = list(problem.describe_constraints())
    search = search_for(problem, seed)
    for moves in (0, 1, 7, 60):
        search.advance(moves, 1e9)
        check_count(problem, search)
        positions, _ = current(search)
        for kind, _, constraints in search.model.groups:
            assert kind == "sum"
            (row,) = (plain[int(search.graph.terms.index[c])] for c in constraints)
            taken = problem.values(positions)
            assert row["coefficients"][0] * sum(taken[x] for x in row["scope"]) == row["bound"]


def different(variables: int, values: int) -> Problem:
    problem = Problem()
    x = problem.add_variables(variables, range(values))
    problem.add_all_different(x)
    problem.add(total([k * y for k, y in enumerate(x)]) == 71)
    return problem


@pytest.mark.parametrize("make", IMPLICIT.values(), ids=IMPLICIT.keys())
def test_moves_keep_what_is_implicit(make: Any) -> None:
    problem = make()
    search = search_for(problem)
    kept = {int(search.graph.terms.index[c]) for _, _, constraints in search.model.groups for c in constraints}
    assert kept
    for _ in range(20):
        search.advance(25, 1e9)
        search.verify()
        positions, _ = current(search)
        for block in problem.blocks:
            broken = block.terms.index[~block.satisfied(problem.domains, positions[: problem.num_variables])]
            assert kept.isdisjoint(broken.tolist())


def test_what_follows_is_not_searched() -> None:
    """Steps follow from notes, a last end from the ends, a sum from its parts, an element from its index."""
    search = search_for(models.all_interval(8))
    assert search.model.decisions == list(range(8))
    makespan = models.job_shop(models.FT06, makespan_variable=True)
    assert makespan.index("makespan") not in search_for(makespan).model.decisions
    problem = Problem()
    x, y = problem.add_variables(2, range(10))
    s = problem.add_variable(range(100), "s")
    p = problem.add_variable(range(100), "p")
    problem.add(s == 3 * x + 2 * y)
    problem.add(p == x * y)
    problem.add(s + p == 40)
    assert search_for(problem, propagated=False).model.decisions == [0, 1]


def test_definitions_close_no_circle() -> None:
    problem = Problem()
    x, y, z = problem.add_variables(3, range(-20, 21))
    problem.add(x == y * z + 1)
    problem.add(y == x * z - 1)
    problem.add(z == abs(x) + abs(y))
    search = search_for(problem, propagated=False)
    assert 1 <= len(search.model.decisions) < 3
    search.advance(200, 1e9)
    check_count(problem, search)


@pytest.mark.parametrize("seed", range(3))
def test_a_tour_of_20_cities_is_optimal(seed: int) -> None:
    optimum = [299, 413, 361][seed]
    search = search_for(models.travelling_salesman(models.distances(20, seed)))
    search.advance(400_000, 1e9)
    assert search.best_objective() == optimum


def test_both_formulations_of_a_makespan_search_the_same_decisions() -> None:
    """And reach a schedule no longer than all tasks one after another, which is 197."""
    decisions = []
    for makespan_variable in (False, True):
        search = search_for(models.job_shop(models.FT06, makespan_variable=makespan_variable))
        decisions.append(search.model.decisions)
        search.advance(20_000, 1e9)
        best = search.best_objective()
        assert best is not None
        assert 55 <= best <= 120
    assert decisions[0] == decisions[1]


def test_what_is_learnt_has_the_objective_that_it_is_credited_with() -> None:
    """A makespan follows from the tasks, whatever slack an assignment from elsewhere leaves it."""
    problem = Problem()
    starts = problem.add_variables(3, range(10))
    end = problem.add_variable(range(30), "end")
    for start in starts:
        problem.add(end >= start + 2)
    problem.minimize(end)
    search = search_for(problem)
    search.improvements()
    search.learn(np.array([1, 0, 0, 25]))
    assert search.best_objective() == 3
    assert search.best_positions()[0].tolist() == [1, 0, 0, 3]
    assert [found.score for found in search.improvements()] == [0], "better than what was learnt, so it is told"


@pytest.mark.parametrize("seed", range(3))
def test_an_objective_never_gets_worse(seed: int) -> None:
    problem = Problem()
    starts = problem.add_variables(8, range(60))
    end = problem.add_variable(range(100), "end")
    lengths = [3, 5, 2, 7, 4, 6, 3, 5]
    for start, length in zip(starts, lengths, strict=True):
        problem.add(end >= start + length)
    problem.add_no_overlap(starts[:5], lengths[:5])
    problem.add_no_overlap(starts[3:], lengths[3:])
    problem.minimize(end)
    result = solve(problem, search="local", steps=30_000, seed=seed)
    values = [point.objective for point in result.trace if point.objective is not None]
    assert values == sorted(set(values), reverse=True)
    assert result.objective is not None
    assert result.objective["value"] == values[-1]


def test_the_portfolio_names_it() -> None:
    problem = models.travelling_salesman(models.distances(30, 0))
    result, again = (solve(problem, search="local", steps=150_000, threads=1) for _ in "ab")
    assert "invariants" in {point.found_by for point in result.trace}
    assert result.assignment == again.assignment


def test_only_what_must_hold_is_kept() -> None:
    problem = Problem()
    x = problem.add_variables(4, range(4))
    problem.add_all_different(x, weight=1)
    problem.add(x[0] == x[1], weight=2)
    graph = compile_graph(problem)
    search = InvariantSearch(graph, required(graph))
    assert not search.model.groups
    search.start()
    search.advance(5_000, 1e9)
    assert problem.violation_of_positions(search.best_positions()[0]).weight == 1


def test_tables_that_share_a_relation_have_values_of_their_own() -> None:
    """Both say that the second follows from the first, by position; the values of the second differ."""
    problem = Problem()
    problem.add_variable(range(3), "x")
    for value in (1610, 5460):
        y = problem.add_variable([0, value], f"y{value}")
        problem.add_table([0, y.index], [[0, value], [1, 0], [2, 0]])
    problem.add_linear([1, 2], [1, 1], ">=", 7000)
    search = search_for(problem, propagated=False)
    assert len(search.model.decisions) == 1
    for _ in range(20):
        search.advance(1, 1e9)
        check_count(problem, search)
    assert search.solved
