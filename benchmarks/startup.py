"""What does it cost to start? CPU seconds of commands, of this checkout against another one.

    python benchmarks/startup.py --against ../before          # a checkout whose native module is in its build/dev
    python benchmarks/startup.py --smoke                      # once, this checkout alone: does everything run?

Both run in turns with the interpreter that runs this script, so that what else the machine does hits them alike. A
checkout's package is its src/, its native module the one in its build/dev (or the installed one, where there is none).
Time is user and system time of the process, so waiting for other programs does not count. Ends with 1 where a ratio of
medians is above its bar.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Command:
    title: str
    arguments: Sequence[str]
    """Arguments of the interpreter."""
    bar: float
    """Largest ratio to the checkout before torch became optional."""


COMMANDS = (
    Command("solve petersen.col", ("-m", "anycsp", "solve", "examples/petersen.col", "--colors", "3"), 0.3),
    Command("--help", ("-m", "anycsp", "--help"), 0.5),
    Command("import anycsp", ("-c", "import anycsp"), 0.5),
    Command(
        "solve planted3sat.cnf --search neural",
        ("-m", "anycsp", "solve", "examples/planted3sat.cnf", "--search", "neural"),
        0.35,
    ),
)


def environment(checkout: Path) -> Mapping[str, str]:
    """Runs the checkout's own sources and native module, whatever else is installed."""
    built = sorted((checkout / "build" / "dev").glob("_native*"))
    own = {"PYTHONPATH": str(checkout / "src"), **({"ANYCSP_NATIVE": str(built[0])} if built else {})}
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ANYCSP_NATIVE")}
    return {**kept, **own}


def cpu_seconds(command: Command, checkout: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(
        [sys.executable, *command.arguments], cwd=HERE, env=environment(checkout), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode not in (0, 10):
        raise SystemExit(f"{command.title} in {checkout}: exit code {result.returncode}\n{result.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="DIR", help="Another checkout.")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="One run of each command.")
    arguments = parser.parse_args()
    checkouts = [HERE] if arguments.against is None else [HERE, arguments.against.resolve()]
    print(f"{'CPU seconds, median':<40} {'here':>7} {'there':>7} {'ratio':>6} {'bar':>5}")
    missed = 0
    for command in COMMANDS:
        for checkout in checkouts:
            cpu_seconds(command, checkout)  # files into the cache, modules compiled
        repeats = 1 if arguments.smoke else arguments.repeats
        turns = [[cpu_seconds(command, checkout) for checkout in checkouts] for _ in range(repeats)]
        here, *there = (statistics.median(times) for times in zip(*turns, strict=True))
        row = f"{command.title:<40} {here:>7.3f}"
        if there:
            ratio = here / there[0]
            missed += ratio > command.bar
            row += f" {there[0]:>7.3f} {ratio:>6.2f} {command.bar:>5.2f}"
        print(row, flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
