"""What the shipped models reach by neural search alone.

    python benchmarks/model_quality.py                      # all of it: hours
    python benchmarks/model_quality.py sat maxcut           # some models
    python benchmarks/model_quality.py --quick              # a tenth of the instances, a tenth of the time
    python benchmarks/model_quality.py maxcut --models DIR  # a model of your own, DIR/maxcut.safetensors
    python benchmarks/model_quality.py --model universal    # one model for all tests

Files are read from ../shared/data (or --data); Model RB and Max-SAT instances are drawn with fixed seeds that no
training uses. Every answer is recounted by the independent checker before it counts. One JSON line an instance goes to
--out as soon as it is done; started again with the same file, finished instances are not run again.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anycsp import Problem, load_model, read, solve
from anycsp.checker.check import recount
from anycsp.checker.problem import from_description
from anycsp.distributions.rb import ForcedRB
from anycsp.distributions.sat import random_formula
from anycsp.model.description import describe

SEED = 424_242
"""The seed of the generated instances."""


@dataclass(frozen=True)
class Instance:
    model: str
    group: str
    name: str
    problem: Callable[[], Problem]
    runs: int | None = None
    """None: as many as the model says."""
    steps: int | None = None
    seconds: float | None = None
    target: float = 0.0
    """Best known cut, for MaxCut."""


@dataclass(frozen=True)
class Bar:
    """What a group is judged by, over its instances."""

    measure: str
    """"solved": how many; "deviation": mean of best known − cut; "violated": mean."""
    bar: float
    paper: str


BARS = {
    "uf50": Bar("solved", 30, "100%"),
    "uf100": Bar("solved", 30, "100%"),
    "uf150": Bar("solved", 30, "100%"),
    "uf200": Bar("solved", 29, "97%"),
    "uf250": Bar("solved", 29, "99%"),
    "800 vertices": Bar("deviation", 4, "1.2"),
    "1000 vertices": Bar("deviation", 6, "2.4"),
    "2000 vertices": Bar("deviation", 25, "13.1"),
    "chi <10": Bar("solved", 25, "50 of 50, 20 min"),
    "chi >=10": Bar("solved", 19, "40 of 50, 20 min"),
    "forced RB": Bar("solved", 6, "42 of 50, 20 min"),
    "Max-3-SAT": Bar("violated", 1600, "1537"),
    "Max-4-SAT": Bar("violated", 1170, "1126"),
    "Max-5-SAT": Bar("violated", 1150, "1103"),
}


def satlib(data: Path) -> Iterator[Instance]:
    for n in (50, 100, 150, 200, 250):
        for path in sorted((data / "satlib" / f"uf{n}").glob("*.cnf")):
            yield Instance("sat", f"uf{n}", path.stem, partial(read, path), runs=10, steps=10_000)


def gset(data: Path) -> Iterator[Instance]:
    with open(data / "gset" / "best_known.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["weights"] == "+1" and int(r["vertices"]) <= 2000]
    for row in rows:
        path = data / "gset" / f"{row['graph']}.txt"
        yield Instance(
            "maxcut",
            f"{row['vertices']} vertices",
            path.stem,
            partial(read, path),
            runs=20,
            seconds=180,
            target=float(row["best_known"]),
        )


def coloring(data: Path) -> Iterator[Instance]:
    with open(data / "col" / "chromatic.csv", newline="") as file:
        for row in csv.DictReader(file):
            path = data / "col" / f"{row['graph']}.col"
            problem = partial(read, path, colors=int(row["chi"]))
            yield Instance("coloring", f"chi {row['split']}", path.stem, problem, seconds=300)


def forced_rb(data: Path) -> Iterator[Instance]:
    for i in range(10):
        yield Instance("rb", "forced RB", str(i), lambda i=i: ForcedRB().draw(_rng(i)), seconds=600)  # type: ignore[misc]


def max_k_sat(data: Path) -> Iterator[Instance]:
    for arity, clauses in ((3, 75_000), (4, 150_000), (5, 300_000)):
        for i in range(3):
            draw = partial(_formula, clauses, arity, i)
            yield Instance("maxsat", f"Max-{arity}-SAT", str(i), draw, seconds=600)


def _rng(index: int) -> np.random.Generator:
    return np.random.default_rng([SEED, index])


def _formula(clauses: int, arity: int, index: int) -> Problem:
    return random_formula(_rng(index), 10_000, clauses, arity)


SETS = {"sat": satlib, "maxcut": gset, "coloring": coloring, "rb": forced_rb, "maxsat": max_k_sat}


def run(instance: Instance, model: str | Path, time_scale: float, threads: int | None, seed: int) -> dict[str, Any]:
    problem = instance.problem()
    result = solve(
        problem,
        model=load_model(model),
        search="neural",
        runs=instance.runs,
        steps=instance.steps,
        time_limit=None if instance.seconds is None else instance.seconds * time_scale,
        seed=seed,
        threads=threads,
    )
    count = recount(from_description(describe(problem)), result.assignment)
    assert count.violated == result.violated, f"{instance.name}: {result.violated} claimed, {count.violated} recounted"
    cut = result.objective["value"] if instance.target and result.objective else None
    return {
        "violated": count.violated,
        "deviation": None if cut is None else instance.target - float(cut),
        "steps": result.steps,
        "seconds": round(result.seconds, 2),
        "best_seconds": round(result.best_seconds, 2),
        "runs": result.runs,
    }


def table(records: list[dict[str, Any]]) -> Iterator[str]:
    yield "| model | test | instances | measured | bar | paper | median seconds |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for group, bar in BARS.items():
        rows = [r for r in records if r["group"] == group]
        if not rows:
            continue
        if bar.measure == "solved":
            value = f"{sum(r['violated'] == 0 for r in rows)} solved"
            limit = f"≥ {bar.bar:g}"
        else:
            value = f"{statistics.fmean(r[bar.measure] for r in rows):.1f}"
            limit = f"≤ {bar.bar:g}"
        median = statistics.median(r["seconds"] for r in rows)
        yield f"| {rows[0]['model']} | {group} | {len(rows)} | {value} | {limit} | {bar.paper} | {median:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="MODEL", help=f"of {', '.join(SETS)}; default all")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--models", type=Path, help="folder of models in place of the shipped ones")
    parser.add_argument("--model", help="one model for every test: a shipped name or a path")
    parser.add_argument("--out", type=Path, default=Path("model_quality.jsonl"))
    parser.add_argument("--groups", nargs="*", help="only these tests")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth instance of a test")
    parser.add_argument("--time", type=float, default=1.0, help="factor on the time limits (not on steps)")
    parser.add_argument("--quick", action="store_true", help="--every 10 --time 0.1")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every, time_scale = (10, 0.1) if options.quick else (options.every, options.time)

    done = {}
    if options.out.exists():
        done = {r["key"]: r for line in options.out.read_text().splitlines() if (r := json.loads(line))}
    records = []
    for name in options.sets or SETS:
        position: dict[str, int] = {}
        for instance in SETS[name](options.data):
            index = position[instance.group] = position.get(instance.group, -1) + 1
            if index % every or (options.groups and instance.group not in options.groups):
                continue
            whose = options.model or options.models or "shipped"
            key = f"{whose}/{name}/{instance.group}/{instance.name}/{time_scale:g}/{options.seed}"
            if key not in done:
                own = name if options.models is None else options.models / f"{name}.safetensors"
                found = run(instance, options.model or own, time_scale, options.threads, options.seed)
                done[key] = {"key": key, "model": name, "group": instance.group, "name": instance.name, **found}
                with options.out.open("a") as file:
                    file.write(json.dumps(done[key]) + "\n")
                shown = found["violated"] if found["deviation"] is None else f"deviation {found['deviation']:g}"
                print(f"{name:9} {instance.group:14} {instance.name:20} {shown}  {found['seconds']} s", flush=True)
            records.append(done[key])
    print("\n".join(table(records)))


if __name__ == "__main__":
    main()
