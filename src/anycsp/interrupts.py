"""Ctrl-C, SIGTERM and a terminal that is closed: as long as there is no answer they end the program at once; afterwards
they end the search, and the best so far is printed."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType


def signals() -> list[int]:
    """What asks the program to end; SIGHUP, which Windows lacks, unless it was told to outlive its terminal (nohup)."""
    hang_up: int | None = getattr(signal, "SIGHUP", None)
    heard = [] if hang_up is None or signal.getsignal(hang_up) == signal.SIG_IGN else [hang_up]
    return [signal.SIGINT, signal.SIGTERM, *heard]


def end_at_once() -> None:
    """End with one line and the shell's code for the signal, wherever it strikes: an exception could be swallowed, or
    torn out of an import as a traceback."""
    for number in signals():
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"error: interrupted\n")
    finally:
        os._exit(128 + number)


def stop_instead(stop: threading.Event) -> None:
    """From now on a signal sets `stop`; the next one ends the program. Only the main thread can listen."""

    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    if threading.current_thread() is threading.main_thread() and not stop.is_set():
        for number in signals():
            signal.signal(number, handle)
