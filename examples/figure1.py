"""Figure 1 of the paper: X ≤ Y and Y ≠ Z at the assignment X = 2, Y = 1, Z = 2, drawn to docs/figure1.svg."""

from pathlib import Path

from anycsp import Problem
from anycsp.draw import draw


def figure1() -> tuple[Problem, dict[str, int]]:
    problem = Problem("figure 1")
    x = problem.add_variable([1, 2, 3], "X")
    y = problem.add_variable([1, 2], "Y")
    z = problem.add_variable([1, 2], "Z")
    problem.add_linear([x, y], [1, -1], "<=", 0)
    problem.add_linear([y, z], [1, -1], "!=", 0)
    return problem, {"X": 2, "Y": 1, "Z": 2}


if __name__ == "__main__":
    picture = draw(*figure1(), names=["X ≤ Y", "Y ≠ Z"])
    Path(__file__).parents[1].joinpath("docs", "figure1.svg").write_text(picture, encoding="utf-8")
