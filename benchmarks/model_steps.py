"""How many steps models take to a solution by neural search alone, on problems with long-range order or structure.

    python benchmarks/model_steps.py                                  # every shipped model: hours
    python benchmarks/model_steps.py --models universal general --kinds grid-12 queens-20 --seconds 60
    python benchmarks/model_steps.py --models runs/mine --tries 3     # a model of your own

A grid is two-coloured by one run at temperature 1 without guidance and presolve, as in the paper's figure; what is
counted is what a step is worth. Everything else is searched as the model's own settings say, ten tries on ten draws
(queens, magic squares and all-interval series without anything given are one problem and ten seeds).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from anycsp import Problem, load_model, solve
from anycsp.distributions import get
from anycsp.model.builders import coloring_problem
from anycsp.neural.guidance import UNGUIDED
from anycsp.neural.models import shipped_models

SEED = 525_252
"""The seed of the generated instances; no training uses it."""


def grid(side: int) -> Problem:
    place = np.arange(side * side).reshape(side, side)
    right = np.stack([place[:, :-1], place[:, 1:]], axis=2).reshape(-1, 2)
    down = np.stack([place[:-1], place[1:]], axis=2).reshape(-1, 2)
    return coloring_problem(side * side, np.concatenate([right, down]), 2)


def drawn(index: int, name: str, **parameters: object) -> Problem:
    return get(name, **parameters).draw(np.random.default_rng([SEED, index]))


def leighton(index: int, colors: int, modulus: int, cliques: dict[int, int]) -> Problem:
    """A graph of Leighton's (1979) to be coloured with `colors` colours: cliques on vertices that follow one another in
    a linear congruential sequence. Multiplier, increment and modulus are those of the public le450 graphs: they divide
    so that neighbours in the sequence differ modulo `colors`, which is the hidden colouring."""
    number = int(np.random.default_rng([SEED, index]).integers(modulus))
    edges = set()
    for size in sorted(cliques, reverse=True):
        for _ in range(cliques[size]):
            clique = []
            for _ in range(size):
                number = (8401 * number + 6859) % modulus
                clique.append(number % 450)
            edges |= {(min(a, b), max(a, b)) for a in clique for b in clique if a != b}
    return coloring_problem(450, np.array(sorted(edges)), colors)


@dataclass(frozen=True)
class Kind:
    problem: Callable[[int], Problem]
    """By the number of the try."""
    plain: bool = False
    """One run at temperature 1, no guidance, no presolve."""


KINDS = {
    "grid-12": Kind(lambda index: grid(12), plain=True),
    "grid-24": Kind(lambda index: grid(24), plain=True),
    "queens-20": Kind(partial(drawn, name="queens", n=20, blocked=[0.0, 0.0])),
    "queens-50": Kind(partial(drawn, name="queens", n=50, blocked=[0.0, 0.0])),
    "sudoku-30": Kind(partial(drawn, name="sudoku", holes=[30 / 81, 30 / 81])),
    "quasigroup-10-40": Kind(partial(drawn, name="quasigroup", order=10, holes=[0.4, 0.4])),
    "magic-square-4": Kind(partial(drawn, name="magic-square", order=4, given=[0.0, 0.0])),
    "all-interval-10": Kind(partial(drawn, name="all-interval", n=10, blocked=[0.0, 0.0])),
    "leighton-5": Kind(partial(leighton, colors=5, modulus=84035, cliques={5: 160, 4: 500, 3: 900, 2: 2000})),
    "leighton-5-dense": Kind(partial(leighton, colors=5, modulus=84035, cliques={5: 400, 4: 1200, 3: 1800, 2: 4000})),
    "leighton-15": Kind(partial(leighton, colors=15, modulus=252105, cliques={15: 40, 10: 70, 5: 100, 2: 1300})),
    "equations": Kind(partial(drawn, name="equations", n=30)),
    "timetable": Kind(partial(drawn, name="timetable")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=shipped_models(), help="default: every shipped one")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="for every try")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print("| kind | model | solved | median steps | median seconds | fewest left of the others |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name in options.kinds:
        kind = KINDS[name]
        for model in options.models:
            plain = {"runs": 1, "temperature": 1.0, "guidance": UNGUIDED, "presolve": False} if kind.plain else {}
            limits = {"time_limit": options.seconds, "steps": options.steps, "threads": options.threads}
            results = [
                solve(kind.problem(i), model=load_model(model), search="neural", seed=i, **limits, **plain)
                for i in range(options.tries)
            ]
            solved = [result for result in results if result.satisfied]
            left = [result.violated for result in results if not result.satisfied]
            steps, seconds = ([getattr(r, of) for r in solved] for of in ("steps", "seconds"))
            middle = [f"{statistics.median(values):.4g}" if values else "" for values in (steps, seconds)]
            print(
                f"| {name} | {model} | {len(solved)} of {len(results)} | {middle[0]} | {middle[1]} |"
                f" {min(left, default='')} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
