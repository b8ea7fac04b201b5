"""Ablation: a policy that moves one variable a step, and one rewarded for quality instead of improvement.

`NAME-local` and `NAME-quality` are trained like `NAME-base`, from the same settings for the same minutes, but for that
one setting. None is the shipped model NAME, which was trained longer, in stages or by a teacher.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance, every
from anycsp.bench.experiments import coloring, gset, max_k_sat

VARIANTS = ("-base", "-local", "-quality")
PROBLEMS = ("coloring", "maxcut", "maxsat")


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    quick = budget == "quick"
    groups: list[tuple[str, list[Instance]]] = [
        ("coloring", coloring.instances(data, "paper")),
        ("maxcut", gset.graphs(data)),
        ("maxsat", max_k_sat.formulas(3, 1 if quick else 50) + max_k_sat.formulas(5, 1 if quick else 50)),
    ]
    result = []
    for problem, members in groups:
        others = frozenset(f"anycsp:{p}{v}" for p in PROBLEMS if p != problem for v in VARIANTS)
        result += [replace(i, skip=others) for i in every(members, 4 if quick else len(members))]
    return result


ABLATION = Experiment(
    name="ablation",
    title="Ablation",
    about="Global against local sampling, improvement against quality as reward, each on its own problem's tests: "
    "policies trained alike but for that (`benchmarks/models`), not the shipped ones.",
    paper="Tables KCOL-Ab, MAXCUT-Ab, MAXSAT-Ab and the curve over search steps",
    instances=instances,
    solvers=tuple(f"anycsp:{problem}{variant}" for problem in PROBLEMS for variant in VARIANTS),
    limits={"quick": Limit(5.0), "standard": STANDARD, "paper": Limit(1200.0)},
    group_limits={group: gset.GSET.limits for group in gset.GSET.groups},
    measures={
        "chi<10": "solved",
        "chi>=10": "solved",
        "800": "deviation",
        "1K": "deviation",
        "2K": "deviation",
        ">=3K": "deviation",
        "3CNF": "violated",
        "5CNF": "violated",
    },
)
