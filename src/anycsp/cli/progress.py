"""The live line of a search on a terminal: best, its curve, step, steps per second, time left.

Written by hand with two control sequences, so that a plain installation needs no library for it.
"""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from anycsp.deadline import Deadline

if TYPE_CHECKING:
    from anycsp.search import Progress

ERASE = "\r\x1b[K"
"""Back to the beginning of the line, and nothing on it."""
BARS = "▁▂▃▄▅▆▇█"
CURVE_WIDTH = 16
"""Characters of the curve: enough to see the shape, and the rest of the line fits beside it in 80 columns."""
REFRESH_SECONDS = 0.1
"""Faster than this nobody reads."""


class ProgressLine:
    """A context around a search; `show` is called with its progress. Silent where nobody watches."""

    def __init__(self, enabled: bool, deadline: Deadline, steps: int | None) -> None:
        self.visible = enabled and sys.stderr.isatty()
        self._deadline, self._steps = deadline, steps
        self._shown = 0.0
        self._violated: list[float] = []

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()

    def show(self, progress: Progress, best: str) -> None:
        now = time.perf_counter()
        if self.visible and now - self._shown > REFRESH_SECONDS:
            self._shown = now
            self._violated.append(progress.violated_weight)
            width = shutil.get_terminal_size().columns - 1  # a full line would wrap, and its first part stay
            sys.stderr.write(ERASE + self.text(progress, best)[:width])
            sys.stderr.flush()

    def hide(self) -> None:
        """Take the line away, so that something can be printed in its place; it comes back with the next progress."""
        if self.visible:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self._shown = 0.0

    def text(self, progress: Progress, best: str) -> str:
        rate = progress.step / progress.seconds if progress.seconds > 0 else 0.0
        left = [self._deadline.left]
        if self._steps is not None and rate > 0:
            left.append((self._steps - progress.step) / rate)
        ending = f"  {min(left):.0f} s left" if min(left) < math.inf else ""
        drawn = f"  {curve(self._violated)}" if len(set(self._violated)) > 1 else ""
        return f"best {best}{drawn}  step {progress.step:,}  {rate:,.0f} steps/s  {progress.seconds:.0f} s{ending}"


def curve(values: Sequence[float]) -> str:
    """A line of bars from the first value to the last, by their logarithms: most of a search is spent at its end."""
    picked = (
        [values[i * len(values) // CURVE_WIDTH] for i in range(CURVE_WIDTH)] if len(values) > CURVE_WIDTH else values
    )
    heights = [math.log1p(max(0.0, value)) for value in [*picked[:-1], values[-1]]]
    low, high = min(heights), max(heights)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((height - low) * scale)] for height in heights)
