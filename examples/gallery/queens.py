"""Queens: one variable per column, its value the row; expressions give the diagonals."""

from picture import board, show

from anycsp import Problem, solve

SIZE = 16


def main() -> str:
    problem = Problem("queens")
    row = problem.add_variables(SIZE, 0, SIZE - 1)
    problem.add_all_different(row)
    problem.add_all_different([x + column for column, x in enumerate(row)])
    problem.add_all_different([x - column for column, x in enumerate(row)])

    result = solve(problem, time_limit=10)
    rows = result[row]
    print(f"{result.status}: {SIZE} queens, {result.violated} of {result.constraints} constraints violated")
    cells = [["♛" if rows[c] == r else "" for c in range(SIZE)] for r in range(SIZE)]
    return board(cells, lambda r, c: 0 if (r + c) % 2 else -1)


if __name__ == "__main__":
    show(__file__, main)
