"""Training runs in a folder: their curves, what they are held against, and what `learn` found."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from anycsp.errors import AnyCSPError
from anycsp.model.problem import Problem
from anycsp.neural.models.store import RUN_MODEL
from anycsp.schema import parse_json
from anycsp.training.config import RUN_CONFIG
from anycsp.tuning.learn import LESSON

MOST_ROWS = 2000
"""Points of a curve: more are thinned, the last one kept."""
DRAWN_SEED = 28
"""Any but that of the validation set: what is shown is new to the policy and to the choice of the best one."""
LONGEST_FILE = 64 << 20
NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")
"""What the folder of a run may be called to be shown: a visitor may say the name."""


def find_runs(root: Path) -> dict[str, Path]:
    """Folders of runs in a folder, by their names; the folder itself where it is one."""
    folders = [root, *sorted(path for path in root.iterdir() if path.is_dir())] if root.is_dir() else []
    return {path.name: path for path in folders if NAME.fullmatch(path.name) and _is_run(path)}


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("validation.csv", "train.csv", LESSON, RUN_MODEL))


def has_model(folder: Path) -> bool:
    return (folder / RUN_MODEL).exists()


def can_draw(folder: Path) -> bool:
    """Whether it says what it trains on."""
    return (folder / RUN_CONFIG).exists()


def drawn(folder: Path, number: int) -> Problem:
    """A problem such as the run is validated on."""
    from anycsp.distributions import draw
    from anycsp.training.config import TrainingConfig

    config = TrainingConfig.read(folder / RUN_CONFIG)
    if config.hooks():
        raise AnyCSPError("this run draws its problems by a Python function, which the server does not call")
    return draw(config.validation_distribution(), DRAWN_SEED, number)


def columns(path: Path) -> dict[str, list[float]]:
    """The numbers of a table that a run writes; a line that is not yet whole is left out."""
    try:
        if path.stat().st_size > LONGEST_FILE:
            return {}
        with open(path, newline="", encoding="utf-8") as file:
            names, *rows = list(csv.reader(file)) or [[]]
    except (OSError, ValueError, csv.Error):
        return {}
    numbers: list[list[float]] = []
    for row in rows:
        try:
            numbers.append([float(cell) for cell in row])
        except ValueError:
            continue
    numbers = [row for row in numbers if len(row) == len(names)]
    every = max(1, len(numbers) // MOST_ROWS)
    kept = numbers[::-1][::every][::-1]
    return {name: [row[k] for row in kept] for k, name in enumerate(names)}


def lesson(folder: Path) -> list[dict[str, Any]]:
    """The rows of `learn`'s table; none where nothing was learnt."""
    try:
        rows: list[dict[str, Any]] = parse_json((folder / LESSON).read_bytes())["rows"]
        return rows
    except (OSError, ValueError, KeyError, TypeError):
        return []
