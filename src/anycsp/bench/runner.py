"""Run experiments into a folder: plan the tasks, leave out those done, give the rest to workers, keep a journal."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from anycsp.bench.baselines import solver
from anycsp.bench.experiment import BudgetName, Experiment, Instance
from anycsp.bench.experiments import experiment as experiment_of
from anycsp.bench.journal import Journal, Record
from anycsp.bench.machine import commit, hardware, software
from anycsp.bench.run import Task, execute, find_instance, record
from anycsp.cluster import workers as cluster
from anycsp.cluster.workers import Workers, open_workers
from anycsp.errors import AnyCSPError

WHERE = "--data or $ANYCSP_DATA names the folder of benchmark instances"

Listener = Callable[[Task, Record], None]

GRACE_SECONDS = 60.0
"""Beyond its limit, a run may take this long for reading, checking and overrunning before it is ended."""
GRACE_FACTOR = 1.5


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
    on: str = "processes",
    planned: Callable[[Plan], None] = lambda plan: None,
    finished: Listener = lambda task, record: None,
) -> list[Record]:
    """Run what the folder does not hold yet, `jobs` runs side by side or on a cluster; returns all its records."""
    with Journal(out) as journal:
        todo = plan(experiments, data, budget, journal.records, solvers, models)
        planned(todo)
        last = {r["key"]: r["status"] for r in journal.records}
        for task, instance, reason in todo.absent:
            if last.get(task.key) != reason:
                journal.append(_stamped(record(task, instance, reason)))
        # A solver that crashes here has crashed; in a cluster it may have been the machine.
        retries = 0 if on == "processes" else cluster.RETRIES
        with open_workers(on, jobs or os.cpu_count() or 1) as workers:
            for task, outcome in _execute(todo.to_run, data, models, workers, retries):
                entry = _stamped(outcome)
                journal.append(entry)
                finished(task, entry)
        return journal.records


def _stamped(entry: Record) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {**entry, "commit": commit(), "hardware": hardware(), "software": software(), "when": now}


def _execute(
    tasks: Sequence[tuple[Task, Instance]], data: Path, models: Path | None, workers: Workers, retries: int
) -> Iterator[tuple[Task, Record]]:
    """The records as they come."""
    instances = {task.key: instance for task, instance in tasks}

    def calls() -> Iterator[cluster.Task]:
        for task, _ in tasks:
            preparation = solver(task.solver, models).preparation_seconds(task.limit)
            allowed = task.limit.seconds * GRACE_FACTOR + GRACE_SECONDS + preparation
            yield cluster.Task(task.key, (task, data, models), seconds=allowed)

    for done in workers.map_unordered(executed, calls(), retries):
        task = done.task.arguments[0]
        if done.failure:
            status = "timeout" if done.failure == cluster.OVERDUE else "error"
            yield task, record(task, instances[task.key], status, note=done.message)
        else:
            yield task, done.value


def executed(task: Task, data: Path, models: Path | None) -> Record:
    """In a worker: whatever a solver does there takes only its own run with it."""
    warnings.filterwarnings("ignore", "Sparse CSR tensor support")
    chosen = experiment_of(task.experiment)
    return execute(task, find_instance(chosen, data, task), chosen, solver(task.solver, models))


def facts(entry: dict[str, Any]) -> str:
    """A record in a few words, for the terminal."""
    if entry["status"] not in ("ok", "late"):
        return str(entry["status"])
    found = "solved" if entry["violated"] == 0 else f"violated {entry['violated_weight']:g}"
    return f"{found} after {entry['best_seconds']:.2f} s" + (" (late)" if entry["status"] == "late" else "")
