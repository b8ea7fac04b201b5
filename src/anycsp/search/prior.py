"""Shares of the portfolio before anything is known of a problem but its kind: a table that tuning can rewrite.

A share is a part of the time; only their ratios count. On kinds where one strategy is known to be best it keeps nine
tenths, so that the tree costs at most the rest.
"""

from __future__ import annotations

from anycsp.model.structure import Kind

STRUCTURED = {
    "tree": 0.42, "invariants": 0.2, "ccls": 0.09, "tabu": 0.09, "annealing": 0.08, "weighting": 0.06, "walksat": 0.06,
}  # fmt: skip
"""On 25 competition models that `weighting` left unsolved, ccls solved 14, tabu 13, annealing 9, walksat 7."""

OPTIMISED = {"tree": 0.6, "invariants": 0.28, "ccls": 0.03, "tabu": 0.03, "annealing": 0.03, "weighting": 0.03}
"""With an objective the tree improves its own solutions in large neighbourhoods, which most objectives gain from."""

OPTIMISED_LARGE = {"tree": 0.7, "invariants": 0.25, "tabu": 0.05}
"""The same with more edges than several local strategies can count anew for every better assignment (a job shop of 15
machines has eleven million, a second of counting each)."""

FEW_COLORS = {"tree": 0.04, "focused": 0.92, "tabu": 0.04}
"""Colourings with at most `MOST_FEW` colours. Near the threshold of random graphs of 1024 vertices the focused walk
solves what tabu search does not: 3 colours at mean degree 4.55 six of six in 12 s of processor time (tabu one),
5 colours at 13.0 six of six (tabu none)."""
MOST_FEW = 5

FOCUS, FOCUS_EXPONENT = 0.79, -0.74
"""η of the focused walk is FOCUS · values^FOCUS_EXPONENT: 0.35 for three colours, 0.24 for five. On random graphs of
1024 vertices, 12 s of processor time each: at mean degree 4.58 0.32 and 0.36 colour seven of eight with three colours,
0.40 six; at 13.1 0.18 colours none of six with five colours, 0.21 three, 0.24 five, 0.26 three, 0.28 none."""

TREE_BESIDE_ONE = 0.1
"""The share of the tree where a single strategy has the rest."""

RACED = frozenset({Kind.STRUCTURED, Kind.TABLES})
"""Kinds on which no strategy leads."""

MINIMISED = frozenset({Kind.FORMULA, Kind.BINARY})
"""Kinds that are as often Max-SAT and MaxCSP as decisions: a proof that not all can hold does not end their search."""
