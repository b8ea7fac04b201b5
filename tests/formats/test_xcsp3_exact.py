"""Exact search on XCSP3 files: never another answer than ACE's, where both have one within their time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anycsp import read, solve

pytest.importorskip("ortools")
pytest.importorskip("pycsp3", reason="needs the extra anycsp[xcsp3]")

RECORDS = Path(__file__).resolve().parents[2] / "research" / "records" / "structured" / "structured.jsonl"
SECONDS = 1.0
LARGEST = 50_000
"""Bytes of a file: most of the set, and read in a moment."""


def answers_of_ace() -> list[dict[str, Any]]:
    """What ACE answered in ten seconds to the files of `benchmarks/structured.py`: solutions that SolutionChecker
    confirmed, and proofs."""
    records = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    said = [r for r in records if r["system"] == "ace" and r["bytes"] <= LARGEST]
    return [r for r in said if r["claim"] == "unsatisfiable" or r.get("verdict") == "valid"]


def contradiction(ace: dict[str, Any], file: Path) -> str | None:
    result = solve(read(file), search="exact", threads=1, time_limit=SECONDS)
    if (result.status == "unsatisfiable") > (ace["claim"] == "unsatisfiable"):
        return "ACE has a solution"
    if (result.violated == 0) and ace["claim"] == "unsatisfiable":
        return "ACE proves that there is none"
    if ace["kind"] == "csp" or result.violated or ace.get("cost") is None:
        return None
    assert result.objective is not None
    ours, theirs = result.objective["value"] * ace["sense"], ace["cost"] * ace["sense"]
    if result.status == "optimal" and ours > theirs:
        return f"{ours} is not optimal, ACE has {theirs}"
    if ace["claim"] == "optimum" and ours < theirs:
        return f"{ours} is better than ACE's optimum {theirs}"
    return None


@pytest.mark.slow
def test_it_never_contradicts_ace(data: Path) -> None:
    answers = answers_of_ace()
    assert len(answers) > 100
    found = {ace["instance"]: contradiction(ace, data / "xcsp3" / ace["instance"]) for ace in answers}
    assert {name: why for name, why in found.items() if why} == {}
