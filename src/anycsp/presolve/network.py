"""The compiled propagation network of a graph: domains to a fixpoint, and the tree search over them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import native
from anycsp.deadline import NEVER, Deadline, OutOfTime
from anycsp.graph import ConstraintValueGraph


def required(graph: ConstraintValueGraph) -> npt.NDArray[np.uint8]:
    """[constraints]: 1 for those that must hold: the hard ones, or all where none is and weights do not differ.

    Soft constraints may be given up for others, so nothing follows from them."""
    hard = graph.terms.hard
    if not hard.any():
        hard = np.full(len(hard), bool((graph.terms.weight == graph.terms.weight[:1]).all()))
    return hard.astype(np.uint8)


def propagation_network(graph: ConstraintValueGraph, deadline: Deadline = NEVER) -> Any:
    """`propagate()` and `probe(values in vain)` shrink the domains, False where nothing is left; `domains()` is a flag
    per value."""
    try:
        return native.module().PropagationNetwork(
            graph.native_problem, graph.native_families, required(graph), graph.external_labels, deadline.left
        )
    except native.module().OutOfTime:
        raise OutOfTime from None


def tree_search(
    graph: ConstraintValueGraph,
    *,
    defined: Iterable[int] = (),
    objective: int = -1,
    seed: int = 0,
    deadline: Deadline = NEVER,
    built_by: Deadline = NEVER,
) -> Any:
    """A search that constructs solutions. `defined` variables are branched on last; `objective` is the constraint (in
    graph order) that bounds one. Raises OutOfTime where its propagators are not `built_by` then."""
    decisions = np.ones(graph.num_variables, dtype=np.uint8)
    decisions[list(defined)] = 0
    try:
        return native.module().TreeSearch(
            graph.native_problem, graph.native_families, required(graph), decisions, objective, seed & (2**64 - 1),
            graph.external_labels, deadline.left, built_by.left,
        )  # fmt: skip
    except native.module().OutOfTime:
        raise OutOfTime from None
