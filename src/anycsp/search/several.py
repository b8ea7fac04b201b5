"""More than one answer: solve, demand something else, solve again.

The demand is one constraint per answer found: at least so many of the variables differ from it. It comes before all
that may be given up, so that the answers are different ones, each as good as can be found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from anycsp.errors import ProblemError
from anycsp.model.expressions import Variable, flat, operation, total
from anycsp.model.problem import Problem
from anycsp.model.variables import Scope
from anycsp.search.exact.engine import has_objective
from anycsp.search.options import SearchOptions, whole
from anycsp.search.result import Result

LEAST_SECONDS = 0.25
"""What the search for one answer gets, but for half of what is left: where very many are asked for, even shares of the
time would be too short to find any."""


def several(
    problem: Problem,
    options: SearchOptions,
    solutions: int,
    distinct_on: Scope | None,
    min_distance: int,
    run: Callable[[Problem, SearchOptions], Result],
) -> Result:
    """The best answer, with it and the next best in `Result.solutions`. Where all that is required holds in the first,
    it does in the others; the search ends early once nothing else does."""
    solutions = whole("solutions", solutions, 1)
    variables = _distinguishing(problem, distinct_on)
    if not 1 <= whole("min_distance", min_distance) <= len(variables):
        raise ProblemError(
            f"min_distance = {min_distance}: between 1 and the {len(variables)} variables of distinct_on"
        )
    began, found = time.perf_counter(), list[Result]()
    for left in range(solutions, 0, -1):
        if found and options.deadline.passed:
            break
        seconds = options.deadline.left
        share = options.deadline.within(max(seconds / left, min(seconds / 2, LEAST_SECONDS)))
        demanded = problem if not found else _demanded(problem, found, variables, min_distance)
        result = run(demanded, replace(options, time_limit=share, hint=options.hint if not found else None))
        counted = problem.violation_of_positions(result.positions)
        if found and (result.violated > counted.violated or _worse(problem, counted.hard, found[0])):
            break  # nothing else was found, or nothing else that holds what is required
        found.append(
            replace(
                result,
                status=_status(result, found[0]) if found and _is_relaxed(problem, found) else result.status,
                problem=problem,
                violated=counted.violated,
                violated_weight=counted.weight,
                hard_violated=counted.hard,
                constraints=problem.num_constraints,
            )
        )
        if options.stop.is_set():
            break
    found.sort(key=lambda r: _rank(problem, r))
    best = replace(found[0], seconds=time.perf_counter() - began, steps=sum(r.steps for r in found))
    return replace(best, solutions=[best, *found[1:]])


def _distinguishing(problem: Problem, distinct_on: Scope | None) -> list[Variable]:
    """The variables in which answers differ; auxiliary ones are no part of an answer."""
    if distinct_on is None:
        return [x for x in problem.variables if x.index not in problem.definitions]
    if not isinstance(distinct_on, Iterable):
        raise ProblemError(f"distinct_on is a list of variables, not {distinct_on!r}"[:200])
    return [problem.variables[problem.index(x)] for x in flat(distinct_on)]


def _demanded(problem: Problem, found: list[Result], variables: list[Variable], distance: int) -> Problem:
    """The problem, and that enough of the variables differ from each answer. Where the first answer violates something
    required, as little as possible is all that can be asked for, but the difference can; beside an objective nothing
    may be given up."""
    demanded = problem.copy()
    if _is_relaxed(problem, found):
        demanded.relax_all()
    weight = _least_weight(demanded)
    for result in found:
        values = problem.values(result.positions)
        differs = total([operation("ne", x, int(values[x.index])) for x in variables])
        demanded.add(differs >= distance, weight=weight, hard=True)
    return demanded


def _is_relaxed(problem: Problem, found: list[Result]) -> bool:
    return problem.scoring.all_required and found[0].violated > 0 and not has_objective(problem)


def _status(result: Result, first: Result) -> str:
    """Of a relaxed problem's answer, in terms of the problem itself: the least violation is no optimum where all is
    required."""
    if first.status == "unsatisfiable":
        return first.status
    return result.status if result.status in ("satisfied", "interrupted") else "best-effort"


def _least_weight(problem: Problem) -> float:
    """That of the required constraints, or of all where none is: a demand of this weight takes no digits that the score
    has not."""
    terms = [block.terms for block in problem.blocks]
    required = [float(t.weight[t.hard].min()) for t in terms if t.hard.any()]
    return min(required or [float(t.weight.min()) for t in terms if t.weight.size], default=1.0)


def _worse(problem: Problem, hard_violated: int, first: Result) -> bool:
    """Whether something required is violated that the first answer keeps."""
    return hard_violated > 0 and first.hard_violated == 0


def _rank(problem: Problem, result: Result) -> tuple[int, float, float]:
    """What makes one answer better than another: required constraints, then weight, then the objective."""
    value = 0.0 if result.objective is None else float(result.objective["value"])
    kind = "" if problem.objective is None else problem.objective.kind
    return result.hard_violated, result.violated_weight, -value if kind in ("maximize", "cut", "gain") else value
