"""Does the package hold under load? Many solves at once, and many one after another, with memory and handles counted.

    python benchmarks/load.py [--minutes 5] [--parallel 100]
    python benchmarks/load.py --smoke           # a few of each

Four trials: solves in parallel threads, in parallel processes, one after another, and updates of one training run,
which carries its instances along. After a warm-up nothing may grow: resident memory by less than --tolerance MB, open
files and threads not at all. Every answer is recounted. Ends with 1 where something grows or an answer is wrong.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measured_process import resident

from anycsp import Problem, solve

SEARCHES = ("local", "neural", "hybrid")
WARM_UP = 0.25
"""The part of a trial's time after which nothing may grow: caches and pools of memory are filled by then."""
FORMULA = "p cnf 3 3\n1 2 0\n-1 3 0\n-2 -3 0\n"


@dataclass(frozen=True)
class Held:
    """What a process holds."""

    megabytes: float
    files: int
    threads: int

    @staticmethod
    def now() -> Held:
        gc.collect()
        return Held(resident("VmRSS"), len(os.listdir("/proc/self/fd")), threading.active_count())


def problem(seed: int) -> Problem:
    """A random problem with a few families of constraints."""
    rng = np.random.default_rng(seed)
    drawn = Problem()
    x = drawn.add_variables(12, range(4))
    for _ in range(20):
        a, b, c = rng.choice(12, 3, replace=False).tolist()
        drawn.add(x[a] + x[b] != x[c] + 1)
        drawn.add((x[a] != 0) | (x[b] != 1))
    drawn.add_all_different(x[:4])
    return drawn


def solve_one(seed: int) -> None:
    drawn = problem(seed)
    found = solve(drawn, search=SEARCHES[seed % len(SEARCHES)], steps=50, seed=seed, threads=1 + seed % 2)
    if drawn.violation(found.assignment).violated != found.violated:
        raise SystemExit(f"seed {seed}: a wrong count")


def in_threads(parallel: int, rounds: Iterator[int]) -> None:
    for number in rounds:
        with ThreadPoolExecutor(parallel) as pool:
            list(pool.map(solve_one, range(number * parallel, (number + 1) * parallel)))


def in_processes(parallel: int, rounds: Iterator[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.cnf"
        path.write_text(FORMULA)
        command = [sys.executable, "-m", "anycsp", "solve", str(path), "--threads", "1", "--quiet"]
        for _ in rounds:
            processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(parallel)]
            if any(process.wait() not in (0, 10) for process in processes):  # 0: the machine was too busy
                raise SystemExit("a process among many did not answer")


def one_after_another(parallel: int, rounds: Iterator[int]) -> None:
    for number in rounds:
        solve_one(number)


def training(parallel: int, rounds: Iterator[int]) -> None:
    from anycsp.neural.weights import PolicyConfig
    from anycsp.training.config import TrainingConfig
    from anycsp.training.trainer import Trainer

    config = TrainingConfig(
        distribution="sat", parameters={"n": [10, 20]}, instances=8, window=10, depth=640, lifetime="log-uniform",
        policy=PolicyConfig(hidden=8),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, Path(folder))
        try:
            for _ in rounds:
                trainer.update()
        finally:
            trainer.close()


TRIALS: dict[str, Callable[[int, Iterator[int]], None]] = {
    "parallel threads": in_threads,
    "parallel processes": in_processes,
    "one after another": one_after_another,
    "training": training,
}


class Watched:
    """Counts rounds until the time is up, and looks at what the process holds after the warm-up and at the end."""

    def __init__(self, seconds: float, most: int | None) -> None:
        self._seconds, self._most = seconds, most
        self.rounds = 0
        self.warm: Held | None = None

    def __iter__(self) -> Iterator[int]:
        began = time.perf_counter()
        while True:
            elapsed = time.perf_counter() - began
            if self.warm is None and self.rounds > 1 and elapsed >= WARM_UP * self._seconds:
                self.warm = Held.now()
            over = elapsed >= self._seconds if self._most is None else self.rounds >= self._most
            if over and self.warm is not None:
                return
            yield self.rounds
            self.rounds += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="Of all trials together.")
    parser.add_argument("--parallel", type=int, default=100, help="Threads, or processes, at once.")
    parser.add_argument("--tolerance", type=float, default=16.0, metavar="MB")
    parser.add_argument("--trials", nargs="+", choices=list(TRIALS), default=list(TRIALS))
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    seconds = 0.0 if args.smoke else 60 * args.minutes / len(args.trials)
    parallel = 2 if args.smoke else args.parallel
    grown = 0
    print(f"{'trial':<20} {'rounds':>7} {'MB warm':>8} {'MB end':>8} {'files':>9} {'threads':>9}")
    for name in args.trials:
        watched = Watched(seconds, 2 if args.smoke else None)
        TRIALS[name](parallel, iter(watched))
        warm, end = watched.warm, Held.now()
        assert warm is not None
        files, threads = f"{warm.files}→{end.files}", f"{warm.threads}→{end.threads}"
        row = f"{name:<20} {watched.rounds:>7} {warm.megabytes:>8.1f} {end.megabytes:>8.1f} {files:>9} {threads:>9}"
        print(row, flush=True)
        more = end.megabytes - warm.megabytes > args.tolerance
        grown += more or end.files > warm.files or end.threads > warm.threads
    return int(grown > 0)


if __name__ == "__main__":
    sys.exit(main())
