"""`auto`: every distribution gets the model trained on it; search, strategy and model agree on what a problem is."""

import numpy as np
import pytest

from anycsp import Problem, distributions
from anycsp.distributions.sat import random_formula
from anycsp.model.structure import Kind, coloring_graph, cut_graph, is_decision, kind_of, may_be_satisfiable, pair_graph
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
