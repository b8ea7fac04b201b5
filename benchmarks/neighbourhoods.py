"""Does exact search beside local search beat both alone? Schedules, tours, rosters, timetables and packings.

    python benchmarks/neighbourhoods.py --out FILE.jsonl [--problems ft10 la36 …] [--seconds 20] [--seeds 5]
    python benchmarks/neighbourhoods.py --out FILE.jsonl --table       # run nothing
    python benchmarks/neighbourhoods.py --smoke                        # one small packing, two seconds

One thread; to be pinned to one core (`taskset -c 1`), since `auto` shares it. Every finished run is a line of the file,
and a run found there is not repeated. All problems are minimised; an instance drawn at random is the same for all.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from anycsp import Problem, solve
from anycsp.bench.machine import commit, hardware
from anycsp.model.expressions import all_of, any_of, element, total

SYSTEMS = ("auto", "exact", "local")

# Machine and time of every operation, a job per row: J. F. Muth and G. L. Thompson, Industrial Scheduling, 1963.
FT10 = """\
0 29 1 78 2 9 3 36 4 49 5 11 6 62 7 56 8 44 9 21
0 43 2 90 4 75 9 11 3 69 1 28 6 46 5 46 7 72 8 30
1 91 0 85 3 39 2 74 8 90 5 10 7 12 6 89 9 45 4 33
1 81 2 95 0 71 4 99 6 9 8 52 7 85 3 98 9 22 5 43
2 14 0 6 1 22 5 61 3 26 4 69 8 21 7 49 9 72 6 53
2 84 1 2 5 52 3 95 8 48 9 72 0 47 6 65 4 6 7 25
1 46 0 37 3 61 2 13 6 32 5 21 9 32 8 89 7 30 4 55
2 31 0 86 1 46 5 74 4 32 6 88 8 19 9 48 7 36 3 79
0 76 1 69 3 76 5 51 2 85 9 11 6 40 7 89 4 26 8 74
1 85 0 13 2 61 6 7 8 64 9 76 5 47 3 52 4 90 7 45"""
# S. Lawrence, Resource constrained project scheduling (supplement), 1984.
LA36 = """\
4 21 3 55 6 71 14 98 10 12 2 34 9 16 1 21 0 53 7 26 8 52 5 95 12 31 11 42 13 39
11 54 4 83 1 77 7 64 8 34 14 79 12 43 0 55 3 77 6 19 9 37 5 79 10 92 13 62 2 66
9 83 5 77 2 87 7 38 4 60 12 98 0 93 13 17 6 41 10 44 3 69 11 49 8 24 1 87 14 25
5 77 0 96 9 28 6 7 4 95 13 35 7 35 8 76 11 9 12 95 2 43 1 75 10 61 14 10 3 79
10 87 4 28 8 50 2 59 0 46 11 45 14 9 9 43 6 52 7 27 1 91 13 41 3 16 5 59 12 39
0 20 2 71 4 78 13 66 3 14 12 8 14 42 6 28 1 54 9 33 11 89 8 26 7 37 10 33 5 43
8 69 4 96 12 17 0 69 7 45 11 31 6 78 10 20 3 27 13 87 1 74 5 84 14 76 2 94 9 81
4 58 13 90 11 76 3 81 7 23 9 28 1 18 2 32 12 86 8 99 14 97 0 24 10 45 6 72 5 25
5 27 1 46 6 67 8 27 13 19 10 80 2 17 3 48 7 62 11 12 14 28 4 98 0 42 9 48 12 50
11 37 5 80 4 75 8 55 7 50 0 94 9 14 6 41 14 72 3 50 10 61 13 79 2 98 12 18 1 63
7 65 3 96 0 47 4 75 12 69 14 58 10 33 1 71 9 22 13 32 5 57 8 79 2 14 11 31 6 60
1 34 2 47 3 58 5 51 4 62 6 44 9 8 7 17 10 97 8 29 11 15 13 66 12 40 0 44 14 38
3 50 7 57 13 61 5 20 11 85 12 90 2 58 4 63 10 84 1 39 9 87 6 21 14 56 8 32 0 57
9 84 7 45 5 15 14 41 10 18 4 82 11 29 2 70 1 67 3 30 13 50 6 23 0 20 12 21 8 38
9 37 10 81 11 61 14 57 8 57 0 52 7 74 6 62 12 30 1 52 2 38 13 68 4 54 3 54 5 16"""


def job_shop(text: str) -> Problem:
    """The end of the last job."""
    jobs = [list(zip(*[iter(map(int, row.split()))] * 2, strict=True)) for row in text.splitlines()]
    problem = Problem()
    horizon = sum(time for job in jobs for _, time in job) // 3
    end = problem.add_variable(range(horizon), "end")
    machines: dict[int, list[tuple[Any, int]]] = {}
    for j, job in enumerate(jobs):
        starts = problem.add_variables(len(job), range(horizon), names=[f"job{j}_{k}" for k in range(len(job))])
        for (machine, time), start, following in zip(job, starts, [*starts[1:], end], strict=True):
            problem.add(start + time <= following)
            machines.setdefault(machine, []).append((start, time))
    for tasks in machines.values():
        problem.add_no_overlap([start for start, _ in tasks], [time for _, time in tasks])
    problem.minimize(end)
    return problem


def tour(cities: int = 100, seed: int = 100) -> Problem:
    """A travelling salesman among random points: the length of the circuit."""
    points = np.random.default_rng(seed).integers(0, 1000, (cities, 2))
    distance = np.rint(np.linalg.norm(points[:, None] - points[None], axis=2)).astype(int)
    problem = Problem()
    near = [np.argsort(row)[1:11].tolist() for row in distance]  # to one of the ten nearest cities
    after = [problem.add_variable(sorted(some), f"after{i}") for i, some in enumerate(near)]
    problem.add_circuit(after, size=cities)
    problem.minimize(total([element(distance[i].tolist(), x) for i, x in enumerate(after)]))
    return problem


def roster(nurses: int = 20, days: int = 21, seed: int = 7) -> Problem:
    """Shifts off, early, late, night; demand and rest are required, wishes and even work are weighed."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    shift = [problem.add_variables(days, range(4), names=[f"n{n}d{d}" for d in range(days)]) for n in range(nurses)]
    for d in range(days):
        for kind, least in ((1, nurses // 5), (2, nurses // 5), (3, nurses // 7)):
            problem.add_count([row[d] for row in shift], [kind], ">=", least, hard=True)
    for row in shift:
        for today, tomorrow in pairwise(row):
            problem.add_table([today, tomorrow], [(2, 1), (3, 1), (3, 2)], allowed=False, hard=True)
        for d in range(days - 5):
            problem.add_count(row[d : d + 6], [0], ">=", 1, hard=True)
        problem.add_count(row, [0], ">=", 2 * days // 7, hard=True)
        problem.add_count(row, [3], "<=", days // 5, weight=3)
        for d in range(days - 2):
            problem.add(~all_of(row[d] == 0, row[d + 1] != 0, row[d + 2] == 0), weight=2)  # no single day of work
        for d in rng.choice(days, days // 2, replace=False).tolist():
            problem.add(row[d] == int(rng.integers(4)), weight=float(rng.integers(1, 6)))
    return problem


def timetable(lessons: int = 120, slots: int = 30, rooms: int = 5, seed: int = 11) -> Problem:
    """Lessons of shared teachers and classes: clashes are required not to be, wishes and gaps are weighed."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    times = problem.add_variables(lessons, range(slots), "lesson")
    for groups in (24, 20):  # teachers, classes
        members: list[list[Any]] = [[] for _ in range(groups)]
        for x in times:
            members[int(rng.integers(groups))].append(x)
        for group in members:
            problem.add_all_different(group, hard=True)
            for a, b in combinations(group[:4], 2):  # on one day, or next to each other, if it can be
                problem.add(any_of(abs(a - b) <= 2, abs(a - b) >= 12), weight=float(rng.integers(1, 4)))
    for slot in range(slots):
        problem.add_count(times, [slot], "<=", rooms, hard=True)
    for x in times:
        wished = rng.choice(slots, 3, replace=False).tolist()
        problem.add(x.is_in(wished), weight=float(rng.integers(1, 10)))
    return problem


def packing(items: int = 100, bins: int = 55, capacity: int = 100, seed: int = 3) -> Problem:
    """The number of bins that items of random sizes are in."""
    sizes = np.random.default_rng(seed).integers(20, 60, items).tolist()
    problem = Problem()
    places = problem.add_variables(items, range(bins), "item")
    problem.add_bin_packing(places, sizes, [(b, "<=", capacity) for b in range(bins)])
    used = problem.add_variable(range(bins + 1), "used")
    for x in places:
        problem.add(x < used)
    problem.minimize(used)
    return problem


def bins(items: int = 100, seed: int = 5) -> Problem:
    """Packing into bins of three sizes, large ones cheaper for what they hold: the price of those that are used."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(10, 60, items).tolist()
    kinds = [(capacity, price) for capacity, price in ((70, 75), (100, 100), (150, 140)) for _ in range(items // 4)]
    problem = Problem()
    places = problem.add_variables(items, range(len(kinds)), "item")
    used = problem.add_variables(len(kinds), [0, 1], "used")
    problem.add_bin_packing(places, sizes, [(b, "<=", capacity) for b, (capacity, _) in enumerate(kinds)])
    for x in places:
        problem.add(element(used, x) == 1)
    problem.minimize(total([price * u for (_, price), u in zip(kinds, used, strict=True)]))
    return problem


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "ft10": lambda: job_shop(FT10),
    "la36": lambda: job_shop(LA36),
    "tour": tour,
    "roster": roster,
    "timetable": timetable,
    "packing": packing,
    "bins": bins,
}


def run(name: str, system: str, seed: int, seconds: float, problem: Problem) -> dict[str, Any]:
    result = solve(problem, search=system, time_limit=seconds, threads=1, seed=seed)
    value = None if result.hard_violated else result.violated_weight
    if problem.objective is not None:
        value = result.objective["value"] if result.objective and result.violated == 0 else None
    record = {"problem": name, "system": system, "seed": seed, "limit": seconds, "value": value}
    record |= {"status": result.status, "found_by": result.found_by, "seconds": round(result.best_seconds, 2)}
    return record | {"commit": commit(), "hardware": hardware()}


def table(records: list[dict[str, Any]]) -> str:
    """The mean of the values of all seeds, and how many of them found one."""
    lines = ["| problem | " + " | ".join(SYSTEMS) + " |", "| --- |" + " --- |" * len(SYSTEMS)]
    for name in dict.fromkeys(record["problem"] for record in records):
        cells = []
        for system in SYSTEMS:
            own = [r for r in records if (r["problem"], r["system"]) == (name, system)]
            found = [r["value"] for r in own if r["value"] is not None]
            proved = sum(r["status"] == "optimal" for r in own)
            mean = f"{statistics.mean(found):.1f}" if found else "–"
            cells.append(f"{mean} ({len(found)} of {len(own)}" + (f", {proved} proved)" if proved else ")"))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("neighbourhoods.jsonl"))
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="print the table only")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        print(table([run("packing", system, 0, 2.0, packing(12, 6)) for system in SYSTEMS]))
        return
    records = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    done = {(r["problem"], r["system"], r["seed"], r["limit"]) for r in records}
    for seed in range(0 if args.table else args.seeds):
        for name in args.problems:
            for system in args.systems:
                if (name, system, seed, args.seconds) not in done:
                    records.append(run(name, system, seed, args.seconds, PROBLEMS[name]()))
                    print(json.dumps(records[-1]), flush=True)
                    with args.out.open("a") as file:
                        file.write(json.dumps(records[-1]) + "\n")
    print(table([r for r in records if r["limit"] == args.seconds]))


if __name__ == "__main__":
    main()
