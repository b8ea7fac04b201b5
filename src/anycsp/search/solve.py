"""Search: `solve` takes a problem to a checked `Result`."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.deadline import Deadline, OutOfTime
from anycsp.engine import Engine, Improvement, ProvingEngine
from anycsp.errors import AnyCSPError, ProblemError
from anycsp.footprint import fitting_runs
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem, Violation
from anycsp.model.quadratic import as_soft_constraints
from anycsp.model.variables import Assignment, Scope
from anycsp.neural.engine import profiled
from anycsp.neural.guidance import Guidance
from anycsp.neural.models import Model
from anycsp.neural.profile import Profile
from anycsp.neural.temperature import Temperature
from anycsp.presolve.reduce import Presolved, propagated
from anycsp.search.bound import BoundedProblem, TooWide
from anycsp.search.branching import Branching
from anycsp.search.driver import Callback, Outcome, Progress, drive
from anycsp.search.engines import improving_engine, make_engine
from anycsp.search.heuristic import Heuristic
from anycsp.search.improve import Descent, improve
from anycsp.search.leaning import leaning_of
from anycsp.search.optimize import optimize
from anycsp.search.options import SearchOptions, whole
from anycsp.search.prepare import Plan, Prepared, first_positions, is_presolved, plan_for, prepare, starts
from anycsp.search.result import Result, TracePoint, objective_of, with_objective
from anycsp.search.several import several
from anycsp.search.verbose import Verbose
from anycsp.search.waves import in_waves


def solve(
    problem: Problem,
    *,
    model: str | Path | Model | Heuristic = "auto",
    search: str = "auto",
    time_limit: float | Deadline | None = None,
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
    solutions: int = 1,
    distinct_on: Scope | None = None,
    min_distance: int = 1,
    verbose: bool = False,
    branching: Sequence[Branching] = (),
) -> Result:
    """Search for an assignment that violates as little as possible, hard constraints first.

    `search`: "neural" is the paper's, the network alone; "local" the compiled classical search; "hybrid" the
    latter with advice from a network; "exact" OR-Tools' CP-SAT, which proves what it says; "auto" local search, and on
    most problems exact search beside it. `model`: "auto", a shipped model's name, or a path; naming one asks for neural
    search unless `search` says otherwise. It may also be settings of the compiled search, as `anycsp tune` writes them.
    `runs` independent runs share the time; the best of them is returned. `hint` is a starting assignment
    (variables it lacks start at random). Ends `time_limit` seconds after the call (or at a `Deadline` that others keep
    too), at `steps` steps, when nothing is violated, or when `stop` is set or the callback returns True. With an
    objective to minimize or maximize the search goes on from every assignment that violates nothing, asking for a
    better one, until its limits. `presolve` takes away what required constraints rule out, sets variables aside that
    can always be given a value last, and fixes the colours of a clique (presolve/), unless there is a hint to begin
    from. `profile` adds where the time of a neural search went to the result. `verbose` prints every improvement; in a
    notebook it shows a bar. `branching` is the order in which variables and values are worth trying, where that is
    known; exact search follows it for a part of its time.

    `solutions=k` asks for the k best different assignments, which are then in `Result.solutions`; two of them differ in
    at least `min_distance` variables of `distinct_on` (of all, where that is None). They share the time.
    """
    options = SearchOptions(
        str(model) if isinstance(model, Path) else model, search, time_limit, steps, runs, seed, callback, hint,
        threads, device, temperature, guidance, threading.Event() if stop is None else stop, presolve, profile,
        branching,
    )  # fmt: skip
    if not isinstance(verbose, bool):
        raise AnyCSPError(f"verbose is True or False, not {verbose!r:.60}")
    shown = Verbose(options.deadline) if verbose else None
    options = replace(options, callback=told(problem, callback, shown), tell=None if shown is None else shown.tell)
    if whole("solutions", solutions, 1) == 1:
        return replace(solve_with(problem, options), problem=problem)
    return several(problem, options, solutions, distinct_on, min_distance, solve_with)


def told(problem: Problem, callback: Callback | None, verbose: Verbose | None) -> Callback | None:
    """The callback, told which problem it hears of, and what is shown beside it."""
    if callback is None and verbose is None:
        return None

    def relay(progress: Progress) -> bool | None:
        if verbose is not None:
            verbose(progress)
        return None if callback is None else callback(replace(progress, problem=problem))

    return relay


def solve_with(problem: Problem, options: SearchOptions) -> Result:
    """`solve`, its options in one object: validate, prepare, make an engine, drive it, report."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"solve takes a Problem, not {problem!r:.60}: anycsp.formats.read makes one of a file")
    if problem.num_variables == 0:
        raise ProblemError("a problem without variables")
    try:
        return searched(problem, options)
    except OutOfTime:
        return unsearched(problem, options)


def searched(problem: Problem, options: SearchOptions) -> Result:
    """`solve_with` where there is time to begin."""
    if problem.objective is not None and problem.objective.expression is not None:
        _refuse_wishes(problem)
    plan = plan_for(problem, options)
    at_once = fitting_runs(problem, plan.runs, plan.hidden)
    if 0 < at_once < plan.runs:
        if options.runs is not None:
            warnings.warn(
                f"memory holds {at_once} of the {plan.runs} runs at once: they are made in waves, which share the time",
                stacklevel=2,
            )
            return in_waves(problem, options, plan.runs, at_once, solve_with)
        options, plan = replace(options, runs=at_once), replace(plan, runs=at_once)
    if problem.objective is not None and problem.objective.expression is not None and plan.search != "exact":
        if options.profile:
            raise AnyCSPError("no profile of a search that tightens an objective's bound: it is many searches")
        if plan.search in ("local", "auto"):
            return improved(problem, options)
        return optimize(problem, options, solve_with)
    prepared = prepare(problem, options, plan)
    options = replace(options, time_limit=prepared.graph.deadline)
    engine = make_engine(prepared, plan, options)
    engine.start(starts(prepared, options, plan))
    measured = profiled(engine) if options.profile else None
    try:
        outcome = drive(
            engine,
            options.limits,
            options.callback,
            whole=lambda positions: problem.completed(prepared.extended(positions)),
            all_required=prepared.problem.scoring.all_required,
            leaning=leaning_of(engine, prepared),
        )
    finally:
        if isinstance(engine, ProvingEngine):
            engine.close()
    return report(prepared, plan, options, engine, outcome, None if measured is None else measured.profile())


def _refuse_wishes(problem: Problem) -> None:
    """What a violation costs beside an objective is for the user to say."""
    if any((~block.terms.hard).any() for block in problem.blocks):
        raise ProblemError(
            "an objective beside soft constraints: leave their weight away, or put the wish into the objective, as in "
            "minimize(cost + 3 * ~(x == y))"
        )


def unsearched(problem: Problem, options: SearchOptions) -> Result:
    """Where the time is up before there is an engine: what the search would have begun with."""
    plan = plan_for(problem, options)
    positions = first_positions(problem, options)
    counted = problem.violation_of_positions(positions)
    best = Improvement(0, 0.0, 0, 0, counted.violated, counted.weight, counted.hard, 0, "initial")
    trace = [TracePoint(0, 0.0, counted.violated, counted.weight, counted.hard, "initial")]
    outcome = Outcome(best, trace, 0.0, options.stop.is_set(), refuted=False)
    return result_of(problem, positions, counted, plan, options, None, outcome, 1.0)


def improved(problem: Problem, options: SearchOptions) -> Result:
    """`solve_with` for a problem with an objective, by compiled search."""
    assert problem.objective is not None
    began = clock.now()
    weighted = as_soft_constraints(problem)
    if weighted is not None:
        found = solve_with(
            weighted, replace(options, callback=_told_values(options.callback, weighted, problem.objective))
        )
        return replace(
            found,
            status=found.status if found.status in ("interrupted", "optimal") else "satisfied",
            violated=0,
            violated_weight=0.0,
            constraints=problem.num_constraints,
            objective=objective_of(problem, 0.0, found.positions),
            trace=[_unweighted(p, problem.objective) for p in found.trace],
            problem=problem,
        )
    required = problem.copy()
    required.require_all()  # only assignments that violate nothing are compared by the objective
    reduced = propagated(required, options.deadline) if is_presolved(problem, options) else Presolved(required)
    try:
        bounded = BoundedProblem(reduced.problem, problem.objective)
    except TooWide:
        return optimize(problem, options, solve_with)
    plan = plan_for(bounded.problem, options)
    prepared = prepare(bounded.problem, replace(options, presolve=False), plan, of_one_kind=False)
    prepared = replace(prepared, reduced=replace(prepared.reduced, refuted_by=reduced.refuted_by))
    options = replace(options, time_limit=prepared.graph.deadline)
    engine = improving_engine(prepared, plan, options, bounded)
    engine.start(starts(prepared, options, plan))

    def whole(found: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The bound may have brought an auxiliary variable along."""
        return problem.completed(reduced.extended(found[: problem.num_variables]))

    try:
        descent, outcome = improve(reduced.problem, bounded, engine, options, whole)
    finally:
        if isinstance(engine, ProvingEngine):
            engine.close()
    best = engine.best_positions()[0] if descent.positions is None else descent.positions
    positions = whole(best)
    counted = problem.violation_of_positions(positions)
    result = result_of(problem, positions, counted, plan, options, engine, outcome, float(prepared.graph.units[0]))
    result = replace(result, refuted_by=reduced.refuted_by, seconds=clock.now() - began)
    if descent.positions is None:
        return result
    return replace(
        result,
        status=_status_of_descent(descent, plan, outcome, counted),
        best_step=descent.step,
        best_seconds=descent.seconds,
        found_by=descent.found_by,
        trace=descent.trace,
    )


def _told_values(callback: Callback | None, weighted: Problem, objective: Objective) -> Callback | None:
    """The callback, told what the objective comes to where its soft constraints are searched."""
    if callback is None:
        return None
    sign = 1 if objective.kind == "minimize" else -1

    def value(weight: float | None) -> float | None:
        assert weighted.objective is not None
        return None if weight is None else sign * weighted.objective.of_weight(weight)

    def relay(progress: Progress) -> bool | None:
        return callback(
            replace(
                progress,
                violated=0,
                violated_weight=0.0,
                hard_violated=0,
                improvements=(),
                objective=value(progress.violated_weight),
                bound=value(progress.bound),
            )
        )

    return relay


def _unweighted(point: TracePoint, objective: Objective) -> TracePoint:
    """A point of the search for the objective's soft constraints, whose cost is what is minimised."""
    assert point.objective is not None
    value = point.objective if objective.kind == "minimize" else -point.objective
    return point._replace(violated=0, violated_weight=0.0, objective=value)


def _status_of_descent(descent: Descent, plan: Plan, outcome: Outcome, counted: Violation) -> str:
    """Exact search claims its proofs, whichever part of it found them. An auxiliary variable of a file that no
    constraint binds to its definition may make a solution none, once it is what defines it."""
    if counted.violated:
        return "interrupted" if outcome.interrupted else "best-effort"
    if descent.proved and plan.search == "auto":
        return "optimal"
    return "interrupted" if outcome.interrupted else "satisfied"


def report(
    prepared: Prepared, plan: Plan, options: SearchOptions, engine: Engine, outcome: Outcome, profile: Profile | None
) -> Result:
    """The best assignment in terms of the whole problem, counted anew."""
    outcome = replace(outcome, refuted=outcome.refuted and _concerns_what_must_hold(prepared))
    positions = prepared.extended(engine.best_positions()[outcome.best.run])
    counted = recounted(prepared.whole, positions, outcome.best.violated)
    units = float(prepared.graph.units[0])
    result = result_of(prepared.whole, positions, counted, plan, options, engine, outcome, units)
    return replace(result, profile=profile, refuted_by=prepared.reduced.refuted_by)


def _concerns_what_must_hold(prepared: Prepared) -> bool:
    """Whether a proof about what was searched is one about the whole problem: not where that has hard constraints and
    all of them were set aside, so that only soft ones cannot hold together."""
    graph = prepared.graph
    searched = graph.terms.hard.any() or graph.constant[0, 2] > 0 or prepared.problem.scoring.all_required
    return bool(searched) or not any(block.terms.hard.any() for block in prepared.whole.blocks)


def result_of(
    problem: Problem,
    positions: npt.NDArray[np.int32],
    counted: Violation,
    plan: Plan,
    options: SearchOptions,
    engine: Engine | None,
    outcome: Outcome,
    units: float,
) -> Result:
    """`units`: how many the engine's scores have for a weight of 1. Without an engine nothing was searched."""
    best, objective = outcome.best, objective_of(problem, counted.weight, positions)
    return Result(
        status=status_of(problem, counted, objective, outcome),
        violated=counted.violated,
        violated_weight=counted.weight,
        hard_violated=counted.hard,
        constraints=problem.num_constraints,
        objective=objective,
        steps=0 if engine is None else engine.steps,
        seconds=outcome.seconds,
        best_step=best.step,
        best_seconds=best.seconds,
        runs=plan.runs,
        seed=options.seed,
        model=plan.model_name,
        search=plan.search,
        found_by=best.found_by,
        positions=positions,
        trace=[with_objective(problem, point) for point in outcome.trace],
        best_per_run=[] if engine is None else [int(score) / units for score in engine.best_score()[:, 0]],
        problem=problem,
    )


def status_of(problem: Problem, counted: Violation, objective: dict[str, Any] | None, outcome: Outcome) -> str:
    """An assignment that leaves the objective undefined satisfies nothing; that all do proves nothing either, the
    constraints alone might hold."""
    asked = problem.objective
    own = asked is not None and asked.expression is not None
    if counted.hard and is_false_for_good(problem):
        return "unsatisfiable"
    if outcome.proved and (own or counted.violated):
        return "optimal"
    if counted.violated == 0 and (asked is None or objective is not None):
        return "interrupted" if own and outcome.interrupted else "satisfied"
    if outcome.refuted and not (asked is not None and asked.may_be_undefined(problem.bounds)):
        return "unsatisfiable"
    return "interrupted" if outcome.interrupted else "best-effort"


def is_false_for_good(problem: Problem) -> bool:
    """Whether something required holds for no assignment since it has no variables, such as `add(0)`."""
    nothing = np.zeros(problem.num_variables, dtype=np.int64)
    for block in problem.blocks:
        empty = (block.arity == 0) & block.terms.hard
        if empty.any() and (empty & ~block.satisfied(problem.domains, nothing)).any():
            return True
    return False


def recounted(problem: Problem, positions: npt.NDArray[np.int32], claimed: int) -> Violation:
    """What the assignment violates, which must be what the engine claims. Auxiliary variables are no part of an
    answer: they are then set, in place, to what the others determine, and it counts with them."""
    counted = problem.violation_of_positions(positions)
    if counted.violated != claimed:
        raise RuntimeError(f"the search counted {claimed} violated constraints, a recount {counted.violated}")
    if problem.definitions:
        problem.complete(positions)
        counted = problem.violation_of_positions(positions)
    return counted
