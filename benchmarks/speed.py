"""How fast is a search step? Native path, PyTorch and a plain transcription of the paper, side by side.

    python benchmarks/speed.py [--quick] [--json FILE] [--workloads sat,rb] [--hidden 32,128] [--threads 1,2]
    python benchmarks/speed.py --against DIR [--quick] ...

Every engine of a workload runs in a process of its own; slices of the three are interleaved, so that a busy machine
slows all of them. One thread is measured in processor time, two in wall-clock time (leave the machine idle for those).
Memory is the process's peak above what it held with the problem and all code loaded: graph, indices, weights, buffers.
The table is followed by how gathering grows with the domain size, a step with the number of edges, the way from a file
on disk to the first step, and the training step (training_step.py).

With --against only the native engines of this checkout and of another one are compared, each by its own speed.py and
its own build (build/dev, else what is installed in its .venv).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from measured_process import MeasuredProcess, resident, settle_memory  # noqa: E402

from anycsp.bench.machine import commit, hardware  # noqa: E402

ENGINES = ("native", "torch", "plain")


@dataclass(frozen=True)
class Workload:
    title: str
    aggregation: str
    runs: int
    bars: dict[int, float]
    """Steps per second, native over plain, by hidden size."""
    memory_bar: float


WORKLOADS = {
    "sat": Workload("10 x uf250", "max", 1, {32: 6, 128: 2.5}, 5),
    "coloring": Workload("colouring 500/5000, k=10", "max", 1, {32: 10, 128: 4}, 8),
    "maxcut": Workload("20 x MaxCut 2000/19990", "sum", 20, {32: 10, 128: 5.5}, 5),
    "maxsat": Workload("Max-5-SAT 10K/300K", "mean", 1, {32: 20, 128: 14}, 9),
    "rb": Workload("Model RB 50/23/500", "max", 1, {32: 13, 128: 4}, 8),
}


def problems_of(name: str, scale: float = 1.0) -> list[Any]:
    """The instances of a workload; uf250 are random formulas of 250 variables and 1065 clauses."""
    import numpy as np

    from anycsp.distributions.base import distinct_rows
    from anycsp.distributions.rb import binary_problem, distinct_codes
    from anycsp.distributions.sat import random_formula
    from anycsp.model.builders import coloring_problem, cut_problem

    rng = np.random.default_rng(0)

    def size(count: int) -> int:
        return max(int(count * scale), 5)

    def edges(n: int, m: int) -> Any:
        first, second = np.triu_indices(n, 1)
        chosen = rng.choice(len(first), min(m, len(first)), replace=False)
        return np.stack([first[chosen], second[chosen]], axis=1)

    if name == "sat":
        return [random_formula(rng, size(250), size(1065), 3) for _ in range(10)]
    if name.startswith("coloring"):
        colors = int(name.removeprefix("coloring") or 10)
        return [coloring_problem(size(500), edges(size(500), size(5000)), colors)]
    if name == "maxcut":
        return [cut_problem(size(2000), edges(size(2000), size(19990)))]
    if name == "maxsat":
        return [random_formula(rng, size(10_000), size(300_000), 5)]
    if name == "rb":
        pairs = distinct_codes(rng, size(500), 121, 23**2)
        return [binary_problem(size(50), 23, distinct_rows(rng, size(500), 2, size(50)), list(pairs), "rb")]
    if name.startswith("growing"):  # Max-5-SAT of about so many edges, 30 clauses a variable
        clauses = int(float(name.removeprefix("growing"))) // 10
        return [random_formula(rng, clauses // 30, clauses, 5)]
    raise ValueError(name)


# ── the measured process ─────────────────────────────────────────────────────────────────────────


def engine_of(kind: str, problems: Sequence[Any], policy: Any, runs: int) -> Callable[[int], None]:
    """A started search; calling it takes so many steps."""
    if kind == "plain":
        from plain_transcription import PlainSearch

        plain = PlainSearch(problems, policy, runs)
        plain.start()
        return plain.advance
    from anycsp.graph import compile_graph
    from anycsp.neural.tensors import TensorGraph

    graph = TensorGraph(compile_graph(problems))
    if kind == "torch":
        from anycsp.neural.engine_torch import TorchEngine

        engine = TorchEngine(graph, policy, runs)
        engine.start()
        return lambda steps: restarted(engine, steps)
    from anycsp.neural.engine_native import NativeEngine

    search = NativeEngine(graph.topology, policy.weights(), runs, threads=int(os.environ.get("SPEED_THREADS", "1")))
    search.start()
    return lambda steps: restarted(search, steps)


def restarted(search: Any, steps: int) -> None:
    """Exactly so many steps: a search that finds a solution starts again."""
    while steps > 0:
        steps -= search.advance(steps, float("inf"))
        if steps > 0:
            search.start()


def serve(kind: str, workload: str, hidden: int) -> None:
    """Answers on stdout: the memory taken, then for every number of seconds read from stdin a measured slice."""
    import torch

    from anycsp.neural.policy import PolicyNetwork
    from anycsp.neural.weights import PolicyConfig

    torch.set_num_threads(int(os.environ.get("SPEED_THREADS", "1")))
    torch.manual_seed(0)
    problems, spec = problems_of(workload), WORKLOADS[workload]
    policy = PolicyNetwork(PolicyConfig(hidden=hidden, aggregation=spec.aggregation))
    small = PolicyNetwork(PolicyConfig(hidden=8, aggregation=spec.aggregation))
    engine_of(kind, problems_of(workload, 0.02), small, 1)(2)  # loads all code
    settle_memory()
    before = resident("VmRSS")
    advance = engine_of(kind, problems, policy, spec.runs)
    advance(2)
    print(json.dumps({"mb": resident("VmHWM") - before}), flush=True)
    for line in sys.stdin:
        seconds, steps = float(line), 0
        wall, cpu = time.perf_counter(), time.process_time()
        while time.process_time() - cpu < seconds:
            advance(1)
            steps += 1
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"steps": steps, "wall": wall, "cpu": cpu}), flush=True)


class Worker(MeasuredProcess):
    """One engine on one workload; measures steps per second."""

    def __init__(self, kind: str, workload: str, hidden: int, threads: int, checkout: Path | None = None) -> None:
        environment = {"OMP_NUM_THREADS": str(threads), "SPEED_THREADS": str(threads)}
        script = Path(__file__)
        if checkout is not None:
            script = checkout / "benchmarks" / "speed.py"
            environment |= {"ANYCSP_NATIVE": str(native_module(checkout)), "PYTHONPATH": str(checkout / "src")}
        super().__init__(str(script), [kind, workload, str(hidden)], environment)
        self.threads = threads

    def slice(self, seconds: float) -> None:
        """Measure once more; an engine whose one step takes ten times as long has been measured well enough."""
        if self.measured and self.measured[-1] * seconds < 0.1:
            return
        answer = self.ask(str(seconds))
        self.measured.append(answer["steps"] / answer["cpu" if self.threads == 1 else "wall"])


def native_module(checkout: Path) -> Path:
    """The compiled module of another checkout."""
    for pattern in ("build/dev/_native*.so", ".venv/lib/python*/site-packages/anycsp/_native*.so"):
        for found in sorted(checkout.glob(pattern)):
            return found
    raise SystemExit(f"{checkout} has no native module: build it with cmake into {checkout}/build/dev")


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def measure(workload: str, hidden: int, threads: int, rounds: int, seconds: float) -> dict[str, Any]:
    workers = {kind: Worker(kind, workload, hidden, threads) for kind in ENGINES}
    for worker in workers.values():
        worker.ready()
    for _ in range(rounds):
        for worker in workers.values():
            worker.slice(seconds)
    row: dict[str, Any] = {"workload": workload, "d": hidden, "threads": threads}
    row |= {"hardware": hardware(), "commit": commit()}  # a ratio of speeds is one of this machine and this code
    row |= {kind: worker.close() for kind, worker in workers.items()}
    return row | {f"{kind}_mb": round(worker.mb, 1) for kind, worker in workers.items()}


def compare(checkout: Path, workload: str, hidden: int, threads: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Steps per second here and there, slices in turns; the ratio is the median over pairs of neighbouring slices,
    which a machine that changes its pace disturbs least."""
    here = Worker("native", workload, hidden, threads)
    there = Worker("native", workload, hidden, threads, checkout)
    for worker in (here, there):
        worker.ready()
    for _ in range(rounds):
        for worker in (here, there):
            worker.slice(seconds)
    ratio = statistics.median(a / b for a, b in zip(here.measured, there.measured, strict=True))
    row: dict[str, Any] = {"workload": workload, "d": hidden, "threads": threads, "ratio": ratio}
    row |= {"here": here.close(), "there": there.close(), "here_mb": here.mb, "there_mb": there.mb}
    return row


def print_comparison(row: dict[str, Any]) -> None:
    rates = " ".join(f"{row[side]:>9.2f}" for side in ("here", "there"))
    megabytes = " ".join(f"{row[side + '_mb']:>8.1f}" for side in ("here", "there"))
    title = WORKLOADS[row["workload"]].title
    print(f"{title:<26}{row['d']:>4}{row['threads']:>3} {rates} {row['ratio']:>7.3f} {megabytes}", flush=True)


def print_row(row: dict[str, Any]) -> None:
    spec = WORKLOADS[row["workload"]]
    ratio, memory = row["native"] / row["plain"], row["plain_mb"] / row["native_mb"]
    verdict = ""
    if row["threads"] == 1 and row["d"] in spec.bars:
        met = ratio >= spec.bars[row["d"]] and memory >= spec.memory_bar
        verdict = f"bars {spec.bars[row['d']]:g}, {spec.memory_bar:g}: {'met' if met else 'NOT MET'}"
    rates = " ".join(f"{row[kind]:>9.2f}" for kind in ENGINES)
    megabytes = " ".join(f"{row[kind + '_mb']:>8.1f}" for kind in ENGINES)
    print(
        f"{spec.title:<26}{row['d']:>4}{row['threads']:>3} {rates} {ratio:>7.1f} {megabytes} {memory:>7.1f}  {verdict}",
        flush=True,
    )


def domain_size_growth(hidden: int = 32) -> None:
    """Colouring with 70 colours instead of 10: gathering costs the same for every constraint. In turns, because the
    machine's pace changes by half within seconds; each size counts where it was least disturbed."""
    searches = {colors: profiled_search(f"coloring{colors}", hidden, "max") for colors in (10, 70)}
    seconds = dict.fromkeys(searches, float("inf"))
    for _ in range(20):
        for colors, search in searches.items():
            seconds[colors] = min(seconds[colors], fastest_phases(search, 10)["gather"] / 5000)
    growth = seconds[70] / seconds[10] - 1
    print(
        f"gather and aggregation per constraint, colouring, d={hidden}: {seconds[10] * 1e9:.0f} ns with k=10, "
        f"{seconds[70] * 1e9:.0f} ns with k=70: {growth:+.0%} (bar +30%)"
    )


def growth_with_edges(largest: float, hidden: int = 32) -> None:
    """Seconds per step of Max-5-SAT from 10^4 edges on, and the slope on logarithmic axes."""
    import math

    sizes, times = [], []
    edges = 1e4
    while edges <= largest:
        search = profiled_search(f"growing{edges}", hidden, "mean")
        times.append(fastest_step(search, 5))
        sizes.append(edges)
        per_edge = times[-1] / edges * 1e9
        print(f"  {edges:>12,.0f} edges: {times[-1] * 1e3:>9.2f} ms a step, {per_edge:.1f} ns an edge", flush=True)
        edges *= 10
    x, y = [math.log(s) for s in sizes], [math.log(t) for t in times]
    print(f"slope of log(seconds) over log(edges): {statistics.linear_regression(x, y).slope:.2f} (linear is 1)")


def disk_to_first_step() -> None:
    """A file of 10,000 variables and 300,000 clauses, in a fresh process: read, compile, pack, take a step."""
    import tempfile

    from anycsp.formats import write

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "maxsat.cnf"
        write(problems_of("maxsat")[0], path)
        command = [sys.executable, "-W", "ignore", __file__, "--first-step", str(path)]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    loading, library = answer["loading"], answer["library"]
    print(
        f"disk to first step, 10K variables, 300K clauses: {library['cpu']:.2f} s of processor time "
        f"({library['wall']:.2f} s passed; bar 2 s), after {loading['cpu']:.2f} s to start Python and load torch"
    )


def first_step(path: str) -> None:
    import anycsp
    from anycsp.search import solve

    loaded, cpu_loaded = time.perf_counter(), time.process_time()
    solve(anycsp.read(path), search="neural", steps=1, runs=1, threads=1)
    library = {"wall": time.perf_counter() - loaded, "cpu": time.process_time() - cpu_loaded}
    print(json.dumps({"loading": {"cpu": cpu_loaded}, "library": library}))


def training_step(quick: bool) -> None:
    arguments = ["--rounds", "2", "--workloads", "maxcut"] if quick else []
    subprocess.run([sys.executable, "-W", "ignore", str(HERE / "training_step.py"), *arguments], check=True)


def profiled_search(workload: str, hidden: int, aggregation: str) -> Any:
    from anycsp.graph import compile_graph
    from anycsp.neural.engine_native import NativeEngine
    from anycsp.neural.policy import PolicyNetwork
    from anycsp.neural.weights import PolicyConfig

    policy = PolicyNetwork(PolicyConfig(hidden=hidden, aggregation=aggregation))
    search = NativeEngine(compile_graph(problems_of(workload)), policy.weights())
    search.start()
    return search


def fastest_step(search: Any, steps: int) -> float:
    """Processor seconds of the fastest of so many steps."""
    times = []
    for _ in range(steps):
        began = time.process_time()
        restarted(search, 1)
        times.append(time.process_time() - began)
    return min(times)


def fastest_phases(search: Any, steps: int) -> dict[str, float]:
    """Seconds of each phase in the step where it was least disturbed."""
    profiles = []
    for _ in range(steps):
        search.enable_profile()
        restarted(search, 1)
        profiles.append(search.phase_seconds())
    return {phase: min(profile[phase] for profile in profiles) for phase in profiles[0]}


def cases(options: argparse.Namespace) -> list[tuple[str, int, int]]:
    """The rows asked for: workload, hidden size, threads."""
    threads_given = options.threads or ("1" if options.quick else "1,2")
    return [
        (workload, int(hidden), int(threads))
        for threads in threads_given.split(",")
        for workload in options.workloads.split(",")
        for hidden in options.hidden.split(",")
    ]


def against(options: argparse.Namespace, rounds: int, seconds: float) -> None:
    print(f"{'workload':<26}{'d':>4}{'th':>3} {'here':>9} {'there':>9} {'ratio':>7} {'here MB':>8} {'there MB':>8}")
    rows = []
    for workload, hidden, threads in cases(options):
        rows.append(compare(options.against.resolve(), workload, hidden, threads, rounds, seconds))
        print_comparison(rows[-1])
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one thread, short slices: under three minutes")
    parser.add_argument("--json", metavar="FILE", help="write the table as a list of objects")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--hidden", default="32,128")
    parser.add_argument("--threads", metavar="1,2", help="default: both; with --quick one")
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="compare with the native engine of another checkout"
    )
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--first-step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], options.serve[1], int(options.serve[2]))
        return
    if options.first_step:
        first_step(options.first_step)
        return
    rounds, seconds = (3, 0.2) if options.quick else (7, 0.5)
    if options.against:
        against(options, 5 * rounds, seconds)
        return
    print(f"{'':<26}{'':>4}{'':>3} {'steps per second':^29} {'native':>7} {'peak MB':^26} {'plain :':>7}")
    header = " ".join(f"{kind:>9}" for kind in ENGINES), " ".join(f"{kind:>8}" for kind in ENGINES)
    print(f"{'workload':<26}{'d':>4}{'th':>3} {header[0]} {': plain':>7} {header[1]} {'native':>7}", flush=True)
    rows = []
    for workload, hidden, threads in cases(options):
        rows.append(measure(workload, hidden, threads, rounds, seconds))
        print_row(rows[-1])
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1))
    print()
    for workload in ("maxcut", "maxsat"):
        for hidden in (32, 128):
            pair = [r["native"] for r in rows if (r["workload"], r["d"]) == (workload, hidden)]
            if len(pair) == 2:
                print(f"two threads, {WORKLOADS[workload].title}, d={hidden}: {pair[1] / pair[0]:.2f} x one (bar 1.7)")
    domain_size_growth()
    growth_with_edges(1e6 if options.quick else 1e7)
    disk_to_first_step()
    print(flush=True)
    training_step(options.quick)


if __name__ == "__main__":
    main()
