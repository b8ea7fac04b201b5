"""Sudoku: 81 variables and 27 all-different constraints; the clues are domains of one value."""

from anycsp import Problem, solve

CLUES = """
53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79
"""


def sudoku(text: str) -> Problem:
    problem = Problem("sudoku")
    cells = [
        [
            problem.add_variable(range(1, 10) if clue == "." else [int(clue)], f"r{r}c{c}")
            for c, clue in enumerate(line, start=1)
        ]
        for r, line in enumerate(text.split(), start=1)
    ]
    for i in range(9):
        problem.add_all_different(cells[i])
        problem.add_all_different([row[i] for row in cells])
        corner = 3 * (i // 3), 3 * (i % 3)
        problem.add_all_different([cells[corner[0] + k // 3][corner[1] + k % 3] for k in range(9)])
    return problem


if __name__ == "__main__":
    problem = sudoku(CLUES)
    result = solve(problem, time_limit=10)
    print(f"{result.status}: {result.violated} of {result.constraints} constraints violated")
    values = list(result.assignment.values())
    for r in range(9):
        print(" ".join(map(str, values[9 * r : 9 * r + 9])))
