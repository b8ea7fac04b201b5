"""What the tests of `anycsp.cluster` let workers do: functions that another process finds by module and name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from anycsp.cluster.board import Exchange, Post
from anycsp.errors import AnyCSPError


def double(number: int) -> int:
    print("what a task prints does not disturb its answer")
    return 2 * number


def refuse(number: int) -> int:
    raise AnyCSPError(f"{number} is not wanted")


def fail(number: int) -> int:
    return number // 0


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def kill(marker: str, times: int) -> str:
    """Die at the first `times` calls."""
    path = Path(marker)
    with path.open("a") as file:
        file.write("x")
    if len(path.read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def overlap(folder: str, name: str) -> int:
    """How many are in here at once."""
    path = Path(folder) / name
    path.touch()
    time.sleep(0.1)
    together = len(list(Path(folder).iterdir()))
    path.unlink()
    return together


def tell(board: Exchange, rank: float) -> float | None:
    import numpy as np

    news = board.exchange("problem", Post((rank,), np.array([int(rank)], dtype=np.int32)))
    return None if news is None else float(news.positions[0])
