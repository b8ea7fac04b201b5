"""Travelling salesman: the city after each one; a circuit through all of them, as short as possible."""

from picture import graph, show

from anycsp import Problem, element, solve, total

CITIES = [(7, 2), (1, 9), (4, 4), (9, 9), (2, 1), (8, 6), (5, 8), (0, 5), (9, 1), (3, 7)]


def main() -> str:
    n = len(CITIES)
    distance = [[round(10 * ((a - c) ** 2 + (b - d) ** 2) ** 0.5) for c, d in CITIES] for a, b in CITIES]
    problem = Problem("travelling salesman")
    after = problem.add_variables(n, 0, n - 1, prefix="after")
    problem.add_circuit(after, self_loops=False)
    problem.minimize(total([element(distance[city], after[city]) for city in range(n)]))

    result = solve(problem, time_limit=6)
    tour = [0]
    while len(tour) < n:
        tour.append(result[after[tour[-1]]])
    print(f"a tour of length {sum(distance[a][result[after[a]]] for a in range(n))}: {tour}")
    points = [(x / 9, 1 - y / 9) for x, y in CITIES]
    return graph(points, [(city, result[after[city]]) for city in range(n)], [0] * n)


if __name__ == "__main__":
    show(__file__, main)
