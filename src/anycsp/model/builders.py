"""One builder for each classical problem: colouring, maximum cut, formula, quadratic binary problem.

Readers, generators and adapters share them.

Variables are named 1 … n unless `names` says otherwise, as the files of all three communities count them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.objective import Objective
from anycsp.model.problem import Problem
from anycsp.model.score import as_written, written

IntArray = npt.NDArray[np.int64]


def coloring_problem(
    vertices: int, edges: IntArray, colors: int, *, name: str = "", names: Sequence[str] | None = None
) -> Problem:
    """Every vertex takes one of the colours 1 … `colors`, the ends of an edge different ones."""
    problem = Problem(name)
    _add(problem, vertices, range(1, colors + 1), names)
    problem.add_not_equal(edges, weight=1.0)  # all of one kind, as conflicts are counted
    problem.objective = Objective("colors")
    return problem


def cut_problem(
    vertices: int,
    edges: IntArray,
    weights: npt.NDArray[np.float64] | None = None,
    *,
    name: str = "",
    names: Sequence[str] | None = None,
) -> Problem:
    """Every vertex takes side 0 or 1. An edge of weight w > 0 wants its ends apart, one of w < 0 together, each at
    weight |w|; so the cut is the sum of the positive weights minus the violated weight. Loops are never cut and edges
    of weight 0 cost nothing: both are left out."""
    weights = np.ones(len(edges)) if weights is None else weights
    kept = (edges[:, 0] != edges[:, 1]) & (weights != 0)
    edges, weights = edges[kept], weights[kept]
    apart, together = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
    problem = Problem(name)
    _add(problem, vertices, (0, 1), names)
    equal = [[0, 0], [1, 1]]
    problem.add_tables(edges[apart], equal, allowed=False, weight=weights[apart])
    problem.add_tables(edges[together], equal, allowed=True, weight=-weights[together])
    problem.renumber(np.concatenate([apart, together]))
    problem.objective = Objective("cut", constant=problem.scoring.weight_of(apart))
    return problem


def formula_problem(
    variables: int, offsets: IntArray, literals: IntArray, *, weight: Any = 1.0, hard: Any = False, name: str = ""
) -> Problem:
    """Clause i is `literals[offsets[i]:offsets[i+1]]` in DIMACS numbers, over variables that are 0 or 1."""
    problem = Problem(name)
    problem.add_numbered(variables, (0, 1))
    problem.add_clauses(offsets, literals, weight=weight, hard=hard)
    return problem


def quadratic_problem(
    variables: int,
    terms: Mapping[tuple[int, ...], float],
    constant: float = 0.0,
    *,
    name: str = "",
    names: Sequence[str] | None = None,
) -> Problem:
    """Minimise `constant` + Σ coefficient·x·y (or ·x alone) over variables that are 0 or 1, known as QUBO; `terms` has
    the coefficient of each set of one or two variables. As one long sum it would be evaluated whole for every move;
    so every term is a soft constraint of its own: c·x·y costs c where all are 1, a negative c is gained there and so
    costs −c everywhere else."""
    problem = Problem(name)
    _add(problem, variables, (0, 1), names)
    gained: list[int] = []
    for arity in (1, 2):
        for positive in (True, False):
            chosen = [(scope, c) for scope, c in terms.items() if len(scope) == arity and c and (c > 0) == positive]
            if chosen:
                if not positive:
                    gained += range(problem.num_constraints, problem.num_constraints + len(chosen))
                scopes = np.array([scope for scope, _ in chosen], dtype=np.int64)
                weight = np.abs(np.array([c for _, c in chosen], dtype=np.float64))
                problem.add_tables(scopes, [[1] * arity], allowed=not positive, weight=weight)
    most = problem.scoring.weight_of(np.array(gained, dtype=np.int64))
    least = written(as_written(constant) - as_written(most), "the coefficients that are gained")
    problem.objective = Objective("cost", constant=least)
    return problem


def _add(problem: Problem, count: int, domain: Sequence[int], names: Sequence[str] | None) -> None:
    if names is None:
        problem.add_numbered(count, domain)
    else:
        problem.add_variables(count, domain, names=names)
