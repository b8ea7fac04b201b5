"""Every model on every test set: what a policy learned from one problem is worth on another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance, every
from anycsp.bench.experiments import coloring, gset, max_k_sat, rb50, satlib
from anycsp.neural.models import shipped_models

PAPERS = ("rb", "coloring", "maxcut", "sat", "maxsat")
"""The models that the paper compares, in its order; the others that are shipped follow."""


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    quick = budget == "quick"
    small_cuts = [replace(i, group="Gset800") for i in gset.graphs(data) if i.group == "800"]
    return [
        *rb50.generated(2 if quick else 50),
        *every(coloring.graphs(data, "<10"), 2 if quick else 100),
        *every(small_cuts, 2 if quick else 100),
        *every(satlib.formulas(data, 250), 2 if quick else 100),
        *max_k_sat.formulas(5, 1 if quick else 50),
    ]


CROSS = Experiment(
    name="cross",
    title="Cross-comparison of models",
    about="Each shipped model on each test set, measured as that set is.",
    paper="Table CrossComp",
    instances=instances,
    solvers=tuple(f"anycsp:{model}" for model in PAPERS + tuple(m for m in shipped_models() if m not in PAPERS)),
    limits={"quick": Limit(4.0), "standard": STANDARD, "paper": Limit(1200.0)},
    group_limits={"Gset800": gset.GSET.limits, "SL250": satlib.SATLIB.limits},
    measures={
        "RB50": "solved",
        "chi<10": "solved",
        "Gset800": "deviation",
        "SL250": "solved",
        "5CNF": "violated",
    },
)
