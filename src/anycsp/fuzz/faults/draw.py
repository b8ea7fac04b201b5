"""A case: a command, the fault it meets, and when."""

from __future__ import annotations

from random import Random
from typing import Any

COMMANDS = ("solve", "solve", "solve", "convert", "generate", "train")
FAULTS = ("SIGINT", "SIGTERM", "SIGKILL", "SIGINT", "SIGTERM", "full disk", "closed pipe")
FRESH_SHARE = 0.2
"""How many begin with Python's own start; the others are forked off with all imports done, which is ten times as fast.
Training is not: torch does not bear it."""


def draw(rng: Random) -> dict[str, Any]:
    """Moments are shares of what the command takes undisturbed, so that they fall into every phase of it."""
    command = rng.choice(COMMANDS)
    return {
        "command": command,
        "start": "fresh" if command == "train" or rng.random() < FRESH_SHARE else "forked",
        "fault": rng.choice(FAULTS),
        "moment": round(rng.random() ** 1.5, 4),
        "bytes": rng.choice([0, 10, 100, 1000, 5000]),
        "variables": rng.choice([50, 2000, 20000]),
        "seed": rng.randrange(1000),
    }
