"""The rule behind `--model auto`: which shipped model fits a problem's structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.table import TableBlock
from anycsp.errors import ModelError
from anycsp.neural.models.store import shipped_models

if TYPE_CHECKING:
    from anycsp.model.problem import Problem

# Clauses per variable above which a random k-CNF formula has no satisfying assignment; beyond it we maximise.
_SATISFIABLE_DENSITY = {2: 1.0, 3: 4.27, 4: 9.93, 5: 21.1}


def choose_model(problem: Problem) -> str:
    """The kind of the problem, then the shipped model trained for it, or the nearest there is."""
    available = shipped_models()
    if not available:
        raise ModelError("no model is shipped with this installation: pass --model PATH")
    for name in (kind_of(problem), "general"):
        if name in available:
            return name
    return available[0]


def kind_of(problem: Problem) -> str:
    """sat | maxsat: clauses only, below or above the density where random formulas stop being satisfiable;
    maxcut | coloring: only binary ≠-like tables, over two values or more; rb: other binary tables only;
    general: anything else."""
    blocks = [block for block in problem.blocks if len(block)]
    if blocks and all(isinstance(block, ClauseBlock) for block in blocks):
        arities = np.concatenate([block.arity for block in blocks])
        typical = int(np.median(arities))
        threshold = _SATISFIABLE_DENSITY.get(typical, 2.0**typical * 0.69)
        weighted = any((block.terms.weight != 1).any() for block in blocks)
        over = problem.num_constraints / max(problem.num_variables, 1) > 1.1 * threshold
        return "maxsat" if over or weighted else "sat"
    if blocks and all(isinstance(block, TableBlock) for block in blocks):
        relations = [r for block in blocks if isinstance(block, TableBlock) for r in block.relations]
        if all(len(r.sizes) == 2 for r in relations):
            if any(r.layout != "matching" for r in relations):
                return "rb"
            return "maxcut" if max(max(r.sizes) for r in relations) == 2 else "coloring"
    return "general"
