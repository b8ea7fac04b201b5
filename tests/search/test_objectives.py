"""Objectives that are soft constraints in other words: recognised however they are written, and never where they are
not."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pytest
import structured_models as models

from anycsp import Problem, ProblemError, Progress, clock, native, solve
from anycsp.model import quadratic
from anycsp.model.expressions import (
    Expression,
    Operand,
    Operation,
    Variable,
    div,
    element,
    maximum,
    operation,
    postorder,
    total,
)
from anycsp.model.objective import Objective
from anycsp.model.program import PARTIAL
from anycsp.model.quadratic import as_soft_constraints
from anycsp.search.bound import BoundedProblem

DOMAINS = ([0, 1], [1, 0], [-1, 1], [3, 7], [5])
UNARY = ("neg", "abs", "not", "sqr")
BINARY = (
    "add", "sub", "mul", "min", "max", "dist", "lt", "le", "ge", "gt", "eq", "ne", "and", "or", "xor", "iff", "imp",
    "distinct", "div", "mod", "floordiv", "floormod",
)  # fmt: skip


@pytest.fixture(autouse=True)
def however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small objectives, which can be counted, are treated like large ones."""
    monkeypatch.setattr(quadratic, "FEWEST_TERMS", 0)
    monkeypatch.setattr(quadratic, "FEWEST_CONDITIONS", 1)


def function_of_two(rng: random.Random, x: Variable, y: Variable, depth: int = 2) -> Operand:
    """Any operations on two variables and constants."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([x, y, x, y, rng.randint(-3, 3)])
    a, b = function_of_two(rng, x, y, depth - 1), function_of_two(rng, x, y, depth - 1)
    operator = rng.choice([*UNARY, *BINARY, "if", "in", "pow", "element"])
    if operator in UNARY:
        return operation(operator, a)
    if operator == "if":
        return operation("if", a, b, function_of_two(rng, x, y, depth - 1))
    if operator == "in":
        return operation("in", a, 1, 3, -1)
    if operator == "pow":
        return operation("pow", a, rng.choice([0, 1, 2, b]))
    if operator == "element":
        return operation("element", rng.choice([a, operation("ge", a, 1)]), b, a, 4)
    return operation(operator, a, rng.choice([2, -3]) if operator in PARTIAL and rng.random() < 0.7 else b)


def sum_of_functions(rng: random.Random, x: list[Variable]) -> Operand:
    """Every part has one variable."""
    variables = rng.choices(x, k=rng.randint(1, 4))
    return total([rng.choice([v, rng.randint(-3, 3) * v, v == rng.choice([0, 1, 3]), 2 - v]) for v in variables])


def quadratic_form(rng: random.Random, x: list[Variable], depth: int = 3) -> Operand:
    """Functions of two variables, joined by sums, multiples and products of two sums."""
    if depth == 0 or rng.random() < 0.25:
        return function_of_two(rng, *rng.sample(x, 2))
    inner = quadratic_form(rng, x, depth - 1)
    forms: list[Callable[[], Operand]] = [
        lambda: total([inner, *(quadratic_form(rng, x, depth - 1) for _ in range(rng.randint(0, 3)))]),
        lambda: operation("sub", inner, quadratic_form(rng, x, depth - 1)),
        lambda: operation("neg", inner),
        lambda: operation("mul", rng.randint(-4, 4), inner),
        lambda: operation("mul", sum_of_functions(rng, x), rng.randint(-2, 2), sum_of_functions(rng, x)),
        lambda: operation("sqr", sum_of_functions(rng, x)),
        lambda: operation("pow", sum_of_functions(rng, x), 2),
    ]
    return rng.choice(forms)()


def is_total(expression: Operand) -> bool:
    return all(not isinstance(node, Operation) or node.operator not in PARTIAL for node in postorder(expression))


def recognised(problem: Problem) -> bool:
    """Whether it is; then every assignment has to cost what the objective says, and violate nothing."""
    soft, objective = as_soft_constraints(problem), problem.objective
    if soft is None:
        return False
    assert objective is not None
    assert soft.objective is not None
    sizes = [1 if x in soft.definitions else size for x, size in enumerate(problem.domain_sizes.tolist())]
    for at in product(*map(range, sizes)):
        positions = np.array(at, dtype=np.int32)
        soft.complete(positions)
        assert problem.violation_of_positions(positions).violated == 0
        cost = soft.objective.value(soft.violation_of_positions(positions).weight, soft.values(positions))
        value = objective.value(0.0, problem.values(positions))
        assert value is not None
        assert cost == (value if objective.kind == "minimize" else -value)
    return True


@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 300, 50)])
def test_a_quadratic_form_is_the_objective_on_every_assignment(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        problem = Problem()
        x = [problem.add_variable(rng.choice(DOMAINS)) for _ in range(5)]
        expression = quadratic_form(rng, x)
        rng.choice([problem.minimize, problem.maximize])(expression)
        assert recognised(problem) or not is_total(expression)


@pytest.mark.parametrize("seed", range(40))
def test_a_variable_that_equals_a_quadratic_form_is_replaced(seed: int) -> None:
    rng = random.Random(seed)
    problem = Problem()
    x = problem.add_variables(7, rng.choice(DOMAINS[:4]))  # so many that the equation is no table
    sums = [total([rng.randint(-5, 5) * rng.choice(x) * rng.choice(x) for _ in range(20)]) + x[0] for _ in range(2)]
    y, z = problem.add_variables(2, range(-20_000, 20_001))
    equations = [lambda y, s: y == s, lambda y, s: s - y == 3, lambda y, s: 2 * s + y == s, lambda y, s: y - 1 == -s]
    problem.add(rng.choice(equations)(y, sums[0]), name="first")
    problem.add(rng.choice(equations)(z, sums[1]))
    problem.maximize(rng.choice([z, 3 * z - 2 * y, y + sums[1], 2 - z + x[1] * x[2]]))
    assert recognised(problem)


def test_an_auxiliary_variable_is_replaced() -> None:
    problem = Problem()
    x = problem.add_variables(9, (0, 1))
    problem.minimize(5 * x[3] - 3 * problem.define(total([a * b for a, b in pairwise(x)])))
    assert recognised(problem)


def of_one_variable(domain: list[int], bound: int | None = None) -> Callable[[], Problem]:
    """A variable that equals between 0 and 8 products."""

    def problem() -> Problem:
        made = Problem()
        x = made.add_variables(9, (0, 1))
        z = made.add_variable(domain)
        made.add(z == total([a * b for a, b in pairwise(x)]))
        if bound is not None:
            made.add(z + x[0] <= bound)
        made.maximize(z)
        return made

    return problem


def constrained() -> Problem:
    problem = Problem()
    x, y = problem.add_variables(2, (0, 1))
    problem.add(x + y >= 1)
    problem.minimize(x * y)
    return problem


def two_valued(make: Callable[[list[Variable]], Expression]) -> Callable[[], Problem]:
    def problem() -> Problem:
        made = Problem()
        made.minimize(make(made.add_variables(4, (0, 1))))
        return made

    return problem


def three_values() -> Problem:
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.minimize(x * y)
    return problem


NEITHER: dict[str, Callable[[], Problem]] = {
    "three variables": two_valued(lambda x: 2 * x[3] - x[0] * x[1] * (x[2] + 1)),
    "three variables in two sums": two_valued(lambda x: (x[0] * x[1] + x[2]) * (x[3] - x[2])),
    "an extremum of three": two_valued(lambda x: maximum(x[0], x[1], x[2] + 1) + x[3]),
    "division by zero": two_valued(lambda x: x[2] * x[3] + div(3, x[0] + x[1])),
    "division by zero, times zero": two_valued(lambda x: x[2] + 0 * (x[0] // x[1])),
    "no such element": two_valued(lambda x: x[2] + element([4, 5], x[0] + x[1])),
    "large coefficients": two_valued(lambda x: 2**52 * x[0] * x[1] + 2**52 * x[2] * x[3] + x[0]),
    "three values": three_values,
    "a constraint": constrained,
    "a variable whose domain is cut short": of_one_variable([*range(8), *range(20, 90)]),
    "a variable whose domain has gaps": of_one_variable([*range(-60, 7), *range(8, 11)]),
    "a variable with another constraint": of_one_variable([*range(-60, 11)], bound=3),
}


def test_a_variable_with_all_its_values_is_replaced() -> None:
    assert recognised(of_one_variable([*range(-60, 11)])())


@pytest.mark.parametrize("name", NEITHER)
def test_what_is_neither_is_not_recognised(name: str) -> None:
    assert as_soft_constraints(NEITHER[name]()) is None


def test_an_objective_beyond_64_bits_is_refused() -> None:
    """As a file may say it; `minimize` refuses it itself."""
    problem = Problem()
    x, y = problem.add_variables(2, (0, 1))
    problem.objective = Objective("minimize", expression=(x + 2**40) * (y + 2**40))
    with pytest.raises(ProblemError, match="64-bit"):
        as_soft_constraints(problem)


def test_small_objectives_are_left_to_a_search_that_may_prove_an_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    problem = Problem()
    x = problem.add_variables(20, (0, 1))
    problem.minimize((2 * total(x) - 15) ** 2 - x[0])
    assert as_soft_constraints(problem) is None
    result = solve(problem, search="auto", time_limit=10, threads=1)
    assert (result.status, result.objective) == ("optimal", {"kind": "minimize", "value": 0})


def test_products_of_long_sums_are_left_alone() -> None:
    problem = Problem()
    x = problem.add_variables(quadratic.MOST_PAIRS // 900 + 2, (0, 1))
    problem.minimize((total(x) - 3) * total(x[:900]))
    assert as_soft_constraints(problem) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_sum_of_conditions_is_the_objective_on_every_assignment(seed: int) -> None:
    rng = random.Random(seed)
    problem = Problem()
    x = problem.add_variables(3, range(3)) + problem.add_variables(2, [1, 0])

    def condition() -> Expression:
        a, b, c = rng.sample(x, 3)
        return rng.choice(
            [a != b, a + b >= c, (a == 1) | (b == 2) | ~(c == 0), a * b * c >= 3, x[3] * x[4], a.is_in([1, 2]), x[3]]
        )

    rng.choice([problem.minimize, problem.maximize])(
        total([rng.randint(-5, 5) * condition() for _ in range(30)]) + rng.randint(-9, 9) + 2 * (operation("lt", 1, 2))
    )
    assert recognised(problem)


@pytest.mark.parametrize("extra", [lambda x: x[0], lambda x: x[0] // x[1] == 1, lambda x: abs(x[0] - x[1])])
def test_what_is_no_condition_is_not_recognised(
    extra: Callable[[list[Variable]], Expression],
) -> None:
    problem = Problem()
    x = problem.add_variables(3, range(3))
    problem.minimize((x[0] != x[1]) + (x[1] != x[2]))
    assert as_soft_constraints(problem) is not None
    problem.minimize((x[0] != x[1]) + (x[1] != x[2]) + extra(x))
    assert as_soft_constraints(problem) is None


def test_parts_of_an_objective_that_are_alike_are_defined_alike() -> None:
    """Whatever the variables are, the auxiliary ones have a value that satisfies everything."""
    rng = random.Random(0)
    problem = Problem()
    x = problem.add_variables(4, range(4)) + problem.add_variables(3, [5, 2])
    forms = [lambda a, b: abs(a - b), maximum, lambda a, b: a * b, lambda a, b: (a < b) & (b != 2), lambda a, b: a // b]
    problem.minimize(total([rng.randint(-3, 3) * rng.choice(forms)(*rng.sample(x, 2)) for _ in range(60)]) + x[0])
    assert problem.objective is not None
    bounded = BoundedProblem(problem, problem.objective)
    assert len(bounded.problem.definitions) == 60
    for _ in range(200):
        at = np.array([rng.randrange(size) for size in problem.domain_sizes], dtype=np.int32)
        if problem.objective.value(0.0, problem.values(at)) is not None:
            assert bounded.problem.violation_of_positions(bounded.extended(at)).violated == 0


@pytest.mark.slow
@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
def test_an_objective_of_many_parts_is_improved() -> None:
    """Neither a quadratic form nor conditions: it takes auxiliary variables, and does not end where it began."""
    rng = random.Random(0)
    problem = Problem()
    x = problem.add_variables(200, range(4))
    problem.minimize(
        total(
            [rng.randint(1, 9) * abs(a - b - rng.randint(0, 3)) for a, b in (rng.sample(x, 2) for _ in range(22_000))]
        )
    )
    with clock.cpu_time():
        result = solve(problem, search="local", time_limit=4, threads=1, seed=0)
    assert result.found_by != "initial"


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
def test_a_hint_for_a_quadratic_objective_is_in_the_values_of_its_variables() -> None:
    problem = Problem()
    s = problem.add_variables(20, [-1, 1])
    z = problem.add_variable(range(-40, 41), "z")
    problem.add(z == total([a * b for a, b in pairwise(s)]))
    problem.maximize(z)
    result = solve(problem, search="local", steps=0, threads=1, hint={**dict.fromkeys(s, -1), z: 5})
    assert (result[z], result[s[3]], result.objective) == (19, -1, {"kind": "maximize", "value": 19})


@pytest.mark.parametrize("kind", ["minimize", "maximize"])
def test_a_callback_hears_the_objective_where_its_soft_constraints_are_searched(kind: str) -> None:
    coefficients = models.quadratic(60, 0)
    problem = Problem()
    x = problem.add_variables(60, range(2))
    getattr(problem, kind)(sum(q * x[i] * x[j] for (i, j), q in coefficients.items()))
    heard: list[Progress] = []
    result = solve(problem, search="local", steps=20_000, callback=lambda progress: heard.append(progress))  # type: ignore[arg-type]
    assert result.objective is not None
    assert {progress.violated for progress in heard} == {0}
    assert heard[-1].objective == result.objective["value"]
    values = [progress.objective for progress in heard if progress.improved]
    assert values == sorted(values, reverse=kind == "minimize")  # type: ignore[type-var]
