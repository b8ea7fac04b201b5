"""A broken model nearer to the whole one: only one of its two files broken, and that one shorter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anycsp.fuzz.files.smaller import shorter
from anycsp.fuzz.models.draw import head_of
from anycsp.neural.models.store import SHIPPED


def smaller(case: Any) -> Iterator[Any]:
    if case["what"] == "config":
        for text in shorter(case["text"]):
            yield {**case, "text": text}
    if case["what"] != "model":
        return
    whole = {
        "description": (SHIPPED / f"{case['name']}.json").read_text(encoding="latin-1"),
        "head": head_of(case["name"]).decode("latin-1"),
        "length": 0,
        "rest": 1.0,
    }
    for key, value in whole.items():
        if case[key] != value:
            yield {**case, key: value}
    if case["description"] != whole["description"]:
        for text in shorter(case["description"]):
            yield {**case, "description": text}
