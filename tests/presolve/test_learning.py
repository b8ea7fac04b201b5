"""What the tree learns from its failures, held against enumeration: every clause holds in every solution, and searching
with them finds a solution exactly where there is one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from families import FAMILIES, Family, is_circuit
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anycsp import Problem, native
from anycsp.graph import compile_graph
from anycsp.model.expressions import circuit, element, maximum, minimum, operation
from anycsp.presolve.network import tree_search

pytestmark = pytest.mark.skipif(not native.available(), reason="propagation is compiled")

VARIABLES, VALUES = 6, 4
Kind = Callable[[Problem, np.random.Generator], np.ndarray]
"""Adds a constraint, and says which assignments of GRID satisfy it."""
GRID = np.array(list(product(range(VALUES), repeat=VARIABLES)))
"""[assignments, variables]"""


def all_different(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    scope = rng.permutation(VARIABLES)[: int(rng.integers(3, 5))]
    problem.add_all_different(scope.tolist())
    return np.all([GRID[:, a] != GRID[:, b] for a in scope for b in scope if a < b], axis=0)


def linear(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    factors, at = rng.integers(-2, 3, VARIABLES), rng.integers(VALUES, size=VARIABLES)
    operator, bound = str(rng.choice(["<=", ">=", "==", "!="])), int(factors @ at)
    problem.add_linear(list(range(VARIABLES)), factors.tolist(), operator, bound)
    left = GRID @ factors
    return {"<=": left <= bound, ">=": left >= bound, "==": left == bound, "!=": left != bound}[operator]


def pair(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """a·x + b·y = c, which has a propagator of its own."""
    scope, (a, b) = rng.permutation(VARIABLES)[:2], rng.choice([-2, -1, 1, 2], 2)
    bound = int(a * rng.integers(VALUES) + b * rng.integers(VALUES))
    problem.add_linear(scope.tolist(), [int(a), int(b)], "==", bound)
    return a * GRID[:, scope[0]] + b * GRID[:, scope[1]] == bound


def table(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    arity = int(rng.integers(2, 5))
    scope = rng.permutation(VARIABLES)[:arity]
    holds = rng.random((VALUES,) * arity) < 0.55
    tuples, allowed = np.argwhere(holds), bool(rng.integers(2))
    problem.add_table(scope.tolist(), tuples.tolist(), allowed=allowed)
    return holds[tuple(GRID[:, x] for x in scope)] == allowed


def unequal(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    scope = rng.permutation(VARIABLES)[:2]
    problem.add_table(scope.tolist(), [(v, v) for v in range(VALUES)], allowed=False)
    return GRID[:, scope[0]] != GRID[:, scope[1]]


def extremum(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    scope, least = rng.permutation(VARIABLES)[: int(rng.integers(3, 5))].tolist(), bool(rng.integers(2))
    *listed, result = (problem.variables[x] for x in scope)
    shift, name = int(rng.integers(-1, 2)), str(rng.choice(["eq", "le", "ge", "lt", "gt"]))
    problem.add(operation(name, minimum(listed) if least else maximum(listed), result + shift))
    left = GRID[:, scope[:-1]].min(axis=1) if least else GRID[:, scope[:-1]].max(axis=1)
    return np.asarray(getattr(np, NUMPY[name])(left, GRID[:, scope[-1]] + shift))


def element_of(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """items[index + shift] == result; with a shift the index is an expression."""
    index, result, *items = rng.permutation(VARIABLES).tolist()
    shift = int(rng.integers(-1, 2))
    xs = problem.variables
    problem.add(element([xs[i] for i in items], xs[index] + shift if shift else xs[index]) == xs[result])
    at = GRID[:, index] + shift
    inside = (at >= 0) & (at < len(items))
    return inside & (GRID[np.arange(len(GRID)), np.array(items)[at.clip(0, len(items) - 1)]] == GRID[:, result])


def rule(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """|a − b| · c compared with d, or an implication between comparisons."""
    a, b, c, d = rng.permutation(VARIABLES)[:4].tolist()
    xs = problem.variables
    name = str(rng.choice(["eq", "ne", "le", "gt"]))
    compare = getattr(np, NUMPY[name])
    if rng.integers(2):
        problem.add(operation(name, abs(xs[a] - xs[b]) * xs[c], xs[d]))
        return np.asarray(compare(abs(GRID[:, a] - GRID[:, b]) * GRID[:, c], GRID[:, d]))
    problem.add(operation("imp", operation(name, xs[a], xs[b]), xs[c] + xs[d] >= 4))
    return ~compare(GRID[:, a], GRID[:, b]) | (GRID[:, c] + GRID[:, d] >= 4)


def circuits(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Four nodes, some of which may stay out."""
    scope = rng.permutation(VARIABLES)[:VALUES].tolist()
    problem.add(circuit([problem.variables[x] for x in scope]))
    return np.array([is_circuit(row) for row in GRID[:, scope].tolist()])


NUMPY = {"eq": "equal", "ne": "not_equal", "le": "less_equal", "ge": "greater_equal", "lt": "less", "gt": "greater"}
KINDS = [
    (all_different, unequal), (linear, pair), (table,), (all_different, linear, table), (extremum, linear),
    (element_of, unequal), (rule,), (circuits, linear, unequal), (rule, element_of, extremum, linear),
]  # fmt: skip


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "-".join(kind.__name__ for kind in kinds))
@settings(max_examples=30)
@given(seed=st.integers(0, 1 << 30))
def test_what_is_learnt_holds_in_every_solution(kinds: tuple[Kind, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(VARIABLES):
        problem.add_variable(range(VALUES))
    holds = np.ones(len(GRID), dtype=bool)
    while holds.sum() > rng.integers(6):
        holds &= kinds[rng.integers(len(kinds))](problem, rng)
    tree = tree_search(compile_graph(problem), seed=seed)
    tree.set_learning(True)
    tree.advance(1 << 30, 1e9)
    assert tree.exhausted
    assert (tree.solutions > 0) == holds.any()
    if tree.solutions:
        assert problem.violation_of_positions(tree.solution()).violated == 0
    for clause in tree.learnt():
        literals = np.array(clause)
        vertex = np.where(literals < 0, ~literals, literals)
        there = GRID[holds][:, vertex // VALUES] == vertex % VALUES
        assert (there == (literals < 0)).any(axis=1).all()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 30))
def test_each_family_is_decided_while_learning(family: Family, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(4):
        problem.add_variable(rng.choice(np.arange(-3, 5), 3, replace=False).tolist())
    for _ in range(int(rng.integers(1, 5))):
        family(problem, rng, {})
    graph = compile_graph(problem)
    assume(graph.constant[0, 0] == 0)  # constraints without variables are no part of the graph
    learning, plain = tree_search(graph, seed=seed), tree_search(graph, seed=seed)
    learning.set_learning(True)
    plain.set_learning(False)
    for tree in (learning, plain):
        tree.advance(1 << 30, 1e9)
        assert tree.exhausted
    assert (learning.solutions > 0) == (plain.solutions > 0)
    if learning.solutions:
        assert problem.violation_of_positions(learning.solution()).violated == 0


def test_learning_refutes_what_plain_branching_takes_long_for() -> None:
    """Three colours do not suffice for a random graph of mean degree 5.5; most decisions have no part in a failure."""
    rng = np.random.default_rng(1)
    problem = Problem()
    for _ in range(40):
        problem.add_variable(range(3))
    edges = {tuple(sorted(rng.choice(40, 2, replace=False).tolist())) for _ in range(110)}
    for a, b in sorted(edges):
        problem.add_table([a, b], [(0, 0), (1, 1), (2, 2)], allowed=False)
    graph = compile_graph(problem)
    failures = []
    for wanted in (True, False):
        tree = tree_search(graph)
        tree.set_learning(wanted)
        tree.advance(1 << 30, 1e9)
        assert tree.exhausted
        assert tree.solutions == 0
        failures.append(tree.failures)
    assert failures[0] < failures[1]
