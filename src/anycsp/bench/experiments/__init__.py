"""The experiments by name, a file each: those of the paper, and RandCSPBench."""

from __future__ import annotations

from anycsp.bench.experiment import Experiment
from anycsp.bench.experiments.ablation import ABLATION
from anycsp.bench.experiments.coloring import COLORING
from anycsp.bench.experiments.cross import CROSS
from anycsp.bench.experiments.grid import GRID
from anycsp.bench.experiments.gset import GSET
from anycsp.bench.experiments.max_k_sat import MAX_K_SAT
from anycsp.bench.experiments.randcsp import RANDCSP
from anycsp.bench.experiments.rb50 import RB50
from anycsp.bench.experiments.regular import REGULAR
from anycsp.bench.experiments.satlib import SATLIB
from anycsp.errors import AnyCSPError

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (RB50, COLORING, GSET, SATLIB, MAX_K_SAT, RANDCSP, CROSS, ABLATION, REGULAR, GRID)
}


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise AnyCSPError(f"unknown experiment {name!r}; known are {', '.join(EXPERIMENTS)}, all")
    return EXPERIMENTS[name]
