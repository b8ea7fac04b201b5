"""What a run writes while it trains: train.csv and validation.csv, events.jsonl, a line of progress, TensorBoard."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from anycsp.errors import FormatError
from anycsp.formats.files import write_whole

TABLES = ("train", "validation")


class RunLog:
    """Appends to the files of a run folder; a resumed run goes on in the same files, from its checkpoint's `update`."""

    def __init__(self, folder: Path, update: int, quiet: bool = False) -> None:
        self._folder, self._quiet = folder, quiet
        self._events = folder / "events.jsonl"
        for table in TABLES:
            _forget_after(folder / f"{table}.csv", update)
        self._board = _tensorboard(folder)
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=quiet or not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task("training", total=1.0, state="")

    def __enter__(self) -> RunLog:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        if self._board is not None:
            self._board.close()

    def row(self, table: str, values: Mapping[str, float | int]) -> None:
        """One line of TABLE.csv, the same as an event and as scalars of TensorBoard."""
        path = self._folder / f"{table}.csv"
        lines = io.StringIO(newline="")
        writer = csv.writer(lines)
        if not path.exists():
            writer.writerow(values)
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values.values()])
        _append(path, lines.getvalue())
        self.event(table, **values)
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(f"{table}/{name}", value, int(values["update"]))

    def event(self, kind: str, **facts: Any) -> None:
        _append(self._events, json.dumps({"event": kind, **facts}) + "\n")

    def progress(self, share: float, state: str) -> None:
        self._progress.update(self._task, completed=share, state=state)

    def say(self, text: str) -> None:
        if not self._quiet:
            self._progress.console.print(text, highlight=False, soft_wrap=True)


def _append(path: Path, text: str) -> None:
    try:
        with open(path, "a", newline="") as file:
            file.write(text)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {(error.strerror or str(error)).lower()}") from None


def _forget_after(path: Path, update: int) -> None:
    """Drop the rows of updates that a killed run had done since its last checkpoint: they are done again. Rows begin
    with their update; a line that does not was torn by the kill."""
    if path.exists():
        header, *rows = path.read_text().splitlines(keepends=True) or [""]
        kept = [row for row in rows if (first := row.partition(",")[0]).isdigit() and int(first) <= update]
        write_whole(path, "".join([header, *kept]))


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # the extra `logs` is not installed
        return None
    return SummaryWriter(str(folder / "tensorboard"))
