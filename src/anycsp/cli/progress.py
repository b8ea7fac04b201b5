"""The live progress line of a search: best, step, steps per second, time left. Silent where nobody watches."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from anycsp.deadline import Deadline

if TYPE_CHECKING:
    from rich.live import Live

    from anycsp.search import Progress


class ProgressLine:
    """A context around a search on a terminal; `show` is called with its progress."""

    def __init__(self, enabled: bool, deadline: Deadline, steps: int | None) -> None:
        self.visible = enabled and sys.stderr.isatty()
        self._deadline, self._steps = deadline, steps
        self._live: Live | None = None
        self._shown = 0.0

    def __enter__(self) -> ProgressLine:
        if self.visible:
            from rich.console import Console
            from rich.live import Live

            self._live = Live("", console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def clear(self) -> None:
        """Make room for a line of output: the next `show` draws below it."""
        if self._live is not None:
            self._live.update("", refresh=True)
            self._shown = 0.0

    def show(self, progress: Progress, best: str) -> None:
        now = time.perf_counter()
        if self._live is not None and now - self._shown > 0.1:
            self._shown = now
            self._live.update(self.text(progress, best), refresh=True)

    def text(self, progress: Progress, best: str) -> str:
        rate = progress.step / progress.seconds if progress.seconds > 0 else 0.0
        left = [self._deadline.left]
        if self._steps is not None and rate > 0:
            left.append((self._steps - progress.step) / rate)
        ending = f"  {min(left):.0f} s left" if min(left) < math.inf else ""
        return f"best {best}  step {progress.step:,}  {rate:,.0f} steps/s  {progress.seconds:.0f} s{ending}"
