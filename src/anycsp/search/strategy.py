"""Which classical strategy a problem gets: the one that was best on generated instances of its kind.

research/local-search.md has the measurements this rule is drawn from.
"""

from __future__ import annotations

import math

import numpy as np

from anycsp.graph import ConstraintValueGraph

STRATEGIES = ("annealing", "tabu", "walksat", "probsat", "ccls", "weighting")


def choose_strategy(graph: ConstraintValueGraph) -> str:
    kinds = {labelling.native_kind for labelling in graph.labellings}
    boolean = bool((graph.domains.sizes <= 2).all())
    if kinds == {"clause"} and boolean:
        return "probsat" if _may_be_satisfiable(graph) else "annealing"
    if kinds <= {"matching", "dense"}:
        return "annealing" if boolean else "tabu"
    return "weighting"


def _may_be_satisfiable(graph: ConstraintValueGraph) -> bool:
    """Unweighted clauses, fewer than a random formula of this clause length stops being satisfiable at: Σ over
    clauses of the chance 2^-k that a random assignment violates it, against n ln 2 (the first-moment bound)."""
    if graph.terms.hard.any() or (graph.terms.weight != 1).any():
        return False
    arity = np.diff(graph.scope_start)
    return float(-np.log1p(-(0.5**arity)).sum()) < graph.num_variables * math.log(2)
