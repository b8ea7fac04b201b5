"""PySAT: its formulas mean what they say, and our solvers answer as its own do."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import numpy as np
import pytest

from anycsp import AnyCSPError, native

pysat_formula = pytest.importorskip("pysat.formula")
pysat_solvers = pytest.importorskip("pysat.solvers")
rc2 = pytest.importorskip("pysat.examples.rc2")

from anycsp.integrations.pysat import LocalSearch, MaxSAT, from_formula  # noqa: E402
from anycsp.search.exact.model import installed  # noqa: E402

needs_native = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
needs_proofs = pytest.mark.skipif(not installed(), reason="needs the extra anycsp[exact]")

CNF, CNFPlus, WCNF = pysat_formula.CNF, pysat_formula.CNFPlus, pysat_formula.WCNF


def random_clauses(rng: np.random.Generator, variables: int, clauses: int) -> list[list[int]]:
    drawn = []
    for _ in range(clauses):
        scope = rng.choice(variables, int(rng.integers(1, min(4, variables) + 1)), replace=False) + 1
        drawn.append([int(x) * int(rng.choice([-1, 1])) for x in scope])
    return drawn


def random_weighted(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    variables = int(rng.integers(2, 7))
    formula = WCNF()
    for clause in random_clauses(rng, variables, int(rng.integers(0, 8))):
        formula.append(clause)
    for clause in random_clauses(rng, variables, int(rng.integers(1, 8))):
        formula.append(clause, weight=int(rng.integers(1, 6)))
    return formula


def satisfies(model: list[int], clauses: list[list[int]]) -> bool:
    return all(set(model) & set(clause) for clause in clauses)


# ── formulas ─────────────────────────────────────────────────────────────────────────────────────────


def test_formulas_mean_what_they_say() -> None:
    cnf = CNF(from_clauses=[[1, -2], [2, 3], [-1]])
    wcnf = WCNF()
    wcnf.append([1, 2])
    wcnf.append([-1], weight=3)
    wcnf.append([-2, 3], weight=2)
    for values in itertools.product((0, 1), repeat=3):
        true = {i + 1 if v else -i - 1 for i, v in enumerate(values)}
        assert from_formula(cnf).violation(values).violated == sum(not true & set(c) for c in cnf.clauses)
        counted = from_formula(wcnf).violation(values)
        assert counted.hard == sum(not true & set(c) for c in wcnf.hard)
        soft = sum(w for c, w in zip(wcnf.soft, wcnf.wght, strict=True) if not true & set(c))
        assert counted.weight - counted.hard == soft
    with pytest.raises(AnyCSPError, match="non-zero integers"):
        from_formula(type("Broken", (), {"clauses": [[0]], "nv": 1})())


@pytest.mark.parametrize("weights", [[], [2, 1, 3, 1]])
def test_cardinality_constraints_count_true_literals(weights: list[int]) -> None:
    formula = CNFPlus()
    formula.append([1, 2])
    formula.append([[1, -2, 3, -3], 2, weights] if weights else [[1, -2, 3, -3], 2], is_atmost=True)
    problem = from_formula(formula)
    for values in itertools.product((0, 1), repeat=3):
        true = {i + 1 if v else -i - 1 for i, v in enumerate(values)}
        total = sum(w for l, w in zip([1, -2, 3, -3], weights or [1] * 4, strict=True) if l in true)
        assert (problem.violation(values).violated == 0) == (bool(true & {1, 2}) and total <= 2)


# ── the SAT solver ───────────────────────────────────────────────────────────────────────────────────


@needs_native
@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_cadical(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables = int(rng.integers(2, 10))
    clauses = random_clauses(rng, variables, int(rng.integers(2, 5 * variables)))
    assumed = [int(x) * int(rng.choice([-1, 1])) for x in rng.choice(variables, 2, replace=False) + 1]
    with LocalSearch(clauses) as ours, pysat_solvers.Cadical153(clauses) as theirs:
        for assumptions in ([], assumed):
            assert ours.solve(assumptions) == theirs.solve(assumptions)
            assert ours.get_status() == theirs.get_status()
            if ours.get_status():
                assert satisfies(ours.get_model(), [*clauses, *([l] for l in assumptions)])
                assert [abs(l) for l in ours.get_model()] == list(range(1, ours.nof_vars() + 1))
            else:
                assert ours.get_model() is None
                assert set(ours.get_core() or []) <= set(assumptions)
        if ours.solve():
            assert sorted(ours.enum_models()) == sorted(theirs.enum_models())
            assert ours.get_status() is False


@needs_native
def test_the_examples_of_pysats_documentation() -> None:
    """Those of `pysat.solvers`, with our class in the place of theirs."""
    with LocalSearch(bootstrap_with=[[-1, 2], [-2, 3]], use_timer=True) as solver:
        assert solver.solve() is True
        assert solver.get_model() is not None
        assert solver.solve(assumptions=[1, -3]) is False
        assert sorted(solver.get_core()) == [-3, 1]
        assert solver.time() >= 0
        assert solver.time_accum() >= solver.time()
    solver = LocalSearch()
    solver.append_formula(CNF(from_clauses=[[-1, 2], [1, -2], [-1, -2], [1, 2]]))
    assert solver.solve() is False
    assert solver.get_core() is None
    assert (solver.nof_vars(), solver.nof_clauses()) == (2, 4)
    solver.delete()
    assert solver.nof_clauses() == 0
    solver.add_atmost(lits=[1, 2, 3], k=1)
    solver.add_clause([1, 2, 3])
    assert len(list(solver.enum_models())) == 3
    assert solver.add_clause([], no_return=False) is False
    assert solver.solve() is False


@needs_native
def test_phases_are_where_the_search_begins() -> None:
    with LocalSearch([[1, 2, 3], [-1, -2]]) as solver:
        for phases in ([1, -2, 3], [-1, 2, -3]):
            solver.set_phases(phases)
            assert solver.solve()
            assert solver.get_model() == phases


@needs_native
def test_an_interrupt_or_the_limit_ends_a_search_without_an_answer() -> None:
    pigeons = [[9 * p + h + 1 for h in range(9)] for p in range(10)]
    pigeons += [[-(9 * p + h + 1), -(9 * q + h + 1)] for h in range(9) for p, q in itertools.combinations(range(10), 2)]
    with LocalSearch(pigeons, search="local", time_limit=30) as solver:
        timer = threading.Timer(0.3, solver.interrupt)
        timer.start()
        began = time.process_time()
        assert solver.solve_limited(expect_interrupt=True) is None
        assert solver.get_status() is None
        assert solver.get_model() is None
        assert time.process_time() - began < 15
        solver.clear_interrupt()
        solver.time_limit = 0.2
        assert solver.solve_limited() is None


# ── MaxSAT ───────────────────────────────────────────────────────────────────────────────────────────


@needs_native
@needs_proofs
@pytest.mark.parametrize("seed", range(20))
def test_optima_are_those_of_rc2(seed: int) -> None:
    formula = random_weighted(seed)
    with MaxSAT(formula) as ours, rc2.RC2(formula.copy()) as theirs:
        model, expected = ours.compute(), theirs.compute()
        assert ours.optimal
        assert (model is None) == (expected is None)
        if model is not None:
            assert ours.cost == theirs.cost
            assert satisfies(model, formula.hard)


@needs_native
@needs_proofs
@pytest.mark.parametrize("block", [0, 1, -1])
def test_enumeration_costs_what_rc2s_does(block: int) -> None:
    formula = WCNF()
    for clause in ([-1, -2], [-1, -3], [-2, -3]):
        formula.append(clause)
    for clause, weight in (([1], 1), ([2], 2), ([3, 4], 3), ([-4], 1)):
        formula.append(clause, weight=weight)
    with MaxSAT(formula) as ours, rc2.RC2(formula.copy()) as theirs:
        costs = [ours.cost for _ in ours.enumerate(block=block)]
        assert costs == [theirs.cost for _ in theirs.enumerate(block=block)]
        assert ours.optimal, "it is proved that there are no more"


@needs_native
@needs_proofs
def test_the_examples_of_rc2s_documentation() -> None:
    """Those of `pysat.examples.rc2`, with our class in the place of theirs."""
    solver = MaxSAT(WCNF())
    for clause in ([-1, -2], [-1, -3], [-2, -3]):
        solver.add_clause(clause)
    for clause in ([1], [2], [3]):
        solver.add_clause(clause, weight=1)
    assert [solver.cost for _ in solver.enumerate()] == [2, 2, 2, 3]
    solver.delete()
    formula = WCNF()
    formula.append([-1, -2])
    formula.append([-1, -3])
    for literal in (1, 2, 3):
        formula.append([literal], weight=1)
    with MaxSAT(formula) as solver:
        assert solver.compute() == [-1, 2, 3]
        assert solver.cost == 1
        solver.add_clause([-2, -3])
        solver.compute()
        assert solver.cost == 2
        assert solver.oracle_time() >= 0


@needs_native
def test_an_incomplete_search_says_so() -> None:
    rng = np.random.default_rng(1)
    formula = WCNF()
    for clause in random_clauses(rng, 60, 700):
        formula.append(clause, weight=int(rng.integers(1, 9)))
    with MaxSAT(formula, search="local", time_limit=0.3) as solver:
        model = solver.compute()
        assert model is not None
        assert not solver.optimal
        unsatisfied = [w for c, w in zip(formula.soft, formula.wght, strict=True) if not set(model) & set(c)]
        assert solver.cost == sum(unsatisfied) > 0


def test_what_cannot_be_taken_is_refused_in_one_line() -> None:
    with pytest.raises(AnyCSPError, match="unknown search"):
        LocalSearch(search="fast")
    with pytest.raises(AnyCSPError, match="non-zero integers"):
        LocalSearch([[1, 0]])
    with pytest.raises(AnyCSPError, match="weights for 2 literals"):
        LocalSearch().add_atmost([1, 2], 1, weights=[1])
    with pytest.raises(AnyCSPError, match="block = 7"):
        next(MaxSAT().enumerate(block=7))
    solver = MaxSAT()
    solver.add_clause([1], weight=-2)
    with pytest.raises(AnyCSPError, match="negative weight"):
        solver.compute()
