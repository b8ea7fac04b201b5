"""Model a problem and watch its search: seat the guests of a wedding, and stop when nothing was gained for a while.

    python examples/model_and_watch.py [--seconds 10] [--seed 0]

120 guests sit at 15 tables of eight. Couples sit together, and some couples must not meet (hard constraints); wishes to
sit with a friend are soft. A callback prints a line for every improvement and ends the search.
"""

import argparse
import random
from itertools import pairwise

from anycsp import Problem, Progress, solve

GUESTS, COUPLES, WISHES = 120, 30, 150
TABLES, SEATS = 15, 8
PATIENCE = 1.0
"""Seconds without an improvement after which the search ends."""


def seating(seed: int) -> Problem:
    rng = random.Random(seed)
    problem = Problem("wedding")
    table = problem.add_variables(GUESTS, range(TABLES), names=[f"guest {i}" for i in range(GUESTS)])
    for number in range(TABLES):
        problem.add_count(table, [number], "==", SEATS)
    couples = [(table[2 * i], table[2 * i + 1]) for i in range(COUPLES)]
    for first, second in couples:
        problem.add(first == second)
    for (one, _), (other, _) in pairwise(couples):
        problem.add(one != other)  # each couple has quarrelled with the next
    for _ in range(WISHES):
        first, second = rng.sample(table, 2)
        problem.add(first == second, weight=rng.choice([1, 1, 2]))
    return problem


class Watcher:
    """The callback: called about every 50 ms and at every improvement; True ends the search."""

    def __init__(self) -> None:
        self.improved_at = 0.0

    def __call__(self, progress: Progress) -> bool:
        if progress.improved:
            self.improved_at = progress.seconds
            print(
                f"{progress.seconds:6.2f} s, step {progress.step:>8}: {progress.hard_violated:2} hard constraints "
                f"violated, violated weight {progress.violated_weight:g}"
            )
        return progress.seconds - self.improved_at > PATIENCE


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    result = solve(seating(options.seed), time_limit=options.seconds, seed=options.seed, callback=Watcher())
    print(f"{result.status}: {result.violated} of {result.constraints} constraints violated")
    for number in range(TABLES):
        print(f"table {number + 1:2}:", ", ".join(name for name, value in result.assignment.items() if value == number))
