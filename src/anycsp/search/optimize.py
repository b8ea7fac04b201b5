"""Optimisation: solve, demand something better than the answer, and go on from it until the time is up.

The demand is one more constraint on the objective. How much better is asked for doubles with every success, so that
wide objectives are not descended one by one, and shrinks when a share of the time brings nothing; the next share then
starts elsewhere, since the neighbourhood of the best assignment had its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anycsp import clock
from anycsp.model.problem import Problem
from anycsp.model.variables import Assignment
from anycsp.search.driver import Callback, Progress
from anycsp.search.options import SearchOptions
from anycsp.search.result import Result, TracePoint, objective_of

SHARE = 0.15
"""The part of the time left that one demand gets. A demand may be impossible, so it must leave time for about six
smaller ones; one that is met ends early and wastes none."""
SHORTEST = 0.5
"""Seconds a demand gets at least: shares shrink with the time left, and below this much of one goes into starting."""
GROWTH = 2
"""What a success multiplies the gain asked for by: a wide objective is crossed in logarithmically many demands."""
RETREAT = 4
"""What a failure divides it by: two successes were one too many, and the next demand should be met soon."""


def optimize(problem: Problem, options: SearchOptions, run: Callable[[Problem, SearchOptions], Result]) -> Result:
    """`run` solves a problem without objective. Ends with the best assignment that violates nothing, or, where none
    was found, with the one that violates least."""
    descent = Descent(problem, options)
    while True:
        found = run(descent.demanded(), descent.next_options())
        descent.book(found)
        if descent.best is None:
            return descent.nothing(found)
        if descent.over:
            return descent.result()


class Descent:
    """The best assignment so far, what to ask for next, and what has been spent."""

    def __init__(self, problem: Problem, options: SearchOptions) -> None:
        assert problem.objective is not None
        self._problem, self._objective, self._options = problem, problem.objective, options
        self._began = clock.now()
        self._hint: Assignment | None = options.hint
        self.best: Result | None = None
        self._trace: list[TracePoint] = []
        self._gain = 1
        """How much better than the best is asked for."""
        self._steps = self._attempts = self._failures = 0
        self._stuck = False
        """The least demand was given up without a step: no move can meet it."""

    @property
    def _seconds(self) -> float:
        return clock.now() - self._began

    @property
    def over(self) -> bool:
        limit = self._options.limits
        out_of_steps = limit.steps is not None and self._steps >= limit.steps
        return limit.stop.is_set() or limit.deadline.passed or out_of_steps or self._stuck

    def demanded(self) -> Problem:
        """The problem without its objective, but with the demand for something better than the best."""
        demanded = self._problem.copy()
        demanded.objective = None
        if self.best is not None:
            value, ask = _value(self.best), self._gain - 1
            worst_accepted = value - ask if self._objective.kind == "minimize" else value + ask
            demanded.add(self._objective.better_than(worst_accepted), hard=True)
        elif self._objective.may_be_undefined(demanded.bounds):
            demanded.add(self._objective.is_defined(demanded.bounds), hard=True)
        return demanded

    def next_options(self) -> SearchOptions:
        """A share of what is left; from the best assignment, but after a failure from elsewhere."""
        options, elapsed = self._options, self._seconds
        deadline = options.deadline
        if self.best is not None:
            deadline = deadline.within(max(SHORTEST, SHARE * deadline.left))
        return replace(
            options,
            time_limit=deadline,
            steps=None if options.steps is None else options.steps - self._steps,
            callback=self._relayed(elapsed),
            hint=None if self._failures % 2 else self._hint,
            seed=options.seed + self._attempts,
        )

    def book(self, found: Result) -> None:
        self._attempts += 1
        self._steps += found.steps
        if found.violated == 0:
            self._accept(found)
        else:
            self._stuck = found.steps == 0 and self._gain == 1
            self._gain, self._failures = max(1, self._gain // RETREAT), self._failures + 1

    def _accept(self, found: Result) -> None:
        problem, seconds = self._problem, self._seconds
        self.best = replace(
            found,
            constraints=problem.num_constraints,
            objective=objective_of(problem, 0.0, found.positions),
            best_step=self._steps,
            best_seconds=seconds,
        )
        self._trace.append(TracePoint(self._steps, seconds, 0, 0.0, 0, found.found_by, _value(self.best)))
        # By name and with the auxiliary variables, which the next search need not find again.
        domains, names = problem.domain_list, problem.names
        self._hint = {names[x]: domains[x].external(int(p)) for x, p in enumerate(found.positions)}
        self._gain, self._failures = self._gain * GROWTH, 0
        callback = self._options.callback
        if callback is not None and callback(_progress(self._steps, seconds, self.best, improved=True)):
            self._options.stop.set()

    def nothing(self, found: Result) -> Result:
        """The answer where no assignment that violates nothing was found: counted without the demand."""
        counted = self._problem.violation_of_positions(found.positions)
        refuted = found.status == "unsatisfiable"  # with the demand, not without
        return replace(
            found,
            status="best-effort"
            if refuted and self._objective.may_be_undefined(self._problem.bounds)
            else found.status,
            violated=counted.violated,
            violated_weight=counted.weight,
            hard_violated=counted.hard,
            constraints=self._problem.num_constraints,
            objective=objective_of(self._problem, counted.weight, found.positions),
        )

    def result(self) -> Result:
        assert self.best is not None
        status = "interrupted" if self._options.stop.is_set() else "satisfied"
        return replace(
            self.best,
            status=status,
            steps=self._steps,
            seconds=self._seconds,
            seed=self._options.seed,
            trace=self._trace,
        )

    def _relayed(self, before: float) -> Callback | None:
        """What a caller hears while a demand is searched for: the best so far, not what the demand lacks. A caller
        who has heard enough ends all of it."""
        callback, spent, best, stop = self._options.callback, self._steps, self.best, self._options.stop
        if callback is None:
            return None

        def relay(progress: Progress) -> bool | None:
            step, seconds = spent + progress.step, before + progress.seconds
            mine = replace(progress, step=step, seconds=seconds)
            enough = callback(mine if best is None else _progress(step, seconds, best, improved=False))
            if enough:
                stop.set()
            return enough

        return relay


def _progress(step: int, seconds: float, best: Result, improved: bool) -> Progress:
    positions = best.positions
    return Progress(step, seconds, 0, 0.0, 0, improved, _value(best), found_by=best.found_by, best=lambda: positions)


def _value(result: Result) -> int:
    assert result.objective is not None
    return int(result.objective["value"])
