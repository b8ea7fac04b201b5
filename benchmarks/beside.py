"""What CP-SAT's share of one thread costs and brings: `auto` beside `local` and `exact` alone, on drawn instances.

    python benchmarks/beside.py --out FILE.jsonl [--families quasigroup …] [--systems auto] [--seconds 10]
    python benchmarks/beside.py --out FILE.jsonl --table       # run nothing
    python benchmarks/beside.py --smoke                        # one family, two seconds

One thread; to be pinned to one core (`taskset -c 1`), since `auto` shares it. Every finished run is a line of the file,
and a run found there is not repeated. No instance is a file of a benchmark set, so shares may be tuned on these.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from prior_families import FAMILIES as DECISIONS

from anycsp import Problem, solve
from anycsp.distributions import draw, get
from anycsp.model.expressions import element, total

SYSTEMS = ("local", "exact", "auto")
SEED = 83
"""Names the instances; those that the learned prior was trained on have another."""
DECIDED = (
    "costas", "car-sequencing", "golfers", "nonogram", "positive-tables", "worth", "packing", "jobshop", "timetable",
    "graceful", "equations",
)  # fmt: skip


def quasigroup(index: int) -> Problem:
    return draw(get("quasigroup", order=30, holes=[0.41, 0.42]), SEED, index)


def crossword(index: int) -> Problem:
    """A grid to be filled with words across and down, from a list of random words with few letters in common places."""
    rng = np.random.default_rng([SEED, index])
    rows, columns, letters = 4, 6, 26
    frequent = rng.dirichlet(np.full(letters, 0.6))
    across, down = (
        {tuple(word) for word in rng.choice(letters, (count, length), p=frequent).tolist()}
        for count, length in ((3000, columns), (1500, rows))
    )
    grid = rng.choice(letters, (rows, columns), p=frequent).tolist()
    across |= {tuple(row) for row in grid}
    down |= {tuple(column) for column in zip(*grid, strict=True)}
    problem = Problem(f"crossword of {rows} by {columns}")
    x = [problem.add_variables(columns, range(letters)) for _ in range(rows)]
    for row in x:
        problem.add_table(row, sorted(across))
    for column in zip(*x, strict=True):
        problem.add_table(list(column), sorted(down))
    return problem


def market_split(index: int) -> Problem:
    """Equations over zeros and ones with large coefficients, and a hidden solution."""
    rng = np.random.default_rng([SEED, index])
    rows, n = 3, 24 + 2 * (index % 2)
    factors, hidden = rng.integers(0, 100, (rows, n)), rng.integers(0, 2, n)
    problem = Problem(f"market split of {rows} by {n}")
    x = problem.add_variables(n, [0, 1])
    for row in factors:
        problem.add(total([int(a) * y for a, y in zip(row, x, strict=True)]) == int(row @ hidden))
    return problem


def strip_packing(index: int) -> Problem:
    """Rectangles that a larger one was cut into, to be put back."""
    rng = np.random.default_rng([SEED, index])
    width, height, pieces = 20, 20, [(0, 0, 20, 20)]
    while len(pieces) < 14 + index % 3:
        pieces.sort(key=lambda piece: piece[2] * piece[3])
        px, py, w, h = pieces.pop()
        if w >= h:
            cut = int(rng.integers(1, w))
            pieces += [(px, py, cut, h), (px + cut, py, w - cut, h)]
        else:
            cut = int(rng.integers(1, h))
            pieces += [(px, py, w, cut), (px, py + cut, w, h - cut)]
    problem = Problem(f"{len(pieces)} rectangles")
    origins = [
        (problem.add_variable(range(width - w + 1)), problem.add_variable(range(height - h + 1)))
        for _, _, w, h in pieces
    ]
    problem.add_no_overlap(origins, [(w, h) for _, _, w, h in pieces])
    return problem


def pigeons(index: int) -> Problem:
    """Unsatisfiable: one pigeon more than there are holes, by sums of zeros and ones."""
    holes = 12 + 6 * index
    problem = Problem(f"{holes + 1} pigeons")
    x = [problem.add_variables(holes, [0, 1]) for _ in range(holes + 1)]
    for row in x:
        problem.add(total(row) >= 1)
    for column in zip(*x, strict=True):
        problem.add(total(list(column)) <= 1)
    return problem


def assignment(index: int) -> Problem:
    """Quadratic: places for n plants, by the flow between them times the distance."""
    rng = np.random.default_rng([SEED, index])
    n = 14 + 6 * (index % 2)
    flow, points = rng.integers(0, 10, (n, n)), rng.integers(0, 20, (n, 2))
    distance = np.abs(points[:, None] - points[None]).sum(axis=2)
    problem = Problem(f"quadratic assignment of {n}")
    place = problem.add_variables(n, range(n))
    problem.add_all_different(place)
    apart = distance.ravel().tolist()
    problem.minimize(
        total([int(flow[i, j]) * element(apart, n * place[i] + place[j]) for i, j in combinations(range(n), 2)])
    )
    return problem


def golomb(index: int) -> Problem:
    """A ruler of which no two pairs of marks are equally far apart, as short as can be."""
    marks = 8 + index % 2
    problem = Problem(f"ruler of {marks} marks")
    x = problem.add_variables(marks, range(marks**2))
    problem.add(x[0] == 0)
    for a, b in pairwise(x):
        problem.add(a < b)
    problem.add_all_different([b - a for a, b in combinations(x, 2)])
    problem.minimize(x[-1])
    return problem


def job_shop(index: int) -> Problem:
    size = (10, 15)[index % 2]
    return draw(get("jobshop", jobs=size, machines=size, longest=99, minimize=True), SEED, index)


def knapsack(index: int) -> Problem:
    """Several limits at once."""
    rng = np.random.default_rng([SEED, index])
    n, limits = 40 + 40 * (index % 2), 5
    sizes = rng.integers(1, 100, (limits, n))
    problem = Problem(f"knapsack of {n} items")
    x = problem.add_variables(n, [0, 1])
    for row in sizes:
        problem.add(total([int(a) * y for a, y in zip(row, x, strict=True)]) <= int(row.sum()) // 2)
    worth = (sizes.mean(axis=0) + rng.integers(0, 30, n)).astype(int)
    problem.maximize(total([int(a) * y for a, y in zip(worth, x, strict=True)]))
    return problem


def tour(index: int) -> Problem:
    rng = np.random.default_rng([SEED, index])
    n = 20 + 20 * (index % 2)
    points = rng.integers(0, 1000, (n, 2))
    distance = np.rint(np.linalg.norm(points[:, None] - points[None], axis=2)).astype(int)
    problem = Problem(f"tour of {n}")
    after = [problem.add_variable([j for j in range(n) if j != i]) for i in range(n)]
    problem.add_circuit(after, size=n)
    problem.minimize(total([element(distance[i].tolist(), x) for i, x in enumerate(after)]))
    return problem


def frequencies(index: int) -> Problem:
    """Links that disturb each other need frequencies apart; the largest of all is to be small."""
    rng = np.random.default_rng([SEED, index])
    links = 80 + 60 * (index % 2)
    problem = Problem(f"frequencies of {links} links")
    x = problem.add_variables(links, range(0, 240, 2))
    top = problem.add_variable(range(240))
    for _ in range(4 * links):
        a, b = rng.choice(links, 2, replace=False).tolist()
        problem.add(abs(x[a] - x[b]) > int(rng.integers(4, 40)))
    for y in x:
        problem.add(y <= top)
    problem.minimize(top)
    return problem


FAMILIES: Mapping[str, Callable[[int], Problem]] = {
    "quasigroup": quasigroup,
    "crossword": crossword,
    "market-split": market_split,
    "strip-packing": strip_packing,
    "pigeons": pigeons,
    **{name: DECISIONS[name] for name in DECIDED},
    "assignment": assignment,
    "golomb": golomb,
    "job-shop": job_shop,
    "knapsack": knapsack,
    "tour": tour,
    "frequencies": frequencies,
}


def run(family: str, index: int, system: str, seconds: float) -> dict[str, Any]:
    problem = FAMILIES[family](index)
    result = solve(problem, search=system, time_limit=seconds, threads=1, seed=index)
    value = None
    if problem.objective is not None and result.violated == 0 and result.objective is not None:
        value = result.objective["value"]
        value = -value if problem.objective.kind == "maximize" else value
    record: dict[str, Any] = {"family": family, "index": index, "system": system, "limit": seconds}
    record |= {"status": result.status, "violated": result.violated, "value": value, "found_by": result.found_by}
    return record | {"best": round(result.best_seconds, 2), "seconds": round(result.seconds, 2)}


def settled(record: dict[str, Any]) -> bool:
    if record["value"] is not None:
        return bool(record["status"] == "optimal")
    return record["violated"] == 0 or record["status"] == "unsatisfiable"


def table(records: list[dict[str, Any]]) -> str:
    """A row per instance, then per system how many it settles, and in how many its objective is the best of all."""
    lines = ["| instance | " + " | ".join(SYSTEMS) + " |", "| --- |" + " --- |" * len(SYSTEMS)]
    ends, best = dict.fromkeys(SYSTEMS, 0), dict.fromkeys(SYSTEMS, 0)
    rows: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for record in records:
        rows.setdefault((record["family"], record["index"]), {})[record["system"]] = record
    for (family, index), row in rows.items():
        values = [record["value"] for record in row.values() if record["value"] is not None]
        cells = []
        for system in SYSTEMS:
            record = row.get(system, {})
            if not record:
                cells.append("")
                continue
            ends[system] += settled(record)
            best[system] += bool(values) and record["value"] == min(values)
            value = "" if record["value"] is None else f"{abs(record['value'])} "
            cells.append(f"{value}{record['seconds']:.1f} s" if settled(record) else value or "–")
        lines.append(f"| {family} {index} | " + " | ".join(cells) + " |")
    lines.append("| settled | " + " | ".join(str(ends[s]) for s in SYSTEMS) + " |")
    lines.append("| best objective | " + " | ".join(str(best[s]) for s in SYSTEMS) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("beside.jsonl"))
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="print the table only")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        print(table([run("pigeons", 0, system, 2.0) for system in SYSTEMS]))
        return
    records = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    done = {(r["family"], r["index"], r["system"], r["limit"]) for r in records}
    for index in range(0 if args.table else args.instances):
        for family in args.families:
            for system in args.systems:
                if (family, index, system, args.seconds) not in done:
                    records.append(run(family, index, system, args.seconds))
                    print(json.dumps(records[-1]), flush=True)
                    with args.out.open("a") as file:
                        file.write(json.dumps(records[-1]) + "\n")
    print(table([r for r in records if r["limit"] == args.seconds]))


if __name__ == "__main__":
    main()
