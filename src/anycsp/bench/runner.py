"""Run experiments into a folder: plan the tasks, leave out those done, give the rest to workers, keep a journal."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from anycsp.bench.baselines import solver
from anycsp.bench.experiment import BudgetName, Experiment, Instance
from anycsp.bench.journal import Journal, Record
from anycsp.bench.machine import commit, hardware, software
from anycsp.bench.run import Task, record
from anycsp.bench.worker import Worker
from anycsp.errors import AnyCSPError

WHERE = "--data or $ANYCSP_DATA names the folder of benchmark instances"

Listener = Callable[[Task, Record], None]

LOOK_SECONDS = 1.0
"""How long it waits for a result before it looks whether a run is overdue."""


@dataclass(frozen=True)
class Plan:
    to_run: list[tuple[Task, Instance]]
    done: int
    """Tasks that the journal already holds."""
    absent: list[tuple[Task, Instance, str]]
    """Tasks of systems that cannot run here, and why."""

    @property
    def worst_seconds(self) -> float:
        """If every run took its whole limit, on one core; training a RUN-CSP network comes on top."""
        return sum(task.limit.seconds for task, _ in self.to_run)


def plan(
    experiments: Sequence[Experiment],
    data: Path,
    budget: BudgetName,
    records: Iterable[Record] = (),
    solvers: Sequence[str] = (),
    models: Path | None = None,
) -> Plan:
    """The runs of some experiments; `solvers` restricts them to some systems."""
    done = {r["key"] for r in records if not _may_change(r["status"])}
    result = Plan([], 0, [])
    finished = 0
    for experiment in experiments:
        try:
            instances = experiment.instances(data, budget)
        except OSError as error:
            raise AnyCSPError(f"{experiment.name}: cannot read {error.filename}; {WHERE}") from None
        if not instances:
            raise AnyCSPError(f"{experiment.name}: no instances in {data}; {WHERE}")
        for name in experiment.solvers:
            if solvers and name not in solvers:
                continue
            system = solver(name, models)
            reason, version = system.unavailable(), system.version()
            for instance in (i for i in instances if name not in i.skip):
                for seed in range(experiment.seeds[budget]):
                    limit = experiment.limit(budget, instance.group)
                    task = Task(experiment.name, instance.name, instance.group, name, version, seed, budget, limit)
                    if task.key in done:
                        finished += 1
                    elif reason is not None:
                        result.absent.append((task, instance, reason))
                    else:
                        result.to_run.append((task, instance))
    return Plan(result.to_run, finished, result.absent)


def _may_change(status: str) -> bool:
    """Not a result of a run: installing a package or shipping a model makes it one."""
    return status.startswith("not ")


def run(
    experiments: Sequence[Experiment],
    data: Path,
    out: Path,
    budget: BudgetName,
    *,
    solvers: Sequence[str] = (),
    models: Path | None = None,
    jobs: int | None = None,
    planned: Callable[[Plan], None] = lambda plan: None,
    finished: Listener = lambda task, record: None,
) -> list[Record]:
    """Run what the folder does not hold yet, `jobs` runs side by side; returns all its records."""
    with Journal(out) as journal:
        todo = plan(experiments, data, budget, journal.records, solvers, models)
        planned(todo)
        last = {r["key"]: r["status"] for r in journal.records}
        for task, instance, reason in todo.absent:
            if last.get(task.key) != reason:
                journal.append(_stamped(record(task, instance, reason)))
        for task, instance, outcome in _execute(todo.to_run, data, models, jobs or os.cpu_count() or 1):
            entry = _stamped(outcome or record(task, instance, "error", note="the process died"))
            journal.append(entry)
            finished(task, entry)
        return journal.records


def _stamped(entry: Record) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {**entry, "commit": commit(), "hardware": hardware(), "software": software(), "when": now}


def _execute(
    tasks: list[tuple[Task, Instance]], data: Path, models: Path | None, jobs: int
) -> Iterable[tuple[Task, Instance, Record | None]]:
    """The records as they come; None where the worker died."""
    waiting = deque(tasks)
    instances = {task.key: instance for task, instance in tasks}
    workers: list[Worker] = []
    try:
        while waiting or any(worker.task for worker in workers):
            while waiting and len(workers) < jobs:
                workers.append(Worker(data, models))
            for worker in workers:
                if worker.task is None and waiting:
                    next_task = waiting.popleft()[0]
                    system = solver(next_task.solver, models)
                    worker.begin(next_task, system.preparation_seconds(next_task.limit))
            ready = wait([worker.connection for worker in workers if worker.task], timeout=LOOK_SECONDS)
            for worker in list(workers):
                task = worker.task
                if task is None:
                    continue
                outcome: Record | None = None
                if worker.connection in ready:
                    try:
                        outcome = worker.take()
                    except (EOFError, OSError):
                        workers.remove(worker)
                        worker.stop()
                elif worker.overdue:
                    workers.remove(worker)
                    worker.stop()
                    outcome = record(task, instances[task.key], "timeout", note="ended: it did not keep its limit")
                else:
                    continue
                yield task, instances[task.key], outcome
    finally:
        for worker in workers:
            worker.stop()


def facts(entry: dict[str, Any]) -> str:
    """A record in a few words, for the terminal."""
    if entry["status"] not in ("ok", "late"):
        return str(entry["status"])
    found = "solved" if entry["violated"] == 0 else f"violated {entry['violated_weight']:g}"
    return f"{found} after {entry['best_seconds']:.2f} s" + (" (late)" if entry["status"] == "late" else "")
