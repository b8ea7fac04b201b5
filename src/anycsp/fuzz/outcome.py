"""What a trial may come to."""

from __future__ import annotations

import re

LONGEST_LINE = 300
"""Characters of an error: one line that fits a screen."""


class Wrong(Exception):
    """The program did what it must not; the message says what."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Wrong(message)


def expect_one_line(message: str) -> None:
    """What a user is told when something is refused."""
    expect("\n" not in message, f"an error of several lines: {message[:LONGEST_LINE]!r}")
    expect(len(message) <= LONGEST_LINE, f"an error of more than {LONGEST_LINE} characters: {message[:80]!r}…")
    expect("Traceback" not in message, "a traceback")


_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?[0-9][0-9.,e+-]*|\[[^\]]*\]|\{[^}]*\}")
_PATH = re.compile(r"\S*/\S+")


def template(message: str) -> str:
    """A message without names and numbers, so that the same thing said of two cases reads alike."""
    return _PARTICULAR.sub("#", _PATH.sub("FILE", message.replace("\n", " ")))[:160]
