"""FlatZinc: every predicate means what an independent evaluator says, in all its forms; whole models have the same best
solutions; what is not supported is refused in one line that names it."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import solve
from anycsp.deadline import Deadline
from anycsp.errors import FormatError, UnsupportedError
from anycsp.formats import detect, read_text
from anycsp.formats.files import Source, text_source
from anycsp.formats.flatzinc import FlatZinc, read_flatzinc
from anycsp.formats.flatzinc_constraints import TRUTHS
from anycsp.formats.flatzinc_globals import POSTS
from anycsp.formats.flatzinc_globals import TRUTHS as GLOBAL_TRUTHS
from anycsp.fuzz.languages.flatzinc import Flat
from anycsp.fuzz.languages.flatzinc_draw import FORMS, KNOWN, Draw, random_model
from anycsp.integrations.minizinc.output import value_of


def solutions(read: FlatZinc) -> set[tuple[Any, ...]]:
    """What the problem's own solutions print, by going through all of them."""
    problem = read.problem
    asked = [x for x in range(problem.num_variables) if x not in problem.definitions]
    found = set()
    for values in itertools.product(*(problem.domain_list[x].values.tolist() for x in asked)):
        positions = problem.positions({problem.names[x]: v for x, v in zip(asked, values, strict=True)})
        if problem.violation_of_positions(positions).violated == 0:
            found.add(
                tuple(_printed(read, name, problem.values(positions)) for name in sorted(o.name for o in read.outputs))
            )
    return found


def _printed(read: FlatZinc, name: str, values: Any) -> Any:
    (item,) = next(output.items for output in read.outputs if output.name == name)
    if isinstance(item, dict):
        return frozenset(v for v, bit in item.items() if value_of(bit, values))
    return value_of(item, values)


def expected(flat: Flat) -> set[tuple[Any, ...]]:
    return {tuple(assignment[name] for name in sorted(flat.variables)) for assignment in flat.solutions()}


def flatzinc(text: str) -> FlatZinc:
    return read_flatzinc(text_source(text.encode(), "model.fzn"))


def test_every_predicate_is_tried() -> None:
    known = {*TRUTHS, *GLOBAL_TRUTHS, *POSTS} - {"bool_clause_reif", "int_pow_fixed"}  # other names of those below
    assert known == set(KNOWN)


@pytest.mark.parametrize(("predicate", "form"), FORMS)
def test_a_predicate_means_what_the_oracle_says(predicate: str, form: str) -> None:
    for seed in range(6):
        draw = Draw(random.Random(seed))
        draw.post(predicate, form)
        assert solutions(flatzinc(draw.flat.text())) == expected(draw.flat), draw.flat.text()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_exact_search_agrees_on_random_models(seed: int) -> None:
    agrees_on(random_model(random.Random(seed)))


@pytest.mark.slow
def test_exact_search_agrees_on_200_random_models() -> None:
    for seed in range(10**7, 10**7 + 200):
        agrees_on(random_model(random.Random(seed)))


def agrees_on(flat: Flat) -> None:
    """CP-SAT, given what was read, finds what plain evaluation of the text finds."""
    pytest.importorskip("ortools")
    read = flatzinc(flat.text())
    found = list(flat.solutions())
    result = solve(read.problem, search="exact", time_limit=20)
    assert (result.status == "unsatisfiable") == (not found), flat.text()
    if found and flat.goal[1]:
        costs = [assignment["cost"] for assignment in found]
        assert result.status == "optimal"
        assert result.objective["value"] == (min if flat.goal[0] == "minimize" else max)(costs), flat.text()


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────

MODEL = """% what MiniZinc writes
predicate anycsp_circuit(int: first, array [int] of var int: x);
array [1..2] of int: weights = [1, -1];
int: limit = 3;
var 0..9: x :: output_var;
var 0..9: y :: output_var;
var {1, 5}: z = 5;
var bool: b :: is_defined_var;
var 0..1: i :: is_defined_var;
array [1..2] of var int: xy :: output_array([1..2]) = [x, y];
constraint int_lin_le(weights, xy, limit);
constraint int_le_reif(x, xy[2], b) :: defines_var(b);
constraint bool2int(b, i) :: defines_var(i);
solve :: seq_search([int_search(xy, first_fail, indomain_min, complete), warm_start([x, y], [4, 11])]) maximize x;
"""


def test_a_model_is_recognised_and_read() -> None:
    source = text_source(MODEL.encode(), "<text>")
    assert detect(source).name == "flatzinc"
    read = read_flatzinc(source)
    assert set(read.problem.names) == {"x", "y", "b"}  # z is a constant, i the same as b
    assert [output.name for output in read.outputs] == ["x", "y", "xy"]
    assert read.hint == {"x": 4}  # 11 is no value of y
    assert solve(read.problem, time_limit=5, threads=1).objective == {"kind": "maximize", "value": 9}


def test_open_integers_get_bounds_from_constraints() -> None:
    text = """var int: s; var int: p; var int: q; var 2..4: x; var 1..3: y;
constraint int_lin_eq([1, 2, -1], [x, y, s], 0); constraint int_times(x, y, p); constraint int_abs(q, x);
solve satisfy;"""
    problem = read_text(text, format="flatzinc")
    assert {name: problem.domain(name).bounds for name in "spq"} == {"s": (4, 10), "p": (2, 12), "q": (-4, 4)}


@pytest.mark.parametrize(
    "constraints",
    [
        "int_times(x, y, 6)",
        "int_times(a, x, b); constraint int_eq(y, x)",
        "int_times(x, x, y); constraint int_le(y, 9)",
        "int_times(x, x, a); constraint int_eq(x, y)",
        "int_div(x, a, b); constraint int_eq(x, y)",
        "set_in(x, s); constraint int_eq(x, y)",
        "fzn_member_int([a, b, 5], x); constraint int_eq(x, y)",
        "fzn_if_then_else_int([p, true], [4, -7], x); constraint int_eq(x, y)",
        "fzn_if_then_else_var_int([p, true], [a, b], x); constraint int_eq(x, y)",
        "fzn_increasing_int([-2, x, y, 2])",
        "fzn_strictly_increasing_int([-3, x, y, 2])",
        "fzn_decreasing_int([2, x, y, -2])",
        "fzn_strictly_decreasing_int([3, x, y, -2])",
        "anycsp_table_int([x, y], [3, -4, -5, 9, 0, 0])",
        "anycsp_regular([x, y], 2, 3, [1, 2, 0, 2, 1, 2], 1, 2..2)",
        "fzn_global_cardinality([a, b], [1, -3], [x, y])",
        "fzn_global_cardinality_closed([x, a], [3, 1], [y, b]); constraint int_eq(x, a)",
        "fzn_global_cardinality_low_up_closed([x, y], [3, -2], [0, 0], [2, 1])",
        "anycsp_bin_packing_load(1, [x, y], [a, b], [4, 5])",
        "anycsp_bin_packing_load(-1, [a, b], [x, y], [1, 2])",
        "anycsp_inverse(1, [x, y], 0, [a, b])",
        "anycsp_circuit(4, [x, y])",
        "anycsp_subcircuit(4, [x, y])",
    ],
)
def test_bounds_of_open_integers_lose_no_solution(constraints: str) -> None:
    """The same solutions as with more than enough values."""
    kinds = {"p": "bool", "a": "-3..3", "b": "1..3", "s": "set of -2..2"}
    rest = " ".join(f"var {kind}: {x};" for x, kind in kinds.items() if re.search(rf"\b{x}\b", constraints))
    found = []
    for kind in ("int", "-11..11"):
        declared = f"var {kind}: x :: output_var; var {kind}: y; {rest}"
        text = f"{declared} constraint {constraints}; solve satisfy;"
        found.append(solutions(read_flatzinc(text_source(text.encode(), "<text>"))))
    assert found[0] == found[1] != set()


def test_a_wide_integer_is_replaced_by_its_definition() -> None:
    text = """var 0..2000: x; var 0..2000: y; var 0..100000000: p; var -1000000000..3000000: s;
constraint int_times(x, y, p) :: defines_var(p);
constraint int_lin_eq([1, -1, 7, -1], [p, x, y, s], 0) :: defines_var(s); solve maximize s;"""
    problem = read_text(text, format="flatzinc")
    assert list(problem.names) == ["x", "y"]
    assert problem.violation({"x": 2000, "y": 2000}).violated == 1  # above what s may be
    assert problem.violation({"x": 1000, "y": 2000}).violated == 0


REFUSED = {
    "var float: f; solve satisfy;": "variable f is a float",
    "var 0.0..1.5: f; solve satisfy;": "variable f is a float",
    "var int: x; constraint float_eq(x, 1.5); solve satisfy;": "float",
    "var 1..3: x; constraint nonsense(x); solve satisfy;": "nonsense",
    "var int: x; solve satisfy;": "variable x",
    "var set of int: s; solve satisfy;": "variable s",
    "var 1..3: x; constraint int_le(x, y); solve satisfy;": "'y' is not declared",
    "var 1..3: x;": "no solve item",
    "var 1..3: x; solve perhaps;": "perhaps",
    "var 1..3 x; solve satisfy;": "':' expected",
    "var 1..3: x; var 1..2: x; solve satisfy;": "declared twice",
    "var 1..99999999999999999999: x; solve satisfy;": "digits",
    "var 1..99999999: x; constraint int_ne(x, 7); solve satisfy;": "variable 'x'",
    "var 1..3: x; constraint int_le(x); solve satisfy;": "constraint int_le",
    "var 1..3: x; constraint int_le([x], {1}); solve satisfy;": "constraint int_le",
    "var 1..3: x; constraint int_lin_le([1, 2], [x], 3); solve satisfy;": "constraint int_lin_le",
    "var set of 1..3: s; solve minimize s;": "minimize",
    "constraint": "name expected",
    "var 1..3: x; solve satisfy; solve minimize x;": "a second solve item",
    "array [1..3] of int: a = [1, 2]; var 1..3: x; solve satisfy;": "3 indices and 2 items",
    "var 1..3: x; var 1..3: y; constraint anycsp_table_int([x, y], [1, 2, 3]); solve satisfy;": "3 cells in rows of 2",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_line(text: str) -> None:
    with pytest.raises((FormatError, UnsupportedError)) as error:
        read_text(text, format="flatzinc", name="model.fzn")
    assert REFUSED[text] in str(error.value)
    assert str(error.value).startswith("model.fzn")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) <= 300


def test_reading_ends_with_the_time() -> None:
    lines = [f"var 0..9: x{k};" for k in range(9000)] + ["solve satisfy;"]
    late = Source("model.fzn", "\n".join(lines).encode(), deadline=Deadline.after(0))
    with pytest.raises(FormatError, match="time limit"):
        read_flatzinc(late)


def test_numbers_have_18_digits_and_a_sign() -> None:
    text = "var -999999999999999999..999999999999999999: x; constraint int_abs(x, 3); solve satisfy;"
    assert read_text(text, format="flatzinc").domain("x").bounds == (-3, 3)


def test_impossible_constants_are_constraints_that_fail() -> None:
    for text in (
        "var 1..3: x; constraint int_le(4, 3); solve satisfy;",
        "var 1..3: x = 5; var 1..2: y; solve satisfy;",
        "var {}: x; solve satisfy;",
        "var 1..3: x; constraint bool_clause([], []); solve satisfy;",
    ):
        assert solve(read_text(text, format="flatzinc"), time_limit=2).violated > 0, text


@pytest.mark.slow
def test_large_files_are_read_in_time_that_grows_with_their_length() -> None:
    import time

    def seconds(count: int) -> float:
        lines = [f"var 0..9: x{k};\nvar bool: b{k};" for k in range(count)]
        for k in range(count - 1):
            lines.append(f"constraint int_lin_le_reif([1,-1],[x{k},x{k + 1}],3,b{k}) :: defines_var(b{k});")
            lines.append(f"constraint bool_clause([b{k}],[b{k + 1}]);")
        began = time.process_time()
        read_text("\n".join([*lines, "solve satisfy;"]), format="flatzinc")
        return time.process_time() - began

    assert seconds(40_000) < 10 * seconds(10_000)
