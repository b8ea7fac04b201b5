"""Random colourings of RandCSPBench: how many of its graphs are solved, beside its own focused search.

    python benchmarks/randcsp.py --colors 3 [--degrees 4.40 4.58] [--count 50] [--time-limit 30] [--search local]
    python benchmarks/randcsp.py --colors 5 --degrees 12.7 13.1 --out FILE.jsonl     # can be stopped and resumed
    python benchmarks/randcsp.py --smoke

The graphs are those of its test sets (ArtLabBocconi/RandCSPBench): Erdős–Rényi graphs of N vertices and round(cN/2)
edges, drawn one after the other from networkx after random.seed(1) for each mean degree c. Its focused Metropolis
search had 625 N² steps on 400 graphs; the first `--count` of them are solved here, each by one process with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from solvers import Budget, measured

from anycsp.bench.experiments.randcsp import graphs
from anycsp.bench.machine import commit, hardware

VERTICES = 1024
OWN = f"{sys.executable} -m anycsp"
PUBLISHED = {
    3: {3.32: 1.0, 3.5: 1.0, 3.68: 1.0, 3.86: 1.0, 4.04: 1.0, 4.22: 1.0, 4.4: 0.9975, 4.58: 0.85, 4.76: 0.0, 4.94: 0.0},
    5: {9.9: 1.0, 10.3: 1.0, 10.7: 1.0, 11.1: 1.0, 11.5: 1.0, 11.9: 1.0, 12.3: 1.0, 12.7: 1.0, 13.1: 0.895, 13.5: 0.0},
}
"""Share that focused search solves with 625 N² steps, N = 1024, by colours and mean degree (from its result files)."""

Edges = list[tuple[int, int]]


def solved(vertices: int, edges: Edges, args: argparse.Namespace, folder: Path) -> tuple[bool, float]:
    """Whether a proper colouring came in time, recounted here, and the seconds of the whole process."""
    file = folder / "graph.col"
    lines = [f"p edge {vertices} {len(edges)}", *(f"e {u + 1} {v + 1}" for u, v in edges)]
    file.write_text("\n".join(lines) + "\n")
    command = [*shlex.split(args.anycsp), "solve", str(file), "--colors", str(args.colors), "--search", args.search]
    command += ["--strategy", args.strategy] if args.strategy else []
    command += ["--time-limit", f"{args.time_limit:g}", "--threads", "1", "--seed", str(args.seed), "--json"]
    done = measured(command, Budget(args.time_limit, args.seed, args.core, args.megabytes, args.anycsp))
    if not done.output.strip():
        raise SystemExit(f"{' '.join(command)}\n{done.errors.strip()[-1000:]}")
    color = list(json.loads(done.output)["assignment"].values())
    proper = len(color) == vertices and all(color[u] != color[v] for u, v in edges)
    return proper and len(set(color)) <= args.colors and done.wall <= 1.05 * args.time_limit + 0.3, done.wall


def load(path: Path | None) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Finished runs by what was run; a line torn by an interruption is left out."""
    found = {}
    for line in path.read_text().splitlines() if path and path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        found[tuple(record["key"])] = record
    return found


def origin(command: str) -> dict[str, str]:
    """What the runs of a program hold for; the commit of another program than this checkout's is not known."""
    return {"commit": commit(), "hardware": hardware()} if command == OWN else {"hardware": hardware()}


def run(args: argparse.Namespace) -> None:
    known, facts = load(args.out), origin(args.anycsp)
    published = PUBLISHED[args.colors] if args.vertices == VERTICES else {}
    print(f"{args.colors} colours, N = {args.vertices}, {args.count} graphs each, {args.time_limit:g} s, one thread")
    print("| mean degree | solved | share | focused search, 625 N² steps | median seconds of solved |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for degree in args.degrees or PUBLISHED[args.colors]:
        seconds = []
        for number, drawn in enumerate(graphs(args.vertices, degree, args.count), start=1):
            edges = list(map(tuple, drawn.tolist()))
            how = (args.search, args.strategy, args.time_limit, args.seed)
            key = (args.colors, args.vertices, degree, number, *how)
            if key not in known:
                with tempfile.TemporaryDirectory() as folder:
                    proper, wall = solved(args.vertices, edges, args, Path(folder))
                known[key] = {"key": key, "solved": proper, "wall": round(wall, 3), **facts}
                if args.out:
                    with args.out.open("a") as journal:
                        journal.write(json.dumps(known[key]) + "\n")
            if known[key]["solved"]:
                seconds.append(known[key]["wall"])
        middle = f"{sorted(seconds)[len(seconds) // 2]:.2f}" if seconds else "–"
        theirs = f"{published[degree]:.1%}" if degree in published else "–"
        share = len(seconds) / args.count
        print(f"| {degree:g} | {len(seconds)} / {args.count} | {share:.1%} | {theirs} | {middle} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--colors", type=int, choices=sorted(PUBLISHED), default=3)
    parser.add_argument("--degrees", type=float, nargs="+", metavar="C", help="default: all of the benchmark")
    parser.add_argument("--vertices", type=int, default=VERTICES, metavar="N")
    parser.add_argument("--count", type=int, default=50, help="graphs for each mean degree")
    parser.add_argument("--time-limit", type=float, default=30.0, metavar="S")
    parser.add_argument("--search", default="local")
    parser.add_argument("--strategy", help="of the local search; default its own choice")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="all runs on this core")
    parser.add_argument("--megabytes", type=int, default=4096, help="memory of each run")
    parser.add_argument("--anycsp", default=OWN, metavar="COMMAND", help="our own program")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.jsonl", help="finished runs; those found there are not repeated"
    )
    parser.add_argument("--smoke", action="store_true", help="one easy small graph")
    args = parser.parse_args()
    if args.smoke:
        args.vertices, args.degrees, args.count, args.time_limit = 64, [3.32], 1, 30.0
    run(args)


if __name__ == "__main__":
    main()
