"""Max-k-SAT: uniform random formulas of 10,000 variables, far too dense to satisfy."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance
from anycsp.distributions import draw, get

SEED = 10_000
FORMULAS = {"quick": 1, "standard": 3, "paper": 50}
"""Formulas per arity; every system uses up its time on every one of them."""


def formulas(arity: int, count: int) -> list[Instance]:
    distribution = get("maxsat-10k", arity=arity)
    return [
        Instance(f"max-{arity}-sat-{i:02d}", f"{arity}CNF", partial(draw, distribution, seed=SEED + arity, index=i))
        for i in range(count)
    ]


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    return [instance for arity in (3, 4, 5) for instance in formulas(arity, FORMULAS[budget])]


MAX_K_SAT = Experiment(
    name="max-k-sat",
    title="Max-k-SAT",
    about="Mean number of unsatisfied clauses; 75K, 150K and 300K clauses for k = 3, 4, 5.",
    paper="Table MAXSAT and the steps-to-best scatter plot",
    instances=instances,
    solvers=(
        "anycsp:maxsat",
        "anycsp:maxsat-local",
        "anycsp:maxsat:hybrid",
        "anycsp:local",
        "maxwalksat",
        "ccls",
        "satlike",
        "cp-sat",
        "rc2",
    ),
    limits={"quick": Limit(12.0), "standard": STANDARD, "paper": Limit(1200.0)},
    measures={"3CNF": "violated", "4CNF": "violated", "5CNF": "violated"},
)
