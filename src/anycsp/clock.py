"""The clock that compiled searches go by: the time that passes, or the processor time of this process.

On a machine that others use too, the same search takes two seconds now and five a minute later. Measurements count
processor time: then limits, schedules and the times of improvements are all what they would be on a machine of its own.
One thread only: the processor time of several adds up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from anycsp import native

_counts_cpu_time = False


def now() -> float:
    """Seconds, from any beginning."""
    return time.process_time() if _counts_cpu_time else time.perf_counter()


@contextmanager
def cpu_time() -> Iterator[None]:
    """Within, searches count processor time."""
    _count_cpu_time(True)
    try:
        yield
    finally:
        _count_cpu_time(False)


def _count_cpu_time(wanted: bool) -> None:
    global _counts_cpu_time
    _counts_cpu_time = wanted
    if native.available():
        native.module().count_cpu_time(wanted)
