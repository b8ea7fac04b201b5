"""Ending threads that cannot be stopped at once: CP-SAT presolves for a second on a large model, at times several.

An answer does not wait that long. What has not ended then is asked on in the background and waited for only where the
interpreter ends, since CP-SAT's threads need it; a program that has said all it has to say leaves without them.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

from anycsp.deadline import NEVER, Deadline

STOPPING = 0.01
"""Seconds between two requests to stop: one that comes before CP-SAT listens is lost."""
PATIENCE = 0.1
"""Seconds that an answer waits."""

_left: list[threading.Thread] = []
"""They ask what did not end in time."""


def end(threads: Sequence[threading.Thread], request_stop: Callable[[], None]) -> None:
    """Ask the threads to stop until they have ended, no longer than `PATIENCE`, then in the background."""
    if not _ended(threads, request_stop, Deadline.after(PATIENCE)):
        if not _left:
            atexit.register(_wait)
        _left[:] = [asking for asking in _left if asking.is_alive()]
        _left.append(threading.Thread(target=_ended, args=(threads, request_stop, NEVER), daemon=True))
        _left[-1].start()


def _ended(threads: Sequence[threading.Thread], request_stop: Callable[[], None], until: Deadline) -> bool:
    while any(thread.is_alive() for thread in threads):
        if until.passed:
            return False
        request_stop()
        for thread in threads:
            thread.join(STOPPING)
    return True


def _wait() -> None:
    for asking in _left:
        asking.join()


def leave(code: int) -> NoReturn:
    """End the program, all of whose output is written, also where CP-SAT still runs."""
    if any(asking.is_alive() for asking in _left):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
