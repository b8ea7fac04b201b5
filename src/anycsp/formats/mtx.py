"""MatrixMarket coordinate matrices as MaxCut graphs: entry (i, j) is the weight of the edge between i and j.

Stored symmetric, or general with equal entries on both sides of the diagonal. Entries listed twice add up.
"""

from __future__ import annotations

import numpy as np

from anycsp.errors import ConversionError
from anycsp.formats.files import Source, shown
from anycsp.formats.graphs import graph_of, maxcut
from anycsp.formats.rudy import plain_number, vertex, weight
from anycsp.model.problem import Problem
from anycsp.model.score import as_written, written
from anycsp.model.structure import WeightedGraph

_BANNER = "%%MatrixMarket"


def sniff(head: bytes) -> bool:
    return head.lstrip().lower().startswith(_BANNER.lower().encode())


def read(source: Source) -> Problem:
    lines = source.lines()
    number, banner = next(lines, (1, ""))
    words = banner.lower().split()
    if len(words) != 5 or words[0] != _BANNER.lower() or words[1] != "matrix":
        raise source.error(f"not a banner of the form '{_BANNER} matrix coordinate ...': {shown(banner)}", number)
    if words[2] != "coordinate" or words[3] not in ("real", "integer", "pattern"):
        raise source.error(f"a {words[2]} {words[3]} matrix: only coordinate real, integer or pattern ones", number)
    if words[4] not in ("symmetric", "general"):
        raise source.error(f"a {words[4]} matrix: only symmetric or general ones", number)
    width = 2 if words[3] == "pattern" else 3
    content = ((number, line.split()) for number, line in lines if not line.startswith("%"))
    number, sizes = next(content, (number, []))
    if len(sizes) != 3:
        raise source.error("no line of the form 'ROWS COLUMNS ENTRIES'", number)
    rows, columns, claimed = (source.integer(word, "a size", number) for word in sizes)
    if rows != columns:
        raise source.error(f"a {rows} by {columns} matrix: a graph needs a square one", number)
    source.check_claim(rows, "rows", number)
    source.check_claim(claimed, "entries", number)
    entry: dict[tuple[int, int], float] = {}
    count = 0
    for number, tokens in content:
        if len(tokens) != width:
            raise source.error(f"{len(tokens)} numbers for an entry of {width}", number)
        i, j = vertex(source, tokens[0], rows, number), vertex(source, tokens[1], rows, number)
        key = (i, j) if words[4] == "general" else (max(i, j), min(i, j))
        w = weight(source, tokens[2], number) if width == 3 else 1.0
        entry[key] = (
            w if key not in entry else written(as_written(entry[key]) + as_written(w), f"entries {i + 1} {j + 1}")
        )
        count += 1
    comments = [f"the header claims {claimed} entries, the file has {count}"] if claimed != count else []
    kept = _lower_triangle(source, entry) if words[4] == "general" else entry
    edges = np.array(list(kept), dtype=np.int64).reshape(-1, 2)
    return maxcut(WeightedGraph(rows, edges, np.array(list(kept.values()), dtype=np.float64)), comments)


def _lower_triangle(source: Source, entry: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """One entry an edge, in file order. A general matrix is a graph only if it is symmetric."""
    for (i, j), w in entry.items():
        if entry.get((j, i), 0.0) != w:
            raise source.error(f"entries ({i + 1}, {j + 1}) and ({j + 1}, {i + 1}) differ: not an undirected graph")
    return {(i, j): w for (i, j), w in entry.items() if i >= j}


def write(problem: Problem) -> str:
    graph = graph_of(problem, "MatrixMarket")
    if len({(max(u, v), min(u, v)) for u, v in graph.edges.tolist()}) < len(graph.edges):
        raise ConversionError("MatrixMarket adds up entries listed twice, so it has no parallel edges")
    rows = [
        f"{max(u, v) + 1} {min(u, v) + 1} {plain_number(w)}"
        for (u, v), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    ]
    kind = "integer" if all(w.is_integer() for w in graph.weights.tolist()) else "real"
    header = [f"{_BANNER} matrix coordinate {kind} symmetric", f"{graph.vertices} {graph.vertices} {len(rows)}"]
    return "\n".join([*header, *rows]) + "\n"
