"""The independent checker: agrees with the problem's own count, and catches every kind of lie."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_problems import random_positions, random_problem

from anycsp import Problem
from anycsp.checker import readers
from anycsp.checker.check import HOLDS, WrongAnswer, first_difference, recount
from anycsp.checker.problem import from_description
from anycsp.constraints.base import FAMILIES
from anycsp.constraints.comparison import OPERATORS
from anycsp.errors import ConversionError, ProblemError
from anycsp.formats import FORMATS, read, read_text, to_text
from anycsp.formats.answers import Answer, read_answer, read_literals, value_lines
from anycsp.formats.files import load, text_source
from anycsp.model.description import describe
from anycsp.model.expressions import ARITY, OPERATIONS


@given(st.integers(0, 100_000))
def test_recount_equals_the_problems_own_count(seed: int) -> None:
    problem = random_problem(seed, weighted=True)
    positions = random_positions(problem, 1, seed)[0]
    own = problem.violation_of_positions(positions)
    text = text_source(to_text(problem, "json").encode(), "x.json")
    for independent in (from_description(describe(problem)), readers.anycsp_json(text.data)):
        count = recount(independent, problem.assignment(positions))
        assert (count.violated, count.hard_violated) == (own.violated, own.hard)
        assert count.violated_weight == pytest.approx(own.weight)
        assert count.constraints == problem.num_constraints


@pytest.mark.parametrize(
    ("pattern", "colors"),
    [
        ("satlib/uf50/uf50-0[1-5].cnf", None),
        ("col/myciel*.col", 4),
        ("gset/G11.txt", None),
        ("maxsat/spinglass/*.cnf", None),
    ],
)
def test_second_readers_agree_with_the_first_on_benchmark_files(data: Path, pattern: str, colors: int | None) -> None:
    rng = np.random.default_rng(0)
    paths = sorted(data.glob(pattern))
    assert paths
    for path in paths:
        problem = read(path, colors=colors)
        positions = rng.integers(0, problem.domains.sizes)
        own = problem.violation_of_positions(positions)
        reader = {".cnf": readers.cnf, ".col": readers.col, ".txt": readers.rudy}[path.suffix]
        count = recount(reader(load(path).data), problem.assignment(positions))
        assert (count.violated, count.violated_weight, count.constraints) == (
            own.violated,
            own.weight,
            problem.num_constraints,
        )
        if problem.objective is not None:
            assert count.objective == problem.objective.value(own.weight, problem.values(positions))


def described(kind: str, rng: np.random.Generator, domains: list[list[int]]) -> dict[str, object]:
    """A random constraint of a family beyond the basic ones, over all the variables."""
    comparison = {"operator": str(rng.choice(OPERATORS)), "bound": int(rng.integers(-3, 6))}
    result = {"result": True} if len(domains) > 1 and rng.integers(2) else {}
    by_value = [[[v, int(rng.integers(1, 4))] for v in domain] for domain in domains]
    if kind == "sum":
        return {"contributions": by_value, **comparison}
    if kind == "extremum":
        return {"terms": by_value, **comparison, **result}
    if kind == "distinct":
        excepted = (
            {"except": sorted(rng.choice(np.arange(-2, 4), 2, replace=False).tolist())} if rng.integers(2) else {}
        )
        return {**comparison, **result, **excepted}
    if kind == "short_table":
        cells = [
            ["*" if rng.integers(3) == 0 else [int(rng.choice(d))] for d in domains] for _ in range(rng.integers(4))
        ]
        return {"allowed" if rng.integers(2) else "forbidden": cells}
    return {"expression": random_tree(rng, len(domains), 3)}


def random_tree(rng: np.random.Generator, slots: int, depth: int) -> object:
    if depth == 0 or rng.integers(4) == 0:
        return {"slot": int(rng.integers(slots))} if rng.integers(4) else int(rng.integers(-2, 4))
    name = str(rng.choice(OPERATIONS[2:]))
    arity = ARITY.get(name, int(rng.integers(2, 4)))
    if name == "in":
        return [name, random_tree(rng, slots, depth - 1), *(int(v) for v in rng.integers(-2, 4, arity))]
    if name == "pow":
        return [name, random_tree(rng, slots, 0), int(rng.integers(-1, 4))]
    return [name, *(random_tree(rng, slots, depth - 1) for _ in range(arity))]


@pytest.mark.parametrize("kind", ["sum", "extremum", "distinct", "short_table", "rule"])
@given(seed=st.integers(0, 100_000))
def test_every_family_is_read_back_and_recounted(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    domains = [sorted(rng.choice(np.arange(-2, 4), rng.integers(1, 4), replace=False).tolist()) for _ in range(count)]
    problem = Problem()
    for domain in domains:
        problem.add_variable(domain)
    plain_data = described(kind, rng, domains)
    terms = problem.new_terms(2.5, True)
    problem.add_block(FAMILIES[kind].from_description(problem.domain_list, list(range(count)), plain_data, terms))
    text = to_text(problem, "json")
    assert to_text(read_text(text), "json") == text
    independent = readers.anycsp_json(text.encode())
    for positions in random_positions(problem, 10, seed):
        own = problem.violation_of_positions(positions)
        count_again = recount(independent, problem.assignment(positions))
        assert (count_again.violated, count_again.violated_weight) == (own.violated, own.weight), plain_data


def test_auxiliary_variables_and_expression_objectives_are_kept_and_recomputed() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(-3, 4), names=["x", "y"])
    product = problem.define(x * y, "product")
    problem.add(product + x > 1)
    problem.minimize(product * 2 - y)
    text = to_text(problem, "json")
    again = read_text(text)
    assert to_text(again, "json") == text
    independent = readers.anycsp_json(text.encode())
    for values in ({"x": 2, "y": 3}, {"x": -1, "y": 2}, {"x": 0, "y": 0}):
        own = again.violation(values)
        count = recount(independent, values)
        assert (count.violated, count.violated_weight) == (own.violated, own.weight)
        assert count.objective == 2 * values["x"] * values["y"] - values["y"]
    with pytest.raises(ConversionError, match="'product'"):
        to_text(problem, "cnf")


def test_a_python_function_cannot_be_written_or_checked() -> None:
    problem = Problem()
    scope = problem.add_variables(4, range(40))
    problem.add_rule(scope, lambda *values: bool(sum(map(int, values)) % 2))
    with pytest.raises(ConversionError, match="external"):
        to_text(problem, "json")
    with pytest.raises(ProblemError, match="external"):
        recount(from_description(describe(problem)), [0, 0, 0, 1])


def test_matrix_market_is_recounted_from_its_matrix() -> None:
    text = "%%MatrixMarket matrix coordinate integer general\n3 3 5\n2 1 -2\n1 2 -2\n3 2 5\n2 3 5\n1 1 7\n"
    count = recount(readers.mtx(text.encode()), [0, 1, 0])
    assert (count.violated, count.violated_weight, count.objective) == (1, 2, 3)


@pytest.mark.parametrize(
    "text", ["p wcnf 3 4 9\n9 1 2 0\n3 -1 0\n0 3 0\n9 -3 0\n", "c\nh 1 2 0\n3 -1 0\n0 3 0\nh -3 0\n"]
)
def test_weighted_clauses_are_recounted_from_their_lines(text: str) -> None:
    problem = read_text(text, format="wcnf")
    independent = readers.wcnf(text.encode())
    for values in ([1, 0, 0], [0, 0, 1], [0, 1, 0]):
        own, count = problem.violation(values), recount(independent, values)
        assert (count.violated, count.violated_weight, count.hard_violated) == (own.violated, own.weight, own.hard)
        assert count.constraints == problem.num_constraints


def test_every_family_and_every_written_format_can_be_checked() -> None:
    assert set(FAMILIES) - {"external"} <= set(HOLDS)  # an arbitrary Python function has no description
    assert {f.name for f in FORMATS.values() if f.write is not None} <= set(readers.READERS)


def test_labels_stand_for_their_integers() -> None:
    problem = Problem()
    problem.add_variable({"low": -5, "high": 5}, "level")
    problem.add_variable(["red", "green"], "colour")
    problem.add_table(["level", "colour"], [["low", "red"]], allowed=False)
    problem.add_linear(["level"], [1], ">", 0)
    independent = readers.anycsp_json(to_text(problem, "json").encode())
    assert recount(independent, ["low", "red"]).violated == 2
    assert recount(independent, {"level": 5, "colour": 0}).violated == 0
    assert recount(from_description(describe(problem)), ["low", "green"]).violated == 1


FORMULA = "p cnf 3 2\n1 2 0\n-3 0\n"
HONEST = {
    "violated": 1,
    "violated_weight": 1.0,
    "hard_violated": 0,
    "constraints": 2,
    "status": "best-effort",
    "objective": None,
}


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({}, None),
        ({"violated": 0}, "claims violated 0, recounted 1"),
        ({"violated_weight": 2}, "claims violated_weight 2, recounted 1"),
        ({"hard_violated": 1}, "hard_violated"),
        ({"constraints": 3}, "constraints"),
        ({"status": "satisfied"}, "constraint 2"),
        ({"violated": "none"}, "violated"),
        ({"violated": True}, "violated"),
        ({"objective": {"kind": "cut", "value": 4}}, "objective"),
        ({"s": "SATISFIABLE"}, "claims SATISFIABLE, but constraint 2"),
        ({"o": 0.0}, "claims o 0.0, recounted 1"),
        ({"o": 1.0, "s": "UNKNOWN"}, None),
        ({"violated_weight": float("nan")}, "violated_weight"),
    ],
)
def test_lies_are_found(claims: dict[str, object], expected: str | None) -> None:
    problem = readers.cnf(FORMULA.encode())
    answer = Answer({"1": 1, "2": 0, "3": 1}, {**HONEST, **claims})
    difference = first_difference(problem, answer.claims, recount(problem, answer.values))
    assert difference is None if expected is None else difference is not None and expected in difference


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"1": 1, "2": 0}, "lacks a value for variable '3'"),
        ([1, 0], "2 values for 3 variables"),
        ({"1": 1, "2": 0, "3": 2}, "variable '3' takes 2"),
        ({"1": 1, "2": 0, "3": "1"}, "variable '3'"),
        ({"1": 1, "2": 0, "3": 0, "4": 0}, "'4'"),
    ],
)
def test_what_is_no_assignment_is_a_wrong_answer(values: object, reason: str) -> None:
    with pytest.raises(WrongAnswer, match=reason):
        recount(readers.cnf(FORMULA.encode()), values)  # type: ignore[arg-type]


@given(st.lists(st.integers() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_value_lines_read_back(values: list[int | str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer"
        path.write_text("\n".join(value_lines(values)) + "\n")
        assert read_answer(path).values == values


@given(st.integers(1, 300), st.integers(0, 1000))
def test_literal_lines_read_back(variables: int, seed: int) -> None:
    problem = read_text(f"p cnf {variables} 0\n")
    positions = np.random.default_rng(seed).integers(0, 2, variables)
    lines = FORMATS["cnf"].answer(problem, positions)
    assert all(len(line) <= 100 for line in lines)
    assert read_literals("\n".join(line.removeprefix("v ") for line in lines)) == problem.assignment(positions)


def test_answer_files_of_both_kinds(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text("c x\no 3\no 1\ns UNKNOWN\nv 1 -2\nv 3 0\n")
    answer = read_answer(path, read_literals)
    assert answer.values == {"1": 1, "2": 0, "3": 1}
    assert answer.claims == {"o": 1.0, "s": "UNKNOWN"}
    path.write_text(json.dumps({"assignment": {"a": 1}, "violated": 2}))
    assert read_answer(path).values == {"a": 1}
    assert read_answer(path).claims["violated"] == 2
    path.write_text("[1, 2]")
    assert read_answer(path).values == [1, 2]
