"""What a file may ask for: one table of limits, which every reader checks before it allocates.

A hostile file is short and asks for much: an array of 10^9 cells, a gigabyte of compressed spaces, an expression nested
a hundred thousand times. Each limit lies far above real instances and has an environment variable that raises it; the
refusal names both.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from anycsp.errors import AnyCSPError, ProblemError


@dataclass(frozen=True, eq=False)
class Limit:
    what: str
    """What is counted, as a refusal says it behind the number."""
    default: int
    variable: str
    """The environment variable that raises it."""

    @property
    def value(self) -> int:
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise AnyCSPError(f"{self.variable} is a number, not {text[:40]!a}")
        return int(text)

    def check(self, amount: int, free: int = 0) -> None:
        """Refuse an amount beyond the limit, or beyond `free` where that is more."""
        if amount > max(self.value, free):
            number = f"{amount:,}" if amount < 10**24 else "more than 10^24"
            raise ProblemError(f"{number} {self.what}: the limit is {self.value:,} (raise it with {self.variable}=N)")


BYTES = Limit("bytes or more, decompressed", 1 << 30, "ANYCSP_MAX_BYTES")
EXPANSION = Limit("times its compressed size", 200, "ANYCSP_MAX_EXPANSION")
CLAIM = Limit("things, more than the file has bytes", 1_000_000, "ANYCSP_MAX_CLAIM")
CELLS = Limit("variables in arrays, more than the file has bytes", 100_000, "ANYCSP_MAX_CELLS")
REPETITIONS = Limit("elements written in short, as in x[], 0..9 or 0x10", 1_000_000, "ANYCSP_MAX_REPETITIONS")
DOMAIN = Limit("values in one domain", 1_000_000, "ANYCSP_MAX_DOMAIN")
VALUES = Limit("values in all domains", 20_000_000, "ANYCSP_MAX_VALUES")
DEPTH = Limit("levels of nesting", 200, "ANYCSP_MAX_DEPTH")

LIMITS = (BYTES, EXPANSION, CLAIM, CELLS, REPETITIONS, DOMAIN, VALUES, DEPTH)

FRAMES_PER_LEVEL = 6
"""Python's calls for one level of an expression, at most, from its text to its constraint."""
SMALL = 16 << 20
"""Decompressed bytes that need no good proportion to the compressed ones: they take a few hundredths of a second."""


def allow_depth() -> None:
    """Give a raised limit of nesting the frames it needs; Python's own stack serves the default."""
    if DEPTH.value > DEPTH.default:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000 + FRAMES_PER_LEVEL * DEPTH.value))


def too_deep() -> str:
    """What is said where Python's stack ends before the nesting could be counted."""
    return f"nested too deeply: the limit is {DEPTH.value:,} levels (raise it with {DEPTH.variable}=N)"


def nesting(tree: Any) -> int:
    """How deep lists and objects lie in each other."""
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [
            item
            for parent in level
            if isinstance(parent, (list, dict))
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, (list, dict))
        ]
    return depth


class Budget:
    """What the reading of one file has spent of the limits that count over all of it."""

    def __init__(self) -> None:
        self._spent: Counter[Limit] = Counter()
        self._value: dict[Limit, int] = {}
        """As the environment had them: some are spent from a million times."""

    def spend(self, limit: Limit, amount: int, free: int = 0) -> None:
        spent = self._spent[limit] = self._spent[limit] + amount
        if limit not in self._value:
            self._value[limit] = limit.value
        if spent > self._value[limit]:
            limit.check(spent, free)

    def domain(self, size: int, variables: int = 1) -> None:
        """Variables of one domain are about to be made."""
        DOMAIN.check(size)
        self.spend(VALUES, size * variables)
