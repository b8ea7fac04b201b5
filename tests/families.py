"""Random constraints of every family, each beside a plain predicate that says when it holds.

A family is one function: it draws a scope of the problem, adds one constraint through the API under test, and returns
the scope with the predicate on its values. `FAMILIES` is what the conformance suite runs over.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anycsp import Problem
from anycsp.constraints.distinct import DistinctBlock
from anycsp.constraints.external import ExternalBlock
from anycsp.constraints.extremum import ExtremumBlock
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.short_table import ShortRelation, ShortTableBlock
from anycsp.constraints.sum import SumBlock
from anycsp.constraints.table import TableBlock
from anycsp.model.expressions import Variable, circuit, distinct, element, if_else, maximum, minimum, operation

Predicate = Callable[[Sequence[int]], bool]
Drawn = tuple[list[int], Predicate]
Family = Callable[[Problem, np.random.Generator, dict[str, Any]], Drawn]

COMPARE = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


def draw_scope(problem: Problem, rng: np.random.Generator, low: int = 1, high: int = 4) -> list[int]:
    arity = int(rng.integers(low, min(high, problem.num_variables) + 1))
    return rng.choice(problem.num_variables, arity, replace=False).tolist()


def draw_operator(rng: np.random.Generator) -> str:
    return str(rng.choice(list(COMPARE)))


def draw_value(problem: Problem, x: int, rng: np.random.Generator) -> int:
    return int(rng.choice(problem.domain(x).values))


def table_dense(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng)
    rows = [[draw_value(problem, x, rng) for x in scope] for _ in range(rng.integers(0, 8))]
    allowed = bool(rng.integers(2))
    problem.add_table(scope, rows, allowed=allowed, **terms)
    return scope, lambda values: (list(values) in rows) == allowed


def table_repeated(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = rng.choice(problem.num_variables, 3, replace=True).tolist()
    rows = [[draw_value(problem, x, rng) for x in scope] for _ in range(rng.integers(0, 8))]
    allowed = bool(rng.integers(2))
    problem.add_table(scope, rows, allowed=allowed, **terms)
    return scope, lambda values: (list(values) in rows) == allowed


def table_matching(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng, 2, 2)
    shift = int(rng.integers(-2, 3))
    x, y = (problem.variables[i] for i in scope)
    problem.add(x + shift != y, **terms)
    return scope, lambda values: values[0] + shift != values[1]


def table_tuples(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    drawn = table_dense(problem, rng, terms)
    block = problem._blocks.pop()
    assert isinstance(block, TableBlock)
    object.__setattr__(block.relations[0], "layout", "tuples")  # force the layout of large products
    problem._blocks.append(block)
    return drawn


def short_table(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng)
    cells: list[list[Any]] = []
    for _ in range(rng.integers(0, 5)):
        row: list[Any] = []
        for x in scope:
            low = int(rng.integers(-4, 5))
            choices = ["*", range(low, low + 4), {draw_value(problem, x, rng), low}, draw_value(problem, x, rng)]
            row.append(choices[rng.integers(4)])
        cells.append(row)
    allowed = bool(rng.integers(2))
    relation = ShortRelation.of([problem.domain(x) for x in scope], cells, allowed)
    problem.add_block(ShortTableBlock.one(np.array(scope), relation, problem.new_terms(**terms)))

    def in_cell(value: int, cell: Any) -> bool:
        return cell == "*" or (value == cell if isinstance(cell, int) else value in cell)

    return scope, lambda values: any(all(map(in_cell, values, row)) for row in cells) == allowed


def clause(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = rng.choice(
        problem.num_variables, int(rng.integers(1, 5)), replace=bool(rng.integers(2)) or problem.num_variables < 4
    ).tolist()
    forbidden = [draw_value(problem, x, rng) for x in scope]
    positions = np.array([problem.domain(x).position(v) for x, v in zip(scope, forbidden, strict=True)])
    problem.add_nogood(scope, positions, **terms)
    return scope, lambda values: any(v != f for v, f in zip(values, forbidden, strict=True))


def linear(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = rng.choice(problem.num_variables, int(rng.integers(1, 5)), replace=True).tolist()
    coefficients = rng.integers(-3, 4, len(scope)).tolist()
    op, bound = draw_operator(rng), int(rng.integers(-6, 7))
    problem.add_linear(scope, coefficients, op, bound, **terms)
    return scope, lambda values: COMPARE[op](sum(c * v for c, v in zip(coefficients, values, strict=True)), bound)


def all_different(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng)
    excepted = rng.integers(-3, 4, int(rng.integers(0, 3))).tolist()
    problem.add_all_different(scope, except_values=excepted, **terms)

    def holds(values: Sequence[int]) -> bool:
        counted = [v for v in values if v not in excepted]
        return len(set(counted)) == len(counted)

    return scope, holds


def sums(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng)
    tables = [
        dict(zip(problem.domain(x).values.tolist(), rng.integers(-3, 4, len(problem.domain(x))).tolist(), strict=True))
        for x in scope
    ]
    op, bound = draw_operator(rng), int(rng.integers(-5, 6))
    contributions = [np.array(list(t.values()), dtype=np.int64) for t in tables]
    problem.add_block(SumBlock.one(np.array(scope), contributions, op, bound, problem.new_terms(**terms)))
    return scope, lambda values: COMPARE[op](sum(t[v] for t, v in zip(tables, values, strict=True)), bound)


def extremum(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng, 2)
    tables = [
        dict(zip(problem.domain(x).values.tolist(), rng.integers(-3, 4, len(problem.domain(x))).tolist(), strict=True))
        for x in scope
    ]
    op, bound, result = draw_operator(rng), int(rng.integers(-4, 5)), bool(rng.integers(2))
    by_slot = [np.array(list(t.values()), dtype=np.int64) for t in tables]
    problem.add_block(ExtremumBlock.one(np.array(scope), by_slot, op, bound, result, problem.new_terms(**terms)))

    def holds(values: Sequence[int]) -> bool:
        mapped = [t[v] for t, v in zip(tables, values, strict=True)]
        return COMPARE[op](max(mapped[:-1]), bound + mapped[-1]) if result else COMPARE[op](max(mapped), bound)

    return scope, holds


def distinct_values(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng, 2)
    op, result = draw_operator(rng), bool(rng.integers(2))
    bound = int(rng.integers(-1, 2)) if result else int(rng.integers(0, 4))
    excepted = rng.integers(-3, 4, int(rng.integers(0, 3))).tolist()
    indices = np.array(scope[:-1] if result else scope)
    target = scope[-1] if result else None
    problem.add_block(DistinctBlock.one(indices, excepted, op, bound, target, problem.new_terms(**terms)))

    def holds(values: Sequence[int]) -> bool:
        counted = set(values[:-1] if result else values) - set(excepted)
        return COMPARE[op](len(counted), bound + (values[-1] if result else 0))

    return scope, holds


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class Undefined(Exception):
    pass


def plain(tree: Any, values: dict[int, int]) -> int:
    """The reference evaluator of expressions: one number at a time, Python's own arithmetic."""
    if isinstance(tree, Variable):
        return values[tree.index]
    if not hasattr(tree, "operator"):
        return int(tree)
    a = [plain(operand, values) for operand in tree.operands]
    if tree.operator in ("div", "mod", "floordiv", "floormod") and a[1] == 0:
        raise Undefined
    if tree.operator == "pow" and a[1] < 0:
        raise Undefined
    if tree.operator == "element" and not 0 <= a[0] < len(a) - 1:
        raise Undefined
    return int(
        {
            "neg": lambda: -a[0], "abs": lambda: abs(a[0]), "add": lambda: sum(a), "sub": lambda: a[0] - a[1],
            "mul": lambda: int(np.prod(a)), "div": lambda: truncated(a[0], a[1]),
            "mod": lambda: a[0] - a[1] * truncated(a[0], a[1]), "floordiv": lambda: a[0] // a[1],
            "floormod": lambda: a[0] % a[1], "sqr": lambda: a[0] ** 2, "pow": lambda: a[0] ** a[1],
            "min": lambda: min(a), "max": lambda: max(a), "dist": lambda: abs(a[0] - a[1]), "lt": lambda: a[0] < a[1],
            "le": lambda: a[0] <= a[1], "ge": lambda: a[0] >= a[1], "gt": lambda: a[0] > a[1],
            "eq": lambda: len(set(a)) == 1, "ne": lambda: a[0] != a[1], "in": lambda: a[0] in a[1:],
            "not": lambda: not a[0], "and": lambda: all(a), "or": lambda: any(a),
            "xor": lambda: sum(map(bool, a)) % 2, "iff": lambda: len(set(map(bool, a))) == 1,
            "imp": lambda: not a[0] or bool(a[1]), "if": lambda: a[1] if a[0] else a[2],
            "element": lambda: a[1 + a[0]], "distinct": lambda: len(set(a)), "circuit": lambda: is_circuit(a),
        }[tree.operator]()
    )  # fmt: skip


def is_circuit(successors: Sequence[int]) -> bool:
    if not all(0 <= s < len(successors) for s in successors):
        return False
    active = [i for i, s in enumerate(successors) if i != s]
    if len(active) < 2:
        return False
    seen, at = [active[0]], successors[active[0]]
    while at not in seen:
        seen.append(at)
        at = successors[at]
    return at == active[0] and sorted(seen) == active


def draw_expression(scope: Sequence[Variable], rng: np.random.Generator, depth: int) -> Any:
    if depth == 0 or rng.integers(6) == 0:
        return scope[rng.integers(len(scope))] if rng.integers(3) else int(rng.integers(-3, 4))

    def sub() -> Any:
        return draw_expression(scope, rng, depth - 1)

    shape = rng.integers(6)
    if shape == 0:
        return operation(str(rng.choice(["neg", "abs", "sqr", "not"])), sub())
    if shape == 1:
        binary = ["sub", "div", "mod", "floordiv", "floormod", "dist", "lt", "le", "ge", "gt", "ne", "imp"]
        return operation(str(rng.choice(binary)), sub(), sub())
    if shape == 2:
        several = ["add", "mul", "min", "max", "eq", "and", "or", "xor", "iff", "distinct"]
        return operation(str(rng.choice(several)), *(sub() for _ in range(rng.integers(1, 4))))
    if shape == 3:
        return operation("in", sub(), *rng.integers(-3, 4, 2).tolist())
    if shape == 4:
        return if_else(sub(), sub(), sub())
    return (
        element([sub() for _ in range(3)], sub())
        if rng.integers(2)
        else operation("pow", sub(), int(rng.integers(-1, 3)))
    )


def _expression(problem: Problem, rng: np.random.Generator) -> tuple[Any, list[int], Predicate]:
    scope = draw_scope(problem, rng, 1, 3)
    tree = draw_expression([problem.variables[x] for x in scope], rng, 3)
    if not hasattr(tree, "operator"):
        tree = operation("ge", tree, 0)

    def holds(values: Sequence[int]) -> bool:
        try:
            return bool(plain(tree, dict(zip(scope, values, strict=True))))
        except Undefined:
            return False

    return tree, scope, holds


def rule(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    tree, scope, holds = _expression(problem, rng)
    problem.add_block(RuleBlock.one(tree, problem.new_terms(**terms)))
    return scope, holds


def posted(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    """An expression through `add`, whichever family that picks."""
    tree, scope, holds = _expression(problem, rng)
    problem.add(tree, **terms)
    return scope, holds


def posted_comparison(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    """Comparisons of the shapes `add` recognises."""
    scope = draw_scope(problem, rng, 2)
    xs = [problem.variables[x] for x in scope]
    op = str(rng.choice(["lt", "le", "ge", "gt", "eq", "ne"]))
    target: Any = xs[-1] if rng.integers(2) else int(rng.integers(-4, 5))
    left = [
        lambda: maximum(xs[:-1]),
        lambda: minimum([abs(x) for x in xs[:-1]]),
        lambda: distinct(xs[:-1]),
        lambda: operation("add", *(operation("mul", x, int(rng.integers(-2, 3))) for x in xs[:-1])),
        lambda: operation("add", *(operation("in", x, 1, 2) for x in xs)),
        lambda: operation("add", *(x * x for x in xs[:-1])),
    ][rng.integers(6)]()
    tree = operation(op, left, target) if rng.integers(2) else operation(op, target, left)
    if rng.integers(4) == 0:
        tree = ~tree
    problem.add(tree, **terms)
    return scope, lambda values: bool(plain(tree, dict(zip(scope, values, strict=True))))


def posted_disjunction(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng, 2)
    atoms = []
    for x in scope:
        op = str(rng.choice(["eq", "ne", "le", "gt"]))
        atoms.append(operation(op, problem.variables[x], draw_value(problem, x, rng)))
    tree = operation(str(rng.choice(["or", "and"])), *atoms)
    if rng.integers(3) == 0:
        tree = ~tree
    problem.add(tree, **terms)
    return scope, lambda values: bool(plain(tree, dict(zip(scope, values, strict=True))))


def circuits(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng, 2)
    shift = int(rng.integers(0, 4))
    tree = circuit([problem.variables[x] + shift for x in scope])
    problem.add_block(RuleBlock.one(tree, problem.new_terms(**terms)))
    return scope, lambda values: is_circuit([v + shift for v in values])


def external(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    scope = draw_scope(problem, rng)
    bound, branches = int(rng.integers(-3, 4)), bool(rng.integers(2))

    def by_value(*values: int) -> bool:
        return sum(values) > bound if values[0] > 0 else values[-1] % 2 == 0

    def by_array(*values: np.ndarray) -> np.ndarray:
        return np.where(values[0] > 0, sum(values) > bound, values[-1] % 2 == 0)

    function: Any = np.vectorize(by_value) if branches else by_array
    problem.add_block(ExternalBlock.one(np.array(scope), function, problem.new_terms(**terms)))
    return scope, lambda values: by_value(*values)


FAMILIES: list[Family] = [
    table_dense,
    table_repeated,
    table_matching,
    table_tuples,
    short_table,
    clause,
    linear,
    all_different,
    sums,
    extremum,
    distinct_values,
    rule,
    circuits,
    external,
    posted,
    posted_comparison,
    posted_disjunction,
]
