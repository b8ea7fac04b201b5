"""What a run writes while it trains: train.csv and validation.csv, events.jsonl, a line of progress, TensorBoard."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from anycsp.errors import FormatError
from anycsp.formats.files import write_whole

TABLES = ("train", "validation")
BOARD = "tensorboard"
"""The folder of its files."""


class RunLog:
    """Appends to the files of a run folder; a resumed run goes on in the same files, of which it keeps the rows up to
    `logged`, an update for each table."""

    def __init__(self, folder: Path, logged: Mapping[str, int], quiet: bool = False) -> None:
        self._folder, self._quiet = folder, quiet
        self._events = folder / "events.jsonl"
        for table in TABLES:
            _forget_after(folder / f"{table}.csv", logged[table])
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
        with ExitStack() as entered:
            entered.enter_context(_quiet_board())
            self._board = _tensorboard(self._folder)
            entered.callback(self._close_board)
            self._progress.start()
            entered.callback(self._progress.stop)
            self._opened = entered.pop_all()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._opened.close()

    def _close_board(self) -> None:
        if self._board is not None:
            with _writing(self._folder / BOARD):
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
            with _writing(self._folder / BOARD):
                for name, value in values.items():
                    self._board.add_scalar(f"{table}/{name}", value, int(values["update"]))

    def event(self, kind: str, **facts: Any) -> None:
        _append(self._events, json.dumps({"event": kind, **facts}) + "\n")

    def progress(self, share: float, state: str) -> None:
        self._progress.update(self._task, completed=share, state=state)

    def say(self, text: str) -> None:
        if not self._quiet:
            self._progress.console.print(text, highlight=False, soft_wrap=True)


class NoLog(RunLog):
    """What the other processes of a distributed run have: the first one says and writes all."""

    def __init__(self) -> None:
        pass

    def __enter__(self) -> NoLog:
        return self

    def __exit__(self, *failure: Any) -> None:
        pass

    def event(self, kind: str, **facts: Any) -> None:
        pass

    def row(self, table: str, values: Mapping[str, float | int]) -> None:
        pass

    def progress(self, share: float, state: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass


def _append(path: Path, text: str) -> None:
    """Whole or not at all: a torn line would be continued by a resumed run's first."""
    before = path.stat().st_size if path.exists() else 0
    try:
        with _writing(path), open(path, "a", newline="") as file:
            file.write(text)
    except FormatError:
        with suppress(OSError):
            os.truncate(path, before)
        raise


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Names the file that a full disk, or a lack of rights, keeps from being written."""
    try:
        yield
    except OSError as error:
        raise FormatError(path, f"cannot be written: {(error.strerror or str(error)).lower()}") from None


@contextmanager
def _quiet_board() -> Iterator[None]:
    """What fails in TensorBoard's own thread is raised again where it is next used, so the thread need not print it."""
    usual = threading.excepthook

    def hook(failed: threading.ExceptHookArgs) -> None:
        if not type(failed.thread).__module__.startswith("tensorboard."):
            usual(failed)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = usual


def _forget_after(path: Path, update: int) -> None:
    """Drop the rows of updates that a killed run had done since its last checkpoint: they are done again. Rows begin
    with their update; a line that does not was torn by the kill."""
    if path.exists():
        with open(path, newline="") as file:
            header, *rows = file.readlines() or [""]
        kept = [row for row in rows if (first := row.partition(",")[0]).isdigit() and int(first) <= update]
        if kept != rows:
            write_whole(path, "".join([header, *kept]))


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # the extra `logs` is not installed
        return None
    with _writing(folder / BOARD):
        return SummaryWriter(str(folder / BOARD))
