"""When something is to end: one moment that reading, presolve, building and searching all look at.

A limit of time is a promise about the whole, so no part of the program counts seconds of its own from its own
beginning. What can be cut short asks for the seconds `left`; what cannot asks, between two pieces of work, whether it
may go on.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass

from anycsp import clock

DEFAULT_SECONDS = 10.0
"""Without a limit of time or steps a search ends after this long."""


class OutOfTime(Exception):
    """The time is up before there is anything to search; the answer is then whatever is at hand."""


@dataclass(frozen=True)
class Deadline:
    """A moment of the clock of searches."""

    at: float

    @staticmethod
    def after(seconds: float | None, began: float | None = None) -> Deadline:
        """So many seconds after `began`, or from now; None is never."""
        return Deadline(math.inf if seconds is None else (clock.now() if began is None else began) + seconds)

    @property
    def left(self) -> float:
        """Seconds until then, none where it has passed."""
        return max(0.0, self.at - clock.now())

    @property
    def seconds(self) -> float | None:
        """Seconds until then; None where it never comes."""
        return None if self.at == math.inf else self.left

    @property
    def passed(self) -> bool:
        return clock.now() >= self.at

    def check(self) -> None:
        """To be called between two pieces of work: raises OutOfTime where there is no time for the next."""
        if self.passed:
            raise OutOfTime

    def within(self, seconds: float) -> Deadline:
        """So many seconds from now, if that is sooner."""
        return Deadline(min(self.at, clock.now() + seconds))

    def earlier(self, seconds: float) -> Deadline:
        """So many seconds before this one: they are kept for what comes after."""
        return Deadline(self.at - seconds)


NEVER = Deadline(math.inf)


def process_began() -> float:
    """When this process was started, on the clock of deadlines: Python itself takes longer than many searches. Where
    the system does not say (it counts in hundredths of a second), the time that the process has computed for."""
    now = time.perf_counter()
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age = 0.0
    return now - max(age, time.process_time())


def slowdown(began: float) -> float:
    """How many times as long as it has computed this process has taken since it `began`, at least 1: what a second of
    work takes on a machine that others keep busy."""
    return max(1.0, (clock.now() - began) / max(time.process_time(), 0.01))
