"""What a benchmark shows: a bar for each experiment on a terminal, a line for each run in a pipe."""

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
    """`quiet`: nothing but wrong answers."""

    def __init__(self, quiet: bool) -> None:
        console = Console(stderr=True)
        self._lines = not quiet and not sys.stderr.isatty()
        self._done = self._total = 0
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
        self._total = len(plan.to_run)
        if self._lines:
            absent = sorted({f"{task.solver} {reason}" for task, _, reason in plan.absent})
            self._say(f"{self._total} runs; {plan.done} done before" + "".join(f"; {row}" for row in absent))
        for name, total in Counter(task.experiment for task, _ in plan.to_run).items():
            self._rows[name] = self._bars.add_task(name, total=total, last="")

    def finished(self, task: Task, record: Record) -> None:
        last = f"{task.instance} {task.solver}: {facts(record)}"
        self._bars.update(self._rows[task.experiment], advance=1, last=last)
        self._done += 1
        if self._lines:
            self._say(f"{self._done}/{self._total} {task.experiment} {last}")
        if record["status"] == "wrong answer":
            self._say(f"wrong answer: {task.solver} on {task.instance}: {record['note']}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
