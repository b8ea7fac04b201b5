"""SATLIB's uniform random 3-SAT at the threshold, limited by search steps as in the paper."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance, every
from anycsp.formats import read

SIZES = (50, 100, 150, 200, 250)
FORMULAS = {"quick": 5, "standard": 30, "paper": 100}
"""Formulas per size."""


def formulas(data: Path, variables: int) -> list[Instance]:
    paths = sorted((data / "satlib" / f"uf{variables}").glob("*.cnf"))
    return [Instance(path.stem, f"SL{variables}", partial(read, path)) for path in paths]


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    count = FORMULAS[budget]
    return [instance for size in SIZES for instance in every(formulas(data, size), count)]


SATLIB = Experiment(
    name="satlib",
    title="3-SAT of SATLIB",
    about="Satisfiable formulas at the threshold, 10 runs of 10,000 steps each (standard budget: 30 s). CaDiCaL "
    "and CP-SAT are complete solvers without a limit of steps.",
    paper="Table SATLIB",
    instances=instances,
    solvers=("anycsp:sat", "anycsp:paper-sat", "anycsp:sat:hybrid", "walksat", "probsat", "cadical", "cp-sat"),
    # The seconds are only there to end a run on a slow machine.
    limits={
        "quick": Limit(4.0, steps=10_000, runs=10),
        "standard": STANDARD,
        "paper": Limit(1200.0, steps=10_000, runs=10),
    },
    measures={f"SL{size}": "solved" for size in SIZES},
)
