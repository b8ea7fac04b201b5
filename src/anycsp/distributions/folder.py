"""Which files of a user's folder are problems: told by their names or first bytes, as parsing all would take long."""

from __future__ import annotations

import warnings
from pathlib import Path

from anycsp.errors import FormatError, ProblemError
from anycsp.formats import Format, detect
from anycsp.formats.files import Source, load_head
from anycsp.schema import shown

_HEAD = 1 << 16
"""As much as `detect` looks at."""


def problem_files(folder: str, pattern: str) -> list[Path]:
    """The files that match and whose format is known, ordered by name; warns of those it leaves out."""
    root = Path(folder)
    if not root.is_dir():
        raise ProblemError(
            f"{folder} is a file, not a folder" if root.exists() else f"the folder {folder} does not exist"
        )
    try:
        matching = sorted(root.glob(pattern))
    except (ValueError, NotImplementedError, TypeError) as error:
        raise ProblemError(f"pattern = {shown(pattern)}: {error}") from None
    files = [path for path in matching if path.is_file()]
    if matching and not files:
        raise ProblemError(
            f"{folder} holds only subfolders, which are not descended into; pattern = '**/*' takes the files in them"
        )
    known = {path: _is_known(path) for path in files}
    if unknown := [path.name for path in files if not known[path]]:
        warnings.warn(
            f"{folder}: {len(unknown)} of {len(files)} files left out as their format is not known, first {unknown[0]}",
            stacklevel=2,
        )
    return [path for path in files if known[path]]


def format_of(source: Source) -> Format | None:
    """None where it is not known; `detect` would then advise an option that only commands on one file have."""
    try:
        return detect(source)
    except FormatError:
        return None


def _is_known(path: Path) -> bool:
    """Whether the reader will know the format. A known extension is enough for it, whatever the content."""
    if format_of(Source(str(path), b"")) is not None:
        return True
    try:
        return format_of(load_head(path, _HEAD)) is not None
    except FormatError:  # binary, unreadable, damaged
        return False
