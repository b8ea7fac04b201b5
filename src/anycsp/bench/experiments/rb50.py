"""RB50: forced satisfiable Model RB instances at the threshold; who solves how many, how fast."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from anycsp.bench.baseline import Limit
from anycsp.bench.experiment import STANDARD, BudgetName, Experiment, Instance
from anycsp.distributions import draw, get
from anycsp.formats import read

SEED = 50
"""Names the generated set; instance i is draw i of the `forced-rb` distribution."""


DRAWN = {"quick": 4, "standard": 10, "paper": 50}
"""Complete solvers use up their time on every one of them."""


def generated(count: int) -> list[Instance]:
    drawn = get("forced-rb")
    return [Instance(f"forced-rb-{i:02d}", "RB50", partial(draw, drawn, seed=SEED, index=i)) for i in range(count)]


def instances(data: Path, budget: BudgetName) -> list[Instance]:
    files = sorted((data / "rb50").glob("frb50-23-*.xml"))[: 1 if budget == "quick" else None]
    drawn = generated(DRAWN[budget])
    return drawn + [Instance(path.stem, "frb50-23", partial(read, path)) for path in files]


RB50 = Experiment(
    name="rb50",
    title="Model RB",
    about="50 variables, 23 values, constraints at the threshold of satisfiability; every instance has a solution. "
    "The paper's files are not public here: RB50 is a generated stand-in of the same parameters, frb50-23 are files.",
    paper="the survival plot on RB50",
    instances=instances,
    solvers=("anycsp:rb", "anycsp:rb:hybrid", "anycsp:local", "ace", "cosoco", "cp-sat", "cadical", "toulbar2"),
    limits={"quick": Limit(10.0), "standard": STANDARD, "paper": Limit(1200.0)},
    measures={"RB50": "solved", "frb50-23": "solved"},
)
