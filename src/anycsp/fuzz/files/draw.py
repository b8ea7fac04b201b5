"""A case: a file that began as a good one, and the command that is to read it."""

from __future__ import annotations

from random import Random
from typing import Any

from anycsp.errors import AnyCSPError
from anycsp.formats import FORMATS, to_text
from anycsp.fuzz.files.mutate import COMPRESS, mutated
from anycsp.fuzz.files.seeds import ANSWERS, FILES
from anycsp.fuzz.problems.draw import draw as draw_problem
from anycsp.fuzz.problems.post import build

ANSWER_SHARE, COMPRESSED_SHARE, DRAWN_SHARE, WHOLE_SHARE = 0.15, 0.08, 0.15, 0.2
"""How many cases break the answer in place of the problem, are compressed, begin as a drawn problem, or are left whole,
so that the search has something to do."""
SEARCH = ["--steps", "30", "--time-limit", "0.5", "--threads", "1", "--json"]
TRACE = "TRACE"
"""Stands for a file that the command may write to."""


def draw(rng: Random) -> dict[str, Any]:
    """Bytes are kept as the characters of the same numbers, so that a case is readable JSON."""
    name, data = _original(rng)
    case: dict[str, Any] = {"name": name}
    if rng.random() < ANSWER_SHARE:
        answer = rng.choice(ANSWERS).encode()
        case["answer"] = (mutated(answer, rng) if rng.random() < 0.9 else answer).decode("latin-1")
        case["command"] = rng.choice(["check", "hint"])
    else:
        data = data if rng.random() < WHOLE_SHARE else mutated(data, rng)
        case["command"] = rng.choice(["solve", "solve", "solve", "info", "convert"])
    if rng.random() < COMPRESSED_SHARE:
        ending = rng.choice(list(COMPRESS))
        data = COMPRESS[ending](data)
        case["name"] += ending if rng.random() < 0.8 else ""
        data = mutated(data, rng) if rng.random() < 0.7 else data
    if rng.random() < 0.05:
        case["name"] = rng.choice(["x", "x.txt", "x.cnf", "x.json", "x.xml"])
    case["data"] = data.decode("latin-1")
    case["options"] = _options(rng)
    case["search"] = SEARCH if rng.random() < 0.6 else _search(rng)
    return case


def _original(rng: Random) -> tuple[str, bytes]:
    if rng.random() < DRAWN_SHARE:
        try:
            problem = build(draw_problem(rng))
            return "x.json", to_text(problem, "json").encode()
        except AnyCSPError:
            pass
    name = rng.choice(list(FILES))
    return name, rng.choice(FILES[name])


def _options(rng: Random) -> list[str]:
    options: list[str] = []
    if rng.random() < 0.1:
        options += ["--format", rng.choice(list(FORMATS))]
    if rng.random() < 0.1:
        options += ["--colors", str(rng.choice([1, 3, 1000]))]
    return options


def _search(rng: Random) -> list[str]:
    """Options of a search in any combination, some of which are refused."""
    options = ["--search", rng.choice(["auto", "local", "neural", "hybrid", "exact"])]
    options += ["--time-limit", rng.choice(["0", "0.02", "0.2", "0.5"])]
    if rng.random() < 0.8:
        options += ["--steps", str(rng.choice([0, 1, 5, 30]))]
    if rng.random() < 0.5:
        options += ["--runs", str(rng.choice([1, 2, 5]))]
    if rng.random() < 0.8:
        options += ["--threads", str(rng.choice([1, 2, 3]))]
    if rng.random() < 0.4:
        options += ["--seed", str(rng.choice([0, 7, 2**31, 2**63, 2**64, 10**30]))]
    if rng.random() < 0.2:
        options += ["--solutions", str(rng.choice([1, 2, 4]))]
    if rng.random() < 0.2:
        options += ["--trace", TRACE]
    flags = ("--explain", "--no-presolve", "--quiet", "--json", "--profile")
    return options + [flag for flag in flags if rng.random() < 0.25]
