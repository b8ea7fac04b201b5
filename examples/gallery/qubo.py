"""QUBO: a quadratic form over 0/1 variables, as small as possible; it runs at the speed of a cut."""

import random

from picture import board, show

from anycsp import Problem, solve, total

SIZE = 24


def main() -> str:
    chance = random.Random(7)
    q = [[chance.randint(-9, 9) if j >= i else 0 for j in range(SIZE)] for i in range(SIZE)]
    problem = Problem("qubo")
    x = problem.add_variables(SIZE, 0, 1)
    problem.minimize(total([q[i][j] * x[i] * x[j] for i in range(SIZE) for j in range(i, SIZE)]))

    result = solve(problem, time_limit=2)
    assert result.objective is not None
    chosen = [i for i in range(SIZE) if result[x[i]]]
    print(f"the least value is {result.objective['value']}, at {chosen}")
    cells = [[q[i][j] if j >= i else "" for j in range(SIZE)] for i in range(SIZE)]
    return board(cells, lambda i, j: 0 if i in chosen and j in chosen and j >= i else -1, width=30)


if __name__ == "__main__":
    show(__file__, main)
