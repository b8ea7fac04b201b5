"""CaDiCaL (python-sat): what a user would pick for a formula; other decision problems through the direct encoding.

Direct encoding: a Boolean for every value, one of each variable's is true, no forbidden tuple holds. That at
most one is true need not be said: any true one will do.
"""

from __future__ import annotations

import time
from itertools import chain, pairwise

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.structure import IntArray, dimacs_clauses, formula, is_decision, is_tabular, tables
from anycsp.problem import Problem

CONFLICTS_PER_SLICE = 2000
"""The time limit is looked at this often; python-sat cannot interrupt CaDiCaL."""


class Cadical(Baseline):
    name = "cadical"
    requires = ("pysat",)

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and is_tabular(problem)

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        from pysat.solvers import Cadical195

        began = time.perf_counter()
        block = formula(problem)
        clauses = dimacs_clauses(block) if block is not None else _direct(problem)
        with Cadical195(bootstrap_with=clauses) as solver:
            found: bool | None = None
            while found is None and time.perf_counter() - began < limit.seconds:
                solver.conf_budget(CONFLICTS_PER_SLICE)
                found = solver.solve_limited()
            statistics = solver.accum_stats() or {}
            steps = int(statistics.get("conflicts", 0))
            seconds = time.perf_counter() - began
            if not found:
                return BaselineResult([], None, seconds, steps, "" if found is None else "claims there is no solution")
            true = np.array(solver.get_model()) > 0
        if block is not None:
            positions = np.zeros(problem.num_variables, dtype=np.int32)
            positions[: len(true)] = true[: problem.num_variables]
        else:
            start = problem.domains.start
            positions = np.array([true[a:b].argmax() for a, b in pairwise(start.tolist())], np.int32)
        return BaselineResult([Point(steps, seconds, 0.0)], positions, seconds, steps)


def _direct(problem: Problem) -> list[list[int]]:
    start = problem.domains.start
    some_value = [list(range(a + 1, b + 1)) for a, b in pairwise(start.tolist())]
    conflicts = (
        (-(start[scope] + _forbidden(problem, scope, tuples, allowed) + 1)).tolist()
        for scope, tuples, allowed, _ in tables(problem)
    )
    return some_value + list(chain.from_iterable(conflicts))


def _forbidden(problem: Problem, scope: IntArray, tuples: IntArray, allowed: bool) -> IntArray:
    """The forbidden tuples of a relation given either way."""
    if not allowed:
        return tuples
    sizes = tuple(int(size) for size in problem.domains.sizes[scope])
    forbidden = np.ones(sizes, dtype=np.bool_)
    forbidden[tuple(tuples.T)] = False
    return np.argwhere(forbidden)
