"""What is written is what is solved, or it is refused with the line to write instead. The table of the guide has a row
per trap, and each row is tried here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import ROOT

from anycsp import ExpressionError, Problem, ProblemError, solve
from anycsp.checker.check import recount
from anycsp.checker.problem import from_description
from anycsp.formats import read_text, to_text
from anycsp.model.description import describe
from anycsp.model.expressions import if_else, maximum, minimum

Model = tuple[Problem, Any, Any]


def model() -> Model:
    problem = Problem()
    return problem, problem.add_variable(0, 9, "x"), problem.add_variable(0, 9, "y")


def foreign(p: Problem, x: Any, y: Any) -> None:
    p.add(x == Problem().add_variable(0, 9, "stranger"))


TRAPS: dict[str, tuple[Callable[[Problem, Any, Any], object], str]] = {
    "and": (lambda p, x, y: p.add((x == 1) and (y == 2)), "a & b"),
    "and of variables": (lambda p, x, y: p.add((x == y) and (y == 2)), "a & b"),
    "or": (lambda p, x, y: p.add((x == 1) or (y == 2)), r"a \| b"),
    "not": (lambda p, x, y: p.add(not (x == 1)), "~a"),  # noqa: SIM201
    "not of variables": (lambda p, x, y: p.add(not (x == y)), "~a"),  # noqa: SIM201
    "in": (lambda p, x, y: p.add(x in [1, 2]), r"is_in\(\[1, 2\]\)"),
    "chained": (lambda p, x, y: p.add(0 < x < 5), r"\(0 <= x\) & \(x <= 9\)"),
    "if": (lambda p, x, y: p.add(x == 1 if y == 2 else x == 3), "a & b"),
    "True": (lambda p, x, y: p.add(True), r"~\(x == 1\)"),
    "numpy's True": (lambda p, x, y: p.add(np.bool_(1 < 2)), r"~\(x == 1\)"),
    "text": (lambda p, x, y: p.add("x == 1"), r"such as x \+ y <= 3"),
    "foreign variable": (foreign, "'stranger' belongs to another problem"),
    "foreign in a scope": (lambda p, x, y: Problem().add_all_different([x, y]), "'x' belongs to another problem"),
    "foreign objective": (lambda p, x, y: Problem().minimize(x), "'x' belongs to another problem"),
    "self-loops": (lambda p, x, y: p.add_circuit([x, y]), "self_loops=True"),
    "fraction": (lambda p, x, y: p.add(x / 2 == 1), "//"),
    "float": (lambda p, x, y: p.add(x <= 2.5), "whole numbers, not 2.5"),
    "a pair as domain": (lambda p, x, y: p.add_variable((0, 9)), r"the bounds 0, 9 without brackets"),
    "one number as domain": (lambda p, x, y: p.add_variable(5), "two bounds or a domain"),
    "a name alone": (lambda p, x, y: p.add_variable("z"), "two bounds or a domain"),
    "bounds the wrong way": (lambda p, x, y: p.add_variable(9, 0, "z"), "variable 'z'.*lower one comes first"),
    "too wide": (lambda p, x, y: p.add_variable(0, 10**9, "z"), "variable 'z': 1,000,000,001 values"),
    "name twice": (lambda p, x, y: p.add_variable(0, 9, "x"), "duplicate variable name 'x'"),
    "weight not finite": (lambda p, x, y: p.add(x == 1, weight=float("inf")), "weight is a positive finite number"),
    "weight of a wrong type": (lambda p, x, y: p.add(x == 1, weight="3"), "weight is a positive finite number"),
    "unknown label": (lambda p, x, y: p.add(p.add_variable(["red"], "c") == "blue"), "variable 'c': value 'blue'"),
    "hint outside": (lambda p, x, y: solve(p, hint={x: 99}, steps=1), "the hint for 'x': value 99"),
    "objective and wishes": (lambda p, x, y: (p.add(x == 1, weight=2), p.minimize(y), solve(p, steps=1)), "soft"),
    "whole array": (lambda p, x, y: p.add(all(p.add_variables((2,), 0, 1) == 1)), "a & b"),
    "iteration": (lambda p, x, y: p.add_all_different(x), r"write \[x\]"),
    "late condition": (lambda p, x, y: late(p, x, y), "right after add"),
}


def late(p: Problem, x: Any, y: Any) -> None:
    first = p.add(x == 1)
    p.add(y == 1)
    first.only_enforce_if(y == 2)


@pytest.mark.parametrize("trap", TRAPS)
def test_traps_are_refused_with_the_line_to_write(trap: str) -> None:
    problem, x, y = model()
    attempt, spelling = TRAPS[trap]
    with pytest.raises(ProblemError, match=spelling) as caught:
        attempt(problem, x, y)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300


RIGHT: dict[str, tuple[Callable[[Problem, Any, Any], object], Callable[[int, int], bool]]] = {
    "&": (lambda p, x, y: p.add((x == 1) & (y == 2)), lambda x, y: x == 1 and y == 2),
    "|": (lambda p, x, y: p.add((x == 1) | (y == 2)), lambda x, y: x == 1 or y == 2),
    "~": (lambda p, x, y: p.add(~(x == 1)), lambda x, y: x != 1),
    "is_in": (lambda p, x, y: p.add(x.is_in([1, 2])), lambda x, y: x in (1, 2)),
    "both bounds": (lambda p, x, y: p.add((0 < x) & (x < 5)), lambda x, y: 0 < x < 5),  # noqa: SIM300
    "implies": (lambda p, x, y: p.add((x == 1).implies(y == 2)), lambda x, y: x != 1 or y == 2),
    "only_enforce_if": (lambda p, x, y: p.add(y == 2).only_enforce_if(x == 1), lambda x, y: x != 1 or y == 2),
    "only_enforce_if of a sum": (
        lambda p, x, y: p.add(x + y <= 3).only_enforce_if(x >= 2, y >= 1),
        lambda x, y: not (x >= 2 and y >= 1) or x + y <= 3,
    ),
    "numpy integers": (lambda p, x, y: p.add(np.int64(2) * x == np.int32(4) + y), lambda x, y: 2 * x == 4 + y),
    "numpy on the left": (lambda p, x, y: p.add(np.int64(3) >= x), lambda x, y: x <= 3),
    "numpy booleans": (lambda p, x, y: p.add((x == 1) == np.bool_(True)), lambda x, y: x == 1),
    "a list": (lambda p, x, y: p.add([x == 1, y == 2]), lambda x, y: x == 1 and y == 2),
    "range": (lambda p, x, y: p.add(x.is_in(range(3))), lambda x, y: x in range(3)),
    "bulk": (lambda p, x, y: p.add_linear([x, "y"], [2, -1], "==", 3), lambda x, y: 2 * x - y == 3),
}


@pytest.mark.parametrize("spelling", RIGHT)
def test_the_right_spelling_means_what_it_says(spelling: str) -> None:
    problem, x, y = model()
    write, holds = RIGHT[spelling]
    write(problem, x, y)
    for a in range(10):
        for b in range(10):
            assert (problem.violation([a, b]).violated == 0) == holds(a, b), (a, b)


def test_the_guide_has_a_row_per_trap_and_what_it_says_to_write_works() -> None:
    text = (ROOT / "docs" / "guides" / "modelling.md").read_text(encoding="utf-8")
    table = text.split("## Traps")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| `(.+?)` \|$", table.replace(r"\|", "¦"), re.MULTILINE)
    assert len(rows) >= 12
    for wrong, happens, right in rows:
        problem, x, y = model()
        known = {"problem": problem, "x": x, "y": y, "np": np, "Problem": Problem, "solve": solve}
        known["other"] = Problem().add_variable(0, 9, "other")
        known["cities"] = problem.add_variables(4, 0, 3, prefix="city")
        known["grid"] = problem.add_variables((2, 2), 0, 9)
        if "refused" in happens:
            with pytest.raises(ProblemError):
                exec(wrong.replace("¦", "|"), known)
        else:
            exec(wrong.replace("¦", "|"), known)
        exec(right.replace("¦", "|"), known)


def test_arrays_have_rows_columns_and_slices() -> None:
    problem = Problem()
    grid = problem.add_variables((3, 4), 1, 9, prefix="g")
    assert grid.shape == (3, 4)
    assert [x.name for x in grid[1]] == ["g[1,0]", "g[1,1]", "g[1,2]", "g[1,3]"]
    problem.add(grid[0] == np.array([1, 2, 3, 4]))
    problem.add(grid[1:, 0] > grid[0, 0])
    problem.add(grid.sum(axis=0) == 10)
    problem.add((grid * np.arange(12).reshape(3, 4)).max() <= 90)
    problem.add_all_different(grid[:2, :2])
    result = solve(problem, time_limit=5)
    values = result[grid]
    assert result.satisfied
    assert values.shape == (3, 4)
    assert (values.sum(axis=0) == 10).all()
    assert len(set(values[:2, :2].flat)) == 4
    assert result[grid[0, 0] + grid[0, 1]] == 3
    assert result["g[0,3]"] == result.value(grid[0, 3]) == 4
    assert result[[grid[0, 0], grid[0, 1]]] == [1, 2]
    with pytest.raises(ExpressionError):
        bool(grid == 3)


def test_labels_are_compared_by_name() -> None:
    problem = Problem()
    sky = problem.add_variable(["grey", "blue"], "sky")
    sea = problem.add_variable("sea", {"blue": 7, "green": 9})
    problem.add((sky == "blue").implies(sea == "blue"))
    problem.add(sky != "grey")
    assert solve(problem, steps=100).assignment == {"sky": "blue", "sea": "blue"}


def test_ways_to_write_a_domain() -> None:
    problem = Problem()
    ways = [
        problem.add_variable(1, 3),
        problem.add_variable(1, 3, "a"),
        problem.add_variable("b", 1, 3),
        problem.add_variable(range(1, 4), "c"),
        problem.add_variable("d", [1, 2, 3]),
        problem.add_variable(np.arange(1, 4), name="e"),
        problem.add_variable(low=1, high=3, name="f"),
        problem.add_variables(2, 1, 3, "g")[1],
        problem.add_variables(1, range(1, 4), names=["h"])[0],
    ]
    assert all(problem.domain(x).values.tolist() == [1, 2, 3] for x in ways)
    assert [x.name for x in ways] == ["x0", "a", "b", "c", "d", "e", "f", "g8", "h"]


# ── required unless weighted ─────────────────────────────────────────────────────────────────────────


def test_required_constraints_come_before_wishes() -> None:
    problem, x, y = model()
    problem.add(x + y == 9, name="total")
    problem.add(x >= 5, weight=3, name="large")
    problem.add(y >= 6, weight=2)
    problem.add(x == y, weight=100, hard=False)
    problem.add(x != 9, weight=7, hard=True)
    result = solve(problem, time_limit=5)
    assert result[x] + result[y] == 9
    assert (result.violated_weight, result.hard_violated) == (102, 0)
    assert result[x] >= 5
    assert [c.weight for c in result.violated_constraints] == [100, 2]
    worst = problem.violation({"x": 9, "y": 9})
    assert (worst.violated, worst.weight, worst.hard) == (2, 8, 2)


def test_required_alone_is_how_many_are_violated() -> None:
    problem = Problem()
    x = problem.add_variables(3, 0, 1)
    for a, b in ((0, 1), (1, 2), (0, 2)):
        problem.add(x[a] != x[b])
    heard = []
    result = solve(problem, steps=100, callback=lambda progress: heard.append(progress))  # type: ignore[arg-type]
    assert (result.violated, result.violated_weight, result.hard_violated) == (1, 1.0, 1)
    assert all(progress.hard_violated == progress.violated for progress in heard)
    assert heard[-1][x] == result[x]
    assert heard[-1].assignment == result.assignment


terms = st.fixed_dictionaries(
    {}, optional={"weight": st.sampled_from([0.5, 1, 2, 3]), "hard": st.booleans(), "name": st.sampled_from("ab")}
)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 9), terms), max_size=6), st.integers(0, 99))
def test_one_rule_for_problem_file_and_checker(drawn: list[Any], seed: int) -> None:
    problem = Problem()
    x = problem.add_variables(3, 0, 3)
    for kind, bound, how in drawn:
        if kind == 0:
            problem.add(x[0] + 2 * x[1] <= bound, **how)
        elif kind == 1:
            problem.add(x[0] != x[2] + bound, **how)
        elif kind == 2:
            problem.add_all_different(x, **how)
        elif kind == 3:
            problem.add_maximum(x, "<=", bound, **how)
        else:
            problem.add_count(x, [1, 2], ">=", bound, **how)
    required = [how.get("hard", "weight" not in how) for _, _, how in drawn]
    assert [bool(h) for b in [problem.copy()] for h in _hard(b)] == required
    again = read_text(to_text(problem, "json"))
    assert _hard(again) == _hard(problem)
    assert again.constraint_names == problem.constraint_names
    values = np.random.default_rng(seed).integers(0, 4, 3).tolist()
    counted = problem.violation(values)
    assert again.violation(values) == counted
    checked = recount(from_description(describe(problem)), values)
    assert counted == (checked.violated, checked.violated_weight, checked.hard_violated)


def _hard(problem: Problem) -> list[bool]:
    hard = {}
    for block in problem.blocks:
        hard.update(zip(block.terms.index.tolist(), block.terms.hard.tolist(), strict=True))
    return [hard[number] for number in range(problem.num_constraints)]


def test_gathered_constraints_are_those_that_were_added() -> None:
    """Comparisons are gathered, other families are not: whatever the order, each keeps its number."""
    problem = Problem()
    x = problem.add_variables(4, 0, 5)
    written = [
        x[0] + x[1] <= 4, x[1] != x[2], x[0] * x[1] == 2, x[2] - x[3] != 1, x[0] + x[3] >= x[1] + 2,
        abs(x[0] - x[1]) == 1, 2 * x[0] != 3 * x[1],
    ]  # fmt: skip
    for expression in written:
        problem.add(expression)
    one_by_one = []
    for expression in written:
        alone = problem.copy()
        alone.__dict__.update(_blocks=[], _constraints=0, _scoring=None)
        alone.add(expression)
        one_by_one.append(next(iter(alone.describe_constraints())))
    assert list(problem.describe_constraints()) == one_by_one


@pytest.mark.parametrize(
    "write",
    [
        lambda x: minimum(x, 2**64) == 1,
        lambda x: x // 2**64 == 0,
        lambda x: x * 0 * 2**63 == 0,
        lambda x: if_else(x > 0, 1, 2**64) < 5,
    ],
)
def test_constants_that_cannot_be_computed_with_are_refused(write: Callable[[Any], Any]) -> None:
    problem = Problem()
    x = problem.add_variable([0, 1])
    with pytest.raises(ProblemError, match="beyond 64-bit integers"):
        problem.add(write(x))
    problem.add(x <= 2**70)  # which is only compared with
    assert solve(problem, search="local", time_limit=1).status == "satisfied"


def test_many_scopes_list_each_variable_once() -> None:
    """A scope with a variable twice was found out by the search, which then refused the whole problem."""
    problem = Problem()
    x = problem.add_variables(3, 0, 2)
    with pytest.raises(ProblemError, match="scope 2 of many lists a variable twice"):
        problem.add_not_equal([(x[0], x[1]), (x[2], x[2])])


WRONG: dict[str, tuple[Callable[[Problem, Any, Any], object], str]] = {
    "position beyond the domain": (lambda p, x, y: p.add_nogood([x, y], [3, 10]), "nogood has a position"),
    "negative position": (lambda p, x, y: p.add_nogood([x, y], [-1, 0]), "nogood has a position"),
    "position for one of two": (lambda p, x, y: p.add_nogood([x, y], [0]), "nogood has a position"),
    "half a position": (lambda p, x, y: p.add_nogood([x, y], np.array([0.5, 1])), "nogood has a position"),
    "literal of ten values": (lambda p, x, y: p.add_clauses(np.array([0, 1]), np.array([-1])), "two values"),
    "half a literal": (lambda p, x, y: p.add_clauses(np.array([0, 1]), np.array([1.5])), "literals are arrays of int"),
    "offsets beyond": (lambda p, x, y: p.add_clauses(np.array([0, 5]), np.array([1])), "offsets of clauses"),
    "half a variable": (lambda p, x, y: p.add_tables(np.array([[0.5, 1]]), [(0, 0)]), "scopes are arrays of integers"),
    "half a value": (lambda p, x, y: p.add_short_table([x, y], [({1.5}, "*")]), "a cell's value is an integer"),
    "a label of none": (lambda p, x, y: p.add_short_table([x, y], [({"red"}, "*")]), "outside the domain"),
    "half a goal": (lambda p, x, y: p.minimize(2.5), "variables and whole numbers"),
    "goals in an array": (lambda p, x, y: p.minimize(p.add_variables((2, 2), 0, 1)), r"total\(array\)"),
    "goals by name": (lambda p, x, y: p.minimize(["x"]), "variables and whole numbers"),
    "no coefficient": (lambda p, x, y: p.add_linear([x, y], [float("nan"), 1], "<=", 2), "coefficient is an integer"),
    "endless bound": (lambda p, x, y: p.add_linear([x, y], [1, 1], "<=", float("inf")), "right side is an integer"),
    "weight for another": (lambda p, x, y: p.add(x == 1, weight=[1, 2]), "one for each constraint"),
    "the least of 64 bits": (
        lambda p, x, y: p.add_linear([x, p.add_variable([-(2**63), 0])], [1, 1], "<=", 2),
        "linear sum beyond 64-bit",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_would_be_cut_off_or_misread_is_refused(name: str) -> None:
    """All of these were taken: rounded, read as something else, or refused without saying which argument was wrong."""
    wrong, said = WRONG[name]
    with pytest.raises((ProblemError, ExpressionError), match=said):
        wrong(*model())


def test_a_range_in_a_cell_may_be_as_long_as_it_likes() -> None:
    problem, x, y = model()
    problem.add_short_table([x, y], [(range(2, 10**15, 3), "*")])
    assert [v for v in range(10) if problem.violation([v, 0]).violated == 0] == [2, 5, 8]


def test_extrema_of_huge_terms_are_rules() -> None:
    """The family counts to 2^59; a model may go to 2^62."""
    problem = Problem()
    x, y = problem.add_variable([-3, 1979696639]), problem.add_variable([1979696639, 5])
    problem.add(maximum([x**2, y**2]) <= 30)
    result = solve(problem, time_limit=5)
    assert (result.status, result[x], result[y]) == ("satisfied", -3, 5)
