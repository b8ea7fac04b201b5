"""WCNF: both forms mean the same, costs are those of the soft clauses, answers are binary strings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anycsp import FormatError, Problem
from anycsp.checker.check import recount
from anycsp.checker.readers import wcnf
from anycsp.errors import ConversionError
from anycsp.formats import FORMATS, detect, read_text
from anycsp.formats.files import text_source
from anycsp.formats.wcnf import answer, read_answer, write

OLD = "c comment\np wcnf 3 4 10\n10 1 -2 0\n4 2 3 0\n3 -3 0\n10 -1 0\n"
NEW = "c comment\nh 1 -2 0\n4 2 3 0\n3 -3 0\nh -1 0\n"


def counts(problem: Problem) -> dict[tuple[int, ...], tuple[int, float, int]]:
    everything = itertools.product((0, 1), repeat=problem.num_variables)
    return {values: tuple(problem.violation(values)) for values in everything}  # type: ignore[misc]


def test_both_forms_mean_the_same() -> None:
    old, new = (read_text(text, format="wcnf") for text in (OLD, NEW))
    assert counts(old) == counts(new)
    assert counts(new)[0, 0, 1] == (1, 3.0, 0)
    assert counts(new)[0, 0, 0] == (1, 4.0, 0)
    assert counts(new)[0, 1, 1][2] == 1, "a violated hard clause"


def test_both_forms_are_recognised() -> None:
    for text in (OLD, NEW, "h 1 0\n"):
        assert detect(text_source(text.encode(), "x")).name == "wcnf"
    assert detect(text_source(b"p cnf 1 1\n1 0\n", "x")).name == "cnf"


def test_cost_is_the_weight_of_violated_soft_clauses() -> None:
    problem = read_text(NEW, format="wcnf")
    assert problem.objective is not None
    violation = problem.violation([0, 0, 1])
    assert problem.objective.value(violation.weight, np.array([0, 0, 1])) == 3


def test_unit_and_empty_and_repeated_clauses() -> None:
    problem = read_text("h 1 1 0\n2 0\n5 1 -1 0\n", format="wcnf")
    assert counts(problem) == {(0,): (2, 3.0, 1), (1,): (1, 2.0, 0)}


def test_weight_zero_is_dropped_with_a_word() -> None:
    problem = read_text("p wcnf 2 3 9\n0 1 0\n3 2 0\n9 -2 1 0\n", format="wcnf")
    assert problem.num_constraints == 2
    assert problem.comments == ["1 soft clauses of weight 0 dropped"]
    assert counts(problem)[0, 0] == (1, 3.0, 0)


def test_without_top_every_clause_is_soft() -> None:
    problem = read_text("p wcnf 1 2\n7 1 0\n2 -1 0\n", format="wcnf")
    assert counts(problem) == {(0,): (1, 7.0, 0), (1,): (1, 2.0, 0)}


def test_writing_and_reading_back() -> None:
    for text in (OLD, NEW, "p wcnf 3 1\n2 1 -1 0\n"):
        problem = read_text(text, format="wcnf")
        again = read_text(write(problem))
        assert again.num_variables == problem.num_variables
        assert counts(again) == counts(problem)


def test_answers_are_binary_strings() -> None:
    problem = read_text(NEW, format="wcnf")
    assert answer(problem, np.array([1, 0, 1])) == ["v 101"]
    assert read_answer("101") == [1, 0, 1]
    assert read_answer("1 -2 3") == {"1": 1, "2": 0, "3": 1}
    assert FORMATS["wcnf"].answer is answer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p wcnf 2 1 9\n3 1 x 0\n", "neither weight nor literal"),
        ("p wcnf 2 1 9\n3 1 5 0\n", "unknown literal 5"),
        ("p wcnf 2 1 9\n3 1 2\n", "closing 0"),
        ("p wcnf 2 1 9\n-3 1 0\n", "negative weight"),
        ("p wcnf\n", "not a header"),
        ("p wcnf 99999999999 1 9\n", "claims"),
        ("h 1 0\nh two 0\n", "neither weight nor literal"),
    ],
)
def test_what_is_wrong_is_one_line(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_text(text, format="wcnf")
    assert "\n" not in str(caught.value)


def test_the_checker_reads_the_same_by_its_own_reader() -> None:
    for text in (OLD, NEW, "p wcnf 2 3 9\n0 1 0\n3 2 0\n9 -2 1 0\n"):
        problem, plain = read_text(text, format="wcnf"), wcnf(text.encode())
        for values, counted in counts(problem).items():
            again = recount(plain, values)
            assert counted == (again.violated, again.violated_weight, again.hard_violated)


def test_weights_of_hard_clauses_are_not_lost_unsaid() -> None:
    problem = Problem()
    x = problem.add_variable((0, 1))
    problem.add_clause([(x, 1)], hard=True, weight=2)
    with pytest.raises(ConversionError, match="weight 1"):
        write(problem)
