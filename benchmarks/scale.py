"""How large can one problem be? Time and memory of compiled search on random Max-3-SAT, by edges, values and runs.

    python benchmarks/scale.py                        the table of docs/guides/scale.md, a process per line
    python benchmarks/scale.py --edges 10000000       one line: a formula of so many edges
    python benchmarks/scale.py --throughput 2         many small formulas, in one process and then in two

Every line is made by a process of its own, whose peak memory is that line's. Formulas are drawn with numpy: clauses of
three different variables, so that a clause has 6 edges of the constraint value graph; `--ratio` is clauses per
variable.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from anycsp import Problem, solve, solve_many
from anycsp.footprint import count_edges, estimate_bytes
from anycsp.model.builders import formula_problem

CASES = [
    {"edges": 100_000},
    {"edges": 1_000_000},
    {"edges": 1_000_000, "runs": 4},
    {"edges": 1_000_000, "ratio": 40.0},
    {"edges": 10_000_000},
]
MIB = 2**20


def formula(edges: int, ratio: float, seed: int = 0) -> Problem:
    clauses = edges // 6
    variables = max(3, round(clauses / ratio))
    rng = np.random.default_rng(seed)
    first = rng.integers(0, variables, clauses)
    second = (first + rng.integers(1, variables, clauses)) % variables
    third = (second + rng.integers(1, variables, clauses)) % variables
    again = third == first
    third[again] = (third[again] + 1 + (third[again] + 1 == second[again])) % variables
    literals = (np.stack([first, second, third], axis=1) + 1) * rng.choice([-1, 1], (clauses, 3))
    return formula_problem(variables, np.arange(clauses + 1) * 3, literals.ravel())


def peak() -> float:
    """MiB of memory at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(edges: int, ratio: float, runs: int, seconds: float) -> dict[str, float]:
    """One search, after the problem is there; `seconds` are those of the search alone."""
    before = peak()
    began = time.perf_counter()
    problem = formula(edges, ratio)
    made, memory_of_problem = time.perf_counter() - began, peak() - before
    first: list[float] = []
    began = time.perf_counter()

    def started(progress: object) -> bool:
        first.append(time.perf_counter() - began)
        return first[-1] - first[0] > seconds

    result = solve(problem, search="local", runs=runs, threads=1, time_limit=3600.0, presolve=False, callback=started)
    return {
        "edges": count_edges(problem),
        "values": 2 * problem.num_variables,
        "runs": runs,
        "make_s": made,
        "first_assignment_s": first[0],
        "moves_per_second": runs * result.steps / (first[-1] - first[0]),
        "searched_s": first[-1] - first[0],
        "violated_at_first": result.trace[0].violated,
        "violated": result.violated,
        "problem_mib": memory_of_problem,
        "search_mib": peak() - before - memory_of_problem,
        "estimate_mib": estimate_bytes(problem, runs, hidden=1) / MIB,
    }


def processor_time() -> float:
    """Seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def throughput(most: int, seconds: float) -> dict[str, float]:
    """Searches per second of many small formulas, with 1 to `most` processes, and the processor time of each search:
    on a machine that others use only that says something."""
    problems = [formula(20_000, 5.0, seed) for seed in range(16)]
    rates = {}
    for processes in range(1, most + 1):
        solve_many(problems[:most], on="processes", processes=processes, steps=1, search="local")  # warm disk caches
        began, spent = time.perf_counter(), processor_time()
        solve_many(problems, on="processes", processes=processes, steps=round(300_000 * seconds), search="local")
        rates[f"searches_per_second_{processes}"] = len(problems) / (time.perf_counter() - began)
        rates[f"processor_seconds_per_search_{processes}"] = (processor_time() - spent) / len(problems)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int)
    parser.add_argument("--ratio", type=float, default=5.0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--throughput", type=int, metavar="PROCESSES")
    given = parser.parse_args()
    if given.throughput:
        print(json.dumps(throughput(given.throughput, given.seconds)))
    elif given.edges:
        print(json.dumps(measured(given.edges, given.ratio, given.runs, given.seconds)))
    else:
        for case in CASES:
            options = [text for name, value in case.items() for text in (f"--{name}", str(value))]
            subprocess.run([sys.executable, __file__, *options, "--seconds", str(given.seconds)], check=True)


if __name__ == "__main__":
    main()
