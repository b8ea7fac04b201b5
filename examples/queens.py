"""Eight queens in a few lines of Python: one variable a column, its value the row."""

from anycsp import Problem, solve

SIZE = 8
problem = Problem("queens")
rows = problem.add_variables(SIZE, range(SIZE), prefix="column")
problem.add_all_different(rows)
for i in range(SIZE):
    for j in range(i + 1, SIZE):
        problem.add_linear([rows[i], rows[j]], [1, -1], "!=", j - i)
        problem.add_linear([rows[i], rows[j]], [1, -1], "!=", i - j)

result = solve(problem, time_limit=10)
print(result.status, "with", result.violated, "violated constraints")
for row in range(SIZE):
    print(" ".join("Q" if value == row else "." for value in result.assignment.values()))
