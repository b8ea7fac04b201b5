"""Colouring structured graphs with as many colours as their chromatic number."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance, every
from anycsp.formats import read


def graphs(data: Path, split: str) -> list[Instance]:
    """The graphs of one split ("<10" or ">=10"), by increasing number of edges."""
    with open(data / "col" / "chromatic.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == split]
    rows.sort(key=lambda row: int(row["edges"]))
    return [
        Instance(
            row["graph"],
            f"chi{split}",
            partial(read, data / "col" / f"{row['graph']}.col", colors=int(row["chi"])),
            best=float(row["chi"]),
        )
        for row in rows
    ]


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    count = 7 if budget == "quick" else 100
    return every(graphs(data, "<10"), count) + every(graphs(data, ">=10"), count)


COLORING = Experiment(
    name="coloring",
    title="Graph colouring",
    about="Structured graphs of known chromatic number, to be coloured with exactly that many colours. Greedy, DSATUR "
    "and the gcol searches are colouring algorithms; the others see a general problem of ≠-constraints.",
    paper="Tables KCOL, KCOL<10 and KCOL>10",
    instances=instances,
    solvers=(
        "anycsp:coloring",
        "anycsp:coloring:hybrid",
        "anycsp:local",
        "greedy-coloring",
        "dsatur",
        "hybrid-ea",
        "tabucol",
        "run-csp",
        "cosoco",
        "ace",
        "cp-sat",
        "cadical",
        "toulbar2",
    ),
    limits={"quick": Limit(4.0), "standard": STANDARD, "paper": Limit(1200.0)},
    measures={"chi<10": "solved", "chi>=10": "solved"},
)
