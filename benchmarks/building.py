"""How long does it take to write a model? CPU seconds of building problems from expressions, before any search.

    python benchmarks/building.py            # three times each, the least
    python benchmarks/building.py --smoke    # small ones, once

Ends with 1 where one takes longer than its bar.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from anycsp import Problem


def queens(size: int) -> Problem:
    problem = Problem("queens")
    row = problem.add_variables(size, 0, size - 1)
    problem.add_all_different(row)
    problem.add_all_different([x + i for i, x in enumerate(row)])
    problem.add_all_different([x - i for i, x in enumerate(row)])
    return problem


def linear(constraints: int) -> Problem:
    problem = Problem("linear")
    x = problem.add_variables(1000, 0, 9)
    for i in range(constraints):
        problem.add(3 * x[i % 1000] + 2 * x[(7 * i + 1) % 1000] - x[(13 * i + 5) % 1000] <= 12)
    return problem


MODELS: dict[str, tuple[Callable[[int], Problem], int, int, float]] = {
    "queens by expressions": (queens, 50, 8, 0.2),
    "linear constraints": (linear, 100_000, 1000, 2.0),
}
"""Builder, size, size of a smoke run, and the most seconds it may take."""


def seconds(build: Callable[[int], Problem], size: int) -> float:
    """CPU time until the arrays are there."""
    began = time.process_time()
    _ = build(size).blocks
    return time.process_time() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    slow = False
    print("| model | size | CPU seconds | bar |\n| --- | --- | --- | --- |")
    for title, (build, size, small, bar) in MODELS.items():
        wanted = small if smoke else size
        least = min(seconds(build, wanted) for _ in range(1 if smoke else 3))
        slow = slow or (not smoke and least > bar)
        print(f"| {title} | {wanted:,} | {least:.3f} | {bar:g} |")
    raise SystemExit(int(slow))
