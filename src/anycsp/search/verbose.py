"""What `verbose=True` shows of a search: a line per improvement, or, in a notebook, a bar that fills with the time."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

from anycsp.deadline import Deadline
from anycsp.search.driver import Progress

REFRESH_SECONDS = 0.2
"""Between two drawings of the bar: each is a message to the browser."""


class Verbose:
    """Called with the progress of a search; made when the search begins."""

    def __init__(self, deadline: Deadline) -> None:
        self._total = deadline.seconds
        self._shown = 0.0
        self._bar = _notebook_display()

    def tell(self, chosen: str) -> None:
        """What the search was told to do."""
        if self._bar is None:
            print(chosen)

    def __call__(self, progress: Progress) -> None:
        if self._bar is None:
            if progress.improved:
                print(f"{progress.seconds:8.2f} s  step {progress.step:,}: {standing(progress)}")
        elif progress.improved or time.perf_counter() - self._shown > REFRESH_SECONDS:
            self._shown = time.perf_counter()
            self._bar.update(_Html(bar(progress, self._total)))


def standing(progress: Progress) -> str:
    """How far the search has come."""
    value = "" if progress.objective is None else f", objective {progress.objective:g}"
    weight = f", weight {progress.violated_weight:g}" if progress.violated_weight != progress.violated else ""
    return f"{progress.violated} violated{weight}{value}"


def bar(progress: Progress, total: float | None) -> str:
    """The share of the time that is over, where there is a limit of time, and the best so far."""
    filled = "" if not total else f"<progress max='{total:g}' value='{min(progress.seconds, total):.2f}'></progress> "
    return f"<div>{filled}{progress.seconds:.1f} s, step {progress.step:,}: {escape(standing(progress))}</div>"


class _Html:
    """Something that a notebook shows as HTML."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text


def _notebook_display() -> Any:
    """The handle of a place in the notebook's output; None outside of one."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if ipython is None or shell is None or not hasattr(shell, "kernel"):  # a terminal has a shell, but no kernel
        return None
    return ipython.display.display(_Html(""), display_id=True)
