"""`solve` on the compiled local search alone, one strategy or several in turn: needs no model, so tests of front ends
and the table of docs/xcsp3.md can use it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from anycsp import Problem, native
from anycsp.graph import compile_graph
from anycsp.search import _hinted
from anycsp.search.optimize import optimize
from anycsp.search.result import Result, objective_of


def local_solve(
    problem: Problem,
    *,
    search: str = "tabu",
    time_limit: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    hint: Any = None,
    callback: Any = None,
    stop: Any = None,
    **unused: Any,
) -> Result:
    seconds = time_limit or 10.0
    if problem.objective is not None and problem.objective.expression is not None:
        return optimize(
            problem,
            local_solve,
            search=search,
            time_limit=seconds,
            steps=steps,
            seed=seed,
            hint=hint,
            callback=callback,
            stop=stop,
        )
    graph = compile_graph(problem)
    start = np.random.default_rng(seed).integers(0, problem.domains.sizes)[None]
    if hint is not None:
        start = _hinted(problem, hint, start)
    positions, moves, began = start[0].astype(np.int32), 0, time.perf_counter()
    if graph.num_constraints:
        arrays = native.native_problem(graph)
        engines = [
            native.module().LocalSearch(
                problem=arrays, strategy=strategy, parameters={}, runs=1, seed=seed, threads=1, graded=True,
                external=None,
            )
            for strategy in search.split("+")
        ]  # fmt: skip
        for engine in engines:
            engine.start(start.astype(np.int32))
        while min(e.best_score()[0] for e in engines) > 0 and time.perf_counter() - began < seconds:
            for engine in engines:
                engine.advance(100_000, 0.05)
        best = min(engines, key=lambda engine: engine.best_score()[0])
        positions, moves = best.best_positions()[0].copy(), sum(int(e.moves()[0]) for e in engines)
    problem.complete(positions)
    counted, elapsed = problem.violation_of_positions(positions), time.perf_counter() - began
    return Result(
        status="satisfied" if counted.violated == 0 else "best-effort", violated=counted.violated,
        violated_weight=counted.weight, hard_violated=counted.hard, constraints=problem.num_constraints,
        objective=objective_of(problem, counted.weight, positions), assignment=problem.assignment(positions),
        steps=moves, seconds=elapsed, best_step=moves, best_seconds=elapsed, runs=1, seed=seed, model="",
        search="local", found_by="local", positions=positions, trace=[], best_per_run=[0.0],
    )  # fmt: skip
