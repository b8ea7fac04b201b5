"""Do the same seeds still give the same answers? Twenty problems, every search and strategy, two seeds, one file.

    python benchmarks/golden.py --write before.json         # before a change that should change no answer
    python benchmarks/golden.py --write after.json          # after it
    python benchmarks/golden.py --compare before.json after.json

Searches are limited by steps, and an answer is its counts and a digest of the assignment. Local search reproduces
everywhere; what the network computes in floating point (neural) is bit for bit the same only on one machine, with one
build of torch. Hybrid search has no rows: its advice comes by the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import Problem, distributions, read, solve
from anycsp.engine import Engine
from anycsp.graph import compile_graph
from anycsp.search.local import STRATEGIES, LocalSearch

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SEEDS = (0, 1)
RUNS = 2
LOCAL_STEPS, NEURAL_STEPS = 3000, 40

Answer = list[Any]


# ── the problems ─────────────────────────────────────────────────────────────────────────────────


def problems() -> Iterator[tuple[str, Problem]]:
    """Every distribution, every format of the examples, and models that use the families these leave out."""
    yield "queens", queens()
    yield "equations", equations()
    yield "cheapest", cheapest()
    yield "circuit", circuit()
    yield "rules", rules()
    for name in ("planted3sat.cnf", "cube.rud", "magic-square.xml", "timetable.json"):
        yield name, read(EXAMPLES / name)
    yield "petersen.col", read(EXAMPLES / "petersen.col", colors=3)
    for name, parameters in (
        ("sat", {"n": 60}),
        ("sat", {"n": 150}),
        ("maxsat", {"n": 50}),
        ("maxcut", {"n": 60}),
        ("maxcut", {"n": 120}),
        ("coloring", {}),
        ("rb", {}),
        ("forced-rb", {}),
    ):
        size = "".join(f" {key}={value}" for key, value in parameters.items())
        yield name + size, distributions.get(name, **parameters).draw(np.random.default_rng(7))
    rng = np.random.default_rng(5)
    for number in range(2):
        yield f"mixed {number}", mixed(rng)


def queens() -> Problem:
    problem = Problem()
    rows = problem.add_variables(8, range(8))
    problem.add_all_different(rows)
    problem.add_all_different([row + i for i, row in enumerate(rows)])
    problem.add_all_different([row - i for i, row in enumerate(rows)])
    return problem


def equations() -> Problem:
    """Hard, weighted and plain constraints over one set of variables."""
    problem = Problem()
    x = problem.add_variables(6, range(10))
    problem.add_linear(x, [3, -2, 5, 1, -4, 2], "==", 17, hard=True)
    problem.add(x[0] * x[1] == x[2] + 7, weight=2.5)
    problem.add(abs(x[3] - x[4]) >= 3)
    return problem


def cheapest() -> Problem:
    """An objective of its own: every bound is a search."""
    problem = Problem()
    x = problem.add_variables(5, range(6))
    problem.add_all_different(x)
    problem.add(x[0] + x[1] >= 7)
    problem.minimize(3 * x[0] + 2 * x[1] + x[2] * x[3] - x[4])
    return problem


def circuit() -> Problem:
    problem = Problem()
    x = problem.add_variables(5, range(5))
    problem.add_circuit(x, self_loops=True)
    problem.add(x[0] + x[1] >= 5)
    return problem


def rules() -> Problem:
    """Disjunctions, predicates in Python, weights that differ."""
    problem = Problem()
    x = problem.add_variables(8, range(5))
    problem.add((x[0] == 1) | (x[1] == 2))
    problem.add_rule([x[2], x[3]], lambda a, b: (a + b) % 3 == 1)
    for i in range(7):
        problem.add(x[i] + 1 != x[i + 1], weight=i + 1.0)
    return problem


def mixed(rng: np.random.Generator) -> Problem:
    """Random tables, allowed and forbidden, some hard, with an all-different and a sum."""
    problem = Problem()
    x = problem.add_variables(12, range(4))
    for _ in range(25):
        scope = rng.choice(12, 3, replace=False).tolist()
        problem.add_table(
            scope,
            rng.integers(0, 4, (20, 3)).tolist(),
            allowed=bool(rng.integers(2)),
            weight=float(rng.integers(1, 5)),
            hard=bool(rng.integers(4) == 0),
        )
    problem.add_all_different(x[:4])
    problem.add_linear(x, [1] * 12, "<=", 15, weight=3)
    return problem


# ── the answers ──────────────────────────────────────────────────────────────────────────────────


def digest(positions: npt.NDArray[np.integer[Any]]) -> str:
    return hashlib.sha256(np.ascontiguousarray(positions, dtype=np.int32).tobytes()).hexdigest()[:16]


def solved(problem: Problem, search: str, steps: int, seed: int) -> Answer:
    result = solve(problem, search=search, steps=steps, seed=seed, runs=RUNS, threads=1)
    counts = [result.violated, result.violated_weight, result.steps, result.best_step, result.found_by]
    return [*counts, digest(result.positions)]


def searched(engine: Engine, steps: int, units: float) -> Answer:
    engine.start()
    engine.advance(steps, math.inf)
    return [(engine.best_score()[:, 0] / units).tolist(), engine.steps, digest(engine.best_positions())]


def rows(problem: Problem, seed: int) -> Iterator[tuple[str, Callable[[], Answer]]]:
    """The name of every search, and what runs it."""
    yield "local", lambda: solved(problem, "local", LOCAL_STEPS, seed)
    yield "neural", lambda: solved(problem, "neural", NEURAL_STEPS, seed)
    if problem.objective is not None and problem.objective.expression is not None:
        return
    graph = compile_graph(problem, of_one_kind=True)
    units = float(graph.units[0])
    for strategy in STRATEGIES:
        engine = LocalSearch(graph, strategy, RUNS, seed, steps=LOCAL_STEPS)
        yield strategy, lambda engine=engine: searched(engine, LOCAL_STEPS, units)


def answers(first: int | None = None) -> dict[str, Answer]:
    """By problem, search and seed; of the first so many problems, or of all."""
    return {
        f"{name} | {search} | seed {seed}": run()
        for name, problem in islice(problems(), first)
        for seed in SEEDS
        for search, run in rows(problem, seed)
    }


def differences(one: dict[str, Answer], other: dict[str, Answer]) -> Iterator[str]:
    for key in sorted(one.keys() | other.keys()):
        if one.get(key) != other.get(key):
            yield f"{key}: {one.get(key, 'missing')} | {other.get(key, 'missing')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--write", type=Path, metavar="FILE", help="run every search and write the answers")
    task.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="exit 1 where the answers differ")
    parser.add_argument("--smoke", action="store_true", help="with --write: the first three problems only")
    options = parser.parse_args()
    if options.write:
        found = answers(3 if options.smoke else None)
        options.write.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        print(f"{len(found)} answers")
        return
    one, other = (json.loads(path.read_text()) for path in options.compare)
    different = list(differences(one, other))
    print("\n".join([*different, f"{len(one)} and {len(other)} answers, {len(different)} differ"]))
    raise SystemExit(bool(different))


if __name__ == "__main__":
    main()
