"""Thirty models as users of CP-SAT, CPMpy, python-constraint and PuLP would guess them, after the examples of those
libraries' own documentation, re-written. Each gives its known answer, or raises an error that names the right spelling;
none is silently another model. Where an answer is not written down, brute force says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

from anycsp import ExpressionError, Problem, ProblemError, all_of, any_of, element, if_else, maximum, solve, total

SECONDS = 5.0
"""Far more than any of them takes."""


def solved(problem: Problem) -> Any:
    result = solve(problem, time_limit=SECONDS, threads=1)
    assert result.satisfied, result
    return result


def answers(problem: Problem, *variables: Any) -> set[tuple[int, ...]]:
    """All assignments of a small problem that violate nothing, by brute force over its domains."""
    domains = [problem.domain(x).values.tolist() for x in problem.variables]
    at = [x.index for x in variables]
    return {tuple(row[i] for i in at) for row in product(*domains) if problem.violation(list(row)).violated == 0}


# ── CP-SAT ───────────────────────────────────────────────────────────────────────────────────────────


def simple_program() -> None:
    """Three variables of 0, 1, 2, the first two different."""
    p = Problem()
    x, y, z = (p.add_variable(0, 2, name) for name in "xyz")
    p.add(x != y)
    assert answers(p, x, y, z) == {(a, b, c) for a, b, c in product(range(3), repeat=3) if a != b}


def optimise_a_small_sum() -> None:
    p = Problem()
    x, y, z = (p.add_variable(0, 50, name) for name in "xyz")
    p.add(2 * x + 7 * y + 3 * z <= 50)
    p.add(3 * x - 5 * y + 7 * z <= 45)
    p.add(5 * x + 2 * y - 6 * z <= 37)
    p.maximize(2 * x + 2 * y + 3 * z)
    result = solved(p)
    assert result.objective["value"] == 35
    assert 2 * result[x] + 2 * result[y] + 3 * result[z] == 35


def cryptarithmetic() -> None:
    """CP + IS + FUN = TRUE"""
    p = Problem()
    letters = {c: p.add_variable(1 if c in "CIFT" else 0, 9, c) for c in "CPISFUNTRE"}
    p.add_all_different(list(letters.values()))

    def word(text: str) -> Any:
        return sum(10**k * letters[c] for k, c in enumerate(reversed(text)))

    p.add(word("CP") + word("IS") + word("FUN") == word("TRUE"))
    result = solved(p)
    assert result[word("CP")] + result[word("IS")] + result[word("FUN")] == result[word("TRUE")]


def queens_by_all_different_of_expressions() -> None:
    p = Problem()
    q = p.add_variables(8, 0, 7)
    p.add_all_different(q)
    p.add_all_different(q[i] + i for i in range(8))
    p.add_all_different(q[i] - i for i in range(8))
    rows = solved(p)[q]
    assert all(a != b and abs(a - b) != j - i for (i, a), (j, b) in combinations(enumerate(rows), 2))


def channeling_by_only_enforce_if() -> None:
    p = Problem()
    x, y, b = p.add_variable(0, 10, "x"), p.add_variable(0, 10, "y"), p.add_variable(0, 1, "b")
    p.add(x >= 5).only_enforce_if(b)
    p.add(x < 5).only_enforce_if(~b)
    p.add(y == 10 - x).only_enforce_if(b)
    p.add(y == 0).only_enforce_if(~b)
    assert answers(p, x, y, b) == {(v, 10 - v, 1) if v >= 5 else (v, 0, 0) for v in range(11)}


def step_function() -> None:
    p = Problem()
    x, expr = p.add_variable(0, 20, "x"), p.add_variable(0, 3, "expr")
    p.add(expr == if_else((x >= 5) & (x <= 6) | (x > 17), 2, if_else(x <= 4, 0, 3)))
    assert answers(p, x, expr) == {(v, 2 if v in (5, 6) or v > 17 else 0 if v <= 4 else 3) for v in range(21)}


def boolean_literals() -> None:
    p = Problem()
    x, y = p.add_variable(0, 1, "x"), p.add_variable(0, 1, "y")
    p.add(any_of(x, ~y))
    p.add(x.implies(~y))
    assert answers(p, x, y) == {(0, 0), (1, 0)}


def nurse_shifts() -> None:
    """Exactly one nurse per shift, at most one shift per nurse and day, shifts shared evenly."""
    p = Problem()
    works = p.add_variables((4, 3, 3), 0, 1, prefix="works")
    p.add(works.sum(axis=0) == 1)
    p.add(works.sum(axis=2) <= 1)
    for nurse in range(4):
        p.add((works[nurse].sum() >= 2) & (works[nurse].sum() <= 3))
    table = solved(p)[works]
    assert (table.sum(axis=0) == 1).all()
    assert (table.sum(axis=2) <= 1).all()
    assert set(table.sum(axis=(1, 2))) <= {2, 3}


def assignment_with_costs() -> None:
    costs = np.array([[90, 80, 75, 70], [35, 85, 55, 65], [125, 95, 90, 95], [45, 110, 95, 115]])
    p = Problem()
    x = p.add_variables((4, 4), 0, 1)
    p.add(x.sum(axis=0) == 1)
    p.add(x.sum(axis=1) == 1)
    p.minimize((costs * x).sum())
    best = min(sum(costs[i][j] for i, j in enumerate(order)) for order in permutations(range(4)))
    assert solved(p).objective["value"] == best


def bin_packing() -> None:
    p = Problem()
    sizes = [4, 8, 5, 1, 7, 6]
    bins = p.add_variables(6, 0, 2, prefix="bin")
    for number in range(3):
        p.add(sum(size * (bins[i] == number) for i, size in enumerate(sizes)) <= 11)
    chosen = solved(p)[bins]
    assert all(sum(size for size, b in zip(sizes, chosen, strict=True) if b == number) <= 11 for number in range(3))


def circuit_as_a_tour() -> None:
    """Open self-loops are refused; told that all cities are visited, the tour is the shortest."""
    distance = [[0, 10, 15, 20], [10, 0, 35, 25], [15, 35, 0, 30], [20, 25, 30, 0]]
    p = Problem()
    after = p.add_variables(4, 0, 3)
    with pytest.raises(ProblemError, match="self_loops=False"):
        p.add_circuit(after)
    p.add_circuit(after, self_loops=False)
    p.minimize(total(element(distance[i], after[i]) for i in range(4)))
    assert solved(p).objective["value"] == 80


def chained_bounds() -> None:
    p = Problem()
    x = p.add_variable(-10, 10, "x")
    with pytest.raises(ExpressionError, match=r"\(0 <= x\) & \(x <= 9\)"):
        p.add(0 <= x <= 5)
    p.add((x >= 0) & (x <= 5))
    assert answers(p, x) == {(v,) for v in range(6)}


# ── CPMpy ────────────────────────────────────────────────────────────────────────────────────────────


def send_more_money() -> None:
    p = Problem()
    s, e, n, d, m, o, r, y = p.add_variables(8, 0, 9, names=list("sendmory"))
    p.add_all_different([s, e, n, d, m, o, r, y])
    p.add(
        sum([s, e, n, d] * np.array([1000, 100, 10, 1])) + sum([m, o, r, e] * np.array([1000, 100, 10, 1]))
        == sum([m, o, n, e, y] * np.array([10000, 1000, 100, 10, 1]))
    )
    p.add(s > 0)
    p.add(m > 0)
    result = solved(p)
    assert result[[s, e, n, d, m, o, r, y]] == [9, 5, 6, 7, 1, 0, 8, 2]


def sudoku_by_slices() -> None:
    p = Problem()
    cells = p.add_variables((4, 4), 1, 4)
    given = np.array([[1, 0, 0, 0], [0, 0, 3, 0], [0, 4, 0, 0], [0, 0, 0, 2]])
    p.add(cells[given > 0] == given[given > 0])
    for i in range(4):
        p.add_all_different(cells[i, :])
        p.add_all_different(cells[:, i])
    for r, c in product((0, 2), repeat=2):
        p.add_all_different(cells[r : r + 2, c : c + 2])
    table = solved(p)[cells]
    assert (table[given > 0] == given[given > 0]).all()
    assert all(len(set(line)) == 4 for line in [*table, *table.T])


def knapsack_by_arrays() -> None:
    values, weights = np.array([4, 2, 3, 7, 1]), np.array([3, 1, 2, 5, 1])
    p = Problem()
    x = p.add_variables((5,), 0, 1)
    p.add(sum(x * weights) <= 7)
    p.maximize(sum(x * values))
    best = max(
        int((np.array(c) * values).sum()) for c in product((0, 1), repeat=5) if (np.array(c) * weights).sum() <= 7
    )
    assert solved(p).objective["value"] == best


def list_of_constraints() -> None:
    p = Problem()
    x = p.add_variables(4, 0, 3)
    p.add([x[i] < x[i + 1] for i in range(3)])
    assert answers(p, *x) == {(0, 1, 2, 3)}


def element_and_maximum() -> None:
    p = Problem()
    index, value, top = p.add_variable(0, 3, "i"), p.add_variable(0, 9, "v"), p.add_variable(0, 9, "top")
    p.add(element([5, 2, 7, 2], index) == value)
    p.add(maximum(value, 4) == top)
    assert answers(p, index, value, top) == {(i, v, max(v, 4)) for i, v in enumerate([5, 2, 7, 2])}


def implication_chain() -> None:
    p = Problem()
    a, b, c = p.add_variables(3, 0, 1)
    p.add((a == 1).implies((b == 1) & (c == 0)))
    p.add(a | c)
    assert answers(p, a, b, c) == {(1, 1, 0), (0, 0, 1), (0, 1, 1)}


def python_all_and_any() -> None:
    """The built-ins ask for truth values; `all_of` and `any_of` are the expressions."""
    p = Problem()
    x = p.add_variables(3, 0, 3)
    with pytest.raises(ExpressionError, match="a & b"):
        p.add(all(v == 1 for v in x))
    with pytest.raises(ExpressionError, match="a & b"):
        p.add(any([x[0] == 1, x[1] == 2]))
    p.add(all_of(v >= 2 for v in x))
    p.add(any_of([v == 3 for v in x]))
    assert answers(p, *x) == {row for row in product((2, 3), repeat=3) if 3 in row}


def soft_wishes() -> None:
    p = Problem()
    x = p.add_variables(3, 0, 2)
    p.add_all_different(x)
    p.add(x[0] == 2, weight=3)
    p.add(x[1] == 2, weight=1)
    result = solve(p, time_limit=SECONDS)
    assert (result.hard_violated, result.violated_weight, result[x[0]]) == (0, 1, 2)


def numpy_reductions() -> None:
    p = Problem()
    x = p.add_variables((2, 3), 0, 2)
    p.add(np.sum(x) == 4)
    p.add(x.max(axis=1) <= 1)
    p.add(x[0] + x[1] >= np.array([1, 1, 2]))
    wanted = {
        row for row in product(range(3), repeat=6)
        if sum(row) == 4 and max(row) <= 1 and row[0] + row[3] >= 1 and row[1] + row[4] >= 1 and row[2] + row[5] >= 2
    }  # fmt: skip
    assert answers(p, *x.flat) == wanted


# ── python-constraint ────────────────────────────────────────────────────────────────────────────────


def a_and_b() -> None:
    """A function over names, on domains given as lists."""
    p = Problem()
    p.add_variable("a", [1, 2, 3])
    p.add_variable("b", [4, 5, 6])
    p.add_rule(["a", "b"], lambda a, b: a * 2 == b)
    assert answers(p, *p.variables) == {(2, 4), (3, 6)}


def rule_with_python_and() -> None:
    """In a function over values Python's own `and` is right."""
    p = Problem()
    x, y = p.add_variables(2, range(5))
    p.add_rule([x, y], lambda a, b: a < b and (a + b) % 2 == 0)
    assert answers(p, x, y) == {(a, b) for a, b in product(range(5), repeat=2) if a < b and (a + b) % 2 == 0}


def magic_square() -> None:
    p = Problem()
    cell = p.add_variables(9, range(1, 10))
    p.add_all_different(cell)
    for line in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]):
        p.add(sum(cell[i] for i in line) == 15)
    values = solved(p)[cell]
    assert values[4] == 5
    assert sum(values[::4]) == 15


def australia() -> None:
    """Colours by label."""
    p = Problem()
    state = {name: p.add_variable(["red", "green", "blue"], name) for name in ("WA", "NT", "SA", "Q", "NSW", "V")}
    borders = ["WA NT", "WA SA", "NT SA", "NT Q", "SA Q", "SA NSW", "SA V", "Q NSW", "NSW V"]
    for border in borders:
        a, b = border.split()
        p.add(state[a] != state[b])
    p.add(state["SA"] == "red")
    result = solved(p)
    assert result.assignment["SA"] == "red"
    assert all(result[state[a]] != result[state[b]] for a, b in (border.split() for border in borders))


def value_in_a_list() -> None:
    p = Problem()
    x = p.add_variable("x", range(10))
    with pytest.raises(ExpressionError, match=r"is_in\(\[1, 2\]\)"):
        p.add(x in [2, 3, 5, 7])
    p.add(x.is_in([2, 3, 5, 7]))
    assert answers(p, x) == {(2,), (3,), (5,), (7,)}


def all_solutions_are_asked_for() -> None:
    p = Problem()
    x, y = p.add_variables(2, 0, 3)
    p.add(x + y == 3)
    result = solve(p, time_limit=SECONDS, solutions=10)
    assert {tuple(one[[x, y]]) for one in result.solutions} == {(0, 3), (1, 2), (2, 1), (3, 0)}


# ── PuLP ─────────────────────────────────────────────────────────────────────────────────────────────


def whiskas() -> None:
    """A blend by percentages, whole numbers in place of fractions."""
    p = Problem("blend")
    chicken, beef = p.add_variable("chicken", 0, 100), p.add_variable("beef", 0, 100)
    with pytest.raises(ProblemError, match=r"whole numbers, not 0\.1"):
        p.add(0.1 * chicken + 0.2 * beef >= 8.0)
    p.add(chicken + beef == 100, name="percentages")
    p.add(100 * chicken + 200 * beef >= 8000, name="protein")
    p.add(80 * chicken + 100 * beef >= 6000, name="fat")
    p.add(1 * chicken + 5 * beef <= 200, name="fibre")
    p.add(2 * chicken + 5 * beef <= 400, name="salt")
    p.minimize(13 * chicken + 8 * beef)
    result = solved(p)
    values = range(101)
    best = min(
        13 * c + 8 * b for c, b in product(values, values)
        if c + b == 100 and c + 2 * b >= 80 and 8 * c + 10 * b >= 600 and c + 5 * b <= 200 and 2 * c + 5 * b <= 400
    )  # fmt: skip
    assert result.objective["value"] == best


def dictionary_of_variables() -> None:
    """Transport: supply, demand and costs by route."""
    supply, demand = {"A": 10, "B": 40}, {1: 5, 2: 9, 3: 18}
    costs = {"A": [2, 4, 5], "B": [3, 1, 3]}
    p = Problem("transport")
    route = {(w, b): p.add_variable(0, 20, f"route_{w}_{b}") for w in supply for b in demand}
    p.minimize(sum(route[w, b] * costs[w][b - 1] for w in supply for b in demand))
    for w in supply:
        p.add(sum(route[w, b] for b in demand) <= supply[w])
    for b in demand:
        p.add(sum(route[w, b] for w in supply) >= demand[b])
    assert solved(p).objective["value"] == 5 * 2 + 9 * 1 + 18 * 3


def two_models_at_once() -> None:
    """A variable belongs to the model that made it."""
    first, second = Problem("first"), Problem("second")
    x, y = first.add_variable(0, 4, "x"), second.add_variable(0, 4, "y")
    with pytest.raises(ProblemError, match="'y' belongs to another problem"):
        first.add(x + y <= 3)
    with pytest.raises(ProblemError, match="'x' belongs to another problem"):
        second.minimize(x)
    first.add(x <= 3)
    assert answers(first, x) == {(v,) for v in range(4)}


def models() -> Iterator[Callable[[], None]]:
    """Every function above that takes nothing and has a body of its own."""
    helpers = {"models", "test_there_are_thirty"}
    for name, value in list(globals().items()):
        own = getattr(value, "__module__", "") == __name__ and callable(value)
        if own and name not in helpers and not name.startswith("test_") and value.__code__.co_argcount == 0:
            yield value


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model.__name__)
def test_a_guessed_model_is_solved_as_written(model: Callable[[], None]) -> None:
    model()


def test_there_are_thirty() -> None:
    assert len(list(models())) >= 30
