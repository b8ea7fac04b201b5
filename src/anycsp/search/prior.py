"""Shares of the portfolio before its search begins: a table by kind of problem, and what was learnt beside it.

A share is a part of the time; only their ratios count. On kinds where one strategy is known to be best it keeps nine
tenths, so that the tree costs at most the rest. Where several race, a problem is compared with instances on which every
member was measured alone (`prior.json`, made by benchmarks/learn_prior.py): a schedule that was surely better on those
that it resembles replaces the table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.structure import Kind
from anycsp.search.features import FEATURES

FloatArray = npt.NDArray[np.float64]
FILE = Path(__file__).with_name("prior.json")


@dataclass(frozen=True)
class Schedule:
    """Who takes part, and how the first turns go."""

    shares: Mapping[str, float]
    first_turn: float | None = None
    """Seconds of the member with the largest share, which then begins; the others follow by their shares, with turns in
    proportion. None: the tree begins, and all first turns are alike."""
    like: Mapping[str, float] = field(default_factory=dict)
    """The families that a learned one goes by, with their weights; empty for the table."""

    def __str__(self) -> str:
        total = sum(self.shares.values())
        shown = ", ".join(f"{name} {share / total:.0%}" for name, share in self.shares.items())
        nearest = sorted(self.like, key=lambda family: -self.like[family])[:3]
        return f"{shown}; like {', '.join(nearest)}" if nearest else shown


@dataclass(frozen=True)
class LearnedPrior:
    """Instances of many families, with what each schedule gained on them over the table. A problem weighs them by how
    near they are and takes the schedule whose gain is largest after doubt: where nothing is near, or they disagree,
    the table stays."""

    schedules: Sequence[Schedule]
    """The first is the table's."""
    goes_by: Sequence[str]
    """The features that it compares, of `FEATURES`."""
    scale: FloatArray
    """[features]: what one is divided by."""
    families: Sequence[str]
    """[instances]: where each comes from. All families weigh the same, however many instances they have."""
    points: FloatArray
    """[instances, features], scaled."""
    gains: FloatArray
    """[instances, schedules]: logarithm of how many times faster than by the table."""
    bandwidth: float
    """Distance at which the weight of an instance has fallen by exp(−1/2)."""
    floor: float
    """Weight of every instance, however far."""
    doubt: float
    """Standard deviations between instances that are taken off a gain."""

    def schedule(self, seen: FloatArray, without: str = "") -> Schedule:
        """For a problem with these features (all of them); `without` leaves out a family, to be judged on it."""
        distance = ((self.points - seen[self._columns] / self.scale) ** 2).sum(axis=1)
        weight = (np.exp(-distance / (2 * self.bandwidth**2)) + self.floor) * self._evenly
        weight *= [family != without for family in self.families]
        weight /= weight.sum()
        mean = weight @ self.gains
        spread = np.sqrt(np.maximum(weight @ self.gains**2 - mean**2, 0))
        best = int(np.argmax(mean - self.doubt * spread))
        like: dict[str, float] = {}
        for family, share in zip(self.families, weight.tolist(), strict=True) if best else ():
            like[family] = like.get(family, 0.0) + share
        chosen = self.schedules[best]
        return Schedule(chosen.shares, chosen.first_turn, like)

    @cached_property
    def _columns(self) -> list[int]:
        return [FEATURES.index(name) for name in self.goes_by]

    @cached_property
    def _evenly(self) -> FloatArray:
        count = Counter(self.families)
        return np.array([1 / count[family] for family in self.families])

    def document(self) -> dict[str, Any]:
        """What the file holds: an instance is a row of its features and one of its gains."""
        families: dict[str, dict[str, list[list[float]]]] = {}
        for family, point, gain in zip(self.families, self.points, self.gains, strict=True):
            rows = families.setdefault(family, {"points": [], "gains": []})
            rows["points"].append(np.round(point, 3).tolist())
            rows["gains"].append(np.round(gain, 3).tolist())
        return {
            "goes_by": list(self.goes_by), "scale": self.scale.tolist(),
            "bandwidth": self.bandwidth, "floor": self.floor, "doubt": self.doubt,
            "schedules": [{"shares": dict(s.shares), "first_turn": s.first_turn} for s in self.schedules],
            "families": families,
        }  # fmt: skip

    @staticmethod
    def of(document: Mapping[str, Any]) -> LearnedPrior:
        families = document["families"]
        return LearnedPrior(
            [Schedule(s["shares"], s["first_turn"]) for s in document["schedules"]],
            document["goes_by"],
            np.array(document["scale"]),
            [name for name, rows in families.items() for _ in rows["points"]],
            np.array([point for rows in families.values() for point in rows["points"]]),
            np.array([gain for rows in families.values() for gain in rows["gains"]]),
            document["bandwidth"], document["floor"], document["doubt"],
        )  # fmt: skip


@lru_cache(maxsize=1)
def learned() -> LearnedPrior:
    """The prior that comes with the package."""
    return LearnedPrior.of(json.loads(FILE.read_text(encoding="utf-8")))


# ── the table ────────────────────────────────────────────────────────────────────────────────────────

STRUCTURED = {
    "tree": 0.42, "invariants": 0.2, "ccls": 0.09, "tabu": 0.09, "annealing": 0.08, "weighting": 0.06, "walksat": 0.06,
}  # fmt: skip
"""On 25 competition models that `weighting` left unsolved, ccls solved 14, tabu 13, annealing 9, walksat 7."""

OPTIMISED = {"tree": 0.6, "invariants": 0.28, "ccls": 0.03, "tabu": 0.03, "annealing": 0.03, "weighting": 0.03}
"""With an objective the tree improves its own solutions in large neighbourhoods, which most objectives gain from."""

OPTIMISED_LARGE = {"tree": 0.7, "invariants": 0.25, "tabu": 0.05}
"""The same with more edges than several local strategies can count anew for every better assignment (a job shop of 15
machines has eleven million, a second of counting each)."""

UNCOUNTED = {"tree": 0.5, "invariants": 0.5}
"""Where counting what every value would violate, with which local strategies begin, takes too much of the time."""

FEW_COLORS = {"tree": 0.04, "focused": 0.92, "tabu": 0.04}
"""Colourings with at most `MOST_FEW` colours. Near the threshold of random graphs of 1024 vertices the focused walk
solves what tabu search does not: 3 colours at mean degree 4.55 six of six in 12 s of processor time (tabu one),
5 colours at 13.0 six of six (tabu none)."""
MOST_FEW = 5

FOCUS, FOCUS_EXPONENT = 0.54, -0.5
"""η of the focused walk is FOCUS · values^FOCUS_EXPONENT: 0.31 for three colours, 0.27 for four, 0.24 for five, where a
solution took the fewest proposals on random graphs of 512 to 2048 vertices near the threshold, each reduced to its
core. Too hot costs most: with three colours at mean degree 4.58 a solution takes 36 million proposals at 0.31 and 384
million at 0.37 (research/local-search.md)."""

TREE_BESIDE_ONE = 0.1
"""The share of the tree where a single strategy has the rest."""

LEADER_FIRST = 0.005
"""Seconds of the first turn where a strategy leads: it begins, and the tree follows with a turn as short as its share.
The other way round the tree's ten milliseconds were half of the time to a solution on formulas and binary tables."""

RACED = frozenset({Kind.STRUCTURED, Kind.TABLES})
"""Kinds on which no strategy leads."""

MINIMISED = frozenset({Kind.FORMULA, Kind.BINARY})
"""Kinds that are as often Max-SAT and MaxCSP as decisions: a proof that not all can hold does not end their search,
unless all is required or somebody modelled the formula."""
