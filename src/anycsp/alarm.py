"""An alarm for work that has no other way of looking at the clock, such as the readers of files."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from anycsp.deadline import Deadline, OutOfTime

_AGAIN = 0.02
"""Seconds until it rings once more: what it raises is lost where it strikes within a callback of a library."""


@contextmanager
def raising_at(deadline: Deadline) -> Iterator[None]:
    """Within, OutOfTime is raised when the deadline passes, wherever Python is: for work that leaves nothing behind. In
    the main thread, and where the system has such an alarm; elsewhere the work is trusted to look at the clock."""
    seconds = deadline.seconds
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    def unless_lost(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, OutOfTime):
            report(unraisable)

    before, report = signal.signal(signal.SIGALRM, ring), sys.unraisablehook
    sys.unraisablehook = unless_lost  # Python prints a traceback of what was raised where nobody can catch it
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _AGAIN), _AGAIN)
        yield
    finally:
        with suppress(OutOfTime):  # it may ring once more while it is turned off
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = report
