"""How much memory there is, asked before it is taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from anycsp.errors import TooLargeError

CONTROLLED = {
    "": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    "memory": (
        "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
    ),
}  # fmt: skip
"""Control groups of version 2 and of version 1: where they are, and their files for the limit, for what is taken, and
the line of `memory.stat` with the file cache in it, which the system gives up when memory is asked for."""


def available_bytes() -> int:
    """Memory that can be used without swapping, within the limits that a container, a batch system or `ulimit` sets."""
    return max(0, min([_of_the_machine(), *_left_in_groups(), *_left_to_this_process()]))


def _of_the_machine() -> int:
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 1 << 33


def _left_in_groups(root: Path = Path("/")) -> Iterator[int]:
    """What the control groups that this process is in leave of their limits: those of containers and of batch jobs."""
    try:
        groups = [line.split(":", 2)[1:] for line in (root / "proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return
    for kinds, path in groups:
        if kinds in CONTROLLED:
            mount, limit, usage, cache = CONTROLLED[kinds]
            for group in (PurePosixPath(path), *PurePosixPath(path).parents):  # each within that above it
                yield from _left_in_group(root / mount / str(group).lstrip("/"), limit, usage, cache)


def _left_in_group(folder: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    try:
        most, taken = (folder / limit).read_text().strip(), int((folder / usage).read_text())
        if most.isdecimal():  # not `max`
            figures = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            yield int(most) - taken + int(figures.get(cache, 0))
    except (OSError, ValueError):  # not seen from here
        return


def _left_to_this_process() -> Iterator[int]:
    """What is left of its address space, where that is limited, as that of a job of `anycsp serve` is."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            with open("/proc/self/statm") as file:
                yield most - int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return


def check_bytes(needed: int, what: str) -> None:
    """Refuse, before it is asked of the system, what the machine cannot hold."""
    bound = available_bytes()
    if needed > bound:
        raise TooLargeError(
            f"{what}: at least {shown_size(needed)} of memory, more than the {shown_size(bound)} there are"
        )


def shown_size(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 1 << 30 else f"{size / 2**20:,.0f} MiB"
