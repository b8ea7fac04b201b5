"""A race: a challenger meets the champion on one (instance, seed) after the other, and is out once it is clearly worse.

Most settings are bad, and two or four searches tell. So the time goes to those that are hard to tell from the best
(López-Ibáñez et al., The irace package, 2016; Hutter et al., ParamILS, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from anycsp.search.heuristic import Heuristic

Pair = tuple[int, int]
"""Index of an instance, seed."""
Measure = Callable[[Heuristic | None, Sequence[Pair], Sequence[float]], Sequence[float]]
"""Costs on the pairs; the third is how many seconds the champion took on each, ∞ where that is not to end a search."""

ROUNDS = (2, 4, 8, 16, 32, 64)
"""Searches after which a challenger is looked at."""
DOUBT = 1.0
"""A challenger is out where its mean is worse by more than this many standard errors: early on that is a lot."""
CERTAINTY = 0.5
"""It wins where its mean is better by this many of them: of a hundred settings like the champion some would else win by
luck, one after the other."""


@dataclass
class Entry:
    """A setting, and its cost on the first pairs of the sequence."""

    heuristic: Heuristic | None
    costs: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return float(np.mean(self.costs))


def ordered_pairs(instances: int, seeds: int, seed: int) -> list[Pair]:
    """Every instance once with the first seed, in random order, then with the next one."""
    rng = np.random.default_rng(seed)
    return [(int(i), 1000 + s) for s in range(seeds) for i in rng.permutation(instances)]


class Race:
    """The champion, and what becomes of challengers."""

    def __init__(self, measure: Measure, pairs: Sequence[Pair], champion: Entry, at_least: int) -> None:
        """`at_least`: the searches that a new champion has made."""
        self._measure, self._pairs = measure, pairs
        self.champion = champion
        self._wanted = min(at_least, len(pairs))

    def prepare(self) -> None:
        """Measure the champion as often as its challengers will be."""
        self._extend(self.champion, self._wanted)

    def challenge(self, heuristic: Heuristic) -> tuple[float, bool]:
        """By how much its mean cost exceeds the champion's, as far as that was measured, and whether it now is the
        champion."""
        entry = Entry(heuristic)
        for count in (*(r for r in ROUNDS if r < self._wanted), self._wanted):
            self._extend(entry, count)
            difference = np.array(entry.costs) - np.array(self.champion.costs[:count])
            error = float(difference.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
            if difference.mean() >= (-CERTAINTY if count == self._wanted else DOUBT) * error:
                return float(difference.mean()), False
        # Whoever wins was lucky too: the next challenger has to beat it on more searches than it won by.
        self.champion = entry
        self._wanted = min(len(self._pairs), self._wanted + max(2, self._wanted // 4))
        self._extend(entry, self._wanted)
        return float(difference.mean()), True

    def _extend(self, entry: Entry, count: int) -> None:
        done = len(entry.costs)
        if done >= count:
            return
        rivals = self.champion.costs[done:count] if entry is not self.champion else []
        patience = [*(math.exp(c) for c in rivals), *([math.inf] * (count - done - len(rivals)))]
        entry.costs.extend(self._measure(entry.heuristic, self._pairs[done:count], patience))
