"""Routes: a circuit through places, given by the place after each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.rule import RuleBlock
from anycsp.model.expressions import Operation, Variable
from anycsp.model.problem import Problem
from anycsp.pictures.layout import by_distances, on_a_circle
from anycsp.pictures.picture import LARGEST_NODES, Frame, Positions


@dataclass(frozen=True)
class Route:
    """Places are where the distances of the objective put them, or else on a circle."""

    after: list[int]
    """The variable of every place."""
    places: npt.NDArray[np.float64]
    kind = "route"

    @staticmethod
    def of(problem: Problem) -> Route | None:
        after = _circuit(problem)
        if after is None or len(after) > LARGEST_NODES:
            return None
        distances = _distances(problem, after)
        return Route(after, on_a_circle(len(after)) if distances is None else by_distances(distances))

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "places": [[round(float(x), 4), round(float(y), 4)] for x, y in self.places]}

    def frame(self, problem: Problem, positions: Positions) -> Frame:
        values = problem.values(positions)
        following = [int(values[x]) for x in self.after]
        arrows = [[a, b] for a, b in enumerate(following) if a != b and 0 <= b < len(following)]
        entered = Counter(b for _, b in arrows)
        rings = _rings(following)
        longest = max(rings, key=len, default=set())
        bad = [k for k, (a, b) in enumerate(arrows) if entered[b] > 1 or (len(rings) > 1 and a not in longest)]
        says = f"{len(arrows)} ways, {len(rings)} rounds" if len(rings) != 1 or bad else f"one round of {len(arrows)}"
        return {"arrows": arrows, "bad": bad, "says": says}


def _circuit(problem: Problem) -> list[int] | None:
    """The variables of the only circuit there is."""
    found = []
    for block in problem.blocks:
        if not isinstance(block, RuleBlock):
            continue
        for row in range(len(block)):
            described = block.describe(row, problem.domain_list)
            expression = described["expression"]
            if isinstance(expression, list) and expression[0] == "circuit":
                if not all(isinstance(slot, dict) for slot in expression[1:]):
                    return None
                found.append([described["scope"][slot["slot"]] for slot in expression[1:]])
    return found[0] if len(found) == 1 else None


def _distances(problem: Problem, after: list[int]) -> npt.NDArray[np.float64] | None:
    """[places, places] where the objective is a sum of elements of one row per place."""
    objective = problem.objective
    expression = None if objective is None else objective.expression
    if not isinstance(expression, Operation) or expression.operator != "add":
        return None
    rows: dict[int, list[int]] = {}
    for term in expression.operands:
        if not isinstance(term, Operation) or term.operator != "element" or not isinstance(term.operands[0], Variable):
            return None
        row = [cell for cell in term.operands[1:] if isinstance(cell, int)]
        rows[term.operands[0].index] = row
    if set(rows) != set(after) or any(len(row) != len(after) for row in rows.values()):
        return None
    matrix = np.array([rows[x] for x in after], dtype=np.float64)
    np.fill_diagonal(matrix, 0)
    return matrix


def _rings(following: list[int]) -> list[set[int]]:
    """The rounds that following leads into, but for places that follow themselves."""
    seen: set[int] = set()
    rings = []
    for first in range(len(following)):
        path: list[int] = []
        at = first
        while at not in seen and 0 <= at < len(following):
            seen.add(at)
            path.append(at)
            at = following[at]
        if at in path and len(path[path.index(at) :]) > 1:
            rings.append(set(path[path.index(at) :]))
    return rings
