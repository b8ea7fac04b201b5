"""A race of the portfolio, computed from runs of its members alone: what a schedule would have cost.

Turns go as in `search/portfolio.py`: to the member furthest behind its share, which counts more for the local one that
leads. What is left out: that members begin at each other's assignments, and the cost of changing over.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np

from anycsp.search.member import FIRST_TURN, LONGEST_TURN, SHORTEST_TURN
from anycsp.search.portfolio import LEADER
from anycsp.search.prior import Schedule
from anycsp.tuning.measure import RUNGS, SHORTEST, UNREACHED

Run = dict[str, Any]
Points = list[tuple[float, float]]
"""(seconds, score), scores falling."""


def race(run: Run, schedule: Schedule) -> Points:
    """The best score of all members over the time, preparing included."""
    members: Mapping[str, Any] = {name: m for name, m in run["members"].items() if m and name in schedule.shares}
    shares = schedule.shares
    order = sorted(members, key=lambda name: -shares[name]) if schedule.first_turn else _as_built(shares, members)
    if not order:
        return []
    largest = shares[order[0]]
    first = {
        name: max(SHORTEST_TURN, schedule.first_turn * shares[name] / largest) if schedule.first_turn else FIRST_TURN
        for name in order
    }
    done, limit, now = members[order[0]]["done"], run["limit"], run["prepare"]
    spent, turns, best = dict.fromkeys(order, 0.0), dict.fromkeys(order, 0), dict.fromkeys(order, math.inf)
    points: Points = []
    while now < limit:
        ahead = min((best[name] for name in order if name != "tree"), default=math.inf)
        behind = {
            name: spent[name] / (shares[name] * (LEADER if name != "tree" and best[name] <= ahead else 1.0))
            for name in order
        }
        name = min(order, key=behind.__getitem__)
        length = min(LONGEST_TURN, first[name] * 2.0 ** min(turns[name] // 2, 10)) if len(order) > 1 else limit
        length = min(length, limit - now)
        until = spent[name] + length
        for seconds, score in _between(members[name]["curve"], spent[name], until):
            best[name] = min(best[name], score)
            solved = score <= done
            if score < min((q for _, q in points), default=math.inf):
                # A turn tells what it has found when it is over; only a solution ends it at once.
                points.append((now + (seconds - spent[name] if solved or len(order) == 1 else length), score))
            if solved:
                return points
        now, spent[name], turns[name] = now + length, until, turns[name] + 1
    return points


def _as_built(shares: Mapping[str, float], members: Mapping[str, Any]) -> list[str]:
    beside = [name for name in ("tree", "invariants") if name in members]
    return beside + [name for name in shares if name in members and name not in beside]


def _between(curve: Points, after: float, until: float) -> Points:
    seconds = [s for s, _ in curve]
    return curve[bisect_right(seconds, after) if after else 0 : bisect_right(seconds, until)]


def ladder(run: Run, points: Points) -> list[float]:
    """Targets, as those of `anycsp tune`: what the table had reached when 1/16, … and all of the time had passed."""
    reached = [min((q for s, q in points if s <= rung * run["limit"]), default=math.inf) for rung in RUNGS]
    if run["decision"]:
        reached[-1] = next(m["done"] for m in run["members"].values() if m)
    return reached


def cost(run: Run, points: Points, targets: list[float]) -> float:
    """Mean log seconds to the targets; one that the table had nothing at counts the same for all."""
    limit, times = run["limit"], []
    for target in targets:
        reached = next((s for s, q in points if q <= target), UNREACHED * limit)
        times.append(limit * RUNGS[0] if math.isinf(target) else min(max(reached, SHORTEST), UNREACHED * limit))
    return float(np.mean(np.log(times)))
