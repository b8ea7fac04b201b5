"""Colouring with as few colours as can be found: from a clique bound upward, a greedy colouring as the net."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from anycsp.deadline import Deadline
from anycsp.formats.col import ColoringGraph, coloring
from anycsp.model.coloring import IntArray, by_independent_sets, dsatur, large_clique
from anycsp.model.problem import Problem
from anycsp.search.options import SearchOptions
from anycsp.search.result import Result
from anycsp.search.solve import solve

BOUND_SHARE = 0.25
"""The part of the time left that each of the two bounds may take."""


A_MOMENT = 0.05
"""Seconds that a good bound is worth even where no time is left."""
SECONDS_PER_EDGE = 3e-6
"""And vertex: what each of the bounds takes at least, and what a problem and an engine for it take."""


def fewest_colors(
    graph: ColoringGraph,
    run: Callable[..., Result] = solve,
    tell: Callable[[str], None] = lambda text: None,
    *,
    time_limit: float | Deadline | None = None,
    steps: int | None = None,
    stop: threading.Event | None = None,
    **options: Any,
) -> tuple[Problem, Result]:
    """Try K = size of the largest clique found, K + 1, … until a colouring has no conflict.

    The time left is shared evenly among the numbers still to try; `steps` holds for each of them. DSATUR's colouring
    bounds them from above, and is the answer when none below succeeds or the search is stopped.
    """
    deadline = SearchOptions(time_limit=time_limit, steps=steps).deadline
    began, spent_steps, trace = time.perf_counter(), 0, []
    lower, greedy = _bounds(graph, deadline)
    upper = int(greedy.max(initial=lower))
    building = SECONDS_PER_EDGE * (graph.vertices + len(graph.edges))
    tell(f"no number of colours given: from {lower} (largest clique found) upward, at most {upper} (greedy colouring)")
    stop = stop or threading.Event()
    for colors in range(lower, upper + 1):
        before = time.perf_counter() - began
        share = deadline.within(deadline.left / max(1, upper - colors))
        colors = upper if stop.is_set() or deadline.left <= building else colors
        problem = coloring(graph, colors)
        start = greedy if colors == upper else None
        result = run(problem, time_limit=share, steps=steps, stop=stop, hint=start, **options)
        tell(f"{colors} colours: {result.violated} conflicts left after {result.steps} steps")
        trace += [p._replace(seconds=p.seconds + before, step=p.step + spent_steps) for p in result.trace]
        if result.satisfied:
            break
        spent_steps += result.steps
    return problem, replace(
        result,
        steps=spent_steps + (result.steps if result.satisfied else 0),
        seconds=time.perf_counter() - began,
        best_step=spent_steps + result.best_step,
        best_seconds=before + result.best_seconds,
        trace=trace,
        found_by="greedy" if start is not None and result.best_step == 0 else result.found_by,
    )


def _bounds(graph: ColoringGraph, deadline: Deadline) -> tuple[int, IntArray]:
    """The size of a clique, and a colouring, colours from 1. Where there is no time for good ones: an edge, and
    whatever colouring comes soonest."""
    size = graph.vertices + len(graph.edges)
    if SECONDS_PER_EDGE * size > max(A_MOMENT, BOUND_SHARE * deadline.left):
        greedy = by_independent_sets(graph.vertices, graph.edges, deadline.within(BOUND_SHARE * deadline.left))
        return min(2, 1 + len(graph.edges)), greedy + 1
    edges = graph.edges.tolist()
    clique = large_clique(graph.vertices, edges, deadline=deadline.within(BOUND_SHARE * deadline.left))
    return max(1, len(clique)), np.array(
        dsatur(graph.vertices, edges, deadline.within(BOUND_SHARE * deadline.left))
    ) + 1
