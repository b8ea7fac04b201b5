"""Pictures of problems as data: where things stand, and at an assignment which of them are in conflict.

What a picture is, is decided here once; a page draws it on a canvas, `anycsp animate` with matplotlib, from the same
numbers.
"""

from __future__ import annotations

from anycsp.model.problem import Problem
from anycsp.pictures.board import Queens, Square
from anycsp.pictures.graph import Graph
from anycsp.pictures.heat import Heat
from anycsp.pictures.picture import Frame, Picture
from anycsp.pictures.route import Route
from anycsp.pictures.schedule import Schedule

__all__ = ["Frame", "Picture", "picture_of"]


def picture_of(problem: Problem) -> Picture:
    """The first that fits, the most telling first; a heat map of the constraints fits always."""
    for kind in (Route, Schedule, Square, Queens, Graph):
        found: Picture | None = kind.of(problem)
        if found is not None:
            return found
    return Heat.of(problem)
