"""ACE, the constraint solver that pycsp3 carries as a jar; one of the paper's three."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.bench.baselines.xcsp3 import run_xcsp3
from anycsp.bench.tabular import is_tabular
from anycsp.model.problem import Problem
from anycsp.model.structure import is_decision


class Ace(Baseline):
    name = "ace"
    requires = ("pycsp3",)

    def unavailable(self) -> str | None:
        if shutil.which("java") is None:
            return "not installed (java)"
        return super().unavailable() or (None if _jar() else "not installed (ACE's jar)")

    def supports(self, problem: Problem) -> bool:
        return is_decision(problem) and is_tabular(problem)

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        # Serial collector and one processor: a JVM otherwise helps itself to all cores.
        java = ["java", "-XX:+UseSerialGC", f"-XX:ActiveProcessorCount={limit.threads}", "-jar", str(_jar())]
        return run_xcsp3(
            problem, limit, lambda path, seconds: [*java, str(path), f"-t={seconds}s", f"-seed={seed}", "-xc=false"]
        )


def _jar() -> Path | None:
    """pycsp3's own folder, found without importing it: it parses the command line when imported."""
    spec = importlib.util.find_spec("pycsp3")
    if spec is None or spec.origin is None:
        return None
    jars = sorted((Path(spec.origin).parent / "solvers" / "ace").glob("ACE*.jar"))
    return jars[-1] if jars else None
