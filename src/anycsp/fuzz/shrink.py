"""The smallest case that fails in the same way, found by trying smaller ones until none does."""

from __future__ import annotations

import time

from anycsp.fuzz.guarded import Failure, tried_apart
from anycsp.fuzz.kinds import Case, Kind


def shrunk(kind: Kind, case: Case, failure: Failure, seconds: float = 60.0) -> Case:
    """Greedy: the first smaller case that fails alike is taken, and the search begins anew from it."""
    deadline = time.monotonic() + seconds
    while True:
        for candidate in kind.smaller(case):
            if time.monotonic() >= deadline:
                return case
            outcome = tried_apart(kind, candidate)
            if isinstance(outcome, Failure) and outcome.signature == failure.signature:
                case = candidate
                break
        else:
            return case
