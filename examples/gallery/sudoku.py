"""Sudoku: a 9 × 9 array of variables, all different in every row, column and box."""

from picture import board, show

from anycsp import Problem, solve

PUZZLE = """
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
CLUES = PUZZLE.split()


def main() -> str:
    problem = Problem("sudoku")
    cells = problem.add_variables((9, 9), 1, 9)
    for i in range(9):
        row, column = 3 * (i // 3), 3 * (i % 3)
        problem.add_all_different(cells[i])
        problem.add_all_different(cells[:, i])
        problem.add_all_different(cells[row : row + 3, column : column + 3])
    for r, line in enumerate(CLUES):
        problem.add([cells[r, c] == int(clue) for c, clue in enumerate(line) if clue != "."])

    result = solve(problem, time_limit=10)
    values = result[cells]
    print(f"{result.status}: the first row is {' '.join(map(str, values[0]))}")
    return board(values.tolist(), lambda r, c: -1 if CLUES[r][c] == "." else 0)


if __name__ == "__main__":
    show(__file__, main)
