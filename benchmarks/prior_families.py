"""Families of instances that the learned prior is trained and judged on, drawn from a seed.

`FAMILIES[name](index)` is instance `index`. Names before a colon are groups: what is left out together when the prior
is judged on a family that it has not seen.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests")]

import structured_models as models  # noqa: E402

from anycsp import Problem  # noqa: E402
from anycsp.distributions import draw, get  # noqa: E402
from anycsp.model.expressions import total  # noqa: E402

SEED = 41
"""Names the instances; those of tuning, of the tests and of confirmation have others."""


def drawn(name: str, **settings: Any) -> Callable[[int], Problem]:
    return lambda index: draw(get(name, **settings), SEED, index)


def langford(index: int) -> Problem:
    """Two copies of 1 … n, the copies of k with k numbers between them; soluble for n = 0, 3 mod 4."""
    n = (12, 16, 20, 24, 28, 32, 36, 40)[index % 8]
    problem = Problem(f"langford {n}")
    first = [problem.add_variable(range(2 * n - k - 1)) for k in range(1, n + 1)]
    second = [problem.add_variable(range(k + 1, 2 * n)) for k in range(1, n + 1)]
    for k, (a, b) in enumerate(zip(first, second, strict=True), 1):
        problem.add(b == a + k + 1)
    problem.add_all_different([*first, *second])
    return problem


def costas(index: int) -> Problem:
    """A permutation whose triangle of differences repeats none in a row."""
    n = 12 + index % 6
    problem = Problem(f"costas {n}")
    x = problem.add_variables(n, range(n))
    problem.add_all_different(x)
    for step in range(1, n - 1):
        problem.add_all_different([x[i + step] - x[i] for i in range(n - step)])
    return problem


def block_design(index: int) -> Problem:
    """A matrix of zeros and ones: r ones in every row, k in every column, λ columns in common to any two rows."""
    v, b, r, k, common = [
        (9, 12, 4, 3, 1),
        (8, 14, 7, 4, 3),
        (10, 30, 9, 3, 2),
        (13, 13, 4, 4, 1),
        (9, 24, 8, 3, 2),
        (11, 22, 10, 5, 4),
    ][index % 6]
    problem = Problem(f"block design {v} {b}")
    x = [problem.add_variables(b, (0, 1)) for _ in range(v)]
    for row in x:
        problem.add(total(row) == r)
    for column in zip(*x, strict=True):
        problem.add(total(column) == k)
    for one, other in combinations(x, 2):
        problem.add(total([p * q for p, q in zip(one, other, strict=True)]) == common)
    for row, value in zip(x[0], [1] * r + [0] * (b - r), strict=True):
        problem.add(row == value)
    return problem


def car_sequencing(index: int) -> Problem:
    """Cars of classes with options, at most p of which in any q that follow each other; a sequence is hidden."""
    rng = random.Random(1000 + index)
    cars, options = rng.choice([50, 80, 120]), [(1, 2), (2, 3), (1, 3), (2, 5), (1, 5)]
    line: list[tuple[int, ...]] = []
    for _ in range(cars):
        has = []
        for o, (p, q) in enumerate(options):
            recent = sum(car[o] for car in line[max(0, len(line) - q + 1) :])
            has.append(int(recent < p and rng.random() < 0.8))
        line.append(tuple(has))
    classes = sorted(set(line))
    problem = Problem(f"car sequencing {cars}")
    x = problem.add_variables(cars, range(len(classes)))
    for c, kind in enumerate(classes):
        problem.add_count(x, [c], "==", line.count(kind))
    for o, (p, q) in enumerate(options):
        having = [c for c, kind in enumerate(classes) if kind[o]]
        for first in range(cars - q + 1):
            if having:
                problem.add_count(x[first : first + q], having, "<=", p)
    return problem


def graceful(index: int) -> Problem:
    """Different labels for the vertices of a random tree, so that all edges have different differences."""
    rng = random.Random(2000 + index)
    n = 16 + 2 * (index % 8)
    edges = [(i, rng.randrange(i)) for i in range(1, n)]
    problem = Problem(f"graceful tree of {n}")
    x = problem.add_variables(n, range(n))
    differences = problem.add_variables(n - 1, range(1, n), "d")
    problem.add_all_different(x)
    problem.add_all_different(differences)
    for d, (i, j) in zip(differences, edges, strict=True):
        problem.add(d == abs(x[i] - x[j]))
    return problem


def ternary_tables(index: int) -> Problem:
    """Random tables over three variables of six values, with a hidden solution."""
    rng = random.Random(3000 + index)
    n, size, forbidden = rng.choice([40, 50, 60]), 6, 0.35
    constraints = round(rng.uniform(3.0, 4.2) * n)
    problem = Problem(f"{constraints} ternary tables over {n}")
    x = problem.add_variables(n, range(size))
    hidden = [rng.randrange(size) for _ in range(n)]
    tuples = [(a, b, c) for a in range(size) for b in range(size) for c in range(size)]
    for _ in range(constraints):
        scope = rng.sample(range(n), 3)
        away = [t for t in rng.sample(tuples, round(forbidden * len(tuples))) if t != tuple(hidden[i] for i in scope)]
        problem.add_table([x[i] for i in scope], away, allowed=False)
    return problem


def positive_tables(index: int) -> Problem:
    """Few allowed tuples over four variables each, one of them hidden in all: like a crossword."""
    rng = random.Random(4000 + index)
    n, size, arity, allowed = rng.choice([48, 64, 80]), 8, 4, 300
    problem = Problem(f"positive tables over {n}")
    x = problem.add_variables(n, range(size))
    hidden = [rng.randrange(size) for _ in range(n)]
    for _ in range(round(rng.uniform(0.6, 1.0) * n)):
        scope = rng.sample(range(n), arity)
        rows = {tuple(rng.randrange(size) for _ in scope) for _ in range(allowed)} | {tuple(hidden[i] for i in scope)}
        problem.add_table([x[i] for i in scope], sorted(rows))
    return problem


def resources(index: int) -> Problem:
    """Tasks with precedences on a resource of limited capacity; a schedule that ends in time is hidden."""
    rng = random.Random(5000 + index)
    tasks, capacity = rng.choice([40, 60, 80]), 8
    length = [rng.randint(1, 5) for _ in range(tasks)]
    height = [rng.randint(1, 5) for _ in range(tasks)]
    start: list[int] = []
    load: dict[int, int] = {}
    before = []
    for k in range(tasks):
        earlier = rng.sample(range(k), min(k, rng.randint(0, 2)))
        before += [(i, k) for i in earlier]
        at = max((start[i] + length[i] for i in earlier), default=0)
        while any(load.get(t, 0) + height[k] > capacity for t in range(at, at + length[k])):
            at += 1
        start.append(at)
        for t in range(at, at + length[k]):
            load[t] = load.get(t, 0) + height[k]
    end = max(s + d for s, d in zip(start, length, strict=True))
    problem = Problem(f"{tasks} tasks in {end}")
    x = [problem.add_variable(range(end - d + 1)) for d in length]
    for i, k in before:
        problem.add(x[i] + length[i] <= x[k])
    problem.add_cumulative(x, length, height, "<=", capacity)
    return problem


def golfers(index: int) -> Problem:
    """Weeks of groups of players: for any two weeks, no two players are in one group in both."""
    groups, size, weeks = [(6, 3, 4), (5, 4, 3), (6, 3, 5), (7, 3, 5), (6, 4, 4), (8, 4, 4), (8, 4, 5)][index % 7]
    problem = Problem(f"golfers {groups}-{size}-{weeks}")
    players = groups * size
    x = [problem.add_variables(players, range(groups)) for _ in range(weeks)]
    for week in x:
        problem.add_cardinality(week, range(groups), [size] * groups)
    for a, b in combinations(range(weeks), 2):
        problem.add_all_different([x[a][p] * groups + x[b][p] for p in range(players)])
    return problem


def jobs_with_wishes(index: int) -> Problem:
    """Jobs to machines: capacities hard, a soft wish per job with a weight."""
    rng = random.Random(6000 + index)
    jobs, machines = rng.choice([20, 40, 60]), 5
    size = [rng.randint(5, 25) for _ in range(jobs)]
    capacity = round(1.08 * sum(size) / machines)
    problem = Problem(f"{jobs} jobs on {machines} machines")
    x = problem.add_variables(jobs, range(machines))
    for m in range(machines):
        problem.add(total([(x[j] == m) * size[j] for j in range(jobs)]) <= capacity, hard=True)
    for j in range(jobs):
        for m in rng.sample(range(machines), 2):
            problem.add(x[j] == m, weight=rng.randint(1, 9))
    return problem


def nonogram(index: int) -> Problem:
    picture = models.random_picture(14 + 3 * (index % 4), 0.5, 7000 + index)
    return models.nonogram([models.clue(r) for r in picture], [models.clue(c) for c in zip(*picture, strict=True)])


def worth(index: int) -> Problem:
    items = models.Items(40 + 20 * (index % 6), 8000 + index)
    capacity = sum(items.sizes) // 2
    greedy, room = 0, capacity
    for size, value in sorted(zip(items.sizes, items.worth, strict=True), key=lambda p: -p[1] / p[0]):
        if size <= room:
            greedy, room = greedy + value, room - size
    return models.knapsack_worth(items, capacity, greedy + 1)


def packing(index: int) -> Problem:
    bins = 8 + 2 * (index % 8)
    return models.bin_packing(models.triplets(bins, 9000 + index), 1000 + 10 * (index % 3), bins)


def qubo(index: int) -> Problem:
    return models.qubo_of_tables(models.quadratic(40 + 10 * (index % 5), index))[0]


def roster(index: int) -> Problem:
    return models.nurse_roster(models.Ward(index, 12 + index % 3, 14), soft=True)


FAMILIES: Mapping[str, Callable[[int], Problem]] = {
    "rb": drawn("rb", n=[30, 60]),
    "forced-rb": drawn("forced-rb", n=30, domain=15, constraints=284, forbidden=56),
    "coloring": drawn("coloring", n=[200, 400]),
    "coloring:hidden": drawn("colorable", n=[100, 200]),
    "coloring:few": drawn("colorable", n=[150, 300], colors=[3, 5], tightness=[0.9, 1.1]),
    "maxcut": drawn("maxcut", n=[200, 500], degree=[4, 20]),
    "sat": drawn("sat", n=[150, 250], density=[[4.0, 4.25]]),
    "maxsat": drawn("maxsat", n=[100, 300]),
    "quasigroup": drawn("quasigroup", order=[28, 33], holes=[0.41, 0.44]),
    "quasigroup:large": drawn("quasigroup", order=[34, 40], holes=[0.41, 0.46]),
    "sudoku": drawn("sudoku", box=5, holes=[0.4, 0.7]),
    "magic-square": drawn("magic-square", order=[6, 9]),
    "magic-sequence": drawn("magic-sequence", n=[40, 80]),
    "equations": drawn("equations", n=[40, 80], arity=5, density=[0.3, 0.5]),
    "knapsack": drawn("knapsack"),
    "timetable": drawn("timetable", filled=[0.9, 1.0]),
    "jobshop": drawn("jobshop", jobs=[8, 10], machines=[5, 8], slack=0.97),
    "queens": drawn("queens", n=[40, 100]),
    "all-interval": drawn("all-interval", n=[30, 60]),
    "nonogram": nonogram,
    "roster": roster,
    "worth": worth,
    "packing": packing,
    "qubo": qubo,
    "langford": langford,
    "costas": costas,
    "block-design": block_design,
    "car-sequencing": car_sequencing,
    "graceful": graceful,
    "ternary-tables": ternary_tables,
    "positive-tables": positive_tables,
    "resources": resources,
    "golfers": golfers,
    "jobs": jobs_with_wishes,
}  # fmt: skip


def group_of(family: str) -> str:
    return family.partition(":")[0]
