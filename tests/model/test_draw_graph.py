"""The picture of the constraint value graph: Figure 1 of the paper, label by label."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ElementTree

import pytest
from repository import ROOT

from anycsp import Problem, ProblemError
from anycsp.draw import constraint_edges, draw


def test_figure_1_has_the_labels_of_the_paper() -> None:
    problem, assignment = runpy.run_path(str(ROOT / "examples" / "figure1.py"))["figure1"]()
    labels = [(e.constraint, problem.names[e.variable], e.label) for e in constraint_edges(problem, assignment)]
    first = [(0, "X", 1), (0, "X", 0), (0, "X", 0), (0, "Y", 0), (0, "Y", 1)]
    second = [(1, "Y", 1), (1, "Y", 0), (1, "Z", 0), (1, "Z", 1)]
    assert labels == first + second
    picture = ElementTree.fromstring(draw(problem, assignment))
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["1", "2", "3", "1", "2", "1", "2", "X", "Y", "Z", "C1", "C2", *"0101001", *"10001", *"1001"]


def test_the_committed_picture_is_the_one_drawn() -> None:
    figure1 = runpy.run_path(str(ROOT / "examples" / "figure1.py"))["figure1"]
    assert draw(*figure1(), names=["X ≤ Y", "Y ≠ Z"]) == (ROOT / "docs" / "figure1.svg").read_text(encoding="utf-8")


def test_pictures_of_odd_problems_are_well_formed_and_large_ones_refused() -> None:
    problem = Problem()
    problem.add_variables(2, ["a & b", "<c>"], names=["<x>", 'y"'])
    problem.add_table([], [])
    problem.add_all_different(["<x>"])
    ElementTree.fromstring(draw(problem, ["<c>", "a & b"]))
    problem.add_variable(range(500))
    with pytest.raises(ProblemError, match="shows nothing"):
        draw(problem, [0, 0, 0])
