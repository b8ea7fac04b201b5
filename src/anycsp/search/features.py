"""What a problem looks like, in a few numbers that cost less than a millisecond: sizes, families, degrees, tightness.

The learned prior of the portfolio (`search/prior.py`) goes by them; names and order are part of its file.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from anycsp.graph import ConstraintValueGraph
from anycsp.model.problem import Problem

FAMILIES = ("clause", "matching", "dense", "tuples", "all_different", "linear", "sum", "rule")
"""Native kinds of constraints; what is none of them is rare, and leaves all of these low."""
FEATURES = (
    "variables", "constraints", "edges", "domain", "largest domain", "two-valued", "arity", "largest arity",
    "degree", "degree varies", "defined", "soft", "permutations", *FAMILIES,
)  # fmt: skip


def features(problem: Problem, graph: ConstraintValueGraph) -> npt.NDArray[np.float64]:
    """[FEATURES]: logarithms of sizes, and shares from 0 to 1."""
    sizes, arity = graph.domains.sizes, np.diff(graph.scope_start)
    n, m = graph.num_variables, max(1, graph.num_constraints)
    degree = np.bincount(graph.scope, minlength=n)
    slots: Counter[str] = Counter()
    permutations = 0
    for labelling in graph.labellings:
        slots[labelling.native_kind] += len(labelling.scope)
        if labelling.native_kind == "all_different":
            length, largest = np.diff(labelling.scope_start), int(sizes[labelling.scope].max(initial=1))
            permutations += int(length[length >= largest].sum())
    total = max(1, sum(slots.values()))
    return np.array(
        [
            np.log2(n), np.log2(m), np.log2(1 + graph.num_edges), np.log2(sizes.mean()), np.log2(sizes.max()),
            (sizes <= 2).mean(), np.log2(max(1.0, arity.mean() if len(arity) else 1)), np.log2(arity.max(initial=1)),
            np.log2(1 + degree.mean()), degree.std() / max(1.0, degree.mean()),
            len(problem.definitions) / n, float(not graph.terms.hard.all() and graph.terms.hard.any()),
            permutations / total, *(slots[family] / total for family in FAMILIES),
        ]
    )  # fmt: skip
