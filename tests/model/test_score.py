"""The score: hard constraints before soft ones whatever the weights, sums exact, and what cannot be exact refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycsp import FormatError, Problem, ProblemError
from anycsp.formats import read_text
from anycsp.model.score import LARGEST_SCORE, LARGEST_WEIGHT, scoring

written = st.one_of(
    st.integers(1, 10**6).map(float),
    st.decimals(min_value="0.001", max_value=1000, places=3).map(float),
    st.sampled_from([1e10, 1e-9, 0.1, 0.001, 100.0, 1 / 3]),
)


@given(st.lists(st.tuples(written, st.booleans()), min_size=1, max_size=6))
def test_orders_assignments_as_exact_arithmetic_does(terms: list[tuple[float, bool]]) -> None:
    """By violated hard weight, then by violated soft weight, each weight being the decimal it is written as."""
    weights, hard = np.array([w for w, _ in terms]), np.array([h for _, h in terms])
    try:
        of = scoring(weights, hard)
    except ProblemError:
        return
    exact = [Fraction(repr(w)) for w, _ in terms]
    subsets = list(itertools.product((False, True), repeat=len(terms)))

    def key(violated: tuple[bool, ...]) -> tuple[Fraction, Fraction]:
        return tuple(sum((w for w, v, h in zip(exact, violated, hard, strict=True) if v and h == first), Fraction(0))
                     for first in (True, False))  # type: ignore[return-value]  # fmt: skip

    scores = {violated: int(of.score[list(violated)].sum()) for violated in subsets}
    for one, other in itertools.combinations(subsets, 2):
        assert (scores[one] < scores[other]) == (key(one) < key(other))
        assert (scores[one] == scores[other]) == (key(one) == key(other))
    for violated in subsets:
        assert of.weight_of(np.flatnonzero(violated)) == float(sum(key(violated)))
    assert sum(of.weight.tolist()) <= LARGEST_WEIGHT
    assert sum(of.score.tolist()) <= LARGEST_SCORE


def test_weights_far_apart_are_exact() -> None:
    problem = Problem()
    problem.add_variable((0, 1))
    problem.add_table([0], [[0]], weight=1e10)
    problem.add_table([0], [[0]], weight=1)
    assert problem.violation([1]).weight == 10**10 + 1


def test_whole_weights_are_their_own_units() -> None:
    of = scoring(np.array([3.0, 6.0, 7.0]), np.array([True, True, False]))
    assert (of.units, of.weight.tolist(), of.score.tolist()) == (1.0, [3, 6, 7], [8, 16, 7])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ((1e308, 1e308, 1e308), "constraint 1 weighs 1e\\+308"),
        ((1e-300, 2e-300), "constraint 2 weighs 2e-300"),
        ((1, 1e-300), "constraint 1 weighs 1.0, constraint 2 1e-300"),
        ((0.1, 1e16), "constraint 2 weighs 1e\\+16"),
        ((2**53, 1), "constraint 1 weighs 9007199254740992.0"),
        ((5e-324,), "constraint 1 weighs 5e-324"),
        ((2**53 + 1,), "constraint 1 weighs 9007199254740993"),
        ((1, 99999999999999999999), "constraint 2 weighs 99999999999999999999"),
        ((10**400,), "beyond all floats"),
    ],
)
def test_what_cannot_be_exact_is_refused_in_one_line(weights: tuple[float, ...], named: str) -> None:
    def weighed() -> None:
        problem = Problem()
        problem.add_variable((0, 1))
        for weight in weights:
            problem.add_table([0], [[0]], weight=weight)
        problem.violation([1])

    with pytest.raises(ProblemError, match=named) as refused:
        weighed()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_too_many_hard_constraints_for_the_soft_ones_are_refused() -> None:
    with pytest.raises(ProblemError, match="3 hard constraints come before soft ones"):
        scoring(np.array([1.0, 2.0**30, 3.0, 2.0**52]), np.array([True, True, True, False]))


def test_a_changed_problem_is_scored_anew() -> None:
    problem = Problem()
    problem.add_variable((0, 1))
    problem.add_table([0], [[0]], weight=0.5)
    assert problem.violation([1]).weight == 0.5
    problem.add_table([0], [[0]], weight=0.25)
    assert problem.violation([1]).weight == 0.75
    problem.require_all()
    assert problem.scoring.priority == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rudy", "3 3\n1 2 1e308\n2 3 1e308\n1 3 1e308\n"),
        ("rudy", "3 2\n1 2 1e-400\n2 3 1\n"),
        ("rudy", "3 1\n1 2 0.12345678901234567890\n"),
        ("wcnf", "p wcnf 1 2 9999999999\n99999999999999999999 1 0\n3 -1 0\n"),
        ("wcnf", "h 1 0\n9007199254740993 1 2 0\n"),
        ("wcsp", "n 1 2 1 9\n2\n1 0 0 1\nnan 5\n"),
        ("wcsp", "n 1 2 1 900000000000000000\n2\n1 0 0 1\n0 899999999999999999\n"),
        ("wcsp", "n 1 2 1 900000000000000000\n2\n1 0 899999999999999999 0\n"),
        ("cfn", '{problem: {name: p, mustbe: "<5"}, variables: {x: 2}, functions: {f: {scope: [x], costs: [nan, 1]}}}'),
        ("json", '{"format":"anycsp","version":1,"variables":[{"name":"a","domain":[0,1]}],"constraints":'
                 '[{"kind":"table","scope":["a"],"allowed":[[0]],"weight":9007199254740993}]}'),
        ("json", '{"format":"anycsp","version":1,"variables":[{"name":"a","domain":[0,1]}],'
                 '"objective":{"kind":"cost","constant":9007199254740993}}'),
    ],
)  # fmt: skip
def test_no_file_is_rounded_silently(name: str, text: str) -> None:
    with pytest.raises(FormatError):
        read_text(text, format=name)


def test_forbidden_costs_need_not_be_exact() -> None:
    problem = read_text("n 1 2 1 900000000000000000\n2\n1 0 0 1\n0 900000000000000001\n", format="wcsp")
    assert problem.violation([0]).hard == 1
    assert problem.violation([1]).violated == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rudy", "3 3\n1 2 0.1\n2 3 0.2\n1 3 0.3\n"),
        ("mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n2 1 0.04\n2 1 0.06\n3 2 0.2\n3 1 0.3\n"),
    ],
)
def test_cuts_are_exact(name: str, text: str) -> None:
    problem = read_text(text, format=name)
    assert problem.objective is not None
    for values, cut in (([0, 0, 0], 0), ([0, 1, 0], 0.3), ([0, 0, 1], 0.5), ([0, 1, 1], 0.4)):
        weight = problem.violation(values).weight
        assert problem.objective.value(weight, np.array(values)) == cut


def test_levels_of_costs_are_exact() -> None:
    text = (
        '{problem: {name: p, mustbe: "<5.00"}, variables: {x: 3}, functions: {f: {scope: [x], costs: [0.1, 0.3, 0.7]}}}'
    )
    problem = read_text(text, format="cfn")
    assert problem.objective is not None
    for value, cost in enumerate((0.1, 0.3, 0.7)):
        assert problem.objective.value(problem.violation([value]).weight, np.array([value])) == cost
