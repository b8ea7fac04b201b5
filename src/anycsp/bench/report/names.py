"""How systems are called in tables and figures."""

from __future__ import annotations

from anycsp.bench.baselines.ours import WITHOUT_MODEL

TITLES = {
    "greedy-cut": "Greedy",
    "goemans-williamson": "SDP (Goemans–Williamson, low rank)",
    "greedy-coloring": "Greedy",
    "dsatur": "DSATUR",
    "hybrid-ea": "HybridEA (gcol)",
    "tabucol": "TabuCol (gcol)",
    "ace": "ACE",
    "cosoco": "CoSoCo",
    "run-csp": "RUN-CSP",
    "walksat": "WalkSAT",
    "probsat": "probSAT",
    "maxwalksat": "MaxWalkSAT",
    "ccls": "CCLS-style",
    "satlike": "SATLike-style",
    "cp-sat": "CP-SAT",
    "cadical": "CaDiCaL",
    "rc2": "RC2",
    "toulbar2": "toulbar2",
    "dwave-annealing": "Annealing (dwave-samplers)",
}


def is_ours(solver: str) -> bool:
    return solver.startswith("anycsp:")


def is_neural(solver: str) -> bool:
    """The paper's method: the network alone."""
    return is_ours(solver) and solver.count(":") == 1 and solver.partition(":")[2] not in WITHOUT_MODEL


def title(solver: str) -> str:
    if not is_ours(solver):
        return TITLES.get(solver, solver)
    if is_neural(solver):
        return f"anycsp neural ({solver.split(':')[1]})"
    _, *rest = solver.split(":")
    return f"anycsp {rest[-1]} ({rest[0]})" if len(rest) > 1 else f"anycsp {rest[0]}"
