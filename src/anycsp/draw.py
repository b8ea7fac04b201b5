"""The constraint value graph of a small problem at an assignment, as an SVG picture (Figure 1 of the paper).

Variables above, their values below them with L_V, constraints at the bottom; every edge from a constraint to a
value carries L_E: whether choosing that value satisfies the constraint if nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.model.variables import Assignment

LARGEST = 200
"""Values beyond which a picture shows nothing any more."""

_GREEN, _BLUE, _CARMINE = ("#d5e8c0", "#57ab27"), ("#c7ddf2", "#00549f"), ("#eec9d3", "#a11035")
_ROW_VARIABLES, _ROW_VALUES, _ROW_CONSTRAINTS = 50, 150, 340
_STEP, _GAP, _RADIUS = 62, 26, 20


@dataclass(frozen=True)
class Edge:
    """A constraint edge: constraint (as added), variable, position of the value, and its label L_E."""

    constraint: int
    variable: int
    position: int
    label: int


def constraint_edges(problem: Problem, assignment: Assignment) -> list[Edge]:
    """Every constraint edge with its label, by the definition: exchange one value and ask whether C holds."""
    positions = problem.positions(assignment).astype(np.int64)
    edges = []
    for block in problem.blocks:
        for row, constraint in enumerate(block.terms.index.tolist()):
            for x in block.scope_of(row).tolist():
                for position in range(len(problem.domain(x))):
                    changed = positions.copy()
                    changed[x] = position
                    edges.append(Edge(constraint, x, position, int(block.satisfied(problem.domains, changed)[row])))
    return sorted(edges, key=lambda e: (e.constraint, e.variable, e.position))


def draw(problem: Problem, assignment: Assignment, names: Sequence[str] | None = None) -> str:
    """The picture as SVG text; `names` are those of the constraints, by default C1, C2, …"""
    if int(problem.domain_sizes.sum()) > LARGEST:
        raise ProblemError(f"a picture of {int(problem.domain_sizes.sum())} values shows nothing: at most {LARGEST}")
    positions = problem.positions(assignment)
    edges = constraint_edges(problem, assignment)
    titles = list(names) if names is not None else [f"C{i + 1}" for i in range(problem.num_constraints)]
    value_x, at = {}, 0.0
    for x in range(problem.num_variables):
        for position in range(len(problem.domain(x))):
            value_x[x, position] = at + _STEP / 2
            at += _STEP
        at += _GAP
    width = at - _GAP + 20
    centre = [
        sum(value_x[x, p] for p in range(len(problem.domain(x)))) / len(problem.domain(x))
        for x in range(problem.num_variables)
    ]
    bottom = _spread([_middle(edges, c, value_x) for c in range(problem.num_constraints)], width)
    lines, marks, nodes = [], [], []
    for (x, position), place in value_x.items():
        lines.append(_line(centre[x], _ROW_VARIABLES, place, _ROW_VALUES))
        value = str(problem.domain(x).external(position))
        nodes.append(_circle(place, _ROW_VALUES, _BLUE, value))
        marks.append(_box(place, _ROW_VALUES + 27, str(int(positions[x] == position))))
    for edge in edges:
        top, foot = value_x[edge.variable, edge.position], bottom[edge.constraint]
        lines.append(_line(top, _ROW_VALUES, foot, _ROW_CONSTRAINTS))
        marks.append(_box(top + 0.5 * (foot - top), (_ROW_VALUES + _ROW_CONSTRAINTS) / 2 + 10, str(edge.label)))
    nodes += [_circle(centre[x], _ROW_VARIABLES, _GREEN, problem.names[x]) for x in range(problem.num_variables)]
    nodes += [_circle(place, _ROW_CONSTRAINTS, _CARMINE, titles[c]) for c, place in enumerate(bottom)]
    return "\n".join([_head(width), *lines, *nodes, *marks, "</g></svg>", ""])


def _middle(edges: Sequence[Edge], constraint: int, value_x: dict[tuple[int, int], float]) -> float:
    own = [value_x[e.variable, e.position] for e in edges if e.constraint == constraint]
    return sum(own) / len(own) if own else _STEP / 2


def _spread(wanted: list[float], width: float) -> list[float]:
    """Places near the wanted ones, but no two closer than a circle is wide."""
    placed = [0.0] * len(wanted)
    last = -float("inf")
    for c in sorted(range(len(wanted)), key=wanted.__getitem__):
        last = placed[c] = max(wanted[c], last + 2.6 * _RADIUS)
    overhang = max(0.0, last - (width - _STEP / 2)) if wanted else 0.0
    return [place - overhang for place in placed]


def _head(width: float) -> str:
    height = _ROW_CONSTRAINTS + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}">\n<rect x="-10" width="100%" height="100%" fill="white"/>\n'
        '<g font-family="serif" font-size="16" text-anchor="middle" stroke-width="2">'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#333"/>'


def _circle(x: float, y: float, colors: tuple[str, str], text: str) -> str:
    size = 16 if len(text) <= 3 else max(7, 48 // len(text))
    return (
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS}" fill="{colors[0]}" stroke="{colors[1]}"/>'
        f'<text x="{x:.0f}" y="{y + size / 3:.0f}" font-size="{size}">{escape(text)}</text>'
    )


def _box(x: float, y: float, text: str) -> str:
    return (
        f'<rect x="{x - 9:.0f}" y="{y - 10:.0f}" width="18" height="20" rx="4" fill="white" stroke="#888" '
        f'stroke-width="1"/><text x="{x:.0f}" y="{y + 5:.0f}" font-size="14">{escape(text)}</text>'
    )
