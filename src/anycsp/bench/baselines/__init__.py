"""Every system a table can have a row for; one small file each."""

from __future__ import annotations

from pathlib import Path

from anycsp.bench.baseline import Baseline
from anycsp.bench.baselines.ace import Ace
from anycsp.bench.baselines.annealing import Annealing
from anycsp.bench.baselines.cadical import Cadical
from anycsp.bench.baselines.cosoco import Cosoco
from anycsp.bench.baselines.cp_sat import CpSat
from anycsp.bench.baselines.dsatur import Dsatur
from anycsp.bench.baselines.gcol_search import HybridEA, TabuCol
from anycsp.bench.baselines.goemans_williamson import GoemansWilliamson
from anycsp.bench.baselines.greedy_coloring import GreedyColoring
from anycsp.bench.baselines.greedy_cut import GreedyCut
from anycsp.bench.baselines.local_engine import LOCAL_SEARCHES
from anycsp.bench.baselines.ours import parse
from anycsp.bench.baselines.rc2 import Rc2
from anycsp.bench.baselines.run_csp import RunCsp
from anycsp.bench.baselines.toulbar2 import Toulbar2
from anycsp.errors import AnyCSPError

BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        GreedyCut(),
        GoemansWilliamson(),
        GreedyColoring(),
        Dsatur(),
        HybridEA(),
        TabuCol(),
        Ace(),
        Cosoco(),
        RunCsp(),
        *LOCAL_SEARCHES,
        CpSat(),
        Cadical(),
        Rc2(),
        Toulbar2(),
        Annealing(),
    )
}


def solver(name: str, models: Path | None = None) -> Baseline:
    """A system by name; `anycsp:…` is ours, its model from the folder `models` or shipped."""
    if name.startswith("anycsp:"):
        return parse(name, models)
    if name not in BASELINES:
        raise AnyCSPError(
            f"unknown solver {name!r}; known are {', '.join(BASELINES)}, anycsp:MODEL[:SEARCH], anycsp:local"
        )
    return BASELINES[name]
