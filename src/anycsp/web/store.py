"""The problems that visitors brought or picked: files under names of the server's own, the oldest forgotten first."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anycsp.web.settings import Settings


class TooLong(Exception):
    """An upload beyond the limit."""


@dataclass(frozen=True)
class Kept:
    """A problem: an upload, or one that a worker makes; the file is there in either case."""

    id: str
    file: Path
    example: str | None = None
    """The name of the example that it is."""
    drawn: tuple[Path, int] | None = None
    """The training run that it is drawn for, and its number among those."""
    format: str | None = None
    """What the visitor says it is; None where that is to be found out."""
    facts: dict[str, Any] = field(default_factory=dict)


class Store:
    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._kept: dict[str, Kept] = {}

    def new_file(self) -> tuple[str, Path]:
        name = secrets.token_urlsafe(12)
        return name, self._folder / f"problem-{name}"

    def new_folder(self) -> Path:
        folder = self._folder / f"job-{secrets.token_urlsafe(12)}"
        folder.mkdir()
        return folder

    async def receive(self, parts: AsyncIterator[bytes], file: Path) -> None:
        """Write an upload; refuse it as soon as it is too long, whatever its header claimed."""
        size = 0
        try:
            with open(file, "wb") as out:
                async for part in parts:
                    size += len(part)
                    if size > self._settings.largest_upload:
                        raise TooLong
                    out.write(part)
        except BaseException:
            file.unlink(missing_ok=True)
            raise

    def keep(self, kept: Kept, in_use: set[Path]) -> None:
        """`in_use` are files that jobs are yet to read."""
        self._kept[kept.id] = kept
        sizes = {other.id: other.file.stat().st_size for other in self._kept.values()}
        most = self._settings.kept_bytes + self._settings.largest_upload
        for other in [k for k in self._kept.values() if k.id != kept.id and k.file not in in_use]:
            if len(self._kept) <= self._settings.kept_problems and sum(sizes.values()) <= most:
                break
            other.file.unlink(missing_ok=True)
            del self._kept[other.id], sizes[other.id]

    def get(self, name: str) -> Kept | None:
        return self._kept.get(name)
