"""What whoever starts the server decides; visitors decide none of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from anycsp.threads import available_threads

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """What visitors must know; None on the loopback address, where only users of this machine come."""
    runs: Path | None = None
    """A folder of training runs to show."""
    jobs: int = 1
    """Searches at a time."""
    memory: int = 2048 * MEGABYTE
    """Bytes of one job."""
    largest_upload: int = 50 * MEGABYTE
    longest_search: int = 600
    """Seconds that a visitor may ask for."""
    read_seconds: float = 30.0
    """From the start of a job until its problem is read."""
    longest_queue: int = 50
    """Jobs that wait; one more is refused."""
    kept_jobs: int = 100
    """Finished jobs that can still be looked at; older ones are forgotten."""
    kept_problems: int = 100
    kept_bytes: int = 256 * MEGABYTE
    """Events of finished jobs that are kept; as much again is kept of uploads on disk, beyond the largest one."""

    @property
    def threads(self) -> int:
        """Threads of one job: all jobs share the machine."""
        return max(1, available_threads() // self.jobs)

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK


LOOPBACK = ("127.0.0.1", "localhost", "::1")


def default_jobs() -> int:
    """Two searches beside each other can be compared; more would wait for one another."""
    return min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
