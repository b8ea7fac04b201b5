"""Samplers of binary quadratic models on the Gset: ours beside D-Wave's own, through dimod's interface, in equal time.

    python benchmarks/annealing.py ../shared/data/gset --graphs G1 G14 G22 --seconds 10 --out runs/annealing
    python benchmarks/annealing.py --table runs/annealing

A graph is an Ising model: every edge is a coupling, and the cut is what its energy leaves of all weight. Each sampler
has the same seconds of one thread. D-Wave's simulated annealing is tried in two ways, since it takes sweeps and not
seconds: reads of its default 1000 sweeps until the time is up, and one long read of as many sweeps as fit. Rows are
appended as they come, and what is there is not done again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import dimod
from dwave.samplers import SimulatedAnnealingSampler, TabuSampler

from anycsp.integrations.dimod import AnyCSPSampler

TRIAL_SWEEPS = 500
"""Sweeps of reads that are timed (so many, and four times as many), to know how many fit; their time is not counted."""
ROOM = 0.95
"""The part of the time that a long read is planned for: a sweep gets no slower as it cools."""


def ours(model: dimod.BinaryQuadraticModel, seconds: float, seed: int) -> dimod.SampleSet:
    return AnyCSPSampler().sample(model, time_limit=seconds, seed=seed, threads=1)


def annealing_reads(model: dimod.BinaryQuadraticModel, seconds: float, seed: int) -> dimod.SampleSet:
    """As many reads of default length as the time allows, the first in any case."""
    end, best, read = time.perf_counter() + seconds, None, 0
    while best is None or time.perf_counter() < end:
        found = SimulatedAnnealingSampler().sample(model, num_reads=1, seed=1000 * seed + read)
        best = found if best is None or found.first.energy < best.first.energy else best
        read += 1
    return best


def annealing_once(model: dimod.BinaryQuadraticModel, seconds: float, seed: int) -> dimod.SampleSet:
    few, many = (_seconds_of(model, sweeps) for sweeps in (TRIAL_SWEEPS, 4 * TRIAL_SWEEPS))
    each = max(many - few, 1e-6) / (3 * TRIAL_SWEEPS)  # without what a read takes before its first sweep
    sweeps = max(TRIAL_SWEEPS, int((ROOM * seconds - (few - TRIAL_SWEEPS * each)) / each))
    return SimulatedAnnealingSampler().sample(model, num_reads=1, num_sweeps=sweeps, seed=seed)


def _seconds_of(model: dimod.BinaryQuadraticModel, sweeps: int) -> float:
    """The less of two reads: the first one pays for what happens once."""
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        SimulatedAnnealingSampler().sample(model, num_reads=1, num_sweeps=sweeps, seed=0)
        taken.append(time.perf_counter() - began)
    return min(taken)


def tabu(model: dimod.BinaryQuadraticModel, seconds: float, seed: int) -> dimod.SampleSet:
    return TabuSampler().sample(model, num_reads=1, timeout=int(1000 * seconds), seed=seed)


SYSTEMS: dict[str, Callable[[dimod.BinaryQuadraticModel, float, int], dimod.SampleSet]] = {
    "anycsp": ours,
    "annealing, 1000 sweeps again and again": annealing_reads,
    "annealing, one long read": annealing_once,
    "tabu": tabu,
}


def ising(path: Path) -> tuple[dimod.BinaryQuadraticModel, float]:
    """The model of a graph in rudy's format, and the weight of all its edges."""
    header, *lines = path.read_text().split("\n")
    model = dimod.BinaryQuadraticModel("SPIN")
    for node in range(1, int(header.split()[0]) + 1):
        model.add_variable(node, 0.0)
    total = 0.0
    for line in filter(str.strip, lines):
        u, v, *weight = line.split()
        bias = float(weight[0]) if weight else 1.0
        model.add_quadratic(int(u), int(v), bias)
        total += bias
    return model, total


def table(rows: list[dict[str, object]]) -> str:
    """Cuts by graph and system, the mean over the seeds."""
    seconds = max(float(str(row["seconds"])) for row in rows)
    lines = [f"| graph | nodes | {' | '.join(SYSTEMS)} |", "|" + " --- |" * (2 + len(SYSTEMS))]
    graphs = sorted({str(row["graph"]) for row in rows}, key=lambda g: int(g.strip("Gsmoke") or 0))
    for graph in graphs:
        mine = [row for row in rows if row["graph"] == graph]
        means = {s: [float(str(row["cut"])) for row in mine if row["system"] == s] for s in SYSTEMS}
        best = max(statistics.mean(cuts) for cuts in means.values() if cuts)
        cells = [f"{statistics.mean(cuts):.1f}" if cuts else "" for cuts in means.values()]
        cells = [f"**{cell}**" if cell and math.isclose(float(cell), round(best, 1)) else cell for cell in cells]
        lines.append(f"| {graph} | {mine[0]['nodes']} | {' | '.join(cells)} |")
    seeds = len({row["seed"] for row in rows})
    return "\n".join([*lines, "", f"{seconds:g} s of one thread each, mean of {seeds} seeds."])


def smallest(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    edges = [(i, (i + step) % 24) for i in range(24) for step in (1, 5)]
    lines = [f"24 {len(edges)}", *(f"{u + 1} {v + 1} 1" for u, v in edges)]
    (folder / "G0.txt").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--graphs", nargs="+", default=["G1", "G14", "G22", "G32", "G43", "G55"])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after so long")
    parser.add_argument("--out", type=Path, default=Path("runs/annealing"))
    parser.add_argument("--table", metavar="DIR", type=Path, help="print the table of results")
    parser.add_argument("--smoke", action="store_true", help="one small graph")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.folder, arguments.graphs, arguments.seconds = arguments.out / "graphs", ["G0"], 0.2
        smallest(arguments.folder)
    out = arguments.table or arguments.out
    out.mkdir(parents=True, exist_ok=True)
    journal, began = out / "results.jsonl", time.perf_counter()
    rows = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    done = {(row["graph"], row["system"], row["seed"]) for row in rows}
    for graph in [] if arguments.table else arguments.graphs:
        model, total = ising(arguments.folder / f"{graph}.txt")
        for seed in range(arguments.seeds):
            for system, sample in SYSTEMS.items():
                if (graph, system, seed) in done or time.perf_counter() - began > 60 * arguments.minutes:
                    continue
                start = time.perf_counter()
                found = sample(model, arguments.seconds, seed)
                took = time.perf_counter() - start
                cut = (total - found.first.energy) / 2
                row = {"graph": graph, "nodes": len(model.variables), "system": system, "seed": seed, "cut": cut}
                rows.append({**row, "seconds": arguments.seconds, "took": round(took, 2)})
                with journal.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                print(graph, system, seed, cut, f"{took:.2f} s", flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
