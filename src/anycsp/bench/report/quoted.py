"""Numbers that others printed: the paper's summary tables and tables of single graphs, and those of RandCSPBench."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from importlib.resources import files
from statistics import mean
from typing import Any

PAPER = files("anycsp.bench") / "paper"

NETWORK = "ANYCSP"
"""What the paper calls its method."""
THE_PAPER = "the paper"
"""Whose numbers those of a table are that names no other source."""

INSTANCE_COLUMNS = {
    "gset": {
        "greedy": "Greedy",
        "sdp": "SDP",
        "run_csp": "RUN-CSP",
        "eco_dqn": "ECO-DQN",
        "ecord": "ECORD",
        "anycsp": NETWORK,
    },
    "coloring": {
        "anycsp_seconds": NETWORK,
        "run_csp_seconds": "RUN-CSP",
        "picat_seconds": "Picat",
        "cosoco_seconds": "CoSoCo",
        "hybrid_ea_colors": "HybridEA",
        "dsatur_colors": "DSATUR",
        "greedy_colors": "Greedy",
    },
}
"""By experiment: the columns of its instance table, and whose they are."""


def paper_table(experiment: str) -> dict[str, Any] | None:
    """A printed summary: `source`, `unit`, `columns`, `rows` by system, and where they are counts, `of` how many."""
    tables: dict[str, dict[str, Any]] = json.loads((PAPER / "tables.json").read_text(encoding="utf-8"))
    return {"source": THE_PAPER, **tables[experiment]} if experiment in tables else None


def paper_instances(experiment: str) -> dict[str, dict[str, str]]:
    """The paper's instance table, by graph; empty where it prints none."""
    if experiment not in INSTANCE_COLUMNS:
        return {}
    return {row["graph"]: row for row in csv.DictReader((PAPER / f"{experiment}.csv").read_text().splitlines())}


def quoted_on(experiment: str, graphs: Iterable[str]) -> dict[str, float]:
    """Our measure of the paper's systems on some graphs: colourings found, or the mean deviation. A system is left out
    where the paper does not print it for all of them."""
    table = paper_instances(experiment)
    rows = [table.get(graph, {}) for graph in graphs]
    scores: dict[str, float] = {}
    for column, system in INSTANCE_COLUMNS.get(experiment, {}).items():
        if not rows or not all(_has_column(row, column) for row in rows):
            continue
        if column.endswith("_seconds"):  # empty: not solved
            scores[system] = sum(bool(row[column]) for row in rows)
        elif column.endswith("_colors"):
            scores[system] = sum(row[column] == row["chi"] for row in rows)
        elif all(row[column] for row in rows):
            scores[system] = mean(float(row[column]) for row in rows)
    return scores


def cell(column: str, row: dict[str, str]) -> str:
    """A number of an instance table as ours shows it; `row` is empty for a graph that the paper does not have."""
    if not _has_column(row, column):
        return ""
    value = row[column]
    if column.endswith("_seconds"):
        return f"{value} s" if value else "–"
    return f"{value} col" if column.endswith("_colors") else value or "–"


def _has_column(row: dict[str, str], column: str) -> bool:
    """Its table of many colours has none for RUN-CSP."""
    return bool(row) and not (column == "run_csp_seconds" and row["split"] == ">=10")
