"""Shares of the portfolio before anything is known of a problem but its kind: a table that tuning can rewrite.

A share is a part of the time; only their ratios count. On kinds where one strategy is known to be best it keeps nine
tenths, so that the tree costs at most the rest.
"""

from __future__ import annotations

from anycsp.model.structure import Kind

STRUCTURED = {"tree": 0.5, "ccls": 0.12, "tabu": 0.12, "annealing": 0.1, "weighting": 0.08, "walksat": 0.08}
"""On 25 competition models that `weighting` left unsolved, ccls solved 14, tabu 13, annealing 9, walksat 7."""

OPTIMISED = {"tree": 0.76, "ccls": 0.06, "tabu": 0.06, "annealing": 0.06, "weighting": 0.06}
"""With an objective the tree improves its own solutions in large neighbourhoods, which most objectives gain from."""

TREE_BESIDE_ONE = 0.1
"""The share of the tree where a single strategy has the rest."""

RACED = frozenset({Kind.STRUCTURED, Kind.TABLES})
"""Kinds on which no strategy leads."""

MINIMISED = frozenset({Kind.FORMULA, Kind.BINARY})
"""Kinds that are as often Max-SAT and MaxCSP as decisions: a proof that not all can hold does not end their search."""
