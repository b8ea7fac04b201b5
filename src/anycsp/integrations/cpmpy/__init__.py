"""CPMpy back end: after `import anycsp.integrations.cpmpy`, `model.solve(solver="anycsp", time_limit=10)` works.

Our expressions nest, so CPMpy's models need little rewriting: partial functions are made total, negations pushed down,
global constraints we have no form for decomposed; everything else is posted as it is. That there is no solution, or
that one is optimal, is proved by exact search only (`search="exact"`, and by default beside local search).
CPMpy's own tests of solvers run against it (tests/integrations/test_cpmpy_suite.py).
"""

from __future__ import annotations

from cpmpy.solvers.utils import SolverLookup

from anycsp.integrations.cpmpy.solver import CPM_anycsp

__all__ = ["CPM_anycsp"]


def _register() -> None:
    """CPMpy has no entry point for outside solvers: its list is extended here, and nowhere else."""
    listed = SolverLookup.base_solvers

    def base_solvers(cls: type) -> list[tuple[str, type]]:
        return [*listed(), ("anycsp", CPM_anycsp)]

    if all(name != "anycsp" for name, _ in listed()):
        SolverLookup.base_solvers = classmethod(base_solvers)


_register()
