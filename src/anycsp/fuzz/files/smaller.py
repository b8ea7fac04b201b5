"""Smaller files: without lines, without tokens, without bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anycsp.fuzz.files.draw import SEARCH
from anycsp.fuzz.files.mutate import TOKEN

MOST_PARTS = 400
"""Parts of a file that are tried one by one; a longer one must first lose lines or tokens."""


def smaller(case: Any) -> Iterator[Any]:
    if case["options"]:
        yield {**case, "options": []}
    if case.get("search", SEARCH) != SEARCH:
        yield {**case, "search": SEARCH}
        for at in range(len(case["search"])):
            yield {**case, "search": case["search"][:at] + case["search"][at + 1 :]}
    for key in ("data", "answer"):
        if key in case:
            for text in shorter(case[key]):
                yield {**case, key: text}


def shorter(text: str) -> Iterator[str]:
    """Bytes as the characters of the same numbers, with ever smaller parts left out."""
    data = text.encode("latin-1")
    lines, tokens = data.splitlines(keepends=True), TOKEN.findall(data)
    for parts in (lines, tokens, [data[i : i + 1] for i in range(len(data))]):
        if len(parts) <= MOST_PARTS:
            for kept in _without(parts):
                yield b"".join(kept).decode("latin-1")


def _without(parts: list[bytes]) -> Iterator[list[bytes]]:
    """Without a half, a quarter, … and at last without one part."""
    size = len(parts) // 2
    while size:
        for start in range(0, len(parts), size):
            yield parts[:start] + parts[start + size :]
        size //= 2
