"""A random model in one of the languages. Those of XCSP3 and CPMpy are cases as `problems` has them, of the constraints
that the language can say; those of FlatZinc are its own predicates."""

from __future__ import annotations

from random import Random
from typing import Any

from anycsp.fuzz.languages import cpmpy_model, xcsp3_text
from anycsp.fuzz.languages.flatzinc_draw import random_model
from anycsp.fuzz.problems.draw import ENTRIES, Draw

Data = dict[str, Any]
LANGUAGES = ("xcsp3", "cpmpy", "flatzinc")
WIDEST = 1000
"""From the least value of a variable of CPMpy to the largest."""
MOST_FLAT = 400
"""Assignments of a model in FlatZinc, which are all gone through."""


def draw(rng: Random) -> Data:
    language = rng.choice(LANGUAGES)
    return {"language": language, **(_flat(rng) if language == "flatzinc" else _model(rng, language))}


def _flat(rng: Random) -> Data:
    flat = random_model(rng)
    while flat.assignments > MOST_FLAT:
        flat = random_model(rng)
    return {**flat.data(), "options": _options(rng)}


def _model(rng: Random, language: str) -> Data:
    drawn = Draw(rng)
    drawn.variables(rng.randint(2, 5), 4)
    if language == "cpmpy":  # its variables have all values between two
        drawn.domains = [d if max(d) - min(d) <= WIDEST else list(range(len(d))) for d in drawn.domains]
    variables = [{"name": f"x{i}", "domain": sorted(domain)} for i, domain in enumerate(drawn.domains)]
    said = {"xcsp3": xcsp3_text, "cpmpy": cpmpy_model}[language]
    constraints: list[Data] = []
    for _ in range(rng.randint(1, 4)):
        post = rng.choice(said.POSTS)
        entry = ENTRIES[post](drawn)
        if entry is not None and said.says({"post": post, **entry}):
            constraints.append({"post": post, **entry})
    case: Data = {"variables": variables, "constraints": constraints, "options": _options(rng)}
    if rng.random() < 0.35:
        goal = drawn.goal()
        if said.says_goal(goal):
            case["objective"] = {"sense": rng.choice(["minimize", "maximize"]), "goals": [goal]}
    return case


def _options(rng: Random) -> Data:
    search = rng.choice(["local", "auto", "exact", "exact", "neural", "hybrid"])
    steps = None if search in ("local", "auto", "exact") and rng.random() < 0.6 else rng.choice([0, 1, 10, 50])
    return {
        "search": search, "steps": steps, "seed": rng.randrange(1000), "threads": rng.choice([1, 1, 2]),
        "runs": rng.choice([1, 1, 2]), "presolve": rng.random() < 0.7,
    }  # fmt: skip
