"""What an experiment is: instances, the systems that run on them, and their limits in each budget. All data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from anycsp.bench.baseline import Limit
from anycsp.model.problem import Problem

BudgetName = Literal["quick", "standard", "paper"]
BUDGETS: tuple[BudgetName, ...] = ("quick", "standard", "paper")

STANDARD = Limit(30.0)
"""What every system gets in the standard budget: 30 s on one thread, whatever the experiment, so that they compare."""

Measure = Literal["solved", "share", "share of solvable", "deviation", "violated"]
"""What a table's cell says: instances solved; the share of them, of all or of those that any system here solves; mean
distance of the cut from the best known; mean violated weight."""
SHARES: tuple[Measure, ...] = ("share", "share of solvable")
"""For sets in which not every instance need have a solution."""
SOLVING: tuple[Measure, ...] = ("solved", *SHARES)
"""More is better; in the others less is."""


@dataclass(frozen=True)
class Instance:
    name: str
    group: str
    """The table column it belongs to."""
    load: Callable[[], Problem]
    best: float | None = None
    """The best known objective, for deviations."""
    newest_best: float | None = None
    """The newest best known objective, where it differs from the one the paper used."""
    skip: frozenset[str] = frozenset()
    """Systems that sit this instance out, as they did in the paper."""


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    about: str
    """What is measured, in a sentence or two."""
    paper: str
    """Which tables or figures of the paper it is."""
    instances: Callable[[Path, BudgetName], Sequence[Instance]]
    """Cheap to list; an instance is read or drawn by its `load`."""
    solvers: Sequence[str]
    limits: Mapping[BudgetName, Limit]
    measures: Mapping[str, Measure]
    """By group."""
    group_limits: Mapping[str, Mapping[BudgetName, Limit]] = field(default_factory=dict)
    """Limits of groups that differ from the rest."""
    seeds: Mapping[BudgetName, int] = field(default_factory=lambda: dict.fromkeys(BUDGETS, 1))
    """How often every system runs on every instance, with seeds 0, 1, …"""
    frames: int = 0
    """Record the assignments of this many steps, for a picture."""

    def limit(self, budget: BudgetName, group: str) -> Limit:
        return self.group_limits.get(group, self.limits)[budget]

    @property
    def groups(self) -> list[str]:
        return list(self.measures)


def every(items: Sequence[Instance], count: int) -> list[Instance]:
    """`count` of the items, evenly spread, the first among them."""
    if count >= len(items):
        return list(items)
    return [items[i * len(items) // count] for i in range(count)]
