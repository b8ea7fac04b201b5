"""What a benchmark shows on a terminal: a bar an experiment, and a line for every answer that did not count."""

from __future__ import annotations

import sys
from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from anycsp.bench.journal import Record
from anycsp.bench.run import Task
from anycsp.bench.runner import Plan, facts


class Progress:
    """Silent in a pipe, but for wrong answers."""

    def __init__(self, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}"),
            console=console,
            disable=quiet or not sys.stderr.isatty(),
        )
        self._console = console
        self._rows: dict[str, TaskID] = {}

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def planned(self, plan: Plan) -> None:
        for name, total in Counter(task.experiment for task, _ in plan.to_run).items():
            self._rows[name] = self._bars.add_task(name, total=total, last="")

    def finished(self, task: Task, record: Record) -> None:
        last = f"{task.instance} {task.solver}: {facts(record)}"
        self._bars.update(self._rows[task.experiment], advance=1, last=last)
        if record["status"] == "wrong answer":
            self._console.print(f"wrong answer: {task.solver} on {task.instance}: {record['note']}", markup=False)
