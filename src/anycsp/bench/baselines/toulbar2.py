"""toulbar2, an exact solver of cost function networks: every constraint costs its weight where violated."""

from __future__ import annotations

import time

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.tabular import is_tabular, tables
from anycsp.model.problem import Problem
from anycsp.model.structure import is_decision


class Toulbar2(Baseline):
    name = "toulbar2"
    requires = ("pytoulbar2",)

    def supports(self, problem: Problem) -> bool:
        return is_tabular(problem) and all(len(scope) <= 3 for scope, *_ in tables(problem))

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        import pytoulbar2

        began = time.perf_counter()
        # An initial upper bound of 1 makes every constraint of a decision problem a hard one.
        network = pytoulbar2.CFN(ubinit=1 if is_decision(problem) else None, seed=seed + 1, verbose=-1)
        for x, size in enumerate(problem.domains.sizes.tolist()):
            network.AddVariable(f"x{x}", range(size))
        for scope, tuples, allowed, weight in tables(problem):
            sizes = tuple(int(size) for size in problem.domains.sizes[scope])
            cost = np.full(sizes, weight if allowed else 0.0)
            cost[tuple(tuples.T)] = 0.0 if allowed else weight
            network.AddFunction([int(x) for x in scope], cost.reshape(-1).tolist())
        left = limit.seconds - (time.perf_counter() - began)
        solution = network.Solve(timeLimit=max(1, round(left)))
        seconds, nodes = time.perf_counter() - began, int(network.GetNbNodes())
        if solution is None:
            return BaselineResult([], None, seconds, nodes)
        positions = np.array(solution[0], dtype=np.int32)
        return BaselineResult([Point(nodes, seconds, float(solution[1]))], positions, seconds, nodes)
