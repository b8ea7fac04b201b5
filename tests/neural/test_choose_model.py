"""`--model auto`: every distribution gets the model trained on it, everything else the general one."""

import pytest

from anycsp import Problem, distributions
from anycsp.neural.models import choose_model


@pytest.mark.parametrize("name", ["sat", "maxsat", "maxcut", "coloring", "rb"])
def test_a_distribution_gets_its_own_model(name: str) -> None:
    # The denser formulas of `sat` have no solution, and so are Max-SAT.
    parameters = {"density": ((4.0, 4.3),)} if name == "sat" else {}
    for index in range(5):
        assert choose_model(distributions.draw(distributions.get(name, **parameters), 3, index)) == name


def test_other_constraints_get_the_general_model() -> None:
    problem = Problem()
    problem.add_variables(4, range(4))
    problem.add_all_different([0, 1, 2, 3])
    assert choose_model(problem) == "general"
    ternary = Problem()
    ternary.add_variables(3, range(3))
    ternary.add_table([0, 1, 2], [[0, 1, 2], [1, 2, 0]])
    assert choose_model(ternary) == "general"
