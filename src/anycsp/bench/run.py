"""One run: a system on an instance under a limit, its answer recounted independently, as one plain record."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.experiment import BudgetName, Experiment, Instance
from anycsp.checker.check import WrongAnswer, recount
from anycsp.checker.problem import from_description
from anycsp.model.description import describe
from anycsp.model.problem import Problem

TRACE_POINTS = 400
"""A longer trace is thinned to about this many points, the first and last kept."""
TOLERATED = 0.5
"""Seconds by which an answer may come after the limit and still count: start-up of clocks and processes."""


@dataclass(frozen=True)
class Task:
    """What identifies a run; the same task is never run twice into one folder."""

    experiment: str
    instance: str
    group: str
    solver: str
    version: str
    """The solver's, where an older result would be another system's: the digest of a model's weights."""
    seed: int
    budget: BudgetName
    limit: Limit

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def execute(task: Task, instance: Instance, experiment: Experiment, baseline: Baseline) -> dict[str, Any]:
    """Run and check; what goes wrong in a solver is the record's status, never an exception."""
    try:
        problem = instance.load()
        if not baseline.supports(problem):
            return record(task, instance, "unsupported")
        began = time.perf_counter()
        result = baseline.run(problem, task.limit, task.seed)
        wall = time.perf_counter() - began
        if experiment.frames:
            result = replace(result, frames=baseline.frames(problem, task.seed, experiment.frames))
    except Exception as error:
        return record(task, instance, "error", note=f"{type(error).__name__}: {error}"[:500])
    return checked(task, instance, problem, result, wall)


def checked(task: Task, instance: Instance, problem: Problem, result: BaselineResult, wall: float) -> dict[str, Any]:
    """The record of a run. It counts only if the recounted violation of the assignment is the one claimed."""
    facts: dict[str, Any] = {
        "seconds": round(result.seconds, 4),
        "wall_seconds": round(wall, 4),
        "steps": result.steps,
        "note": result.note,
    }
    if result.frames:
        facts["frames"] = result.frames
    if result.assignment is None:
        return record(task, instance, "no answer", **facts)
    claim = result.trace[-1] if result.trace else Point(0, result.seconds, math.nan)
    try:
        count = recount(from_description(describe(problem)), _values(problem, result.assignment))
    except WrongAnswer as error:
        return record(task, instance, "wrong answer", **{**facts, "note": str(error)})
    facts |= {
        "violated": count.violated,
        "violated_weight": count.violated_weight,
        "objective": count.objective,
        "best_seconds": round(claim.seconds, 4),
        "best_step": claim.step,
        "trace": [[p.step, round(p.seconds, 4), p.violated_weight] for p in _thinned(result.trace)],
    }
    if not math.isclose(claim.violated_weight, count.violated_weight, rel_tol=1e-9, abs_tol=1e-6):
        note = f"claims a violated weight of {claim.violated_weight:g}, recounted {count.violated_weight:g}"
        return record(task, instance, "wrong answer", **{**facts, "note": note})
    late = claim.seconds > task.limit.seconds * 1.02 + TOLERATED
    return record(task, instance, "late" if late else "ok", **facts)


def record(task: Task, instance: Instance, status: str, **facts: Any) -> dict[str, Any]:
    """`status`: ok, late, no answer, wrong answer, timeout, error, unsupported, or why it could not run (not …)."""
    best = {"best_known": instance.best, "newest_best_known": instance.newest_best}
    return {"key": task.key, **asdict(task), "status": status, **best, **facts}


def _values(problem: Problem, positions: np.ndarray[Any, Any]) -> list[int | str]:
    """The answer in domain values; positions outside a domain go out as they came, for the checker to refuse."""
    if len(positions) != problem.num_variables:
        raise WrongAnswer(f"has {len(positions)} values for {problem.num_variables} variables")
    domains = [problem.domain(x) for x in range(problem.num_variables)]
    outside = [x for x, p in enumerate(positions.tolist()) if not 0 <= p < len(domains[x])]
    if outside:
        x = outside[0]
        raise WrongAnswer(f"variable {problem.names[x]!r} takes position {positions[x]}, which is outside its domain")
    return [domain.external(int(p)) for domain, p in zip(domains, positions, strict=True)]


def _thinned(trace: list[Point]) -> list[Point]:
    if len(trace) <= TRACE_POINTS:
        return trace
    keep = np.unique(np.linspace(0, len(trace) - 1, TRACE_POINTS).round().astype(int))
    return [trace[i] for i in keep]


def find_instance(experiment: Experiment, data: Path, task: Task) -> Instance:
    for instance in experiment.instances(data, task.budget):
        if (instance.name, instance.group) == (task.instance, task.group):
            return instance
    raise LookupError(f"{task.experiment} has no instance {task.instance}")
