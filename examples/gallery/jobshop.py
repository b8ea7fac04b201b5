"""Job shop: the tasks of a job in order, one task at a time on a machine, everything done as early as possible."""

from picture import lanes, show

from anycsp import Problem, maximum, solve

JOBS = [[(0, 3), (1, 2), (2, 2)], [(0, 2), (2, 1), (1, 4)], [(1, 4), (2, 3)]]
"""(machine, duration) of every task."""
HORIZON = sum(duration for job in JOBS for _, duration in job)


def main() -> str:
    problem = Problem("job shop")
    start = [
        [problem.add_variable(0, HORIZON, f"job {j} task {t}") for t in range(len(job))] for j, job in enumerate(JOBS)
    ]
    for j, job in enumerate(JOBS):
        for t in range(len(job) - 1):
            problem.add(start[j][t] + job[t][1] <= start[j][t + 1])
    for machine in range(3):
        tasks = [(j, t) for j, job in enumerate(JOBS) for t, (m, _) in enumerate(job) if m == machine]
        problem.add_no_overlap([start[j][t] for j, t in tasks], [JOBS[j][t][1] for j, t in tasks])
    end = problem.add_variable(0, HORIZON, "end")
    problem.add(end == maximum([start[j][-1] + job[-1][1] for j, job in enumerate(JOBS)]))
    problem.minimize(end)

    result = solve(problem, time_limit=5)
    print(f"all jobs are done at {result[end]}")
    rows: list[list[tuple[int, int, str, int]]] = [[], [], []]
    for j, job in enumerate(JOBS):
        for t, (machine, duration) in enumerate(job):
            rows[machine].append((result[start[j][t]], duration, f"{j}.{t}", j))
    return lanes(rows, unit=30)


if __name__ == "__main__":
    show(__file__, main)
