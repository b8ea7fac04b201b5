"""FlatZinc: every predicate means what an independent evaluator says, in all its forms; whole models have the same best
solutions; what is not supported is refused in one line that names it."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from flatzinc_oracle import MEANING, Flat, Var
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
from anycsp.integrations.minizinc.output import value_of

ORDERS = ("eq", "ne", "le", "lt", "ge", "gt")
SIGNATURES = {
    **{f"{kind}_{o}": 2 * kind[0] for kind in ("int", "bool") for o in ORDERS},
    **{f"int_lin_{o}": "CIc" for o in ORDERS},
    **{f"bool_lin_{o}": "CBi" for o in ORDERS},
    **{f"int_{n}": "iii" for n in ("plus", "minus", "times", "div", "mod", "max", "min", "pow")},
    "int_abs": "ii", "bool2int": "bi", "bool_not": "bb", "bool_and": "bbb", "bool_or": "bbb", "bool_xor": "bbb",
    "bool_clause": "BB", "array_bool_and": "Bb", "array_bool_or": "Bb", "array_bool_xor": "B",
    "array_int_maximum": "iI", "array_int_minimum": "iI",
    "array_int_element": "iCi", "array_var_int_element": "iIi", "array_bool_element": "iDb",
    "array_var_bool_element": "iBb", "array_set_element": "iTs", "array_var_set_element": "iSs",
    "set_in": "is", "set_card": "si",
    **dict.fromkeys(["set_eq", "set_ne", "set_subset", "set_superset", "set_le", "set_lt"], "ss"),
    **dict.fromkeys(["set_union", "set_intersect", "set_diff", "set_symdiff"], "sss"),
    **dict.fromkeys(["all_different_int", "all_equal_int", "increasing_int", "decreasing_int"], "I"),
    "fzn_alldifferent_except": "It", "fzn_among": "iIt", "fzn_nvalue": "iI",
    **{f"fzn_{n}_int": "I" for n in ("all_different", "all_equal", "increasing", "decreasing")},
    **{f"fzn_strictly_{n}_int": "I" for n in ("increasing", "decreasing")},
    **{f"fzn_{n}_bool": "B" for n in ("increasing", "decreasing")},
    **{f"fzn_count_{o}": "Iii" for o in ("eq", "neq", "leq", "lt", "geq", "gt")},
    **{f"fzn_lex_{n}_{k}": 2 * k[0].upper() for n in ("less", "lesseq") for k in ("int", "bool")},
    "fzn_member_int": "Ii", "fzn_member_bool": "Bb", "fzn_knapsack": "PPIii",
    "fzn_disjunctive": "IP", "fzn_disjunctive_strict": "IP", "fzn_cumulative": "IPPi", "fzn_diffn": "IIPP",
    "fzn_diffn_nonstrict": "IIPP", "fzn_bin_packing": "cIP", "fzn_value_precede_int": "ccI",
}  # fmt: skip
"""Kinds of arguments: i, b, s a variable or constant, I, B, S three; c, t constants, C, D, T three; P three from 0."""


class Draw:
    """Random arguments over few variables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.flat = Flat()

    def variable(self, kind: str) -> Var:
        name = f"{kind}{self.random.randrange(3 if kind != 'set' else 2)}"
        if name not in self.flat.variables:
            self.flat.variables[name] = (kind, self._values(kind))
        return Var(name)

    def _values(self, kind: str) -> list[Any]:
        if kind == "bool":
            return [False, True]
        if kind == "int":
            low = self.random.randint(-2, 2)
            return sorted(self.random.sample(range(low, low + 5), self.random.randint(1, 4)))
        members = self.random.sample(range(0, 4), self.random.randint(1, 2))
        return [frozenset(c) for n in range(len(members) + 1) for c in itertools.combinations(members, n)]

    def constant(self, kind: str) -> Any:
        if kind == "int":
            return self.random.randint(-2, 4)
        return self.random.random() < 0.5 if kind == "bool" else frozenset(self.random.sample(range(4), 2))

    def argument(self, letter: str) -> Any:
        kind = {"i": "int", "b": "bool", "s": "set", "c": "int", "d": "bool", "t": "set", "p": "int"}[letter.lower()]
        if letter.isupper():
            return [self.argument(letter.lower()) for _ in range(3)]
        if letter == "p":
            return self.random.randint(0, 2)
        return self.variable(kind) if letter in "ibs" and self.random.random() < 0.8 else self.constant(kind)

    def first(self) -> int:
        """Where an index set begins."""
        return self.random.randint(0, 2)

    def post(self, predicate: str, form: str = "") -> None:
        arguments = (
            SPECIAL[predicate](self) if predicate in SPECIAL else list(map(self.argument, SIGNATURES[predicate]))
        )
        if form:
            arguments.append(self.argument("b"))
        self.flat.constraints.append((predicate + form, arguments, ""))


def _table(kind: str) -> Any:
    return lambda d: [
        [d.argument(kind) for _ in range(2)],
        [d.constant({"i": "int", "b": "bool"}[kind]) for _ in range(6)],
    ]


def _counts(d: Draw) -> list[Any]:
    return [d.argument("I"), d.random.sample(range(-2, 5), 2), [d.argument("i"), d.argument("i")]]


def _ranges(d: Draw) -> list[Any]:
    return [d.argument("I"), d.random.sample(range(-2, 5), 2), [0, 1], [d.random.randint(0, 2), 2]]


def _choice(letter: str) -> Any:
    return lambda d: [
        [d.argument("b"), d.argument("b"), True],
        d.argument(letter.upper()),
        d.argument({"d": "b", "c": "i"}.get(letter, letter)),
    ]


SPECIAL: dict[str, Any] = {
    "anycsp_table_int": _table("i"),
    "anycsp_table_bool": _table("b"),
    "anycsp_regular": lambda d: [
        d.argument("I"), 2, 3, [d.random.randint(0, 2) for _ in range(6)], 1, frozenset(d.random.sample([1, 2], 1))
    ],
    "fzn_global_cardinality": _counts,
    "fzn_global_cardinality_closed": _counts,
    "fzn_global_cardinality_low_up": _ranges,
    "fzn_global_cardinality_low_up_closed": _ranges,
    "anycsp_circuit": lambda d: [d.first(), d.argument("I")],
    "anycsp_subcircuit": lambda d: [d.first(), d.argument("I")],
    "anycsp_inverse": lambda d: [d.first(), d.argument("I")[:2], d.first(), d.argument("I")[:2]],
    "anycsp_bin_packing_load": lambda d: [d.first(), d.argument("I")[:2], d.argument("I"), d.argument("P")],
    "anycsp_bin_packing_capa": lambda d: [d.first(), d.argument("P")[:2], d.argument("I"), d.argument("P")],
    "fzn_value_precede_chain_int": lambda d: [d.random.sample(range(-2, 4), 3), d.argument("I")],
    "fzn_if_then_else_int": _choice("c"),
    "fzn_if_then_else_bool": _choice("d"),
    "fzn_if_then_else_var_int": _choice("i"),
    "fzn_if_then_else_var_bool": _choice("b"),
}  # fmt: skip
KNOWN = sorted(name for name in MEANING if name in SIGNATURES or name in SPECIAL)
FORMS = sorted(
    [(name, "") for name in KNOWN]
    + [(name, form) for name in KNOWN for form in ("_reif", "_imp") if name in TRUTHS or name in GLOBAL_TRUTHS]
)


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
        draw = Draw(seed)
        draw.post(predicate, form)
        assert solutions(flatzinc(draw.flat.text())) == expected(draw.flat), draw.flat.text()


def random_model(seed: int) -> Flat:
    """A few constraints, some over one result that they are said to define, and perhaps an objective."""
    draw = Draw(seed)
    for _ in range(draw.random.randint(1, 4)):
        draw.post(*draw.random.choice(FORMS))
    if draw.random.random() < 0.6:
        terms = [draw.variable("int") for _ in range(2)]
        values = [sum(c) for c in itertools.product(*(draw.flat.variables[x][1] for x in terms))]
        draw.flat.variables["cost"] = ("int", list(range(min(values), max(values) + 1)))
        draw.flat.constraints.append(("int_lin_eq", [[1, 1, -1], [*terms, Var("cost")], 0], "cost"))
        draw.flat.goal = (draw.random.choice(["minimize", "maximize"]), "cost")
    return draw.flat


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_exact_search_agrees_on_random_models(seed: int) -> None:
    agrees_on(random_model(seed))


@pytest.mark.slow
def test_exact_search_agrees_on_200_random_models() -> None:
    for seed in range(10**7, 10**7 + 200):
        agrees_on(random_model(seed))


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
