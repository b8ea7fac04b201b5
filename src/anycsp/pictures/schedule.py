"""Schedules as bars over time: a lane per machine, or per task where several may run at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anycsp.constraints.linear import LinearBlock
from anycsp.model.expressions import Variable
from anycsp.model.problem import Problem
from anycsp.pictures.picture import LARGEST_NODES, Frame, Positions, violated


@dataclass(frozen=True)
class Task:
    variable: int
    length: int
    lane: int
    color: int
    """That of its job: tasks that are bound to an order."""


@dataclass(frozen=True)
class Schedule:
    """Tasks of known lengths that must not overlap, or must share a resource."""

    tasks: list[Task]
    lanes: int
    first: int
    last: int
    kind = "schedule"

    @staticmethod
    def of(problem: Problem) -> Schedule | None:
        found: list[tuple[int, int, int]] = []
        lanes = 0
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
            tasks = enumerate(zip(origins, lengths, strict=True))
            found += [(x.index, length, lanes if own else lanes + k) for k, (x, length) in tasks]
            lanes += 1 if own else len(origins)
        variables = [x for x, _, _ in found]
        if not found or len(variables) > LARGEST_NODES or len(set(variables)) < len(variables):
            return None
        job = _jobs(problem, set(variables))
        bounds = [problem.domain(x).bounds for x in variables]
        return Schedule(
            [Task(x, d, lane, job[x]) for x, d, lane in found],
            lanes,
            min(low for low, _ in bounds),
            max(high + d for (_, high), (_, d, _) in zip(bounds, found, strict=True)),
        )

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "lanes": self.lanes, "first": self.first, "last": self.last}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        values = problem.values(positions)
        late: set[int] = set()
        for block, rows in violated(problem, positions):
            late.update(x for row in rows for x in block.scope_of(row).tolist())
        bars: list[list[Any]] = [
            [task.lane, int(values[task.variable]), task.length, task.color, problem.names[task.variable]]
            for task in self.tasks
        ]
        bad = [k for k, task in enumerate(self.tasks) if task.variable in late]
        end = max(start + length for _, start, length, _, _ in bars)
        return {"bars": bars, "bad": bad, "end": end, "says": f"all is done at {end}; {len(bad)} tasks in conflict"}


def _is_plain(origin: Any, length: Any) -> bool:
    return isinstance(origin, Variable) and isinstance(length, int) and length > 0


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
