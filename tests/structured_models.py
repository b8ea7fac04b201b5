"""Problems as people write them: puzzles, schedules, routes, packings. Each function writes one model in Python.

Instances are classical ones or drawn from a seed, so that a reference value can stand beside the seed in a test.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

from anycsp import Problem, Variable
from anycsp.model.expressions import Expression, distinct, element, if_else, maximum, minimum, total

# ── puzzles ──────────────────────────────────────────────────────────────────────────────────────────

SUDOKUS = {
    "inkala 2010": "..53.....8......2..7..1.5..4....53...1..7...6..32...8..6.5....9..4....3......97..",
    "inkala 2012": "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "platinum blonde": ".......12........3..23..4....18....5.6..7.8.......9.....85.....9...4.5..47...6...",
    "golden nugget": ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....",
    "easter monster": "1.......2.9.4...5...6...7...5.9.3.......7.......85..4.7.....6...3...9.8...2.....1",
}
"""Row by row, a dot for an empty cell. All but the first two need much search even with propagation."""


def sudoku_units() -> list[list[int]]:
    """The rows, columns and boxes, as cell numbers."""
    rows = [[9 * r + c for c in range(9)] for r in range(9)]
    columns = [[9 * r + c for r in range(9)] for c in range(9)]
    boxes = [[9 * (r + i) + c + j for i in range(3) for j in range(3)] for r in (0, 3, 6) for c in (0, 3, 6)]
    return rows + columns + boxes


def sudoku(clues: str) -> Problem:
    problem = Problem("sudoku")
    cells = problem.add_variables(81, range(1, 10))
    for unit in sudoku_units():
        problem.add_all_different([cells[k] for k in unit])
    for cell, clue in zip(cells, clues, strict=True):
        if clue != ".":
            problem.add(cell == int(clue))
    return problem


def queens(n: int) -> Problem:
    """The column of the queen in each row."""
    problem = Problem("queens")
    q = problem.add_variables(n, range(n))
    problem.add_all_different(q)
    problem.add_all_different([q[i] + i for i in range(n)])
    problem.add_all_different([q[i] - i for i in range(n)])
    return problem


def magic_square(n: int) -> Problem:
    problem = Problem("magic square")
    cells = problem.add_variables(n * n, range(1, n * n + 1))
    problem.add_all_different(cells)
    rows = [cells[n * i : n * (i + 1)] for i in range(n)]
    diagonals = [cells[:: n + 1], cells[n - 1 : n * n - 1 : n - 1]]
    for line in [*rows, *map(list, zip(*rows, strict=True)), *diagonals]:
        problem.add(total(line) == n * (n * n + 1) // 2)
    return problem


def all_interval(n: int) -> Problem:
    """A permutation of 0 … n−1 whose neighbours are at n−1 different distances."""
    problem = Problem("all interval")
    notes = problem.add_variables(n, range(n), "note")
    steps = problem.add_variables(n - 1, range(1, n), "step")
    problem.add_all_different(notes)
    problem.add_all_different(steps)
    for k, step in enumerate(steps):
        problem.add(step == abs(notes[k + 1] - notes[k]))
    return problem


def latin_square(n: int, rng: random.Random) -> list[list[int]]:
    """Drawn nearly uniformly: Jacobson and Matthews' walk over latin squares, of about n³ steps.

    The square is a cube of zeros and ones with one 1 on every line. A step moves a 1 and mends the lines through it;
    that may leave a −1, which is where the next step then begins."""
    cube = [[[int((r + c) % n == s) for s in range(n)] for c in range(n)] for r in range(n)]
    improper: tuple[int, int, int] | None = None
    for step in itertools.count():
        if improper is None:
            if step >= n**3:
                return [[cube[r][c].index(1) for c in range(n)] for r in range(n)]
            while True:
                r, c, s = (rng.randrange(n) for _ in range(3))
                if cube[r][c][s] == 0:
                    break
        else:
            r, c, s = improper
        r2 = rng.choice([k for k in range(n) if cube[k][c][s] == 1])
        c2 = rng.choice([k for k in range(n) if cube[r][k][s] == 1])
        s2 = rng.choice([k for k in range(n) if cube[r][c][k] == 1])
        for x, y, z in itertools.product((r, r2), (c, c2), (s, s2)):
            moved = (x == r2) + (y == c2) + (z == s2)
            cube[x][y][z] += 1 if moved % 2 == 0 else -1
        improper = (r2, c2, s2) if cube[r2][c2][s2] < 0 else None
    raise AssertionError


def quasigroup_with_holes(n: int, holes: float, seed: int) -> Problem:
    """A latin square of which a part of the cells is to be found again."""
    rng = random.Random(seed)
    square = latin_square(n, rng)
    empty = set(rng.sample(range(n * n), round(holes * n * n)))
    problem = Problem("quasigroup with holes")
    rows = [
        [problem.add_variable(range(n) if n * r + c in empty else [square[r][c]]) for c in range(n)] for r in range(n)
    ]
    for line in [*rows, *zip(*rows, strict=True)]:
        problem.add_all_different(line)
    return problem


def clue(line: Sequence[int]) -> list[int]:
    """The lengths of the runs of ones."""
    return [len(list(run)) for filled, run in itertools.groupby(line) if filled]


def nonogram(rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Problem:
    """Every line a word of the automaton 0* 1…1 0+ 1…1 0* of its clue."""
    problem = Problem("nonogram")
    grid = [problem.add_variables(len(columns), (0, 1)) for _ in rows]
    for cells, runs in [*zip(grid, rows, strict=True), *zip(map(list, zip(*grid, strict=True)), columns, strict=True)]:
        arcs, state = [(0, 0, 0)], 0
        for k, length in enumerate(runs):
            for _ in range(length):
                arcs.append((state, 1, state + 1))
                state += 1
            if k < len(runs) - 1:
                arcs.append((state, 0, state + 1))
                state += 1
            arcs.append((state, 0, state))
        problem.add_regular(cells, arcs, 0, [state])
    return problem


def random_picture(size: int, density: float, seed: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [[int(rng.random() < density) for _ in range(size)] for _ in range(size)]


def products(seed: int, variables: int = 60, constraints: int = 45) -> Problem:
    """x · y · z = c over random triples, with a planted solution."""
    rng = random.Random(seed)
    problem = Problem("products")
    x = problem.add_variables(variables, range(1, 10))
    planted = [rng.randint(1, 9) for _ in x]
    for _ in range(constraints):
        a, b, c = rng.sample(range(variables), 3)
        problem.add(x[a] * x[b] * x[c] == planted[a] * planted[b] * planted[c])
    return problem


# ── schedules ────────────────────────────────────────────────────────────────────────────────────────

Jobs = list[list[tuple[int, int]]]
"""The (machine, duration) of every task of every job."""


def _jobs(text: str) -> Jobs:
    numbers = [[int(token) for token in line.split()] for line in text.strip().splitlines()]
    return [list(zip(line[::2], line[1::2], strict=True)) for line in numbers]


# Fisher and Thompson, Probabilistic learning combinations of local job-shop scheduling rules, 1963.
FT06 = _jobs("""
2 1 0 3 1 6 3 7 5 3 4 6
1 8 2 5 4 10 5 10 0 10 3 4
2 5 3 4 5 8 0 9 1 1 4 7
1 5 0 5 2 5 3 3 4 8 5 9
2 9 1 3 4 5 5 4 0 3 3 1
1 3 3 3 5 9 0 10 4 4 2 1
""")
FT10 = _jobs("""
0 29 1 78 2 9 3 36 4 49 5 11 6 62 7 56 8 44 9 21
0 43 2 90 4 75 9 11 3 69 1 28 6 46 5 46 7 72 8 30
1 91 0 85 3 39 2 74 8 90 5 10 7 12 6 89 9 45 4 33
1 81 2 95 0 71 4 99 6 9 8 52 7 85 3 98 9 22 5 43
2 14 0 6 1 22 5 61 3 26 4 69 8 21 7 49 9 72 6 53
2 84 1 2 5 52 3 95 8 48 9 72 0 47 6 65 4 6 7 25
1 46 0 37 3 61 2 13 6 32 5 21 9 32 8 89 7 30 4 55
2 31 0 86 1 46 5 74 4 32 6 88 8 19 9 48 7 36 3 79
0 76 1 69 3 76 5 51 2 85 9 11 6 40 7 89 4 26 8 74
1 85 0 13 2 61 6 7 8 64 9 76 5 47 3 52 4 90 7 45
""")


def job_shop(jobs: Jobs, *, makespan_variable: bool, horizon: int | None = None) -> Problem:
    """Start times; the last end is an expression, or a variable that no end exceeds."""
    problem = Problem("job shop")
    horizon = horizon or sum(duration for job in jobs for _, duration in job)
    on_machine: dict[int, list[tuple[Variable, int]]] = {}
    ends = []
    for j, job in enumerate(jobs):
        starts = [problem.add_variable(range(horizon), f"start_{j}_{k}") for k in range(len(job))]
        for k, (machine, duration) in enumerate(job):
            on_machine.setdefault(machine, []).append((starts[k], duration))
            if k + 1 < len(job):
                problem.add(starts[k] + duration <= starts[k + 1])
        ends.append(starts[-1] + job[-1][1])
    for tasks in on_machine.values():
        problem.add_no_overlap([start for start, _ in tasks], [duration for _, duration in tasks])
    if makespan_variable:
        makespan = problem.add_variable(range(horizon + 1), "makespan")
        for end in ends:
            problem.add(end <= makespan)
        problem.minimize(makespan)
    else:
        problem.minimize(maximum(ends))
    return problem


OFF, EARLY, LATE, NIGHT = range(4)


class Ward:
    """Nurses, days, how many each shift needs, and wishes: (nurse, day, shift wished for, how much)."""

    def __init__(self, seed: int, nurses: int = 12, days: int = 14) -> None:
        rng = random.Random(seed)
        self.nurses, self.days = nurses, days
        self.need = {EARLY: 3, LATE: 3, NIGHT: 2}
        self.wishes = [
            (n, d, rng.choice([OFF, OFF, EARLY, LATE, NIGHT]), rng.randint(1, 5))
            for n in range(nurses)
            for d in rng.sample(range(days), 5)
        ]


def nurse_roster(ward: Ward, *, soft: bool) -> Problem:
    """Nobody works early after a late or a night, or late after a night, nor more than five days on end, and all work
    between eight and eleven days. Wishes are soft constraints, or a weighted sum to be minimised."""
    problem = Problem("nurse roster")
    roster = [problem.add_variables(ward.days, range(4), f"nurse_{n}_") for n in range(ward.nurses)]
    for day in zip(*roster, strict=True):
        for shift, count in ward.need.items():
            problem.add_count(day, [shift], "==", count, hard=True)
    worn_out = [(LATE, EARLY), (NIGHT, EARLY), (NIGHT, LATE)]
    for row in roster:
        for today, tomorrow in itertools.pairwise(row):
            problem.add_table([today, tomorrow], worn_out, allowed=False, hard=True)
        for first in range(ward.days - 5):
            problem.add_count(row[first : first + 6], [OFF], ">=", 1, hard=True)
        working = total([x != OFF for x in row])
        problem.add(working >= 8, hard=True)
        problem.add(working <= 11, hard=True)
    if soft:
        for n, d, shift, much in ward.wishes:
            problem.add(roster[n][d] == shift, weight=much)
    else:
        problem.minimize(total([(roster[n][d] != shift) * much for n, d, shift, much in ward.wishes]))
    return problem


# ── routes and packings ──────────────────────────────────────────────────────────────────────────────


def distances(cities: int, seed: int) -> list[list[int]]:
    """Random points of a square of 100 × 100, distances rounded."""
    rng = random.Random(seed)
    points = [(rng.uniform(0, 100), rng.uniform(0, 100)) for _ in range(cities)]
    return [[round(((a - c) ** 2 + (b - d) ** 2) ** 0.5) for c, d in points] for a, b in points]


def travelling_salesman(distance: list[list[int]]) -> Problem:
    """The city after each."""
    problem = Problem("travelling salesman")
    n = len(distance)
    after = [problem.add_variable([j for j in range(n) if j != i], f"after_{i}") for i in range(n)]
    problem.add_circuit(after)
    problem.minimize(total([element(distance[i], after[i]) for i in range(n)]))
    return problem


class Items:
    """Things with a size and a worth."""

    def __init__(self, count: int, seed: int, smallest: int = 5, largest: int = 50) -> None:
        rng = random.Random(seed)
        self.sizes = [rng.randint(smallest, largest) for _ in range(count)]
        self.worth = [max(1, size + rng.randint(-10, 10)) for size in self.sizes]


def knapsack(items: Items, capacity: int) -> Problem:
    problem = Problem("knapsack")
    taken = problem.add_variables(len(items.sizes), (0, 1))
    problem.add(total([x * size for x, size in zip(taken, items.sizes, strict=True)]) <= capacity)
    problem.maximize(total([x * worth for x, worth in zip(taken, items.worth, strict=True)]))
    return problem


def knapsack_worth(items: Items, capacity: int, worth: int) -> Problem:
    """Is there a choice of at least this worth?"""
    problem = Problem("knapsack of some worth")
    taken = problem.add_variables(len(items.sizes), (0, 1))
    problem.add_knapsack(taken, items.sizes, ("<=", capacity), items.worth, (">=", worth))
    return problem


def bin_packing(sizes: Sequence[int], capacity: int, bins: int) -> Problem:
    """All items into these bins."""
    problem = Problem("bin packing")
    where = problem.add_variables(len(sizes), range(bins))
    problem.add_bin_packing(where, sizes, [(b, "<=", capacity) for b in range(bins)])
    return problem


def fewest_bins(sizes: Sequence[int], capacity: int, bins: int) -> Problem:
    problem = bin_packing(sizes, capacity, bins)
    problem.minimize(distinct(problem.variables))
    return problem


def triplets(bins: int, seed: int, capacity: int = 1000) -> list[int]:
    """Items of which three fill a bin exactly."""
    rng = random.Random(seed)
    sizes = []
    for _ in range(bins):
        first = rng.randint(380, 490)
        second = rng.randint(250, (capacity - first) // 2)
        sizes += [first, second, capacity - first - second]
    rng.shuffle(sizes)
    return sizes


# ── quadratic functions of two-valued variables ──────────────────────────────────────────────────────

Quadratic = dict[tuple[int, int], int]
"""The coefficient of x_i · x_j, i ≤ j."""


def quadratic(n: int, seed: int) -> Quadratic:
    rng = random.Random(seed)
    return {(i, j): rng.randint(-10, 10) for i in range(n) for j in range(i, n)}


def qubo(coefficients: Quadratic) -> Problem:
    """As an expression to be minimised."""
    problem = Problem("qubo")
    x = problem.add_variables(1 + max(j for _, j in coefficients), (0, 1))
    problem.minimize(total([q * x[i] if i == j else q * x[i] * x[j] for (i, j), q in coefficients.items() if q]))
    return problem


def _qubo_of(product: Callable[[Expression, Expression], Expression]) -> Callable[[Quadratic], Problem]:
    """As a sum of coefficients times what is 1 where both variables are."""

    def model(coefficients: Quadratic) -> Problem:
        problem = Problem("qubo")
        x = problem.add_variables(1 + max(j for _, j in coefficients), (0, 1))
        problem.minimize(
            total([q * x[i] if i == j else q * product(x[i], x[j]) for (i, j), q in coefficients.items() if q])
        )
        return problem

    return model


def _qubo_maximised(coefficients: Quadratic) -> Problem:
    problem = qubo(coefficients)
    assert problem.objective is not None
    assert problem.objective.expression is not None
    problem.maximize(-problem.objective.expression)
    return problem


def _qubo_of_spins(coefficients: Quadratic) -> Problem:
    """Variables of −1 and 1; the value is that of the others times 4."""
    problem = Problem("qubo of spins")
    s = problem.add_variables(1 + max(j for _, j in coefficients), [-1, 1])
    problem.minimize(total([q * ((s[i] + 1) * (s[j] + 1)) for (i, j), q in coefficients.items() if q]))
    return problem


def _qubo_by_rows(coefficients: Quadratic) -> Problem:
    """Every variable once, times a sum of others."""
    problem = Problem("qubo by rows")
    x = problem.add_variables(1 + max(j for _, j in coefficients), (0, 1))
    rows: list[list[Expression]] = [[] for _ in x]
    for (i, j), q in coefficients.items():
        rows[i].append(q * x[j])
    problem.minimize(total([x[i] * total(row) for i, row in enumerate(rows)]))
    return problem


def _qubo_of_one_variable(coefficients: Quadratic) -> Problem:
    """A variable equals the sum, and is minimised."""
    problem = Problem("qubo of one variable")
    x = problem.add_variables(1 + max(j for _, j in coefficients), (0, 1))
    most = sum(map(abs, coefficients.values()))
    z = problem.add_variable(range(-most, most + 1), "z")
    problem.add(z == total([q * x[i] * x[j] for (i, j), q in coefficients.items() if q]))
    problem.minimize(z)
    return problem


QUBO_FORMS: dict[str, Callable[[Quadratic], Problem]] = {
    "products": qubo,
    "maximised": _qubo_maximised,
    "and": _qubo_of(lambda x, y: x & y),
    "minimum": _qubo_of(lambda x, y: minimum(x, y)),
    "if": _qubo_of(lambda x, y: if_else(x, y, 0)),
    "conditions": _qubo_of(lambda x, y: (x == 1) & (y == 1)),
    "spins": _qubo_of_spins,
    "rows": _qubo_by_rows,
    "one variable": _qubo_of_one_variable,
}
"""The same function of two-valued variables as people write it."""


def random_graph(vertices: int, edges: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    drawn: dict[tuple[int, int], None] = {}
    while len(drawn) < edges:
        a, b = rng.sample(range(vertices), 2)
        drawn[min(a, b), max(a, b)] = None
    return list(drawn)


CUT_FORMS: dict[str, Callable[[Expression, Expression], Expression]] = {
    "different": lambda x, y: x != y,
    "distance": lambda x, y: abs(x - y),
    "quadratic": lambda x, y: x + y - 2 * x * y,
    "exclusive": lambda x, y: x ^ y,
    "square": lambda x, y: (x - y) ** 2,
}
"""What is 1 where the ends of an edge are on different sides, 0 or 1."""


def cut(edges: Sequence[tuple[int, int]], form: str) -> Problem:
    problem = Problem("cut")
    side = problem.add_variables(1 + max(itertools.chain.from_iterable(edges)), (0, 1))
    problem.maximize(total([CUT_FORMS[form](side[a], side[b]) for a, b in edges]))
    return problem


def qubo_of_tables(coefficients: Quadratic) -> tuple[Problem, int]:
    """As soft tables, and the number that their violated weight exceeds the value by: a positive coefficient is paid
    where both are 1, a negative one where they are not."""
    problem = Problem("qubo of tables")
    x = problem.add_variables(1 + max(j for _, j in coefficients), (0, 1))
    excess = 0
    for (i, j), q in coefficients.items():
        if q:
            scope = [x[i]] if i == j else [x[i], x[j]]
            problem.add_table(scope, [[1] * len(scope)], allowed=q < 0, weight=abs(q))
            excess -= min(q, 0)
    return problem, excess


def qubo_value(coefficients: Quadratic, x: Sequence[int]) -> int:
    return sum(q for (i, j), q in coefficients.items() if x[i] and x[j])
