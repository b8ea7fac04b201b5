"""Pseudo-Boolean and quadratic binary files: what is read is what an independent evaluator says of the same text."""

from __future__ import annotations

import contextlib
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycsp import Problem, solve
from anycsp.checker import readers
from anycsp.checker.check import recount
from anycsp.errors import AnyCSPError, ConversionError
from anycsp.formats import FORMATS, read_text, to_text


def random_opb(seed: int) -> str:
    """A few constraints over a few variables: products, negations, costs, an objective, odd white space."""
    rng = random.Random(seed)
    variables, soft = rng.randint(1, 5), rng.random() < 0.4

    def total(products: bool) -> str:
        terms = []
        for _ in range(rng.randint(1, 5)):
            chosen = [rng.choice(["", "~"]) + f"x{rng.randint(1, variables)}" for _ in range(rng.randint(1, 3))]
            terms.append(f"{rng.randint(-9, 9):+d} " + " ".join(chosen[: None if products else 1]))
        return rng.choice([" ", "  ", "\n"]).join(terms)

    lines = [f"* #variable= {variables} #constraint= 3"] if rng.random() < 0.7 else []
    lines += ["soft: ;"] if soft else [f"{rng.choice(['min', 'max'])}: {total(True)} ;"] if rng.random() < 0.6 else []
    for _ in range(rng.randint(1, 4)):
        cost = f"[{rng.randint(0, 5)}] " if soft and rng.random() < 0.6 else ""
        lines.append(f"{cost}{total(rng.random() < 0.4)} {rng.choice(['>=', '<=', '='])} {rng.randint(-9, 9)} ;")
    return "\n".join(lines) + "\n"


@given(st.integers(0, 10**6))
def test_opb_means_what_the_independent_evaluator_says(seed: int) -> None:
    text, rng = random_opb(seed), random.Random(seed + 1)
    problem, independent = read_text(text, format="opb"), readers.opb(text.encode())
    assert list(problem.names) == list(independent.names)
    values = {name: rng.randint(0, 1) for name in problem.names if not name.startswith("_")}
    own, count = problem.violation(values), recount(independent, values)
    assert (own.violated, own.hard, own.weight) == (count.violated, count.hard_violated, count.violated_weight)
    if problem.objective is not None:
        taken = problem.values(problem.positions(values))
        assert problem.objective.value(own.weight, taken) == count.objective


@given(st.integers(0, 10**6))
def test_linear_opb_files_survive_being_written(seed: int) -> None:
    text = "\n".join(line for line in random_opb(seed).split("\n"))
    problem = read_text(text, format="opb")
    try:
        again = read_text(to_text(problem, "opb"), format="opb")
    except ConversionError:
        return  # products: rules or tables, which the writer refuses
    for code in range(2**problem.num_variables):
        values = {name: code >> i & 1 for i, name in enumerate(problem.names)}
        assert problem.violation(values) == again.violation(values)


def test_a_written_file_with_costs_says_so_the_first_time_too() -> None:
    """Costs make an objective when they are read, so a file that was written and read is written as it was."""
    problem = read_text("p cnf 2 2\n1 2 0\n-1 2 0\n", format="cnf")
    text = to_text(problem, "opb")
    assert "soft: ;" in text
    assert to_text(read_text(text, format="opb"), "opb") == text


def random_quadratic(seed: int) -> tuple[int, dict[tuple[int, int], str]]:
    rng = random.Random(seed)
    nodes = rng.randint(1, 5)
    pairs = {tuple(sorted((rng.randrange(nodes), rng.randrange(nodes)))) for _ in range(rng.randint(1, 8))}
    return nodes, {(i, j): rng.choice(["1", "-2", "0.5", "-1.25", "0", "3e2"]) for i, j in sorted(pairs)}


@given(st.integers(0, 10**6), st.sampled_from(["qubo", "BINARY", "SPIN"]))
def test_quadratic_files_have_the_energy_of_their_coefficients(seed: int, form: str) -> None:
    nodes, coefficients = random_quadratic(seed)
    lines = [f"{i} {j} {c}" for (i, j), c in coefficients.items()]
    if form == "qubo":
        single = sum(i == j for i, j in coefficients)
        text = "\n".join([f"c a comment\np qubo 0 {nodes} {single} {len(lines) - single}", *lines])
    else:
        text = "\n".join([f"# vartype={form}", *lines])
        nodes = 1 + max(max(pair) for pair in coefficients)
    problem = read_text(text)
    assert problem.comments == []
    independent = (readers.qubo if form == "qubo" else readers.coo)(text.encode())
    again = read_text(to_text(problem, "coo")) if form != "SPIN" else problem
    for code in range(2**nodes):
        values = [code >> i & 1 for i in range(nodes)]
        taken = [2 * x - 1 for x in values] if form == "SPIN" else values
        energy = sum(Fraction(c) * taken[i] * (taken[j] if i != j else 1) for (i, j), c in coefficients.items())
        own, count = problem.violation(values), recount(independent, values)
        assert problem.objective is not None
        assert problem.objective.of_weight(own.weight) == energy == count.objective
        assert (own.violated, own.weight) == (count.violated, count.violated_weight)
        assert again.objective is not None
        assert again.objective.of_weight(again.violation(values).weight) == energy


@pytest.mark.slow
def test_the_same_of_200_random_problems_per_format() -> None:
    for seed in range(10**7, 10**7 + 200):
        test_opb_means_what_the_independent_evaluator_says.hypothesis.inner_test(seed)
        test_linear_opb_files_survive_being_written.hypothesis.inner_test(seed)
        for form in ("qubo", "BINARY", "SPIN"):
            test_quadratic_files_have_the_energy_of_their_coefficients.hypothesis.inner_test(seed, form)


def test_a_cut_written_as_a_quadratic_problem_is_minimised_by_the_best_cut() -> None:
    problem = read_text("4 4\n1 2 1\n2 3 2\n3 4 1\n4 1 -1\n", format="rudy")
    again = read_text(to_text(problem, "qubo"))
    cut, energy = solve(problem, time_limit=1).objective, solve(again, time_limit=1).objective
    assert cut is not None
    assert energy is not None
    assert cut["value"] == -energy["value"] == 3


@pytest.mark.parametrize(
    ("text", "format", "said"),
    [
        ("+1 x1 >= 1", "opb", "without its semicolon"),
        ("+1 x1 ;", "opb", "neither an objective nor a constraint"),
        ("+1 y1 >= 1 ;", "opb", "not a term"),
        ("+1 x0 >= 1 ;", "opb", "count from x1"),
        ("+99999999999999999999 x1 >= 1 ;", "opb", "would be rounded"),
        ("* #variable= 99999999 #constraint= 1\n+1 x1 >= 1 ;", "opb", "claims"),
        ("soft: 3 ;\n[2] +1 x1 >= 1 ;\n[2] -1 x1 >= 0 ;", "opb", "a limit of 3 to the cost"),
        ("min: +1 x1 ;\nmin: +1 x2 ;\n+1 x1 +1 x2 >= 1 ;", "opb", "a second goal: min: after min:"),
        ("soft: 9 ;\n[2] +1 x1 >= 1 ;\nmin: +1 x1 ;", "opb", "a second goal: min: after soft:"),
        ("min: +1 x1 ;\n[2] +1 x1 >= 1 ;", "opb", "an objective beside soft constraints"),
        ("", "opb", "no variables"),
        ("0 0 1", "qubo", "before the header"),
        ("p qubo 0 2 1 0\n5 5 1", "qubo", "unknown node 5"),
        ("p qubo 0 2 1 0\n0 0 nan", "qubo", "finite"),
        ("0 1 inf", "coo", "finite"),
        ("0 1", "coo", "not a coefficient"),
        ("-1 1 2", "coo", "negative node"),
        ("0 0 0.1234567890123456789", "coo", "would round"),
        ("# vartype=REAL\n0 0 1", "coo", "SPIN or BINARY"),
        ("# vartype=SPIN\n0 1 1\n# vartype=BINARY", "coo", "not both"),
        ("", "coo", "no coefficients"),
    ],
)
def test_malformed_files_get_one_line(text: str, format: str, said: str) -> None:
    with pytest.raises(AnyCSPError, match=said) as caught:
        read_text(text, format=format)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300


def test_what_these_formats_cannot_hold_is_refused() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add(x != y)
    for name in ("opb", "qubo", "coo"):
        with pytest.raises(ConversionError):
            to_text(problem, name)


@pytest.mark.parametrize("format", FORMATS)
def test_a_graph_without_edges_is_written_or_refused(format: str) -> None:
    """It had a block of no constraints, whose first one opb wanted to name."""
    matrix = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n"
    for file, kind in ((matrix, "mtx"), ("2 0\n", "rudy"), ("p edge 2 0\n", "col")):
        problem = read_text(file, format=kind)
        with contextlib.suppress(ConversionError):
            assert read_text(to_text(problem, format), format=format).num_variables == 2


def test_answers_to_pseudo_boolean_problems_are_literals() -> None:
    from anycsp.formats import FORMATS

    problem = read_text("* #variable= 3 #constraint= 1\n+1 x1 +1 ~x2 >= 2 ;")
    result = solve(problem, time_limit=1)
    assert result.status == "satisfied"
    (line,) = FORMATS["opb"].answer(problem, result.positions)
    assert line.startswith("v x1 -x2 ")
    assert FORMATS["opb"].read_answer(line.removeprefix("v ")) == result.assignment
