"""The results of a folder: one JSON line a run, appended and forced to disk before the next run begins.

A process killed in the middle of a line leaves a torn tail, which the next one cuts off: a run is either there
whole or not there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from anycsp.errors import AnyCSPError

FILE = "runs.jsonl"

Record = dict[str, Any]


class Journal:
    """Open for appending; one process at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self._file = open(self.path, "a+b")  # noqa: SIM115 — held open, and locked, for the life of the journal
        _lock(self._file.fileno(), self.path)
        self.records = self._recover()

    def _recover(self) -> list[Record]:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)
        return _parse(content[:whole], self.path)

    def append(self, record: Record) -> None:
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records.append(record)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def read_records(folder: Path) -> list[Record]:
    """The whole records of a folder, without touching it; a torn tail is left out."""
    path = folder / FILE
    if not path.exists():
        raise AnyCSPError(f"{folder}: no {FILE} here; run `anycsp bench` first")
    content = path.read_bytes()
    return _parse(content[: content.rfind(b"\n") + 1], path)


def _parse(content: bytes, path: Path) -> list[Record]:
    records = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not {"key", "experiment", "status"} <= record.keys():
            raise AnyCSPError(f"{path}:{number}: not a line of results; without that line the others are usable")
        records.append(record)
    return records


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise AnyCSPError(f"{path.parent}: another benchmark is writing here") from None
