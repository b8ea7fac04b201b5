"""What start values are worth to compiled search: of a network, of memory, and of an oracle.

    python benchmarks/advice.py weekly-colouring                    # 20 instances, 3 seeds
    python benchmarks/advice.py colouring --model runs/mine         # with a network's advice
    python benchmarks/advice.py weekly-square --instances 5 --seeds 1 --seconds 2

A family's *tuned* search is the best of the settings below on five training instances. It begins at random, at a
solution of which a share of the values was kept and the others drawn anew (an oracle: which share would pay?), at the
solution of the instance that all of a weekly family are made from (memory), and where a network ends after so many
steps. Processor time of one thread, presolving, building and the network included; the interval is a bootstrap over
instances.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
import numpy.typing as npt

from anycsp import Problem, clock, load_model, solve
from anycsp.distributions.quasigroup import latin_square
from anycsp.distributions.timetable import Timetable
from anycsp.graph import compile_graph
from anycsp.model.builders import coloring_problem
from anycsp.neural.engine import neural_engine
from anycsp.neural.models import Model
from anycsp.search.heuristic import Heuristic
from anycsp.tuning.measure import UNREACHED, gain

SEED = 636_363
"""Seed of the held-out instances; training instances have the next one."""
BASE = 7
"""Seed of the instance that every week's is made from."""
KEPT = (0.3, 0.5, 0.7, 0.9)
"""Shares of the solution that an oracle knows. Of the others chance gets one in the number of values right."""
STEPS = (32, 64)
"""Steps of a network that make its advice."""
SHORTEST = 1e-3
"""Seconds: what is below is not the search but the making of it."""

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Instance:
    problem: Problem
    solution: Positions
    memory: Positions | None
    """The solution of the base instance, where the values still exist."""


# ── families ─────────────────────────────────────────────────────────────────────────────────────


def hidden_edges(rng: np.random.Generator, color: Positions, count: int) -> Positions:
    pairs = np.sort(rng.integers(len(color), size=(8 * count, 2)), axis=1)
    edges = np.unique(pairs[color[pairs[:, 0]] != color[pairs[:, 1]]], axis=0)
    return edges[rng.permutation(len(edges))[:count]]


def colouring(rng: np.random.Generator, n: int = 1000, k: int = 3, degree: float = 5.2) -> Instance:
    """A random graph with a hidden colouring."""
    color = rng.permutation(n) % k
    return Instance(coloring_problem(n, hidden_edges(rng, color, round(n * degree / 2)), k), color, None)


def weekly_colouring(rng: np.random.Generator, n: int = 1000, k: int = 3, degree: float = 4.7) -> Instance:
    """The same graph every week, of which a twentieth of the vertices change their colour and their edges."""
    base = np.random.default_rng(BASE)
    before = base.permutation(n) % k
    edges = hidden_edges(base, before, round(n * degree / 2))
    color = np.where(rng.random(n) < 0.05, rng.integers(k, size=n), before)
    kept = edges[color[edges[:, 0]] != color[edges[:, 1]]]
    new = hidden_edges(rng, color, len(edges) - len(kept))
    return Instance(coloring_problem(n, np.unique(np.concatenate([kept, new]), axis=0), k), color, before)


@cache
def base_square(n: int) -> Positions:
    return latin_square(np.random.default_rng(BASE), n)


def weekly_square(rng: np.random.Generator, n: int = 40, holes: float = 0.42, switches: int = 150) -> Instance:
    """Holes in a latin square that differs from last week's by short cycles of two rows, exchanged."""
    base = base_square(n)
    square = base.copy()
    for _ in range(switches):
        a, b = rng.choice(n, 2, replace=False)
        cycle = [int(rng.integers(n))]
        while (following := int(np.flatnonzero(square[a] == square[b, cycle[-1]])[0])) != cycle[0]:
            cycle.append(following)
        if len(cycle) <= 6:
            square[a, cycle], square[b, cycle] = square[b, cycle].copy(), square[a, cycle].copy()
    empty = np.zeros(n * n, dtype=bool)
    empty[rng.permutation(n * n)[: round(holes * n * n)]] = True
    problem = Problem(f"square of order {n}")
    cells = [problem.add_variable(range(n) if hole else [int(v)]) for hole, v in zip(empty, square.flat, strict=True)]
    for i in range(n):
        problem.add_all_different(cells[n * i : n * (i + 1)])
        problem.add_all_different(cells[i::n])
    return Instance(problem, np.where(empty, square.flat, 0), np.where(empty, base.flat, 0))


def weekly_timetable(
    rng: np.random.Generator, classes: int = 20, hours: int = 40, moved: float = 0.1, absent: float = 0.5
) -> Instance:
    """The same lessons every week; some hours are exchanged, and teachers are away at other hours than last week."""
    base = np.random.default_rng(BASE)
    school = Timetable(classes=classes, hours=hours, filled=(1.0, 1.0), teachers=1.0)
    class_of, before, teacher_of = school._hidden(base, classes, hours, classes)
    exchanged = np.arange(hours)
    pairs = rng.permutation(hours)[: 2 * round(moved * hours / 2)].reshape(-1, 2)
    exchanged[pairs] = pairs[:, ::-1]
    hour = exchanged[before]
    away = rng.random((classes, hours)) < absent
    away[teacher_of, hour] = False
    problem = Problem(f"week of {len(hour)} lessons")
    possible = [np.flatnonzero(~away[teacher]) for teacher in teacher_of]
    lessons = [problem.add_variable(values.tolist()) for values in possible]
    for group in [*(class_of == c for c in range(classes)), *(teacher_of == t for t in range(classes))]:
        problem.add_all_different([lessons[i] for i in np.flatnonzero(group)])
    nearest = [int(np.abs(values - h).argmin()) for values, h in zip(possible, before, strict=True)]
    places = [int(np.flatnonzero(values == h)[0]) for values, h in zip(possible, hour, strict=True)]
    return Instance(problem, np.array(places), np.array(nearest))


FAMILIES: dict[str, Callable[[np.random.Generator], Instance]] = {
    "colouring": colouring,
    "weekly-colouring": weekly_colouring,
    "weekly-square": weekly_square,
    "weekly-timetable": weekly_timetable,
}
SETTINGS = {
    "default": Heuristic(),
    "focused": Heuristic(shares={"focused": 1.0}),
    "tabu": Heuristic(shares={"tabu": 1.0}),
    "tabu, long tenure": Heuristic(shares={"tabu": 1.0}, parameters={"tabu": {"tenure": 20, "per_conflict": 1.0}}),
    "tree": Heuristic(shares={"tree": 0.97, "tabu": 0.03}),
    "tree, no presolve": Heuristic(shares={"tree": 0.97, "tabu": 0.03}, presolve=False),
    "tabu, no presolve": Heuristic(shares={"tabu": 1.0}, presolve=False),
}


# ── measuring ────────────────────────────────────────────────────────────────────────────────────


def seconds_to_solve(
    instance: Instance, heuristic: Heuristic, seed: int, limit: float, hint: Positions | None = None
) -> float:
    problem = instance.problem
    start = None if hint is None else problem.values(hint).tolist()
    began = clock.now()
    result = solve(problem, model=heuristic, search="local", time_limit=limit, seed=seed, threads=1, hint=start)
    return clock.now() - began if result.satisfied else UNREACHED * limit


def advised(instance: Instance, model: Model, steps: int, seed: int) -> Positions:
    engine = neural_engine(compile_graph(instance.problem), model, 1, seed, model.temperature, 1, steps=steps)
    engine.start(None)
    engine.advance(steps, math.inf)
    return np.array(engine.best_positions()[0], dtype=np.int64)


def agreement(found: Positions, instance: Instance) -> float:
    """The share of open variables with the solution's value, values exchanged where all have the same few."""
    sizes = instance.problem.domain_sizes
    wide = int(sizes.max())
    exchanges = permutations(range(wide)) if int(sizes.min()) == wide <= 4 else [tuple(range(wide))]
    return max(float((np.array(e)[instance.solution] == found)[sizes > 1].mean()) for e in exchanges)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--model", help="a network that gives advice")
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="for every search")
    parser.add_argument("--kept", type=float, nargs="*", default=KEPT, help="shares that an oracle knows")
    options = parser.parse_args()
    draw, limit = FAMILIES[options.family], options.seconds

    with clock.cpu_time():
        training = [draw(np.random.default_rng([SEED + 1, i])) for i in range(5)]
        tried = {
            name: np.mean([math.log(max(seconds_to_solve(x, h, 0, limit), SHORTEST)) for x in training])
            for name, h in SETTINGS.items()
        }
        tuned = min(tried, key=lambda name: tried[name])
        print("training: " + ", ".join(f"{name} {1000 * math.exp(cost):.0f} ms" for name, cost in tried.items()))
        rows: dict[str, list[list[float]]] = {}
        agreements: dict[str, list[float]] = {}
        for i in range(options.instances):
            instance = draw(np.random.default_rng([SEED, i]))
            for name, times, agreed in measured(instance, SETTINGS[tuned], options, i):
                rows.setdefault(name, []).append(times)
                agreements.setdefault(name, []).append(agreed)
    report(tuned, rows, agreements, limit)


def measured(
    instance: Instance, heuristic: Heuristic, options: argparse.Namespace, index: int
) -> Sequence[tuple[str, list[float], float]]:
    """(name, seconds by seed, agreement of the start with the solution)"""
    limit, seeds = options.seconds, range(options.seeds)
    sizes = instance.problem.domain_sizes
    found = [("at random", [seconds_to_solve(instance, heuristic, s, limit) for s in seeds], math.nan)]
    for kept in options.kept:
        rng = np.random.default_rng([SEED, index, round(100 * kept)])
        known = rng.random(len(sizes)) < kept
        start = np.where(known, instance.solution, (rng.random(len(sizes)) * sizes).astype(np.int64))
        times = [seconds_to_solve(instance, heuristic, s, limit, start) for s in seeds]
        found.append((f"oracle, {kept:.0%} kept", times, agreement(start, instance)))
    if instance.memory is not None:
        times = [seconds_to_solve(instance, heuristic, s, limit, instance.memory) for s in seeds]
        found.append(("memory", times, agreement(instance.memory, instance)))
    if options.model:
        model = load_model(options.model)
        for steps in STEPS:
            times, agreed = [], []
            for s in seeds:
                began = clock.now()
                start = advised(instance, model, steps, s)
                took = clock.now() - began
                agreed.append(agreement(start, instance))
                times.append(took + seconds_to_solve(instance, heuristic, s, limit, start))
            found.append((f"network, {steps} steps", times, float(np.mean(agreed))))
    return found


def report(tuned: str, rows: dict[str, list[list[float]]], agreements: dict[str, list[float]], limit: float) -> None:
    costs = {name: np.log(np.clip(times, SHORTEST, UNREACHED * limit)) for name, times in rows.items()}
    print(f"\n| start of {tuned} | agreement | solved | geometric mean, ms | times as fast (95%) |")
    print("| --- | --- | --- | --- | --- |")
    for name, cost in costs.items():
        solved = int((np.array(rows[name]) < UNREACHED * limit).sum())
        mean, agreed = 1000 * math.exp(float(cost.mean())), np.mean(agreements[name])
        print(
            f"| {name} | {'' if math.isnan(agreed) else f'{agreed:.2f}'} | {solved} of {cost.size} | {mean:.1f} |"
            f" {gain(costs['at random'], cost)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
