"""Linear equations together: which values are part of a solution of all of them.

One equation says next to nothing of its variables while many are open, and a tree goes through all but a few of the
assignments: market split problems (Cornuéjols and Dawande, IPCO 1998) of thirty variables have 10⁹ and one solution.
Meeting in the middle (Horowitz and Sahni, JACM 1974) takes the square root of that: the sums of one half of the
variables are looked up among what those of the other half leave of the right side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from anycsp.constraints.comparison import OPERATORS
from anycsp.constraints.linear import LinearBlock
from anycsp.deadline import NEVER, Deadline
from anycsp.model.problem import Problem

IntArray = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MOST_TERMS = 10_000
"""Of all equations; where there are more, they are not few enough to meet in the middle."""
LARGEST_HALF = 1 << 21
"""Assignments of one half of the variables."""
MANY_SOLUTIONS = 1000.0
"""Where so many can be expected, hardly a value is in none of them."""
SECONDS = 2e-7
"""For each assignment of a half: what it takes to build, sort and look up."""


@dataclass(frozen=True)
class _Equation:
    """Σ coefficient · variable = right, over variables with a choice."""

    coefficient: dict[int, int]
    right: int


def restrict_by_equations(problem: Problem, kept: Flags, must_hold: Flags, deadline: Deadline = NEVER) -> bool:
    """Take from `kept`, a flag per value, what is in no solution of the equations that must hold, as far as these are
    few and say much. False where they have no solution."""
    start = problem.domains.start.tolist()
    left = [problem.domains.values[first:last][kept[first:last]] for first, last in pairwise(start)]
    for system in _systems(_equations(problem, left, must_hold)):
        variables = sorted({x for equation in system for x in equation.coefficient})
        values = [left[x] for x in variables]
        parts = _halves([len(v) for v in values])
        largest = max(math.prod(len(values[place]) for place in part) for part in parts)
        late = deadline.earlier(SECONDS * largest).passed
        if late or largest > LARGEST_HALF or _expected_solutions(system, variables, values) > MANY_SOLUTIONS:
            continue
        for x, possible in zip(variables, _possible(system, variables, values, parts), strict=True):
            if not possible.any():
                return False
            kept[start[x] : start[x + 1]][kept[start[x] : start[x + 1]]] = possible
    return True


def _equations(problem: Problem, left: list[IntArray], must_hold: Flags) -> list[_Equation]:
    blocks = [block for block in problem.blocks if isinstance(block, LinearBlock)]
    if sum(len(block.scope) for block in blocks) > MOST_TERMS:
        return []
    equations = []
    for block in blocks:
        for row in np.flatnonzero((block.operator == OPERATORS.index("==")) & must_hold[block.terms.index]).tolist():
            slots = slice(block.scope_start[row], block.scope_start[row + 1])
            terms = dict(zip(block.scope[slots].tolist(), block.coefficient[slots].tolist(), strict=True))
            fixed = sum(a * int(left[x][0]) for x, a in terms.items() if len(left[x]) == 1)
            open_terms = {x: a for x, a in terms.items() if a and len(left[x]) > 1}
            equations.append(_Equation(open_terms, int(block.bound[row]) - fixed))
    return [equation for equation in equations if equation.coefficient]


def _systems(equations: list[_Equation]) -> Iterator[list[_Equation]]:
    """Equations that share variables, directly or by others."""
    systems: list[tuple[set[int], list[_Equation]]] = []
    for equation in equations:
        variables, together = set(equation.coefficient), [equation]
        apart = []
        for system in systems:
            if variables.isdisjoint(system[0]):
                apart.append(system)
            else:
                variables |= system[0]
                together = system[1] + together
        systems = [*apart, (variables, together)]
    yield from (system for _, system in systems)


def _expected_solutions(system: list[_Equation], variables: list[int], values: list[IntArray]) -> float:
    """As if the sums were normally distributed and independent."""
    variance = {x: float(v.astype(np.float64).var()) for x, v in zip(variables, values, strict=True)}
    logarithm = sum(math.log(len(v)) for v in values)
    for equation in system:
        spread = 2 * math.pi * sum(float(a) ** 2 * variance[x] for x, a in equation.coefficient.items())
        logarithm -= math.log(max(1.0, math.sqrt(spread)))
    return math.exp(min(700.0, logarithm))


def _halves(sizes: list[int]) -> tuple[list[int], list[int]]:
    """The places of the variables in two parts that have about as many assignments."""
    parts: tuple[list[int], list[int]] = ([], [])
    assignments = [1, 1]
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        smaller = int(assignments[1] < assignments[0])
        parts[smaller].append(place)
        assignments[smaller] *= sizes[place]
    return parts


def _possible(
    system: list[_Equation], variables: list[int], values: list[IntArray], parts: tuple[list[int], list[int]]
) -> list[Flags]:
    """For each variable which of its values are in a solution. All equations are folded into one, by random factors and
    modulo 2⁶⁴: what solves them solves it, and what solves it alone, by a chance of 2⁻⁶⁴ each, keeps a value that could
    have gone."""
    factors = np.random.default_rng(0).integers(0, 2**64, len(system), dtype=np.uint64).tolist()
    weight = dict.fromkeys(variables, 0)
    for equation, factor in zip(system, factors, strict=True):
        for x, a in equation.coefficient.items():
            weight[x] += factor * a
    right = np.uint64(sum(factor * e.right for e, factor in zip(system, factors, strict=True)) % 2**64)

    def sums(part: list[int]) -> npt.NDArray[np.uint64]:
        result = np.zeros(1, dtype=np.uint64)
        for place in part:
            terms = np.uint64(weight[variables[place]] % 2**64) * values[place].astype(np.uint64)
            result = (result[:, None] + terms).ravel()
        return result

    first, second = sums(parts[0]), right - sums(parts[1])
    ascending, others = np.sort(first), np.sort(second)
    common = ascending[others[np.searchsorted(others, ascending).clip(max=len(others) - 1)] == ascending]
    possible: list[Flags] = [np.empty(0, dtype=np.bool_)] * len(variables)
    for part, own in zip(parts, (first, second), strict=True):
        solves = np.isin(own, common).reshape([len(values[place]) for place in part])
        for axis, place in enumerate(part):
            possible[place] = np.atleast_1d(solves.any(axis=tuple(k for k in range(len(part)) if k != axis)))
    return possible
