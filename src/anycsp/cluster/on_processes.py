"""Workers as processes of this machine: a task that crashes, hangs or eats memory takes only its own process along."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from anycsp.cluster.board import Board, Exchange
from anycsp.cluster.pipe import Pipe
from anycsp.cluster.worker import PipeBoard
from anycsp.cluster.workers import DIED, ERROR, OVERDUE, RETRIES, Done, Task, Workers
from anycsp.memory import available_bytes
from anycsp.threads import available_threads

LOOK_SECONDS = 1.0
"""How long to wait for a result before looking whether a task is overdue."""

_Event = tuple["_Process", tuple[Any, str] | None]
"""Who has something to say, and the value and message of its task; None where it is dead."""


class _Process:
    """One worker; a thread hears what it says."""

    def __init__(self, board: Board, events: queue.SimpleQueue[_Event]) -> None:
        # A process of its own making, and not a fork or a spawn of `multiprocessing`: neither torch's threads nor the
        # user's main module, which may lack a guard, are run again.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "anycsp.cluster.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OMP_NUM_THREADS": "1", **os.environ},
            start_new_session=True,  # so that what it starts can be ended with it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipe = Pipe(self._process.stdout, self._process.stdin)
        self._board, self._events = board, events
        self._send(sys.path)
        self.task: Task | None = None
        self.attempt, self._until = 0, 0.0
        threading.Thread(target=self._hear, daemon=True).start()

    def begin(self, function: Callable[..., Any], task: Task, attempt: int) -> None:
        self.task, self.attempt = task, attempt
        self._until = time.monotonic() + task.seconds
        self._send(("task", (function, task.arguments)))

    @property
    def overdue(self) -> bool:
        return self.task is not None and time.monotonic() > self._until

    def _send(self, message: Any) -> None:
        with suppress(OSError):  # it is dead, which the thread will say
            self._pipe.send(message)

    def _hear(self) -> None:
        try:
            while True:
                kind, content = self._pipe.receive()
                if kind == "exchange":
                    self._send(("news", self._board.exchange(*content)))
                else:
                    self._events.put((self, content))
        except (EOFError, OSError, ValueError):
            self._events.put((self, None))

    def end(self) -> None:
        """The process and all that it has started."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.wait()


class Processes(Workers):
    def __init__(self, cores: int | None = None) -> None:
        self._cores = cores or available_threads()
        self._board = Board()
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._processes: list[_Process] = []

    @property
    def cores(self) -> int:
        return self._cores

    def board(self) -> Exchange:
        return PipeBoard()

    def close(self) -> None:
        for process in self._processes:
            process.end()
        self._processes = []

    def map_unordered(
        self, function: Callable[..., Any], tasks: Iterable[Task], retries: int = RETRIES
    ) -> Iterator[Done]:
        waiting = _Waiting(tasks)
        memory = available_bytes()
        try:
            while True:
                while (first := waiting.first()) is not None and self._fits(first[0], memory):
                    self._idle().begin(function, *waiting.take())
                if not any(process.task for process in self._processes):
                    return
                yield from self._look(waiting, retries)
        finally:  # also where nobody wants the rest
            for process in [process for process in self._processes if process.task is not None]:
                self._forget(process)

    def _look(self, waiting: _Waiting, retries: int) -> Iterator[Done]:
        """What has become of a task, if there is news."""
        try:
            process, outcome = self._events.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            for process in [process for process in self._processes if process.overdue]:
                assert process.task is not None
                self._forget(process)
                yield Done(process.task, failure=OVERDUE, message="ended: it did not keep its limit")
            return
        task = process.task
        if process not in self._processes:
            return  # ended by us, and dead as expected
        if outcome is not None:
            assert task is not None
            process.task = None
            yield Done(task, outcome[0], ERROR if outcome[1] else "", outcome[1])
            return
        self._forget(process)
        if task is not None and process.attempt < retries:
            waiting.again(task, process.attempt + 1)
        elif task is not None:
            yield Done(task, failure=DIED, message="the process died")

    def _fits(self, task: Task, memory: int) -> bool:
        """A task that needs more than there is runs alone."""
        running = [process.task for process in self._processes if process.task is not None]
        cores, taken = sum(other.cores for other in running), sum(other.memory for other in running)
        return not running or (cores + task.cores <= self._cores and taken + task.memory <= memory)

    def _idle(self) -> _Process:
        for process in self._processes:
            if process.task is None:
                return process
        self._processes.append(_Process(self._board, self._events))
        return self._processes[-1]

    def _forget(self, process: _Process) -> None:
        self._processes.remove(process)
        process.end()


class _Waiting:
    """Tasks and how often they have been begun before; those that were interrupted come first."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks, self._next = iter(tasks), deque[tuple[Task, int]]()

    def first(self) -> tuple[Task, int] | None:
        if not self._next and (task := next(self._tasks, None)) is not None:
            self._next.append((task, 0))
        return self._next[0] if self._next else None

    def take(self) -> tuple[Task, int]:
        return self._next.popleft()

    def again(self, task: Task, attempt: int) -> None:
        self._next.appendleft((task, attempt))
