"""Schedules as bars over time: a lane per machine, or per task where several may run at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anycsp.constraints.linear import LinearBlock
from anycsp.model.expressions import Variable
from anycsp.model.problem import Problem
from anycsp.model.whole import Whole
from anycsp.pictures.picture import LARGEST_NODES, Frame, Positions, violated

LONGEST_NAME = 24
"""Letters before a lane: more would take the room of the bars."""


@dataclass(frozen=True)
class Task:
    variable: int
    length: int
    lane: int
    color: int
    """That of its job: tasks that are bound to an order."""
    name: str


@dataclass(frozen=True)
class Schedule:
    """Tasks of known lengths that must not overlap, or must share a resource."""

    tasks: list[Task]
    lanes: list[str]
    """What stands before them."""
    first: int
    last: int
    kind = "schedule"

    @staticmethod
    def of(problem: Problem) -> Schedule | None:
        found: list[tuple[int, int, int]] = []
        lanes: list[str] = []
        for posted in problem.whole:
            if posted.kind == "no_overlap":
                origins, lengths = ([side[0] for side in sides if len(side) == 1] for sides in posted.operands)
            elif posted.kind == "cumulative":
                origins, lengths = posted.operands[:2]
            else:
                continue
            if len(origins) != len(lengths) or not origins or not all(map(_is_plain, origins, lengths)):
                return None
            own = posted.kind == "no_overlap"
            tasks = enumerate(zip(origins, lengths, strict=True), len(lanes))
            found += [(x.index, length, len(lanes) if own else lane) for lane, (x, length) in tasks]
            lanes += [_machine(problem, posted, len(lanes))] if own else [problem.names[x.index] for x in origins]
        variables = [x for x, _, _ in found]
        if not found or len(variables) > LARGEST_NODES or len(set(variables)) < len(variables):
            return None
        job = _jobs(problem, set(variables))
        names = _names(problem, {x: lane for x, _, lane in found}, job)
        bounds = [problem.domain(x).bounds for x in variables]
        return Schedule(
            [Task(x, d, lane, job[x], names[x]) for x, d, lane in found],
            lanes,
            min(low for low, _ in bounds),
            max(high + d for (_, high), (_, d, _) in zip(bounds, found, strict=True)),
        )

    def describe(self) -> dict[str, Any]:
        lanes = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in self.lanes]
        return {"kind": self.kind, "lanes": lanes, "first": self.first, "last": self.last}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        values = problem.values(positions)
        late: set[int] = set()
        for block, rows in violated(problem, positions):
            late.update(x for row in rows for x in block.scope_of(row).tolist())
        bars: list[list[Any]] = [
            [task.lane, int(values[task.variable]), task.length, task.color, task.name] for task in self.tasks
        ]
        bad = [k for k, task in enumerate(self.tasks) if task.variable in late]
        end = max(start + length for _, start, length, _, _ in bars)
        return {"bars": bars, "bad": bad, "end": end, "says": f"all is done at {end}; {len(bad)} tasks in conflict"}


def _is_plain(origin: Any, length: Any) -> bool:
    return isinstance(origin, Variable) and isinstance(length, int) and length > 0


def _machine(problem: Problem, posted: Whole, lane: int) -> str:
    """The name of its constraint, if that has one."""
    given = map(problem.constraint_names.get, posted.constraints.tolist())
    return next(filter(None, given), f"machine {lane + 1}")


def _names(problem: Problem, lane: dict[int, int], job: dict[int, int]) -> dict[int, str]:
    """What the tasks are called. In a job shop, where a job is on a machine once at most, the number of the job tells
    more than the name that a variable got from us."""
    tasks = len(lane)
    is_shop = len({(lane[x], job[x]) for x in lane}) == tasks > max(len(set(lane.values())), len(set(job.values())))
    return {x: f"J{job[x] + 1}" if is_shop and problem.names[x] == f"x{x}" else problem.names[x] for x in lane}


def _jobs(problem: Problem, tasks: set[int]) -> dict[int, int]:
    """A number per task, the same for those joined by comparisons of two starts."""
    leader = {x: x for x in tasks}

    def of(x: int) -> int:
        while leader[x] != x:
            x = leader[x]
        return x

    for block in problem.blocks:
        if isinstance(block, LinearBlock):
            for row in range(len(block)):
                scope = block.scope_of(row).tolist()
                if len(scope) == 2 and set(scope) <= tasks:
                    leader[of(max(scope))] = of(min(scope))
    numbers: dict[int, int] = {}
    return {x: numbers.setdefault(of(x), len(numbers)) for x in sorted(tasks)}
