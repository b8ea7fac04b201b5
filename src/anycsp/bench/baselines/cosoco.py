"""CoSoCo, the paper's strongest constraint solver on Model RB, as the executable of its PyPI package."""

from __future__ import annotations

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.baselines.xcsp3 import run_xcsp3
from anycsp.bench.tabular import is_tabular
from anycsp.model.problem import Problem
from anycsp.model.structure import is_decision


class Cosoco(Baseline):
    name = "cosoco"
    requires = ("cosoco_bin",)

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and is_tabular(problem)

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        from cosoco_bin import PATH

        options = ["-model=2", "-colors=0", f"-nbcores={limit.threads}"]
        return run_xcsp3(problem, limit, lambda path, seconds: [PATH, str(path), *options])
