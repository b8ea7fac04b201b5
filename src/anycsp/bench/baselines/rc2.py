"""RC2 (python-sat): an exact, core-guided MaxSAT solver. It has no answer before it has the best one."""

from __future__ import annotations

import threading
import time

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.tabular import dimacs_clauses
from anycsp.model.problem import Problem
from anycsp.model.structure import cut_graph, formula


class Rc2(Baseline):
    name = "rc2"
    requires = ("pysat",)

    def supports(self, problem: Problem) -> bool:
        return formula(problem) is not None or cut_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        began = time.perf_counter()
        formula_ = WCNF()
        for literals, weight in _soft_clauses(problem):
            formula_.append(literals, weight=weight)
        with RC2(formula_, solver="g4") as solver:
            timer = threading.Timer(max(limit.seconds - (time.perf_counter() - began), 0), solver.interrupt)
            timer.start()
            model = solver.compute(expect_interrupt=True)
            timer.cancel()
            seconds = time.perf_counter() - began
            if model is None:
                return BaselineResult([], None, seconds)
            violated = float(solver.cost)
        positions = np.zeros(problem.num_variables, dtype=np.int32)
        true = [literal for literal in model if 0 < literal <= problem.num_variables]
        positions[np.array(true, dtype=np.int64) - 1] = 1
        return BaselineResult([Point(0, seconds, violated)], positions, seconds, note="optimal")


def _soft_clauses(problem: Problem) -> list[tuple[list[int], int]]:
    block, graph = formula(problem), cut_graph(problem)
    if block is not None:
        weights = block.terms.weight[~block.tautology]
        return [(c, int(w)) for c, w in zip(dimacs_clauses(block), weights.tolist(), strict=True)]
    assert graph is not None
    result: list[tuple[list[int], int]] = []
    for (u, v), weight in zip((graph.edges + 1).tolist(), graph.weights.tolist(), strict=True):
        # Exactly one of the two clauses of an edge is violated when the edge is.
        v = v if weight > 0 else -v
        result += [([u, v], int(abs(weight))), ([-u, -v], int(abs(weight)))]
    return result
