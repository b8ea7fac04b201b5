"""One core for three: the other search, repairs in large neighbourhoods, and the prover, which has the whole problem.

The first two take turns. CP-SAT cannot be paused, so the prover runs all the time, at a low priority: it has a small
part of the core while others work and all of it in turns that are left to it. Every turn goes to the party furthest
behind its share, and shares follow what was brought lately: what counts is not how many improvements a party found but
how recent the last one is, as a part of the time so far. So whoever improves has nearly all, who stops improving loses
it soon, and where nobody improves any more the other search and CP-SAT have half each, for a proof needs time too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable

OTHER, REPAIRS, PROVER = "other", "repairs", "prover"

TRIAL = 1.5
"""Seconds in which the prover has every second turn, from when it begins: of what CP-SAT settles in ten seconds it
settles most within one (research/local-search.md)."""
CREDIT = {OTHER: 0.25, REPAIRS: 0.125, PROVER: 0.125}
"""What parties are given that have brought nothing, half of it to CP-SAT; one that has just improved has 1 more."""
NICER = 9
"""Levels by which the prover's priority is lower: 1.25 to this power is its part beside a thread that works."""


def lower_priority() -> float:
    """Make this thread yield to others, where the system can; returns its part of a core beside one that works."""
    if sys.platform != "linux":  # elsewhere priorities are those of whole processes
        return 0.5
    before = os.getpriority(os.PRIO_PROCESS, 0)
    after = min(before + NICER, 19)
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), after)
    return float(1.0 / (1.0 + 1.25 ** (after - before)))


class Pace:
    """Who is next. Moments are seconds since the prover began."""

    def __init__(self, *, decides: bool) -> None:
        """`decides`: everything is meant to be satisfied, so that nothing but a solution tells who is near one. The
        other search then counts as if it always improved: it is ahead on most such problems that take long."""
        self._decides = decides
        self._improved = dict.fromkeys((OTHER, REPAIRS, PROVER), 0.0)
        self._had = dict.fromkeys((OTHER, REPAIRS, PROVER), 0.0)
        """Seconds that a party has had, each divided by what was its share then: what has been is settled, and a share
        that changes counts from now on."""

    def improved(self, party: str, now: float) -> None:
        self._improved[party] = now

    def next(self, parties: Iterable[str], now: float) -> str:
        waiting = [party for party in parties if self._share(party, now) > 0.0]
        return min(waiting, key=lambda party: self._had[party])

    def book(self, party: str, seconds: float, now: float, background: float = 0.0) -> None:
        """A turn that took so long, and the part of it that the prover had."""
        self._had[party] += seconds / self._share(party, now)
        if party != PROVER:
            self._had[PROVER] += background * seconds / self._share(PROVER, now)
        if now < TRIAL:
            self._had[REPAIRS] = self._had[OTHER]

    def _share(self, party: str, now: float) -> float:
        """Not yet divided by the sum of all."""
        if now < TRIAL:
            return 0.0 if party == REPAIRS else 1.0
        recent = 1.0 if self._decides and party == OTHER else self._improved[party] / now
        return CREDIT[party] + recent
