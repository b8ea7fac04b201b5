"""CaDiCaL (python-sat): what a user would pick for a formula; other decision problems through the direct encoding.

Direct encoding: a Boolean for every value, one of each variable's is true, no forbidden tuple holds. That at
most one is true need not be said: any true one will do.

python-sat can interrupt CaDiCaL only by budgets of conflicts, which make it many times slower, so it runs as a
process of its own that is ended at the limit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.tabular import IntArray, dimacs_clauses, is_tabular, tables
from anycsp.model.problem import Problem
from anycsp.model.structure import formula, is_decision

_PROGRAM = """
import sys, time
from pysat.formula import CNF
from pysat.solvers import Cadical195
began = time.perf_counter()
with Cadical195(bootstrap_with=CNF(from_file=sys.argv[1])) as solver:
    found = solver.solve()
    print(time.perf_counter() - began, solver.accum_stats()["conflicts"], int(found))
    print(*(solver.get_model() or ()))
"""


class Cadical(Baseline):
    name = "cadical"
    requires = ("pysat",)

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and is_tabular(problem)

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        block = formula(problem)
        clauses = dimacs_clauses(block) if block is not None else _direct(problem)
        variables = problem.num_variables if block is not None else int(problem.domains.start[-1])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "formula.cnf"
            lines = (" ".join(map(str, clause)) + " 0" for clause in clauses)
            path.write_text("\n".join([f"p cnf {variables} {len(clauses)}", *lines, ""]))
            preparation = time.perf_counter() - began
            try:
                done = subprocess.run(
                    [sys.executable, "-c", _PROGRAM, str(path)],
                    capture_output=True,
                    text=True,
                    check=True,
                    timeout=max(limit.seconds - preparation, 0.1),
                )
            except subprocess.TimeoutExpired:
                return BaselineResult([], None, time.perf_counter() - began)
        facts, model = done.stdout.splitlines()
        # Its own clock, so that the start of an interpreter is not the solver's time.
        seconds, steps, found = preparation + float(facts.split()[0]), int(facts.split()[1]), facts.split()[2] == "1"
        if not found:
            return BaselineResult([], None, seconds, steps, "claims there is no solution")
        true = np.zeros(variables, dtype=np.bool_)
        literals = np.array(model.split(), dtype=np.int64)
        true[literals[(literals > 0) & (literals <= variables)] - 1] = True
        if block is not None:
            positions = true.astype(np.int32)
        else:
            positions = np.array([true[a:b].argmax() for a, b in pairwise(problem.domains.start.tolist())], np.int32)
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
