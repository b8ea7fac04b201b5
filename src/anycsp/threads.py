"""How many threads a search takes where nobody says."""

from __future__ import annotations

import os


def available_threads() -> int:
    """OMP_NUM_THREADS where it is set, as for other numerical programs; else the processors this process may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
