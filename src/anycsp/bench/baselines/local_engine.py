"""The classical local searches of the paper's SAT and MaxSAT tables, from this project's compiled engine.

WalkSAT and probSAT as published; MaxWalkSAT, CCLS and SATLike are written in the manner of those programs, not
those programs: their rows say "-style" where the engine's strategy is its own.
"""

from __future__ import annotations

import importlib.util

from anycsp import native
from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.structure import formula
from anycsp.problem import Problem


class LocalEngine(Baseline):
    def __init__(self, name: str, strategy: str) -> None:
        self.name, self.strategy = name, strategy

    def unavailable(self) -> str | None:
        if importlib.util.find_spec("anycsp.search.local") is None:
            return "not in this version"
        return None if native.available() else "not installed (native module)"

    def supports(self, problem: Problem) -> bool:
        return formula(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        raise NotImplementedError
