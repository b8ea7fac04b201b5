"""Global constraints hold exactly where their definition says, whatever families they become."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from families import COMPARE, draw_operator, is_circuit
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import ExpressionError, Problem, ProblemError, solve
from anycsp.errors import TooLargeError
from anycsp.model.expressions import Variable, element, operation

Predicate = Callable[[Sequence[int]], bool]
Draw = Callable[[Problem, list[Variable], np.random.Generator], Predicate]


def count(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    values, op = rng.integers(-2, 3, int(rng.integers(1, 3))).tolist(), draw_operator(rng)
    if rng.integers(2):
        problem.add_count(xs[:-1], values, op, xs[-1])
        return lambda v: COMPARE[op](sum(x in values for x in v[:-1]), v[-1])
    problem.add_count(xs, values, op, 2)
    return lambda v: COMPARE[op](sum(x in values for x in v), 2)


def count_variable_value(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    problem.add_count(xs[1:], [xs[0]], ">=", 1)
    return lambda v: v[0] in v[1:]


def cardinality(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    closed = bool(rng.integers(2))
    problem.add_cardinality(xs[1:], [0, 1, 2], [xs[0], range(0, 2), 1], closed=closed)
    return lambda v: (
        v[1:].count(0) == v[0]
        and v[1:].count(1) <= 1
        and v[1:].count(2) == 1
        and (not closed or all(x in (0, 1, 2) for x in v[1:]))
    )


def distinct_except(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    op, form = draw_operator(rng), rng.integers(4)
    if form == 0:
        problem.add_distinct(xs, op, 2, except_values=[0])
        return lambda v: COMPARE[op](len(set(v) - {0}), 2)
    if form == 1:
        problem.add_distinct([x + 1 for x in xs], op, 2, except_values=[0, 9])
        return lambda v: COMPARE[op](len({x + 1 for x in v} - {0}), 2)
    scope = xs if form == 2 else xs[1:]  # the bound may be one of those counted
    problem.add_distinct(scope, op, xs[0], except_values=[0])
    return lambda v: COMPARE[op](len(set(v[len(v) - len(scope) :]) - {0}), v[0])


def all_equal(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    problem.add_all_equal(xs)
    return lambda v: len(set(v)) == 1


def not_all_equal(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    problem.add_not_all_equal(xs)
    return lambda v: len(set(v)) > 1


def knapsack(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    w, p = rng.integers(0, 4, len(xs)).tolist(), rng.integers(0, 4, len(xs)).tolist()
    problem.add_knapsack(xs, w, ("<=", 4), p, (">=", 1))
    return lambda v: sum(np.multiply(w, v)) <= 4 and sum(np.multiply(p, v)) >= 1


def bin_packing(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    sizes = rng.integers(1, 4, len(xs) - 1).tolist()
    problem.add_bin_packing(xs[1:], sizes, [(0, "<=", 3), (1, "==", xs[0])])

    def load(v: Sequence[int], b: int) -> int:
        return sum(s for s, x in zip(sizes, v[1:], strict=True) if x == b)

    return lambda v: load(v, 0) <= 3 and load(v, 1) == v[0]


def extremes(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    op = draw_operator(rng)
    if rng.integers(2):
        problem.add_maximum(xs[1:], op, xs[0])
        return lambda v: COMPARE[op](max(v[1:]), v[0])
    problem.add_minimum(xs[1:], op, xs[0])
    return lambda v: COMPARE[op](min(v[1:]), v[0])


def element_variable(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    op = draw_operator(rng)
    problem.add_element(xs[2:], xs[0], op, xs[1])
    return lambda v: 0 <= v[0] < len(v) - 2 and COMPARE[op](v[2 + v[0]], v[1])


def element_constant(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    items = rng.integers(-2, 3, 3).tolist()
    problem.add_element(items, xs[0], "==", xs[1])
    return lambda v: 0 <= v[0] < 3 and items[v[0]] == v[1]


def ordered(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    op = str(rng.choice(["<", "<=", ">", ">="]))
    lengths = rng.integers(0, 2, len(xs)).tolist()
    problem.add_ordered(xs, op, lengths)
    return lambda v: all(COMPARE[op](v[k] + lengths[k], v[k + 1]) for k in range(len(v) - 1))


def lexicographic(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    op, half = str(rng.choice(["<", "<=", ">", ">="])), len(xs) // 2
    problem.add_lexicographic([xs[:half], xs[half : 2 * half]], op)
    return lambda v: COMPARE[op](list(v[:half]), list(v[half : 2 * half]))


def all_different_lists(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    half = len(xs) // 2
    problem.add_all_different_lists([xs[:half], xs[half : 2 * half]])
    return lambda v: list(v[:half]) != list(v[half : 2 * half])


def precedence(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    covered = bool(rng.integers(2))
    problem.add_precedence(xs, [0, 1, 2], covered=covered)

    def first(v: Sequence[int], value: int) -> int:
        return list(v).index(value) if value in v else 99

    def holds(v: Sequence[int]) -> bool:
        order = all(b == 99 or a < b for a, b in ((first(v, 0), first(v, 1)), (first(v, 1), first(v, 2))))
        return order and (not covered or 2 in v)

    return holds


def channel(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    half = len(xs) // 2
    first, second = xs[:half], xs[half : 2 * half]
    problem.add_channel(first, second)
    return lambda v: (
        all(0 <= v[i] < half for i in range(half))
        and all((v[i] == j) == (v[half + j] == i) for i in range(half) for j in range(half))
    )


def channel_value(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    problem.add_channel_value(xs[1:], xs[0])
    return lambda v: 0 <= v[0] < len(v) - 1 and all((x == 1) == (v[0] == i) for i, x in enumerate(v[1:]))


def circuit(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    sized = bool(rng.integers(2))
    problem.add_circuit(xs, size=3 if sized else None, self_loops=True)
    return lambda v: is_circuit(v) and (not sized or sum(i != s for i, s in enumerate(v)) == 3)


def instantiation(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    problem.add_instantiation(xs[:2], [1, 0])
    return lambda v: tuple(v[:2]) == (1, 0)


def no_overlap(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    lengths = rng.integers(0, 3, len(xs)).tolist()
    problem.add_no_overlap(xs, lengths)

    def apart(v: Sequence[int], i: int, j: int) -> bool:
        return 0 in (lengths[i], lengths[j]) or v[i] + lengths[i] <= v[j] or v[j] + lengths[j] <= v[i]

    return lambda v: all(apart(v, i, j) for i, j in itertools.combinations(range(len(v)), 2))


def no_overlap_boxes(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    sizes = rng.integers(1, 3, (2, 2)).tolist()
    problem.add_no_overlap([xs[:2], xs[2:4]], sizes)

    def cells(v: Sequence[int], box: int) -> set[tuple[int, int]]:
        x, y = v[2 * box], v[2 * box + 1]
        return {(x + i, y + j) for i in range(sizes[box][0]) for j in range(sizes[box][1])}

    return lambda v: not cells(v, 0) & cells(v, 1)


def cumulative(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    lengths, heights = rng.integers(0, 4, len(xs)).tolist(), rng.integers(1, 3, len(xs)).tolist()
    limit: Any = 3
    form = rng.integers(3)  # expressions take another path
    given_heights = [h + 0 * xs[0] for h in heights] if form == 1 else heights
    given_lengths = [l + 0 * xs[0] for l in lengths] if form == 2 else lengths
    shared = bool(rng.integers(4) == 0)  # two tasks that start together
    origins = [xs[0], xs[0], *xs[2:]] if shared else xs
    problem.add_cumulative(origins, given_lengths, given_heights, "<=", limit)

    def load(v: Sequence[int], t: int) -> int:
        starts = [v[0], v[0], *v[2:]] if shared else v
        return sum(h for x, l, h in zip(starts, lengths, heights, strict=True) if x <= t < x + l)

    return lambda v: all(load(v, t) <= limit for t in range(-5, 12))


def regular(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    states = "abc"
    transitions = [
        (str(rng.choice(list(states))), int(rng.integers(-1, 3)), str(rng.choice(list(states)))) for _ in range(9)
    ]
    problem.add_regular(xs, transitions, "a", ["b", "c"])

    def accepts(v: Sequence[int]) -> bool:
        now = {"a"}
        for value in v:
            now = {t for s, w, t in transitions if s in now and w == value}
        return bool(now & {"b", "c"})

    return accepts


def mdd(problem: Problem, xs: list[Variable], rng: np.random.Generator) -> Predicate:
    layers = [["r"], *[[f"n{k}{i}" for i in range(2)] for k in range(len(xs) - 1)], ["t"]]
    arcs = [
        (a, value, str(rng.choice(layers[k + 1])))
        for k in range(len(xs))
        for a in layers[k]
        for value in range(-2, 3)
        if k == 0 or rng.integers(2)
    ]
    used = {"r"} | {b for _, _, b in arcs}
    arcs = [arc for arc in arcs if arc[0] in used]
    dead = {b for _, _, b in arcs} - {a for a, _, _ in arcs} - {"t"}
    arcs = [arc for arc in arcs if arc[2] not in dead]
    step = {(a, value): b for a, value, b in arcs}
    roots = {a for a, _, _ in arcs} - {b for _, _, b in arcs}
    if roots != {"r"} or not any(b == "t" for _, _, b in arcs):
        with pytest.raises(ProblemError):
            problem.add_mdd(xs, [("p", 0, "t"), ("q", 0, "t")])
        return lambda v: True
    problem.add_mdd(xs, arcs)

    def path(v: Sequence[int]) -> bool:
        at: str | None = "r"
        for value in v:
            at = step.get((at, value)) if at is not None else None
        return at is not None

    return path


GLOBALS: list[Draw] = [
    count, count_variable_value, cardinality, distinct_except, all_equal, not_all_equal, knapsack, bin_packing,
    extremes, element_variable, element_constant, ordered, lexicographic, all_different_lists, precedence, channel,
    channel_value, circuit, instantiation, no_overlap, no_overlap_boxes, cumulative, regular, mdd,
]  # fmt: skip


@pytest.mark.parametrize("draw", GLOBALS, ids=lambda f: f.__name__)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_holds_exactly_where_defined(draw: Draw, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    xs = [
        problem.add_variable(sorted(rng.choice(np.arange(-1, 4), int(rng.integers(2, 5)), replace=False).tolist()))
        for _ in range(4)
    ]
    holds = draw(problem, xs, rng)
    everything = list(itertools.product(*(problem.domain(x).values.tolist() for x in xs)))
    for k in rng.choice(len(everything), min(40, len(everything)), replace=False):
        values = everything[k]
        assert (problem.violation(values).violated == 0) == bool(holds(values)), (
            values,
            list(problem.describe_constraints()),
        )


def test_answers_omit_auxiliary_variables() -> None:
    problem = Problem()
    xs = problem.add_variables(3, range(3))
    problem.add_regular(xs, [("a", 0, "a"), ("a", 1, "b"), ("b", 2, "b")], "a", ["b"])
    assert problem.num_variables == 5
    positions = problem.positions({"x0": 0, "x1": 1, "x2": 2})
    assert problem.violation_of_positions(positions).violated == 0
    assert problem.assignment(positions) == {"x0": 0, "x1": 1, "x2": 2}
    assert problem.violation([0, 1, 0]).violated > 0


def test_product_of_three_is_one_line() -> None:
    problem = Problem()
    x, y, z = problem.add_variables(3, range(10))
    problem.add_rule([x, y, z], lambda x, y, z: x * y == z)
    problem.add(x * y == z)
    assert problem.violation([3, 3, 9]).violated == 0
    assert problem.violation([3, 3, 8]).violated == 2
    assert len({id(relation) for relation in problem.relations.values()}) == 1, "equal rules share one table"


def test_a_rule_that_branches_is_called_on_values() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(300))
    problem.add_rule([x, y], lambda x, y: x == 3 or y == 4)
    assert [b.kind for b in problem.blocks] == ["external"]
    assert problem.violation([3, 0]).violated == 0
    assert problem.violation([0, 4]).violated == 0
    assert problem.violation([1, 1]).violated == 1


def test_handles_work_in_containers() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    assert x in {y, x}
    assert y not in {x}
    assert {x: 1, y: 2}[problem.variables[1]] == 2
    assert [x, y].index(x) == 0


def test_results_beyond_64_bits_are_refused() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, [0, 2**40])
    with pytest.raises(ProblemError, match="64-bit"):
        problem.add(x * y == 5)


def test_the_names_of_auxiliary_variables_leave_those_of_users_alone() -> None:
    problem = Problem()
    xs = [problem.add_variable((0, 1), name) for name in ("_0", "b", "_1")]
    problem.add_regular(xs, [(0, 0, 0), (0, 1, 1), (1, 0, 0)], 0, [1])
    assert problem.violation({"_0": 0, "b": 0, "_1": 1}).violated == 0
    assert problem.violation({"_0": 1, "b": 1, "_1": 1}).violated > 0


def test_automata_take_values_that_lie_far_apart() -> None:
    """A list with a cell for every number between would not fit in memory."""
    far = 2**40
    problem = Problem()
    xs = problem.add_variables(3, [-far, 0, far])
    problem.add_regular(xs, [(0, -far, 1), (1, 0, 1), (1, far, 0)], 0, [0])
    accepted = [v for v in itertools.product([-far, 0, far], repeat=3) if problem.violation(v).violated == 0]
    assert accepted == [(-far, 0, far)]


def test_an_auxiliary_variable_may_be_constant_where_it_is_defined() -> None:
    problem = Problem()
    x, y = problem.add_variable(range(4), "x"), problem.add_variable((0, 1), "y")
    problem.define(operation("iff", element([y, 2], x)))  # true, but undefined beyond the list
    assert problem.violation({"x": 1, "y": 0}).violated == 0
    assert problem.violation({"x": 3, "y": 0}).violated == 1


def compared(post: Callable[[Problem, list[Variable]], None]) -> list[int]:
    """How many constraints each assignment violates."""
    problem = Problem()
    post(problem, problem.add_variables(3, 0, 2))
    return [problem.violation(values).violated for values in itertools.product(range(3), repeat=3)]


INTEGERS: list[Callable[[int], Any]] = [np.int64, np.uint8, lambda n: np.bool_(n) if n < 2 else np.int32(n)]
LISTS: list[Callable[[list[Any]], Any]] = [list, tuple, iter, np.array]
WITH_CONSTANTS: dict[str, Callable[[Problem, list[Variable], Any, Any], object]] = {
    "count": lambda p, x, n, many: p.add_count(many(x), many([n(0), n(2)]), "==", n(1)),
    "cardinality": lambda p, x, n, many: p.add_cardinality(
        many(x), many([n(1), n(2)]), many([n(0), n(1)]), closed=True
    ),
    "distinct": lambda p, x, n, many: p.add_distinct(many(x), "==", n(2)),
    "distinct except": lambda p, x, n, many: p.add_distinct(many(x), ">=", n(1), except_values=many([n(0), n(2)])),
    "all equal": lambda p, x, n, many: p.add_all_equal(many(x), except_values=many([n(0)])),
    "ordered": lambda p, x, n, many: p.add_ordered(many(x), "<=", many([n(1), n(0)])),
    "lexicographic": lambda p, x, n, many: p.add_lexicographic([many([x[0], n(1)]), many([x[1], x[2]])]),
    "different lists": lambda p, x, n, many: p.add_all_different_lists(
        [many([x[0], x[1]]), many([x[1], x[2]])], except_lists=[many([n(0), n(0)])]
    ),
    "precedence": lambda p, x, n, many: p.add_precedence(many(x), many([n(1), n(2)]), covered=True),
    "channel": lambda p, x, n, many: p.add_channel(many([x[0], x[1]]), many([x[2], n(1)])),
    "channel value": lambda p, x, n, many: p.add_channel_value(many([x[0], x[1]]), x[2]),
    "circuit": lambda p, x, n, many: p.add_circuit(many(x), n(2), self_loops=True),
    "no overlap": lambda p, x, n, many: p.add_no_overlap(many(x), many([n(1), n(0), n(2)])),
    "no overlap of boxes": lambda p, x, n, many: p.add_no_overlap(
        [many([x[0], x[1]]), many([x[1], x[2]]), many([x[2], x[0]])],
        [many([n(1), n(1)]), many([n(2), n(1)]), many([n(2), n(0)])],
    ),
    "cumulative": lambda p, x, n, many: p.add_cumulative(
        many(x), many([n(2), n(1), n(0)]), many([n(1), n(1), n(2)]), "<=", n(1)
    ),
    "all different": lambda p, x, n, many: p.add_all_different(many(x), except_values=many([n(0), n(1)])),
}


@pytest.mark.parametrize("name", WITH_CONSTANTS)
def test_integers_of_any_type_and_lists_of_any_kind_say_the_same(name: str) -> None:
    post = WITH_CONSTANTS[name]
    expected = compared(lambda p, x: post(p, x, int, list))
    assert len(set(expected)) > 1
    for integer, many in itertools.product(INTEGERS, LISTS):
        assert compared(lambda p, x: post(p, x, integer, many)) == expected, (integer, many)  # noqa: B023


def test_global_constraints_of_odd_integers_are_searched_exactly() -> None:
    pytest.importorskip("ortools")
    problem = Problem()
    x = problem.add_variables(3, 0, 4)
    problem.add_cumulative(x, np.array([2, 2, 1], np.uint8), [np.True_, np.int8(1), np.uint8(1)], "<=", np.True_)
    problem.add_no_overlap([[x[0], x[1]], [x[1], x[2]]], np.array([[1, 2], [2, 1]], np.int8))
    assert solve(problem, search="exact", time_limit=20).status == "satisfied"


def test_cardinality_takes_ranges_with_any_step() -> None:
    def violated(occurs: range) -> list[int]:
        return compared(lambda p, x: p.add_cardinality(x, [1], [occurs]))

    assert violated(range(1, 4, 2)) == [int(v.count(1) not in (1, 3)) for v in itertools.product(range(3), repeat=3)]
    assert violated(range(2, 0, -1)) == violated(range(1, 3))


def test_excepted_values_are_whole_numbers() -> None:
    problem = Problem()
    x = problem.add_variables(3, 0, 2)
    with pytest.raises(ExpressionError, match="whole number"):
        problem.add_distinct(x, "<=", 2, except_values=[x[0]])


def test_a_circuit_over_a_constant_beyond_64_bits_does_not_hold() -> None:
    assert set(compared(lambda p, x: p.add(operation("circuit", x[0], 2**63, x[1]) == 0))) == {0}


@pytest.mark.parametrize(
    "add",
    [
        lambda p, x: p.add_knapsack(x, [1, 2], ("<=", 3), [1, 2, 3], (">=", 1)),
        lambda p, x: p.add_bin_packing(x, [1, 1], [(0, "<=", 2)]),
        lambda p, x: p.add_cardinality(x, [0, 1], [1]),
        lambda p, x: p.add_instantiation(x, [0, 1]),
        lambda p, x: p.add_cumulative(x, [1, 1], [1, 1, 1], "<=", 1),
        lambda p, x: p.add_no_overlap(x, [1, 1]),
        lambda p, x: p.add_no_overlap([x[:2], x[:2]], [[1, 1], [1]]),
        lambda p, x: p.add_ordered(x, "<=", [1]),
        lambda p, x: p.add_all_different_lists([x[:2], x[:3]]),
        lambda p, x: p.add_linear([1, 1], x, "<=", 2),
    ],
)
def test_lists_of_different_lengths_are_refused_by_what_they_hold(add: Callable[[Problem, Any], None]) -> None:
    problem = Problem()
    x = problem.add_variables(3, 0, 2)
    with pytest.raises(ProblemError, match=r"\d|dimensions") as caught:
        add(problem, x)
    assert "zip" not in str(caught.value)
    assert problem.num_constraints == 0


@pytest.mark.parametrize("shape", [10**12, (10**6, 10**6)])
def test_more_variables_than_memory_holds_are_refused_before_any_is_made(shape: Any) -> None:
    problem = Problem()
    with pytest.raises(TooLargeError, match=r"1,000,000,000,000 variables"):
        problem.add_variables(shape, range(2))
    assert problem.num_variables == 0


@pytest.mark.parametrize("bounds", [(0, 10**12), (-(2**63), 2**63 - 1), (0, 10**30)])
def test_a_domain_too_wide_to_have_a_length_is_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ProblemError, match="values, more than"):
        Problem().add_variable(*bounds)
