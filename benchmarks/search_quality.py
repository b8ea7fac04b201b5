"""Neural, local and hybrid search on the same instances for the same time; the local engine against outside programs.

    python benchmarks/search_quality.py [--seconds 10 60] [--seeds 5] [--families …] [--instances N] [--out FILE.jsonl]
    python benchmarks/search_quality.py --outside [--seconds 10] [--seeds 5]
    python benchmarks/search_quality.py --quick          # an instance of every family, two seconds, one seed

One thread. Every finished run is a line of the output file, and a run found there is not repeated, so the benchmark
can be stopped and resumed. `--table FILE.jsonl` prints the tables of a file without running anything. Instances are
fresh draws (numpy seeds 5000, 5001, …, used nowhere else) or public files beside the checkout (ANYCSP_DATA).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from anycsp import Problem, distributions, read, solve
from anycsp.graph import compile_graph
from anycsp.search.local import LocalSearch

DATA = Path(os.environ.get("ANYCSP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MODES = ("neural", "local", "hybrid", "auto")
COMPARED = ("neural", "local", "hybrid")
"""The default of --modes: `auto` is `local` on these families, and a comparison of the two says whether that still
holds."""
FIRST_DRAW = 5000


@dataclass(frozen=True)
class Instance:
    family: str
    name: str
    load: Callable[[], Problem]


def drawn(family: str, count: int, distribution: str, **parameters: Any) -> Iterator[Instance]:
    for seed in range(FIRST_DRAW, FIRST_DRAW + count):

        def load(seed: int = seed) -> Problem:
            return distributions.get(distribution, **parameters).draw(np.random.default_rng(seed))

        yield Instance(family, str(seed), load)


def gset() -> Iterator[Instance]:
    for path in sorted((DATA / "gset").glob("G*.txt"), key=lambda p: int(p.stem[1:])):
        yield Instance("gset", path.stem, lambda path=path: read(path, format="rudy"))


def coloring() -> Iterator[Instance]:
    with (DATA / "col" / "chromatic.csv").open() as table:
        for row in csv.DictReader(table):
            path = DATA / "col" / f"{row['graph']}.col"
            yield Instance("coloring", path.stem, lambda path=path, k=int(row["chi"]): read(path, colors=k))


def uf250() -> Iterator[Instance]:
    for path in sorted((DATA / "satlib" / "uf250").glob("*.cnf"))[:20]:
        yield Instance("uf250", path.stem, lambda path=path: read(path))


FAMILIES: dict[str, Callable[[], Iterator[Instance]]] = {
    "max-3-sat": lambda: drawn("max-3-sat", 5, "maxsat-10k", arity=3),
    "max-4-sat": lambda: drawn("max-4-sat", 5, "maxsat-10k", arity=4),
    "max-5-sat": lambda: drawn("max-5-sat", 5, "maxsat-10k", arity=5),
    "rb": lambda: drawn("rb", 10, "forced-rb"),
    "gset": gset,
    "coloring": coloring,
    "uf250": uf250,
}
SOLVABLE = ("rb", "coloring", "uf250")
"""Families whose instances have a solution: time to it is what counts."""


# ── running ──────────────────────────────────────────────────────────────────────────────────────


def one_run(problem: Problem, mode: str, seconds: float, seed: int) -> dict[str, Any]:
    result = solve(problem, search=mode, time_limit=seconds, seed=seed, threads=1)
    found_by: dict[str, int] = {}
    for point in result.trace:
        found_by[point.found_by] = found_by.get(point.found_by, 0) + 1
    return {
        "violated": result.violated,
        "weight": result.violated_weight,
        "seconds_to_best": result.best_seconds,
        "solved": result.satisfied,
        "steps": result.steps,
        "model": result.model,
        "found_by": found_by,
        "objective": None if result.objective is None else result.objective["value"],
    }


def run(args: argparse.Namespace) -> None:
    out = Path(args.out)
    records = load_records(out)
    done = {(r["family"], r["instance"], r["mode"], r["seconds"], r["seed"]) for r in records}
    for family in args.families:
        for instance in islice(FAMILIES[family](), args.instances):
            problem: Problem | None = None
            for seconds in args.seconds:
                for seed in range(args.seeds):
                    for mode in args.modes:
                        key = (family, instance.name, mode, seconds, seed)
                        if key in done:
                            continue
                        problem = problem or instance.load()
                        record = dict(zip(("family", "instance", "mode", "seconds", "seed"), key, strict=True))
                        record.update(one_run(problem, mode, seconds, seed))
                        records.append(record)
                        with out.open("a") as lines:
                            lines.write(json.dumps(record) + "\n")
                        print(*key, record["violated"], f"{record['seconds_to_best']:.2f} s", flush=True)
    print_tables(records)


def load_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def effort(record: dict[str, Any]) -> float:
    """What the tables compare, lower is better: seconds to a solution (twice the limit where none was found), or the
    violated weight."""
    if record["family"] in SOLVABLE:
        return float(record["seconds_to_best"] if record["solved"] else 2 * record["seconds"])
    return float(record["weight"])


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def print_tables(records: list[dict[str, Any]]) -> None:
    """Per family and time: over the seeds, quartiles of the mean over instances; ratio of medians."""
    print("\nmedian (quartiles) of the mean over instances: of seconds to a solution in rb, coloring and uf250, where")
    print("an unsolved one counts twice the limit; of the violated weight elsewhere. The verdict goes by quartiles.")
    columns = f"family, time, runs, {', '.join(MODES)}, hybrid : best single, verdict, solved, found by the network"
    print("| " + " | ".join(columns.split(", ")) + " |\n|" + " --- |" * len(columns.split(", ")))
    for family, seconds in sorted({(r["family"], r["seconds"]) for r in records}):
        cells, of, solved, share = [], {}, [], "–"
        ours = [r for r in records if (r["family"], r["seconds"]) == (family, seconds)]
        for mode in MODES:
            of_mode = [r for r in ours if r["mode"] == mode]
            seeds = sorted({r["seed"] for r in of_mode})
            means = [statistics.mean(effort(r) for r in of_mode if r["seed"] == seed) for seed in seeds]
            if not means:
                cells.append("–")
                solved.append("–")
                continue
            low, middle, high = of[mode] = quartiles(means)
            digits = 2 if family in SOLVABLE else 1
            cells.append(f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})")
            solved.append(f"{sum(r['solved'] for r in of_mode)}/{len(of_mode)}")
            if mode == "hybrid":
                found: dict[str, int] = {}
                for r in of_mode:
                    for by, count in r["found_by"].items():
                        found[by] = found.get(by, 0) + count
                share = f"{100 * found.get('network', 0) / max(1, sum(found.values())):.0f}%"
        ratio, verdict = compared(of)
        count = len({(r["instance"], r["seed"]) for r in ours})
        row = [family, f"{seconds:g} s", str(count), *cells, ratio, verdict, ", ".join(solved), share]
        print("| " + " | ".join(row) + " |")


def compared(of: dict[str, tuple[float, float, float]]) -> tuple[str, str]:
    """Hybrid against the better of the others: ratio of medians, and whether quartiles overlap."""
    single = min((of[mode] for mode in ("neural", "local") if mode in of), key=lambda q: q[1], default=None)
    if single is None or "hybrid" not in of:
        return "–", "–"
    hybrid = of["hybrid"]
    ratio = f"{hybrid[1] / single[1]:.3f}" if single[1] > 0 else "–"
    return ratio, "better" if hybrid[2] < single[0] else "worse" if hybrid[0] > single[2] else "equal"


# ── outside programs ─────────────────────────────────────────────────────────────────────────────


def outside(args: argparse.Namespace) -> None:
    flips_per_second(args.instances)
    satisfiability(args.instances, args.seeds)
    forced_rb(args.instances, args.seeds)
    cuts(args)


def flips_per_second(instances: int) -> None:
    print("\nmoves per second of CPU time on one core, uf250 (20 formulas of clause density 5, a million moves each)")
    graphs = [compile_graph(i.load()) for i in drawn("", min(20, instances), "sat", n=250, density=((5.0, 5.0),))]
    for strategy in ("probsat", "walksat", "ccls", "weighting", "annealing"):
        began, moves = time.process_time(), 0
        for graph in graphs:
            search = LocalSearch(graph, strategy)
            search.start()
            moves += search.advance(1_000_000)
        print(f"  {strategy:10s} {moves / (time.process_time() - began) / 1e6:.2f} million")


def satisfiability(instances: int, seeds: int) -> None:
    from anycsp.bench.baseline import Limit
    from anycsp.bench.baselines.cadical import Cadical

    print("\nuf250: seconds to a solution")
    problems = [instance.load() for instance in islice(uf250(), instances)]
    cadical = [Cadical().run(problem, Limit(60.0), 0).seconds for problem in problems]
    ours = [solve(p, search="local", time_limit=60.0, seed=s, threads=1) for p in problems for s in range(seeds)]
    assert all(result.satisfied for result in ours)
    report_times("cadical", cadical)
    report_times("local", [result.best_seconds for result in ours])


def report_times(name: str, seconds: list[float]) -> None:
    middle, mean = statistics.median(seconds), statistics.mean(seconds)
    print(f"  {name:10s} median {middle:.4f}, mean {mean:.4f}, most {max(seconds):.4f}")


def forced_rb(instances: int, seeds: int, limit: float = 20.0) -> None:
    print(f"\nforced Model RB, n = 50, d = 23, m = 587, 121 forbidden: CPU seconds of tabu, at most {limit:g}")
    times, solved, total = [], 0, 0
    for instance in drawn("", min(10, instances), "forced-rb"):
        graph = compile_graph(instance.load())
        for seed in range(seeds):
            search = LocalSearch(graph, "tabu", seed=seed)
            search.start()
            began = time.process_time()
            while search.best_score()[0, 0] > 0 and time.process_time() - began < limit:
                search.advance(20_000)
            total += 1
            if search.best_score()[0, 0] == 0:
                solved += 1
                times.append(time.process_time() - began)
    print(f"  solved {solved} of {total}")
    if times:
        report_times("solved", times)


def cuts(args: argparse.Namespace) -> None:
    from anycsp.bench.baseline import Limit
    from anycsp.bench.baselines.annealing import Annealing

    with (DATA / "gset" / "best_known.csv").open() as table:
        best_known = {row["graph"]: int(row["best_known"]) for row in csv.DictReader(table)}
    for seconds in args.seconds:
        print(f"\nGset: mean cut of {args.seeds} seeds after {seconds:g} s, deviation from the best known of 2013")
        print("| graph | local | dwave-samplers | local − dwave | best known |\n| --- | --- | --- | --- | --- |")
        ratios = []
        for instance in islice(gset(), args.instances):
            problem = instance.load()
            assert problem.objective is not None
            constant = problem.objective.constant
            ours, theirs = [], []
            for seed in range(args.seeds):
                result = solve(problem, search="local", time_limit=seconds, seed=seed, threads=1)
                ours.append(constant - result.violated_weight)
                theirs.append(constant - Annealing().run(problem, Limit(seconds), seed).trace[-1].violated_weight)
            mean, other, best = statistics.mean(ours), statistics.mean(theirs), best_known[instance.name]
            ratios.append((mean - other) / best)
            print(
                f"| {instance.name} | {mean:.1f} ({best - mean:.1f}) | {other:.1f} ({best - other:.1f}) "
                f"| {100 * ratios[-1]:+.3f}% | {best} |",
                flush=True,
            )
        print(f"mean difference {100 * statistics.mean(ratios):+.4f}%, worst {100 * min(ratios):+.4f}%")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, nargs="+", default=[10.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(COMPARED))
    parser.add_argument("--instances", type=int, default=10**6, help="At most so many of every family.")
    parser.add_argument("--out", default="search_quality.jsonl")
    parser.add_argument("--outside", action="store_true", help="The local engine against outside programs.")
    parser.add_argument("--quick", action="store_true", help="One instance of every family for two seconds.")
    parser.add_argument("--table", metavar="FILE.jsonl", help="Only print the tables of a file.")
    args = parser.parse_args()
    if args.quick:
        args.seconds, args.seeds, args.instances = [2.0], 1, 1
    if args.table:
        print_tables(load_records(Path(args.table)))
    elif args.outside:
        outside(args)
    else:
        run(args)


if __name__ == "__main__":
    main()
