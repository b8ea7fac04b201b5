"""Problem files as tasks, and the folder that their answers come to.

Each answer is one JSON file, there whole or not at all, as `anycsp solve --json` prints it; `summary.jsonl` has a line
for each. What has an answer is not searched again, so a run that was stopped or killed goes on where it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from anycsp.cluster.many import Solved
from anycsp.errors import AnyCSPError
from anycsp.formats import detect, parse
from anycsp.formats.col import read_graph
from anycsp.formats.files import load, text_source, write_whole
from anycsp.search.fewest_colors import fewest_colors
from anycsp.search.result import Result

SUMMARY, SETTINGS = "summary.jsonl", "settings.json"
BYTES_PER_BYTE = 40
"""Memory of a search per byte of a file: a clause of 8 characters becomes 6 edges of 64 bytes in the index tensors of a
search in PyTorch; compiled search takes less."""
SUMMARISED = ("status", "violated", "violated_weight", "objective", "seconds", "runs", "seed", "search", "found_by")


@dataclass(frozen=True)
class GivenFile:
    """A file's content, so that a worker need not see the same disk."""

    path: str
    data: bytes
    format: str | None
    colors: int | None
    divisible: bool
    """Where the number of colours is looked for, two searches answer different questions."""

    @staticmethod
    def read(path: str, format: str | None, colors: int | None) -> GivenFile:
        source = load(path)
        counts = detect(source, format).takes_colors and colors is None
        return GivenFile(path, source.data, format, colors, not counts)

    @property
    def memory(self) -> int:
        return BYTES_PER_BYTE * len(self.data)

    def searched(self, search: Callable[..., Result], options: dict[str, Any]) -> Result:
        source = text_source(self.data, self.path)
        if self.divisible:
            return search(parse(source, format=self.format, colors=self.colors), **options)
        return fewest_colors(read_graph(source), **options)[1]


def names_of(paths: Sequence[str]) -> dict[str, str]:
    """Paths by the names of their answers, which are those of the files."""
    names: dict[str, str] = {}
    for path in paths:
        name = Path(path).name
        if name in names:
            raise AnyCSPError(f"{path}: {names[name]} has the same name, and would have the same answer file")
        names[name] = path
    return names


class Answers:
    """A folder of answers; one process writes at a time."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        """Refuses a folder whose answers were found with other settings."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / ".lock")
        described, path = json.loads(json.dumps(settings, default=str)), folder / SETTINGS
        if path.exists():
            before = json.loads(path.read_text())
            if differ := sorted(k for k in {*before, *described} if before.get(k) != described.get(k)):
                raise AnyCSPError(f"{folder}: its answers were found with another {differ[0]}; use another --out")
        else:
            write_whole(path, json.dumps(described, indent=1) + "\n")
        self.lines = {answer.name.removesuffix(".json"): line for answer, line in self._found()}
        """What is done already."""
        write_whole(folder / SUMMARY, "".join(json.dumps(line) + "\n" for line in self.lines.values()))

    def _found(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for path in sorted(self.folder.glob("*.json")):
            if path.name != SETTINGS:
                try:
                    yield path, self._line(path.name.removesuffix(".json"), json.loads(path.read_text()))
                except (ValueError, KeyError, TypeError):
                    raise AnyCSPError(f"{path}: not an answer of anycsp; remove it, or use another --out") from None

    @staticmethod
    def _line(name: str, answer: dict[str, Any]) -> dict[str, Any]:
        return {"file": name, **{key: answer[key] for key in SUMMARISED}}

    def add(self, solved: Solved) -> dict[str, Any]:
        """Write an answer, then its line; returns that. Where there is no answer the line says why, and is gone when
        the folder is opened again, for the file to be tried again."""
        if solved.result is None:
            line: dict[str, Any] = {"file": solved.key, "status": "error", "error": solved.message}
        else:
            answer = solved.result.to_json()
            write_whole(self.folder / f"{solved.key}.json", json.dumps(answer) + "\n")
            line = self.lines[solved.key] = self._line(solved.key, answer)
        with open(self.folder / SUMMARY, "a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return line

    def __enter__(self) -> Answers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()


def _locked(path: Path) -> IO[bytes]:
    """Held open, and locked, for as long as the folder is written to."""
    file = open(path, "ab")  # noqa: SIM115
    try:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on this system
        pass
    except OSError:
        file.close()
        raise AnyCSPError(f"{path.parent}: another process is writing its answers here") from None
    return file
