"""The face of whatever does work elsewhere: tasks in, what became of them out, in the order in which they end.

A task says what it takes, so that machines are filled and not overfilled. Where a worker dies with a task, another
takes it up; after some attempts the task itself is to blame, and that is its outcome. Each has exactly one outcome.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from anycsp.cluster.board import Board, Exchange
from anycsp.errors import AnyCSPError

RETRIES = 2
"""How often a task is begun anew after its worker died: machines fail rarely, and a task that kills its worker three
times will do so again."""

ERROR, DIED, OVERDUE = "error", "died", "overdue"
"""How a task can end without a value: its function raised, its process died, or it was ended for taking too long."""


@dataclass(frozen=True)
class Task:
    """One call of the function."""

    key: str
    arguments: tuple[Any, ...]
    cores: int = 1
    memory: int = 0
    """Bytes that it is expected to take."""
    seconds: float = math.inf
    """After so many it is ended."""


@dataclass(frozen=True)
class Done:
    """What became of a task."""

    task: Task
    value: Any = None
    failure: str = ""
    """Why there is no value: ERROR, DIED or OVERDUE."""
    message: str = ""
    """What the error said."""


class Workers(ABC):
    """Whoever does the work. Functions and arguments are pickled, so functions are found by their module and name."""

    @property
    @abstractmethod
    def cores(self) -> int:
        """How many there are in all."""

    @abstractmethod
    def map_unordered(
        self, function: Callable[..., Any], tasks: Iterable[Task], retries: int = RETRIES
    ) -> Iterator[Done]:
        """Every task's outcome, as they come. Tasks are taken from the iterable when there is room for them."""

    def map(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """The values of calls on one core each, in their order; the first failure is raised."""
        tasks = [Task(str(i), each) for i, each in enumerate(arguments)]
        values: dict[str, Any] = {}
        for done in self.map_unordered(function, tasks):
            if done.failure:
                raise AnyCSPError(done.message)
            values[done.task.key] = done.value
        return [values[task.key] for task in tasks]

    @abstractmethod
    def board(self) -> Exchange:
        """A board that tasks can be given as an argument."""

    def close(self) -> None:  # noqa: B027 — not all have something to end
        """End what still runs."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Here(Workers):
    """This process, one task after the other."""

    cores = 1

    def map_unordered(
        self, function: Callable[..., Any], tasks: Iterable[Task], retries: int = RETRIES
    ) -> Iterator[Done]:
        for task in tasks:
            value, message = called(function, task.arguments)
            yield Done(task, value, ERROR if message else "", message)

    def board(self) -> Exchange:
        return Board()


def called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, str]:
    """A value, or what the error said: one that is raised elsewhere may not be known here."""
    try:
        return function(*arguments), ""
    except AnyCSPError as error:
        return None, str(error) or type(error).__name__
    except Exception as error:
        return None, f"internal: {type(error).__name__}: {error}"


def open_workers(on: str | None, processes: int | None = None) -> Workers:
    """`on`: None is this process, "processes" this machine, "ray" or "ray:ADDRESS" a cluster. `processes` is how many
    cores of this machine are used at most; all where it is None."""
    where, _, address = (on or "").partition(":")
    if on is None:
        return Here()
    if on == "processes":
        from anycsp.cluster.on_processes import Processes

        return Processes(processes)
    if where == "ray":
        from anycsp.cluster.on_ray import RayWorkers

        return RayWorkers(address)
    raise AnyCSPError(f"no workers on {on!r}: use processes, ray or ray:ADDRESS")
