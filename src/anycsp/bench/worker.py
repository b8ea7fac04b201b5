"""A process that executes tasks one by one, so that a solver that crashes, hangs or eats memory takes only its own
run with it. The parent ends a worker whose run does not end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from anycsp.bench.run import Task

GRACE_SECONDS = 60.0
"""Beyond its limit, a run may take this long for reading, checking and overrunning before it is ended."""
GRACE_FACTOR = 1.5


class Worker:
    def __init__(self, data: Path, models: Path | None) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
        self._process = context.Process(target=_serve, args=(theirs, data, models), daemon=True)
        self._process.start()
        theirs.close()
        self.task: Task | None = None
        self._until = 0.0

    def begin(self, task: Task, preparation_seconds: float) -> None:
        self.task = task
        allowed = task.limit.seconds * GRACE_FACTOR + GRACE_SECONDS + preparation_seconds
        self._until = time.monotonic() + allowed
        self.connection.send(task)

    def take(self) -> dict[str, Any]:
        """The finished task's record; EOFError when the process died instead."""
        record: dict[str, Any] = self.connection.recv()
        self.task = None
        return record

    @property
    def overdue(self) -> bool:
        return self.task is not None and time.monotonic() > self._until

    def stop(self) -> None:
        """End the process and whatever it started."""
        if self._process.pid is not None and self._process.is_alive():
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, data: Path, models: Path | None) -> None:
    os.setsid()  # a group of its own, so that the solver's children end with it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.filterwarnings("ignore", "Sparse CSR tensor support")
    from anycsp.bench.baselines import solver
    from anycsp.bench.experiments import experiment
    from anycsp.bench.run import execute, find_instance

    while True:
        try:
            task: Task = connection.recv()
        except EOFError:
            return
        chosen = experiment(task.experiment)
        instance = find_instance(chosen, data, task)
        connection.send(execute(task, instance, chosen, solver(task.solver, models)))


def _end_with(parent: int) -> None:
    """A parent that was killed cannot end its workers: they end themselves, and do not search on for minutes."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(os.getpid(), signal.SIGKILL)
