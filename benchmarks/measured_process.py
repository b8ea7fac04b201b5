"""A process that measures one engine apart from the others, and its memory seen from inside.

The child prints a JSON line with its `mb` once it is warm, then one for every line it is sent.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def resident(field: str) -> float:
    """MB of VmRSS or VmHWM of this process."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def settle_memory() -> None:
    """Give freed memory back and forget the peak so far."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


class MeasuredProcess:
    """The parent's end. Starting costs more than measuring: start all, then wait until each is `ready`."""

    def __init__(self, script: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", script, "--serve", *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.mb = 0.0
        self.measured: list[float] = []

    def ready(self) -> None:
        self.mb = self._answer()["mb"]

    def ask(self, request: str) -> dict[str, float]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the measured process died")
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> float:
        """The median of what was measured."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        return statistics.median(self.measured)
