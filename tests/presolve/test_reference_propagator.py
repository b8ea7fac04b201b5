"""Compiled propagation against the plain one of `reference_propagator`: it removes all that was promised, finds every
wipe-out that the reference finds, and removes no value of a solution."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from families import FAMILIES, Drawn, Family
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_propagator import PROMISES, Constraint, Domains, fixpoint

from anycsp import Problem, native
from anycsp.constraints.rule import RuleBlock
from anycsp.graph import compile_graph
from anycsp.model.expressions import element
from anycsp.presolve.network import propagation_network

pytestmark = pytest.mark.skipif(not native.available(), reason="propagation is compiled")


def elements(problem: Problem, rng: np.random.Generator, terms: dict[str, Any]) -> Drawn:
    """items[index] == result over five variables, so that most are still open."""
    while problem.num_variables < 5:
        problem.add_variable(range(int(rng.integers(-1, 1)), int(rng.integers(1, 4))))
    scope = rng.permutation(problem.num_variables)[:5].tolist()
    index, *items, result = (problem.variables[x] for x in scope)
    problem.add_block(RuleBlock.one(element(items, index) == result, problem.new_terms(**terms)))
    return scope, lambda v: 0 <= v[0] < 3 and v[1 + v[0]] == v[4]


ALL = [*FAMILIES, elements]


def drawn(seed: int, families: list[Family]) -> tuple[Problem, list[Constraint]]:
    """Some constraints over few variables, and the same as plain data."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(int(rng.integers(3, 6))):
        problem.add_variable(rng.choice(np.arange(-3, 6), int(rng.integers(1, 5)), replace=False).tolist())
    functions = []
    for _ in range(int(rng.integers(1, 6))):
        family = families[rng.integers(len(families))]
        _, holds = family(problem, rng, {"hard": True})
        if family.__name__ == "external":
            functions.append(holds)
    plain = list(problem.describe_constraints())
    return problem, [Constraint(c, functions.pop(0) if c["kind"] == "external" else None) for c in plain]


def left(problem: Problem) -> Domains | None:
    graph = compile_graph(problem)
    network = propagation_network(graph)
    if graph.constant[0, 0] or not network.propagate():
        return None
    flags, start = network.domains().astype(bool), problem.domains.start
    return [set(problem.domain(x).values[flags[a:b]].tolist()) for x, (a, b) in enumerate(pairwise(start))]


def check(problem: Problem, constraints: list[Constraint]) -> None:
    domains = [set(problem.domain(x).values.tolist()) for x in range(problem.num_variables)]
    promised, kept = fixpoint(constraints, domains), left(problem)
    for values in product(*domains):
        if all(c.holds([values[x] for x in c.scope]) for c in constraints):
            assert kept is not None, "a solution was lost"
            assert all(value in own for value, own in zip(values, kept, strict=True)), "a value of a solution was lost"
    if promised is None:
        assert kept is None, "the reference finds a wipe-out"
    elif kept is not None:
        for x, (own, most) in enumerate(zip(kept, promised, strict=True)):
            assert own <= most, f"variable {x} keeps more than was promised"


@pytest.mark.parametrize("family", ALL, ids=lambda f: f.__name__)
@settings(max_examples=40)
@given(seed=st.integers(0, 1 << 30))
def test_a_family_keeps_its_promise(family: Family, seed: int) -> None:
    check(*drawn(seed, [family]))


@settings(max_examples=150)
@given(seed=st.integers(0, 1 << 30))
def test_families_together_keep_theirs(seed: int) -> None:
    check(*drawn(seed, ALL))


def test_every_kind_of_constraint_has_a_promise() -> None:
    kinds = {c.kind for seed in range(200) for c in drawn(seed, ALL)[1]}
    assert kinds <= set(PROMISES)
