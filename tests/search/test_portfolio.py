"""The portfolio, the tree behind it and the enumeration of tiny problems: optima are optima, proofs are true."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from families import FAMILIES
from random_problems import random_problem

from anycsp import Problem, native, solve
from anycsp.graph import compile_graph
from anycsp.model.builders import formula_problem
from anycsp.model.expressions import maximum, minimum
from anycsp.model.objective import Objective
from anycsp.model.structure import Kind, kind_of
from anycsp.search import enumeration
from anycsp.search.choose import choose_schedule, looks_random
from anycsp.search.invariant_member import InvariantMember
from anycsp.search.local import LocalSearch
from anycsp.search.portfolio import LocalMember, Portfolio
from anycsp.search.prepare import counting_seconds
from anycsp.search.tree import TreeSearch

pytestmark = pytest.mark.skipif(not native.available(), reason="compiled search")


def assignments(problem: Problem) -> list[np.ndarray]:
    grid = product(*(range(len(problem.domain(x))) for x in range(problem.num_variables)))
    return [np.array(at, dtype=np.int32) for at in grid]


@pytest.mark.parametrize("hundred", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))])
def test_every_optimum_of_a_thousand_tiny_problems_is_found_from_every_start(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        problem = random_problem(seed, max_variables=3, weighted=False)
        every = assignments(problem)
        least = min(problem.violation_of_positions(at).violated for at in every)
        for at in every[:: max(1, len(every) // 2)]:
            hint = [problem.domain(x).external(int(p)) for x, p in enumerate(at)]
            result = solve(problem, search="local", hint=hint, time_limit=5, seed=seed)
            assert result.violated == least, seed
            assert result.seconds < 4, "nothing better can exist: the search ends"


@pytest.mark.parametrize("seed", range(40))
def test_the_race_satisfies_what_can_be_and_refutes_what_cannot(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the enumeration of tiny problems out of the way."""
    monkeypatch.setattr(enumeration, "MOST_ASSIGNMENTS", 0)
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(5):
        problem.add_variable(rng.choice(np.arange(-3, 5), int(rng.integers(2, 5)), replace=False).tolist())
    for _ in range(int(rng.integers(2, 6))):
        FAMILIES[rng.integers(len(FAMILIES))](problem, rng, {"hard": True})
    possible = any(problem.violation_of_positions(at).violated == 0 for at in assignments(problem))
    result = solve(problem, search="local", steps=200_000, seed=seed, presolve=False)
    assert (result.violated == 0) == possible
    assert result.status == ("satisfied" if possible else "unsatisfiable")


@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_of_an_objective_is_reached_whatever_its_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    x = problem.add_variables(4, range(-2, 4))
    problem.add(x[0] + x[1] * 2 >= int(rng.integers(-2, 4)))
    problem.add_all_different(x[1:])
    forms = [
        lambda: x[0] + 2 * x[1] - 3 * x[2],
        lambda: maximum(x) + 0,
        lambda: minimum([x[0] + 1, x[2], x[3]]),
        lambda: x[0] * x[1] - x[2] * x[3],
        lambda: abs(x[0] - x[3]) + x[1],
        lambda: x[2],
    ]
    expression = forms[seed % len(forms)]()
    kind = "minimize" if rng.integers(2) else "maximize"
    getattr(problem, kind)(expression)
    assert problem.objective is not None
    feasible = [at for at in assignments(problem) if problem.violation_of_positions(at).violated == 0]
    values = [problem.objective.value(0.0, problem.values(at)) for at in feasible]
    result = solve(problem, search="local", time_limit=10, seed=seed)
    assert result.objective is not None
    assert result.objective["value"] == (min(values) if kind == "minimize" else max(values))
    assert result.violated == 0
    assert result.seconds < 9, "the tree has proved that nothing is better"


def test_a_small_quadratic_objective_over_booleans_is_proved() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.integers(-9, 10, (9, 9)).tolist()
    problem = Problem()
    x = problem.add_variables(9, range(2))
    problem.maximize(sum(matrix[i][j] * x[i] * x[j] for i in range(9) for j in range(i, 9)) + 5)
    values = [
        sum(matrix[i][j] * a[i] * a[j] for i in range(9) for j in range(i, 9)) + 5 for a in product((0, 1), repeat=9)
    ]
    result = solve(problem, time_limit=5)
    assert result.objective == {"kind": "maximize", "value": max(values)}
    assert result.status == "optimal"


def test_a_cost_that_cannot_be_avoided_is_no_contradiction() -> None:
    """Where violated weight is what is optimised, equal weights do not make soft constraints required."""
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add(x == y, weight=3)
    problem.add(x != y, weight=3)
    problem.objective = Objective("cost")
    assert solve(problem, time_limit=0.2).status == "best-effort"


def test_an_enumeration_of_no_steps_reports_what_it_answers() -> None:
    """The code's first assignment is looked at before any step, and may be better than the start."""
    problem = Problem()
    a, b = problem.add_variable((0,), "a"), problem.add_variable((0, 1, 4), "b")
    problem.add(a == b, hard=True)
    result = solve(problem, search="local", threads=1, hint={"b": 4})
    assert (result.status, result.assignment, result.steps) == ("satisfied", {"a": 0, "b": 0}, 0)


@pytest.mark.parametrize("search", ["local", "auto"])
def test_too_few_steps_for_all_assignments_are_spent_on_a_search(search: str) -> None:
    """In the order of the code the answer is among the last of 4,096 assignments; a search needs few steps."""
    problem = Problem()
    x = problem.add_variables(12, (0, 1))
    for before, after in pairwise(x):
        problem.add(before != after, weight=2)
    problem.add(x[-1] == 1)
    assert solve(problem, search=search, steps=4095, threads=1).violated == 0
    assert solve(problem, search=search, steps=200, threads=1).violated == 0
    assert solve(problem, search=search, steps=4096, threads=1).found_by == "enumeration"


def test_soft_constraints_left_by_presolve_refute_nothing() -> None:
    """The hard constraint is set aside with x; what is left are soft ones of one weight, which may be given up."""
    problem = Problem()
    x, y, z = problem.add_variables(3, range(3))
    problem.add(x != y, hard=True)
    problem.add(z == 0, weight=2)
    problem.add(z == 1, weight=2)
    result = solve(problem, search="local", threads=1)
    assert (result.status, result.hard_violated, result.violated) == ("best-effort", 0, 1)


def large(runs_apart: int = 12) -> Problem:
    """Too many assignments to enumerate: a hard table that is easily kept, and soft ones that cannot all be."""
    problem = Problem()
    xs = problem.add_variables(runs_apart, range(4))
    for x, y in pairwise(xs):
        problem.add_table([x, y], [[a, b] for a in range(4) for b in range(4) if a + b != 3], hard=True)
    for value in range(3):
        problem.add_table([xs[0], xs[1]], [[value, value]], weight=1 + value)
    return problem


@pytest.mark.parametrize("runs", [1, 2])
def test_a_tree_that_is_done_with_the_hard_constraints_refutes_nothing(runs: int) -> None:
    result = solve(large(), search="local", steps=20_000, runs=runs, threads=1, presolve=False)
    assert (result.status, result.hard_violated) == ("best-effort", 0)


def test_a_soft_constraint_that_never_holds_refutes_nothing() -> None:
    problem = large()
    problem.add_clause([], weight=3)
    assert not TreeSearch(compile_graph(problem)).exhausted
    problem.add_clause([], hard=True)
    assert TreeSearch(compile_graph(problem)).exhausted


def test_steps_without_a_move_come_to_an_end() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, [0])
    problem.add(x > 0, hard=True)
    problem.minimize(y)
    assert solve(problem, search="local", steps=100).status == "unsatisfiable"


@pytest.mark.parametrize("seed", range(8))
def test_goals_count_in_order_of_priority(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    x = problem.add_variables(4, range(-2, 4))
    problem.add(x[0] + x[1] >= int(rng.integers(-1, 4)), hard=True)
    problem.add_all_different(x[1:], hard=True)
    factors = rng.integers(-2, 3, (2, 4)).tolist()
    goals = [sum(f * v for f, v in zip(row, x, strict=True)) + 3 for row in factors]
    kind = "minimize" if seed % 2 else "maximize"
    getattr(problem, kind)(goals)
    assert problem.objective is not None
    feasible = [at for at in assignments(problem) if problem.violation_of_positions(at).violated == 0]
    every = [problem.objective.values(problem.values(at)) for at in feasible]
    result = solve(problem, search="local", time_limit=10, seed=seed)
    assert result.objective is not None
    assert result.objective["values"] == (min(every) if kind == "minimize" else max(every))


class Idle(InvariantMember):
    """Nothing is left to decide, which is known once the graph is built."""

    turns = 0

    def __init__(self) -> None:
        super().__init__(lambda: pytest.fail("is not built"), 0.5, optimises=False)

    @property
    def over(self) -> bool:
        return self.turns > 0

    def run(self, steps: int, seconds: float) -> None:
        self.turns += 1

    def take(self) -> None:
        return None


def test_a_member_with_nothing_left_to_do_ends_its_turn() -> None:
    """It takes no steps, and a turn of 32,768 of them would be as many calls that do nothing."""
    graph = compile_graph(large())
    local = LocalMember(LocalSearch(graph, "tabu"), 0.1, np.random.default_rng(0))
    idle = Idle()
    race = Portfolio(graph, None, 0.0, [local], invariants=idle, by_steps=True)
    race.start()
    race.advance(100, 60.0)
    assert (idle.turns, race.steps) == (1, 100)


def far_apart(tasks: int, horizon: int) -> Problem:
    """A rule for every two starts, over domains whose values nobody can look at one by one in a second."""
    problem = Problem()
    start = problem.add_variables(tasks, 0, horizon)
    for i, j in combinations(range(tasks), 2):
        problem.add((start[i] + 10 * i + 5 <= start[j]) | (start[j] + 10 * j + 5 <= start[i]))
    problem.minimize(maximum(*start))
    return problem


@pytest.mark.parametrize("search", ["local", "auto"])
def test_domains_too_large_to_count_every_value_are_searched_by_the_tree_and_invariants(search: str) -> None:
    problem = far_apart(12, 200_000)
    assert counting_seconds(problem) > 2
    result = solve(problem, search=search, time_limit=2.0, threads=1)
    assert result.violated == 0
    assert result.steps > 0
    assert result.found_by in ("tree", "invariants", "exact")


def frequencies(seed: int, stations: int = 60, channels: int = 16, pairs: int = 350) -> Problem:
    """Distances between pairs, as binary tables of which there are five kinds; a solution is planted."""
    rng, problem = np.random.default_rng(seed), Problem()
    x, planted = problem.add_variables(stations, 0, channels - 1), rng.integers(0, channels, stations)
    for _ in range(pairs):
        i, j = sorted(rng.choice(stations, 2, replace=False).tolist())
        if apart := min(5, abs(int(planted[i] - planted[j]))):
            rows = [(a, b) for a in range(channels) for b in range(channels) if abs(a - b) >= apart]
            problem.add_table([x[i], x[j]], rows)
    return problem


def test_binary_tables_that_share_relations_are_raced() -> None:
    """Tabu search alone, which is best on random ones, leaves most of these unsolved."""
    for seed in range(3):
        problem = frequencies(seed)
        assert kind_of(problem) is Kind.BINARY
        assert not looks_random(problem)
        assert len(choose_schedule(problem, compile_graph(problem), decision=True).shares) > 2
        assert solve(problem, search="local", time_limit=5, seed=seed, threads=1).violated == 0


# ── formulas that somebody modelled ──────────────────────────────────────────────────────────────────


def modelled(clauses: list[list[int]]) -> Problem:
    offsets, literals = np.cumsum([0, *map(len, clauses)]), np.concatenate(clauses)
    return formula_problem(int(np.abs(literals).max()), offsets, literals)


def at_most_one(literals: list[int]) -> list[list[int]]:
    return [[-a, -b] for a, b in combinations(literals, 2)]


def test_a_sudoku_in_clauses_is_no_max_sat() -> None:
    """It is far denser than a formula drawn at random that can be satisfied."""
    clues = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"
    cell = np.arange(1, 730).reshape(9, 9, 9)
    boxes = [cell[r : r + 3, c : c + 3].reshape(9, 9) for r in (0, 3, 6) for c in (0, 3, 6)]
    units = [unit[:, v].tolist() for unit in [*cell, *cell.swapaxes(0, 1), *boxes] for v in range(9)]
    units += cell.reshape(81, 9).tolist()
    clauses = [clause for unit in units for clause in [unit, *at_most_one(unit)]]
    clauses += [[int(cell[k // 9, k % 9, int(clue) - 1])] for k, clue in enumerate(clues) if clue != "."]
    result = solve(modelled(clauses), search="local", time_limit=10, threads=1)
    assert result.status == "satisfied"


def test_the_search_of_a_modelled_formula_ends_at_a_proof() -> None:
    """Seven pigeons in six holes."""
    holes = np.arange(1, 43).reshape(7, 6)
    clauses = [*holes.tolist(), *(clause for hole in holes.T.tolist() for clause in at_most_one(hole))]
    result = solve(modelled(clauses), search="local", time_limit=30, threads=1)
    assert result.status == "unsatisfiable"
    assert result.seconds < 15
