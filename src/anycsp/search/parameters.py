"""Every number that compiled search can be tuned by: its range, what it is by default, and what it does.

One declaration serves the files of tuned settings, which are checked against it, and `anycsp tune`, which searches it.
The ranges are those in which a strategy is still itself: beyond them a walk is a random one, or a descent that never
leaves its first local minimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anycsp.schema import Rule, number, whole


@dataclass(frozen=True)
class Parameter:
    low: float
    high: float
    default: float | None
    """None where it depends on the problem."""
    meaning: str
    logarithmic: bool = False
    """Whether a step from 1 to 2 matters as much as one from 10 to 20."""
    whole: bool = False

    @property
    def rule(self) -> Rule:
        return whole(int(self.low), int(self.high)) if self.whole else number(self.low, self.high)


PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "annealing": {
        "hot_rate": Parameter(0.005, 0.5, 0.07, "uphill moves accepted where cooling begins", True),
        "cold_rate": Parameter(1e-5, 0.05, 0.001, "uphill moves accepted where it ends", True),
        "sweeps": Parameter(16, 8192, 256, "of the first cycle over all variables", True, True),
        "growth": Parameter(1.0, 4.0, 2.0, "what the next cycle is longer by"),
    },
    "tabu": {
        "tenure": Parameter(0, 50, 5, "moves for which a value that was left stays forbidden"),
        "per_conflict": Parameter(0, 2, 0.3, "more of them for every variable in conflict"),
        "sample": Parameter(3, 10_000, 1000, "variables in conflict looked at for one move", True, True),
    },
    "walksat": {"noise": Parameter(0.01, 0.8, 0.5, "chance of a random move where all break something", True)},
    "probsat": {
        "cb": Parameter(1.2, 8, None, "how strongly moves that break little are preferred; by clause length", True),
        "eps": Parameter(0.05, 3, 0.9, "added to the break count, for clauses of up to three literals", True),
    },
    "ccls": {"walk": Parameter(0.0005, 0.5, 0.2, "chance of a random move", True)},
    "weighting": {
        "samples": Parameter(2, 500, 50, "improving variables looked at for one move", True, True),
        "bumps": Parameter(1, 1000, 100, "violated constraints that gain weight at a local minimum", True, True),
        "smooth": Parameter(1e-6, 0.3, 0.01, "chance that satisfied ones lose weight instead", True),
        "limit": Parameter(2, 1000, 100, "most that a soft constraint's weight grows by", True, True),
    },
    "focused": {
        "eta": Parameter(0.01, 0.9, None, "chance of a move that violates one more; by the number of values", True)
    },
}
"""By strategy of `cpp/local/strategies`."""

BOUT = Parameter(256, 1 << 22, 1 << 13, "moves of a run's first bout, before it begins again elsewhere", True, True)
GROWTH = Parameter(1.0, 4.0, 2.0, "what the next bout is longer by: 1 restarts for ever, 4 soon never")
LEADER = Parameter(1.0, 30.0, 3.0, "what the share of the strategy that is ahead is multiplied by", True)
SHARE = Parameter(1e-3, 1.0, None, "part of the time; only ratios count", True)
