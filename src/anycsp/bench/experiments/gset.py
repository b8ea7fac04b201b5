"""MaxCut on the unweighted Gset graphs: how far from the best known cut."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance
from anycsp.formats import read

QUICK = ("G1", "G14", "G43", "G51", "G22", "G35", "G48", "G70")
"""One of every kind and size."""


def graphs(data: Path) -> list[Instance]:
    """The unweighted graphs, grouped by their number of vertices as in the paper."""
    with open(data / "gset" / "best_known.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["weights"] == "+1"]
    return [
        Instance(
            row["graph"],
            {800: "800", 1000: "1K", 2000: "2K"}.get(int(row["vertices"]), ">=3K"),
            partial(read, data / "gset" / f"{row['graph']}.txt"),
            best=float(row["best_known"]),
            newest_best=float(row["newer_best_known_toshiba_list"] or row["best_known"]),
            # As in the paper: the relaxation up to a thousand vertices.
            skip=frozenset({"goemans-williamson"} if int(row["vertices"]) > 1000 else ()),
        )
        for row in rows
    ]


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    return [i for i in graphs(data) if budget != "quick" or i.name in QUICK]


GSET = Experiment(
    name="gset",
    title="MaxCut on Gset",
    about="Deviation of the cut from the best known of 2013, the paper's yardstick, and from the newest.",
    paper="Tables GSET and GSET_extended",
    instances=instances,
    solvers=(
        "anycsp:maxcut",
        "anycsp:paper-maxcut",
        "anycsp:maxcut:hybrid",
        "anycsp:local",
        "greedy-cut",
        "goemans-williamson",
        "run-csp",
        "dwave-annealing",
        "cp-sat",
        "toulbar2",
    ),
    limits={"quick": Limit(6.0), "standard": STANDARD, "paper": Limit(180.0, runs=20)},
    measures={"800": "deviation", "1K": "deviation", "2K": "deviation", ">=3K": "deviation"},
)
