"""The classical local searches of the paper's SAT and MaxSAT tables, from this project's compiled engine.

WalkSAT, probSAT and MaxWalkSAT as published; the CCLS and SATLike rows are written in the manner of those programs
and are not those programs. Steps are flips.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from anycsp import native
from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.graph import compile_graph
from anycsp.model.problem import Problem
from anycsp.model.structure import formula


class LocalEngine(Baseline):
    def __init__(self, name: str, strategy: str, parameters: Mapping[str, float]) -> None:
        self.name, self.strategy, self.parameters = name, strategy, dict(parameters)

    def unavailable(self) -> str | None:
        return None if native.available() else "not installed (native module)"

    def supports(self, problem: Problem) -> bool:
        return formula(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        runs = limit.runs or 1
        search = native.module().LocalSearch(
            compile_graph(problem, of_one_kind=True).native_problem,
            self.strategy,
            self.parameters,
            runs=runs,
            seed=seed,
            threads=limit.threads,
            graded=False,
            external=None,
        )
        search.start(None)
        preparation = time.perf_counter() - began
        search.advance(limit.steps or 1 << 62, max(limit.seconds - preparation, 0.0))
        seconds = time.perf_counter() - began
        trace: list[Point] = []
        best_run = 0
        for step, found, run, _, weight, *_ in sorted(search.improvements(), key=lambda i: (i[1], i[0])):
            if not trace or weight < trace[-1].violated_weight:
                trace.append(Point(step, preparation + found, weight))
                best_run = run
        positions = search.best_positions()[best_run]
        return BaselineResult(trace, positions, seconds, max(search.moves()), f"{runs} runs")


LOCAL_SEARCHES = (
    LocalEngine("walksat", "walksat", {"noise": 0.5}),  # SKC's default
    LocalEngine("probsat", "probsat", {}),  # the published constants by clause length
    LocalEngine("maxwalksat", "walksat", {"noise": 1e-3}),  # what the paper tuned it to
    LocalEngine(
        "ccls", "ccls", {"walk": 0.2}
    ),  # this and the next: best of 4 and of 12 settings, one short run each on a formula outside the test set
    LocalEngine("satlike", "weighting", {"bumps": 1}),
)
