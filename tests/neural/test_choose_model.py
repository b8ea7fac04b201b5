"""`auto`: every distribution gets the model trained on it; search, strategy and model agree on what a problem is."""

from itertools import combinations

import numpy as np
import pytest

from anycsp import Problem, distributions
from anycsp.distributions.sat import random_formula
from anycsp.model.builders import formula_problem
from anycsp.model.structure import (
    Kind,
    coloring_graph,
    cut_graph,
    is_decision,
    is_modelled,
    kind_of,
    may_be_satisfiable,
    pair_graph,
)
from anycsp.search.choose import choose_model, choose_strategy


@pytest.mark.parametrize("name", ["sat", "maxsat", "maxcut", "coloring", "rb"])
def test_a_distribution_gets_its_own_model(name: str) -> None:
    for index in range(5):
        assert choose_model(distributions.draw(distributions.get(name), 3, index)) == name


def test_other_constraints_get_the_universal_model() -> None:
    problem = Problem()
    problem.add_variables(4, range(4))
    problem.add_all_different([0, 1, 2, 3])
    assert choose_model(problem) == "universal"
    ternary = Problem()
    ternary.add_variables(3, range(3))
    ternary.add_table([0, 1, 2], [[0, 1, 2], [1, 2, 0]])
    assert choose_model(ternary) == "universal"


@pytest.mark.parametrize(("arity", "bound"), [(3, 5.19), (4, 10.74), (5, 21.83)])
def test_strategy_and_model_agree_on_which_formulas_may_be_satisfiable(arity: int, bound: float) -> None:
    for density, expected in ((0.98 * bound, True), (1.02 * bound, False)):
        formula = random_formula(np.random.default_rng(1), 400, round(400 * density), arity)
        assert may_be_satisfiable(formula) == is_decision(formula) == expected
        assert (choose_strategy(formula), choose_model(formula)) == (
            ("probsat", "sat") if expected else ("annealing", "maxsat")
        )


def test_a_modelled_formula_is_a_decision_however_dense() -> None:
    """At least one and at most one of nine, again and again: 11 clauses a variable, and all can hold."""
    rows = [list(range(9 * k + 1, 9 * k + 10)) for k in range(9)]
    clauses = [*rows, *([-a, -b] for row in rows for a, b in combinations(row, 2))] * 3
    lengths = [len(clause) for clause in clauses]
    offsets, literals = np.cumsum([0, *lengths]), np.array([literal for clause in clauses for literal in clause])
    problem = formula_problem(81, offsets, literals)
    assert is_modelled(problem)
    assert may_be_satisfiable(problem)
    assert is_decision(problem)


def test_a_drawn_formula_is_none_where_a_literal_was_drawn_twice() -> None:
    rng = np.random.default_rng(0)
    literals = rng.integers(1, 51, 1200) * rng.choice([-1, 1], 1200)
    problem = formula_problem(50, np.arange(401) * 3, literals)
    assert len({len(problem.blocks[0].scope_of(row)) for row in range(len(problem.blocks[0]))}) > 1
    assert not is_modelled(problem)
    assert not is_decision(problem)


def test_a_weight_makes_a_colouring_no_decision() -> None:
    for weight, expected in ((1, True), (2, False)):
        problem = Problem()
        x = problem.add_variables(3, range(3))
        for a, b in combinations(x, 2):
            problem.add(a != b, weight=weight)
        assert kind_of(problem) is Kind.COLORING
        assert is_decision(problem) is expected


@pytest.mark.parametrize("terms", [{"weight": 2.0}, {"hard": True}])
def test_clauses_of_unequal_importance_are_max_sat(terms: dict[str, float]) -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(2))
    problem.add_clause([(x, 1), (y, 0)], weight=1.0)
    assert may_be_satisfiable(problem)
    problem.add_clause([(x, 0)], **terms)
    assert kind_of(problem) is Kind.FORMULA
    assert not may_be_satisfiable(problem)


def test_kinds_are_told_by_what_a_table_says_not_by_how_it_says_it() -> None:
    for size in (2, 4):
        for allowed in (True, False):
            apart = [(a, b) for a in range(size) for b in range(size) if (a != b) == allowed]
            problem = Problem()
            problem.add_variables(3, range(size))
            problem.add_table([0, 1], apart, allowed=allowed)
            problem.add_table([1, 2], apart, allowed=allowed, weight=2)
            assert kind_of(problem) is (Kind.CUT if size == 2 else Kind.COLORING)
            graph = pair_graph(problem)
            assert graph is not None
            assert graph.edges.tolist() == [[0, 1], [1, 2]]
            assert graph.weights.tolist() == [1, 2]
            assert coloring_graph(problem) is not None
            problem.add_table([0, 2], apart, allowed=not allowed)
            assert coloring_graph(problem) is None
            assert (cut_graph(problem) is not None) == (size == 2)
