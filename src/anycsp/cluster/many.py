"""Many problems at once: tasks are a problem and a group of runs, and go to whatever workers there are.

With a limit of steps an answer depends on the problem, the seed and the options alone: not on where it was found, on
how many workers there were, or on which of them died meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from anycsp.cluster.board import Exchange
from anycsp.cluster.shared import Group, searched_together
from anycsp.cluster.workers import Task, Workers, open_workers
from anycsp.deadline import DEFAULT_SECONDS
from anycsp.errors import AnyCSPError, ProblemError
from anycsp.footprint import estimate_bytes
from anycsp.model.problem import Problem
from anycsp.neural.models import load_model
from anycsp.search.options import SearchOptions
from anycsp.search.result import Result
from anycsp.search.solve import solve
from anycsp.search.together import Rank, rank, together

NEXT_GROUP = 1_000_003
"""Added to the seed from group to group: far from the seeds that a user counts up by hand."""
FIXED_BYTES = 200 << 20
"""What a worker takes for itself: Python, numpy, the native module, OR-Tools."""
OPTIONS = (
    "model", "search", "time_limit", "steps", "runs", "seed", "threads", "device", "temperature", "guidance",
    "presolve", "solutions",
)  # fmt: skip
"""Those of `solve` that hold for every problem."""


class Given(Protocol):
    """A problem as it is sent to a worker."""

    @property
    def memory(self) -> int:
        """Bytes that a search of it takes, by a generous estimate."""

    @property
    def divisible(self) -> bool:
        """Whether several searches of it have answers that can be compared."""

    def searched(self, search: Callable[..., Result], options: dict[str, Any]) -> Result:
        """By a function like `solve`."""


@dataclass(frozen=True)
class GivenProblem:
    problem: Problem
    runs: int
    divisible: bool = True

    @property
    def memory(self) -> int:
        return estimate_bytes(self.problem, self.runs, hidden=1)

    def searched(self, search: Callable[..., Result], options: dict[str, Any]) -> Result:
        return search(self.problem, **options)


class Solved(NamedTuple):
    """What became of one of many problems."""

    key: str
    result: Result | None
    message: str = ""
    """Why there is none."""


def solve_many(
    problems: Sequence[Problem], *, on: str | None = None, groups: int = 1, processes: int | None = None, **options: Any
) -> list[Result]:
    """The results of `solve` for each of the problems, in their order.

    `on`: "processes" searches them in processes of this machine, as many cores at a time as `processes` says (all, by
    default); "ray" or "ray:ADDRESS" on a Ray cluster; None in this process, one after the other. `options` are those of
    `solve`, and hold for each problem; `threads` is 1 unless given. A worker that dies is replaced, and its problem
    searched anew.

    `groups` is the number of searches of each problem, with different seeds, which may run at the same time anywhere.
    With a limit of time they tell each other of their best assignments, and end together; the best of them is the
    result. So one hard problem can use all of a cluster.
    """
    problems = list(problems)
    for problem in problems:
        if not isinstance(problem, Problem):
            raise ProblemError(f"solve_many takes problems, not {problem!r:.60}")
    given = {str(i): GivenProblem(problem, options.get("runs") or 1) for i, problem in enumerate(problems)}
    found: dict[str, Result] = {}
    with open_workers(on, processes) as workers:
        for solved in solved_by(workers, given.items(), groups, options):
            if solved.result is None:
                raise AnyCSPError(f"problem {solved.key}: {solved.message}")
            found[solved.key] = replace(solved.result, problem=given[solved.key].problem)
    return [found[key] for key in given]


def solved_by(
    workers: Workers, given: Iterable[tuple[str, Given]], groups: int, options: dict[str, Any]
) -> Iterator[Solved]:
    """Every problem once, as soon as its last group has ended."""
    if groups < 1:
        raise AnyCSPError(f"groups = {groups}: must be at least 1")
    options = _checked(options)
    shares = groups > 1 and options.get("steps") is None and options.get("solutions", 1) == 1
    board = workers.board() if shares else None
    parts: dict[str, dict[int, tuple[Rank, Result]]] = {}
    failed: dict[str, str] = {}
    left: dict[str, int] = {}

    def tasks() -> Iterator[Task]:
        for key, problem in given:
            left[key], parts[key] = groups if problem.divisible else 1, {}
            for number in range(left[key]):
                arguments = (key, number, problem, options, board)
                yield Task(f"{key}/{number}", arguments, options["threads"], FIXED_BYTES + problem.memory)

    for done in workers.map_unordered(searched, tasks()):
        key, number = done.task.arguments[:2]
        left[key] -= 1
        if done.failure:
            failed[key] = done.message
        else:
            parts[key][number] = done.value
        if left[key] == 0:
            ranked = [found for _, found in sorted(parts.pop(key).items())]
            yield Solved(key, together(ranked, options["seed"]) if ranked else None, failed.pop(key, ""))


def searched(
    key: str, number: int, problem: Given, options: dict[str, Any], board: Exchange | None
) -> tuple[Rank, Result]:
    """One group of one problem, in a worker."""
    options = {**options, "seed": options["seed"] + number * NEXT_GROUP}

    def search(problem: Problem, **options: Any) -> Result:
        if board is None:
            return solve(problem, **options)
        return searched_together(problem, Group(number, key, board), **options)

    result = problem.searched(search, options)
    assert result.problem is not None
    others = [replace(other, problem=None, assigned=other.assignment) for other in result.solutions]
    alone = replace(result, problem=None, assigned=result.assignment, solutions=others)  # it need not travel back
    return rank(result.problem, result), alone


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """With what a worker could not look up: a model's file is read here, and the limits and the seed are there."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise AnyCSPError(f"{unknown[0]} is not an option of many searches: {', '.join(OPTIONS)}")
    options = {"model": "auto", "seed": 0, "threads": 1, **{k: v for k, v in options.items() if v is not None}}
    if "time_limit" not in options and "steps" not in options:
        options["time_limit"] = DEFAULT_SECONDS
    plain = {name: value for name, value in options.items() if name not in ("solutions",)}
    model = SearchOptions(**plain).model  # complains of what cannot be
    if isinstance(model, str) and model != "auto":
        model = load_model(model)
    return {**options, "model": model}
