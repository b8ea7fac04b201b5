"""The records of a journal, ready for tables: the newest of each run, by experiment and budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from anycsp.bench.experiment import BUDGETS, SHARES, SOLVING, BudgetName, Experiment, Measure
from anycsp.bench.experiments import EXPERIMENTS
from anycsp.bench.journal import Record

COUNTS = ("ok", "late")
"""Statuses of runs that left a checked answer; a late one is an answer but no solution within the limit."""


@dataclass(frozen=True)
class Trial:
    """One experiment in one budget."""

    experiment: Experiment
    budget: BudgetName
    records: list[Record]

    def solvers(self) -> list[str]:
        """Those of the experiment, run or not, in its order; others that a journal holds last."""
        known = list(self.experiment.solvers)
        return known + sorted({r["solver"] for r in self.records} - set(known))

    def groups(self) -> list[str]:
        present = {r["group"] for r in self.records}
        return [group for group in self.experiment.groups if group in present]

    def of(self, solver: str, group: str | None = None) -> list[Record]:
        return [r for r in self.records if r["solver"] == solver and group in (None, r["group"])]

    def instances(self, groups: Iterable[str]) -> list[tuple[str, str]]:
        """(group, instance), in the order they ran."""
        wanted = set(groups)
        return list(dict.fromkeys((r["group"], r["instance"]) for r in self.records if r["group"] in wanted))

    def solvable(self, group: str) -> set[str]:
        """Instances that any system here solves: there is a solution, whatever others say."""
        return {r["instance"] for r in self.records if r["group"] == group and solved(r)}

    def counted(self, solver: str, group: str) -> list[Record]:
        """The runs that a cell of the table is about."""
        records = ran(self.of(solver, group))
        if self.experiment.measures[group] != "share of solvable":
            return records
        known = self.solvable(group)
        return [r for r in records if r["instance"] in known]

    def score(self, solver: str, group: str) -> float | None:
        """The number a cell of the table shows; None where there is nothing to count."""
        return aggregate(self.counted(solver, group), self.experiment.measures[group])


@dataclass(frozen=True)
class Results:
    trials: list[Trial]

    @staticmethod
    def of(records: Iterable[Record]) -> Results:
        newest: dict[tuple[object, ...], Record] = {}
        for r in records:
            newest[r["experiment"], r["budget"], r["instance"], r["group"], r["solver"], r["seed"]] = r
        trials = []
        for experiment in EXPERIMENTS.values():
            for budget in BUDGETS:
                chosen = [r for key, r in newest.items() if key[:2] == (experiment.name, budget)]
                if chosen:
                    trials.append(Trial(experiment, budget, chosen))
        return Results(trials)


def solved(r: Record) -> bool:
    return bool(r["status"] == "ok" and r["violated"] == 0)


def deviation(r: Record) -> float:
    """How far the cut is from the best known."""
    return float(r["best_known"]) - float(r["objective"])


def ran(records: Iterable[Record]) -> list[Record]:
    """Without those of systems that could not run, or do not take such problems."""
    return [r for r in records if not r["status"].startswith("not ") and r["status"] != "unsupported"]


def aggregate(records: Sequence[Record], measure: Measure) -> float | None:
    """Instances solved or the share of them, or the mean over the runs that left an answer."""
    if measure in SOLVING:
        found = sum(solved(r) for r in records)
        return (found / len(records) if measure in SHARES else float(found)) if records else None
    value: Callable[[Record], float] = deviation if measure == "deviation" else lambda r: float(r["violated_weight"])
    answered = [value(r) for r in records if r["status"] in COUNTS]
    return mean(answered) if answered else None


def shown(value: float, measure: Measure | None) -> str:
    """A score in a sentence or a cell; shares as percentages, ours and those that others printed alike."""
    return f"{100 * value:.3g}%" if measure in SHARES else f"{value:g}"
