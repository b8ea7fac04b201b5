"""Search: `solve` takes a problem to a checked `Result`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anycsp.engine import Engine
from anycsp.errors import AnyCSPError, ProblemError
from anycsp.graph import compile_graph
from anycsp.memory import check_memory
from anycsp.model.problem import Assignment, Problem
from anycsp.neural.engine import neural_engine, profiled
from anycsp.neural.guidance import Guidance, as_guidance
from anycsp.neural.models import Model, choose_model, load_model
from anycsp.neural.temperature import Temperature, as_temperature
from anycsp.presolve.construct import constructed
from anycsp.presolve.reduce import presolved
from anycsp.randomness import initial_positions
from anycsp.search.auto import choose_search
from anycsp.search.driver import Callback, Limits, Progress, drive
from anycsp.search.hybrid import HybridSearch
from anycsp.search.local import LocalSearch
from anycsp.search.optimize import optimize
from anycsp.search.result import Result, TracePoint, objective_of
from anycsp.threads import available_threads

__all__ = ["Callback", "Progress", "Result", "TracePoint", "solve"]

SEARCHES = ("auto", "neural", "local", "hybrid")

DEFAULT_SECONDS = 10.0
"""Without a limit of time or steps a search ends after this long."""


def solve(
    problem: Problem,
    *,
    model: str | Model = "auto",
    search: str = "auto",
    time_limit: float | None = None,
    steps: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    hint: Assignment | None = None,
    threads: int | None = None,
    device: str = "cpu",
    temperature: Temperature | None = None,
    guidance: Guidance | None = None,
    stop: threading.Event | None = None,
    presolve: bool = True,
    profile: bool = False,
) -> Result:
    """Search for an assignment that violates as little as possible, hard constraints first.

    `search`: "neural" is the paper's, the network alone; "local" the compiled classical search; "hybrid" both
    in turns; "auto" whichever suits the problem. `model`: "auto", a shipped model's name, or a path; naming one asks
    for neural search unless `search` says otherwise.
    `runs` independent runs share the time; the best of them is returned. `hint` is a starting assignment
    (variables it lacks start at random). Ends at `time_limit` seconds, `steps` steps, when nothing is violated, or
    when `stop` is set or the callback returns True. With an objective to minimize or maximize the search goes on
    from every assignment that violates nothing, asking for a better one, until its limits. `presolve` sets variables
    aside that can always be given a value last, and fixes the colours of a clique (presolve/reduce.py), unless there
    is a hint to begin from. `profile` adds where the time of a neural search went to the result.
    """
    if search not in SEARCHES:
        raise AnyCSPError(f"unknown search {search!r}: use one of {', '.join(SEARCHES)}")
    for name, limit in (("time_limit", time_limit), ("steps", steps), ("runs", runs), ("threads", threads)):
        if limit is not None and (not limit >= 0 or (name in ("runs", "threads") and limit < 1)):
            raise AnyCSPError(f"{name} = {limit}: must be positive")
    if temperature is not None:
        temperature = as_temperature(temperature)
    if guidance is not None:
        guidance = as_guidance(guidance)
    if problem.num_variables == 0:
        raise ProblemError("a problem without variables")
    if time_limit is None and steps is None:
        time_limit = DEFAULT_SECONDS
    if problem.objective is not None and problem.objective.expression is not None:
        if profile:
            raise AnyCSPError("no profile of a search that tightens an objective's bound: it is many searches")
        return optimize(
            problem,
            solve,
            model=model,
            search=search,
            time_limit=time_limit,
            steps=steps,
            runs=runs,
            seed=seed,
            callback=callback,
            hint=hint,
            threads=threads,
            device=device,
            temperature=temperature,
            guidance=guidance,
            stop=stop,
            presolve=presolve,
        )
    if search == "auto":
        search = choose_search(problem, model)
    threads = threads or available_threads()
    chosen = None
    if search != "local":
        chosen = model if isinstance(model, Model) else load_model(choose_model(problem) if model == "auto" else model)
        if guidance is not None:
            chosen = replace(chosen, guidance=guidance)
    runs = runs or (chosen.runs if chosen is not None else threads)
    check_memory([problem], runs=runs, hidden=chosen.weights.config.hidden if chosen is not None else 1)
    reduced = presolved(problem, presolve and hint is None)
    graph = compile_graph(reduced.problem)
    engine: Engine
    if chosen is None:
        engine = LocalSearch(graph, "auto", runs, seed, threads, steps=steps, seconds=time_limit)
    else:
        heat = temperature or chosen.temperature_for(problem)
        kind = HybridSearch if search == "hybrid" else neural_engine
        engine = kind(graph, chosen, runs, seed, heat, threads, device=device, steps=steps, seconds=time_limit)
    start = initial_positions(graph.domains.sizes, seed, range(runs))
    if hint is not None:
        start = _hinted(problem, hint, start)
    elif search != "neural" and (first := constructed(reduced.problem)) is not None:
        start[0] = first
    engine.start(start)
    measured = profiled(engine) if profile else None
    outcome = drive(engine, Limits(time_limit, steps, stop or threading.Event()), callback)

    positions = reduced.extended(engine.best_positions()[outcome.best.run])
    counted = problem.violation_of_positions(positions)
    if counted.violated != outcome.best.violated:
        raise RuntimeError(
            f"the search counted {outcome.best.violated} violated constraints, a recount {counted.violated}"
        )
    if problem.definitions:
        # Auxiliary variables are no part of the answer: it counts with them as the others determine them.
        problem.complete(positions)
        counted = problem.violation_of_positions(positions)
    satisfied = counted.violated == 0
    return Result(
        status="satisfied" if satisfied else "interrupted" if outcome.interrupted else "best-effort",
        violated=counted.violated,
        violated_weight=counted.weight,
        hard_violated=counted.hard,
        constraints=problem.num_constraints,
        objective=objective_of(problem, counted.weight, positions),
        assignment=problem.assignment(positions),
        steps=engine.steps,
        seconds=outcome.seconds,
        best_step=outcome.best.step,
        best_seconds=outcome.best.seconds,
        runs=runs,
        seed=seed,
        model=chosen.name if chosen is not None else "none",
        search=search,
        found_by=outcome.best.found_by,
        positions=positions,
        trace=outcome.trace,
        best_per_run=[float(score) for score in engine.best_score()[:, 0]],
        profile=measured.profile() if measured is not None else None,
    )


def _hinted(problem: Problem, hint: Assignment, start: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The random starts with the hinted variables set, in every run."""
    if isinstance(hint, Mapping):
        for name, value in hint.items():
            start[:, problem.index(name)] = problem.domain(name).position(value)
        unhinted = [x for x in problem.definitions if problem.names[x] not in hint]
        for row in start:
            problem.complete(row, unhinted)
        return start
    return np.tile(problem.positions(hint), (len(start), 1))
