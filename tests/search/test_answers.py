"""What can be asked of answers: several of them, improvements as they come, what they violate, how they show."""

from __future__ import annotations

import asyncio
import re
import sys
from itertools import combinations
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import anycsp
from anycsp import Problem, ProblemError, iterate, iterate_async, solve
from anycsp.errors import AnyCSPError


def clash() -> Problem:
    """Three who want three days, all of them Monday."""
    problem = Problem("clash")
    days = problem.add_variables(3, ["Mon", "Tue", "Wed"], names=["ann", "bob", "eve"])
    problem.add_all_different(days, name="one a day")
    for day, weight in zip(days, (3, 2, 1), strict=True):
        problem.add(day == "Mon", weight=weight, name=f"{day.name} on Monday")
    return problem


def cut(seed: int = 0) -> Problem:
    problem, rng = Problem("cut"), np.random.default_rng(seed)
    x = problem.add_variables(20, 0, 1)
    for a, b in rng.choice(20, (60, 2)):
        if a != b:
            problem.add(x[a] != x[b])
    return problem


@pytest.mark.parametrize("distance", [1, 2, 3])
def test_solutions_are_the_best_that_differ(distance: int) -> None:
    problem = clash()
    result = solve(problem, time_limit=5, solutions=6, min_distance=distance)
    assert result.assignment == result.solutions[0].assignment
    weights = [one.violated_weight for one in result.solutions]
    assert weights == sorted(weights)
    assert weights[0] == 3
    assert len(weights) == (6 if distance < 3 else 3)  # of six orders three differ everywhere
    for a, b in combinations(result.solutions, 2):
        assert sum(a[x] != b[x] for x in problem.variables) >= distance
    assert all(problem.violation(one.assignment).weight == one.violated_weight for one in result.solutions)
    described = result.to_json()
    assert [one["violated_weight"] for one in described["solutions"]] == weights


def test_solutions_differ_where_they_are_asked_to() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, 0, 3)
    problem.add(x + y == 3)
    problem.minimize(x)
    result = solve(problem, time_limit=4, solutions=3, distinct_on=[y])
    assert [one[[x, y]] for one in result.solutions] == [[0, 3], [1, 2], [2, 1]]
    only = solve(problem, time_limit=1)
    assert "solutions" not in only.to_json()
    with pytest.raises(ProblemError, match="min_distance = 2: between 1 and the 1 variables"):
        solve(problem, solutions=2, distinct_on=[y], min_distance=2)
    with pytest.raises(AnyCSPError, match="solutions = 0"):
        solve(problem, solutions=0)


def test_solutions_of_what_cannot_hold_violate_as_little_as_possible() -> None:
    problem = cut()
    result = solve(problem, steps=3000, solutions=3, min_distance=4, threads=1)
    assert len(result.solutions) == 3
    assert all(one.violated == one.hard_violated > 0 for one in result.solutions)
    for a, b in combinations(result.solutions, 2):
        assert (a.positions != b.positions).sum() >= 4


def test_a_search_for_more_ends_when_there_are_none() -> None:
    problem = Problem()
    x = problem.add_variables(2, 0, 1)
    problem.add(x[0] != x[1])
    assert sorted(one[x] for one in solve(problem, time_limit=5, solutions=9).solutions) == [[0, 1], [1, 0]]


def test_improvements_come_as_they_are_found() -> None:
    problem = cut(1)
    found = list(iterate(problem, steps=2000, threads=1, seed=3))
    violated = [better.violated for better in found]
    assert violated == sorted(violated, reverse=True)
    for better in found:
        assert problem.violation(better.assignment).violated == better.violated
        assert better[problem.variables[0]] == better.assignment["x0"]
    assert violated[-1] == solve(problem, steps=2000, threads=1, seed=3).violated


def test_leaving_the_loop_ends_the_search() -> None:
    for better in iterate(cut(2), time_limit=60):
        assert better.violated > 0
        break


def test_errors_of_the_search_reach_whoever_iterates() -> None:
    with pytest.raises(ProblemError, match="without variables"):
        next(iterate(Problem()))


def test_improvements_come_asynchronously_too() -> None:
    async def last() -> int:
        violated = -1
        async for better in iterate_async(cut(1), steps=2000, threads=1, seed=3):
            violated = better.violated
        return violated

    assert asyncio.run(last()) == solve(cut(1), steps=2000, threads=1, seed=3).violated


def test_a_callback_sees_the_objective_and_its_assignment() -> None:
    problem = Problem()
    x = problem.add_variables(4, 0, 6)
    problem.add_all_different(x)
    problem.minimize(3 * x[0] + 2 * x[1] + x[2] - x[3])
    heard: list[tuple[float, int]] = []

    def hear(progress: anycsp.Progress) -> None:
        if progress.improved and progress.objective is not None:
            heard.append((progress.objective, progress[3 * x[0] + 2 * x[1] + x[2] - x[3]]))

    result = solve(problem, time_limit=2, callback=hear)
    assert heard
    assert all(told == counted for told, counted in heard)
    assert result.objective is not None
    assert heard[-1][0] == result.objective["value"]


def test_verbose_prints_every_improvement(capsys: pytest.CaptureFixture[str]) -> None:
    solve(cut(), steps=2000, verbose=True)
    assert re.search(r"^ +\d+\.\d\d s  step [\d,]+: \d+ violated$", capsys.readouterr().out, re.MULTILINE)


def test_more_answers_than_there_is_time_for_leave_time_for_some() -> None:
    problem = Problem()
    x = problem.add_variables(6, 0, 9)
    problem.add_all_different(x)
    result = solve(problem, time_limit=2, solutions=10**9, threads=1)
    assert result.satisfied
    assert len(result.solutions) > 1
    assert all(answer.satisfied for answer in result.solutions)
    free = Problem()
    free.add_variables(40, 0, 9)
    assert solve(free, time_limit=0.2, solutions=10**9, threads=1).seconds < 20


def test_a_result_says_nothing_of_what_was_added_since() -> None:
    problem = Problem()
    x = problem.add_variable(0, 3, "x")
    problem.add(x >= 4, name="never")
    before = solve(problem, steps=10)
    y = problem.add_variable(0, 3, "y")
    problem.add(x + y >= 7, name="later")
    assert [c.name for c in before.violated_constraints] == ["never"]
    assert "later" not in before._repr_html_()


def test_violated_constraints_have_names_weights_and_values() -> None:
    problem = clash()
    result = solve(problem, time_limit=2)
    violated = result.violated_constraints
    assert [(c.name, c.weight, c.required) for c in violated] == [
        ("bob on Monday", 2.0, False), ("eve on Monday", 1.0, False),
    ]  # fmt: skip
    assert violated[0].values == {"bob": result["bob"]}
    assert "constraint 3 'bob on Monday' (weight 2): " in str(violated[0])
    wrong = Problem()
    x, y = wrong.add_variables(2, 0, 9, prefix="v")
    wrong.add(2 * x - 3 * y == 1, name="line")
    wrong.add(x * y + x == 100, weight=1, name="product")
    wrong.add(x < 0)
    worst = solve(wrong, steps=10).violated_constraints
    assert [c.required for c in worst] == sorted((c.required for c in worst), reverse=True)
    texts = {c.number: c.text for c in worst}
    assert "v0" in texts[3]
    assert texts[2] == "v0 * v1 + v0 == 100"


def test_notebooks_show_problems_and_results() -> None:
    problem = clash()
    shown = problem._repr_html_()
    assert "1 required, 3 soft" in shown
    assert "all_different" in shown
    result = solve(problem, time_limit=1)
    page = result._repr_html_()
    assert "best-effort" in page
    assert "bob on Monday" in page
    ElementTree.fromstring(f"<div>{page}</div>")
    assert "<svg" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_package_shows_its_public_names_and_no_others() -> None:
    assert dir(anycsp) == sorted(anycsp.__all__)
    assert all(getattr(anycsp, name) is not None for name in anycsp.__all__)
    assert {anycsp.SATISFIED, anycsp.UNSATISFIABLE} == {"satisfied", "unsatisfiable"}
    assert solve(clash(), steps=10).status in {anycsp.SATISFIED, anycsp.BEST_EFFORT}


def test_the_demand_for_another_answer_takes_no_digits_of_the_score() -> None:
    """A demand of weight 1 would count a million times in units of the hard constraint, above soft ones of 10^12."""
    problem = Problem()
    x = problem.add_variables(2, [0, 1])
    problem.add(x[0] != x[1], weight=1e-6, hard=True)
    problem.add(x[0] == 0, weight=1e6)
    result = solve(problem, solutions=3, search="local")
    assert [list(answer.assignment.values()) for answer in result.solutions] == [[0, 1], [1, 0]]


def test_a_variable_added_after_the_answer_is_named() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add(x < y)
    result = solve(problem, time_limit=1)
    z = problem.add_variable(0, 5, "late")
    assert result[x + y] == result[x] + result[y]
    for what in (z, "late", x + z):
        with pytest.raises(ProblemError, match="'late' was added after"):
            result[what]


def test_an_objective_beside_wishes_is_refused_whatever_they_weigh() -> None:
    for weight in (1, 2):
        problem = Problem()
        a, b = problem.add_variables(2, range(3))
        problem.add(a > b, weight=weight)
        problem.minimize(a)
        with pytest.raises(ProblemError, match="beside soft constraints"):
            solve(problem, time_limit=1)


def test_several_answers_of_an_objective_that_nothing_allows_are_the_best_effort() -> None:
    problem = Problem()
    x = problem.add_variable([0], "x")
    problem.add(x > 0)
    problem.minimize(x)
    assert [answer.violated for answer in solve(problem, solutions=2, search="local", time_limit=1).solutions] == [1]


def test_verbose_shows_a_bar_in_a_notebook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    drawn: list[str] = []

    class Handle:
        def update(self, shown: object) -> None:
            drawn.append(shown._repr_html_())  # type: ignore[attr-defined]

    notebook = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()),
        display=SimpleNamespace(display=lambda shown, display_id: Handle()),
    )
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    problem = Problem()
    x = problem.add_variables(12, 0, 11)
    problem.add_all_different(x)
    solve(problem, time_limit=5, verbose=True)
    assert "<progress max='" in drawn[0]
    assert "0 violated" in drawn[-1]
    assert capsys.readouterr().out == ""
    notebook.get_ipython = lambda: SimpleNamespace()  # a terminal's shell
    solve(problem, time_limit=5, verbose=True)
    assert "0 violated" in capsys.readouterr().out


@pytest.mark.parametrize("search", ["local", "exact"])
def test_several_answers_of_what_cannot_hold_are_all_unsatisfiable(search: str) -> None:
    if search == "exact":
        pytest.importorskip("ortools")
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add([x < y, y < x])
    result = solve(problem, solutions=3, search=search, time_limit=5, threads=1)
    assert len(result.solutions) == 3
    assert {answer.status for answer in result.solutions} == {"unsatisfiable"}
