"""rudy, the text format of the Gset graphs for MaxCut: `n m`, then a line `u v w` for each edge, vertices from 1.

A missing weight is 1; weights may have either sign and need not be integers. Vertex i is named `i`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np

from anycsp.formats.files import Source, shown
from anycsp.formats.graphs import graph_of, maxcut
from anycsp.model.problem import Problem
from anycsp.model.structure import WeightedGraph

PRECISE = 4
"""Numbers of so few characters are floats as they are written: no exponent is beyond them."""


def sniff(head: bytes) -> bool:
    return re.match(rb"\s*\d+[ \t]+\d+[ \t\r]*\n\s*\d+[ \t]+\d+([ \t]+[-+.\deE]+)?[ \t\r]*(\n|$)", head) is not None


def read(source: Source) -> Problem:
    lines = source.lines()
    number, header = next(lines, (1, ""))
    words = header.split()
    if len(words) != 2:
        raise source.error(f"not a header of the form 'VERTICES EDGES': {shown(header)}", number)
    vertices, claimed = (source.integer(word, "a count of the header", number) for word in words)
    source.check_claim(vertices, "vertices", number)
    source.check_claim(claimed, "edges", number)
    edges, weights = [], []
    for number, line in lines:
        words = line.split()
        if len(words) not in (2, 3):
            raise source.error(f"not an edge of the form 'u v weight': {shown(line)}", number)
        edges.append([vertex(source, word, vertices, number) for word in words[:2]])
        weights.append(weight(source, words[2], number) if len(words) == 3 else 1.0)
    comments = []
    if claimed != len(edges):
        comments.append(f"the header claims {claimed} edges, the file has {len(edges)}")
    return maxcut(WeightedGraph(vertices, np.array(edges, dtype=np.int64).reshape(-1, 2), np.array(weights)), comments)


def vertex(source: Source, token: str, vertices: int, line: int) -> int:
    """The 0-based index of a 1-based vertex."""
    number = source.integer(token, "a vertex", line)
    if not 1 <= number <= vertices:
        raise source.error(f"unknown vertex {number}: there are {vertices}", line)
    return number - 1


def weight(source: Source, token: str, line: int) -> float:
    try:
        result = float(token)
    except ValueError:
        raise source.error(f"a weight is not a number: {shown(token)}", line) from None
    if not math.isfinite(result):
        raise source.error(f"a weight is a finite number, not {result}", line)
    if len(token) > PRECISE and Decimal(token) != Decimal(repr(result)):
        raise source.error(f"a weight that a float would round: {shown(token)}", line)
    return result


def plain_number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def write(problem: Problem) -> str:
    graph = graph_of(problem, "rudy")
    rows = [
        f"{u + 1} {v + 1} {plain_number(w)}"
        for (u, v), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    ]
    return "\n".join([f"{graph.vertices} {len(rows)}", *rows]) + "\n"
