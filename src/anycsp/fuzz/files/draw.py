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

ANSWER_SHARE, COMPRESSED_SHARE, DRAWN_SHARE = 0.15, 0.08, 0.15
"""How many cases break the answer in place of the problem, are compressed, or begin as a drawn problem."""


def draw(rng: Random) -> dict[str, Any]:
    """Bytes are kept as the characters of the same numbers, so that a case is readable JSON."""
    name, text = _original(rng)
    data = text.encode()
    case: dict[str, Any] = {"name": name}
    if rng.random() < ANSWER_SHARE:
        answer = rng.choice(ANSWERS).encode()
        case["answer"] = (mutated(answer, rng) if rng.random() < 0.9 else answer).decode("latin-1")
        case["command"] = rng.choice(["check", "hint"])
    else:
        data = mutated(data, rng)
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
    return case


def _original(rng: Random) -> tuple[str, str]:
    if rng.random() < DRAWN_SHARE:
        try:
            problem = build(draw_problem(rng))
            return "x.json", to_text(problem, "json")
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
