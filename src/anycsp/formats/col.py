"""DIMACS .col graphs as colouring problems: `p edge n m`, then a line `e u v` for each edge, vertices from 1.

An edge listed twice counts once, a self-loop is dropped; isolated vertices stay. Vertex i is named `i` and takes
a colour of 1 … K. The file does not say K: the caller does, or the largest clique found gives the bound to start from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from anycsp.errors import ConversionError
from anycsp.formats.budget import DOMAIN
from anycsp.formats.cnf import integers
from anycsp.formats.files import Source, shown
from anycsp.formats.graphs import soft_pairs
from anycsp.formats.rudy import vertex
from anycsp.model.builders import IntArray, coloring_problem
from anycsp.model.coloring import large_clique
from anycsp.model.problem import Problem

_PLAIN = re.compile(
    rb"(?:c(?:[ \t][^\n]*)?\n)*"
    rb"p (?:edge|edges|col) (?P<vertices>\d{1,9}) (?P<count>\d{1,9})\n"
    rb"(?P<edges>(?:e \d{1,9} \d{1,9}\n)*)"
)
_IGNORED = frozenset("cndvx")
"""Comments, and the node and display lines of the DIMACS format, which say nothing of edges."""


@dataclass(frozen=True)
class ColoringGraph:
    """Vertices 0 … vertices−1 and distinct edges [edges, 2] without loops, in the order of the file."""

    vertices: int
    edges: IntArray
    comments: tuple[str, ...]


def sniff(head: bytes) -> bool:
    return re.search(rb"^[ \t]*p[ \t]+(edge|edges|col)\b", head, re.MULTILINE) is not None


def read(source: Source, colors: int | None = None) -> Problem:
    return coloring(read_graph(source), colors)


def read_graph(source: Source) -> ColoringGraph:
    return _plain_graph(source) or _any_graph(source)


def _plain_graph(source: Source) -> ColoringGraph | None:
    """A file of comments, a header and edges `e u v` within its range, none of them twice or a loop, read at once:
    there may be a million. None where it is anything else."""
    plain = _PLAIN.fullmatch(source.data)
    if plain is None:
        return None
    ends = integers(plain["edges"].replace(b"e", b" "))
    vertices, claimed = int(plain["vertices"]), int(plain["count"])
    if ends is None or claimed * 2 != len(ends) or ends.min(initial=1) < 1 or ends.max(initial=1) > max(1, vertices):
        return None
    line = source.data.count(b"\n", 0, plain.start("vertices")) + 1
    source.check_claim(vertices, "vertices", line)
    source.check_claim(claimed, "edges", line)
    edges = ends.reshape(-1, 2) - 1
    low, high = edges.min(axis=1, initial=vertices), edges.max(axis=1, initial=-1)
    if (low == high).any() or len(np.unique(low * vertices + high)) < len(edges):
        return None
    return ColoringGraph(vertices, edges, ())


def _any_graph(source: Source) -> ColoringGraph:
    header: tuple[int, int] | None = None
    listed = loops = 0
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    for number, line in source.lines():
        if line.split()[0] == "e":
            if header is None:
                raise source.error("an edge before the header 'p edge VERTICES EDGES'", number)
            u, v = _edge(source, line, header[0], number)
            listed += 1
            if u == v:
                loops += 1
            else:
                edges.setdefault((min(u, v), max(u, v)), (u, v))
        elif line.split()[0] == "p":
            header = _header(source, line, header is None, number)
        elif line.split()[0] not in _IGNORED and not line.startswith("c"):
            raise source.error(f"unknown line {shown(line)}", number)
    if header is None:
        raise source.error("no header of the form 'p edge VERTICES EDGES'")
    vertices, claimed = header
    comments = []
    if loops:
        comments.append(f"dropped {loops} self-loops")
    if listed - loops > len(edges):
        comments.append(f"dropped {listed - loops - len(edges)} repeated edges")
    if claimed not in (listed, len(edges)):
        comments.append(f"the header claims {claimed} edges, the file lists {listed}, {len(edges)} of them distinct")
    return ColoringGraph(vertices, np.array(list(edges.values()), dtype=np.int64).reshape(-1, 2), tuple(comments))


def _header(source: Source, line: str, first: bool, number: int) -> tuple[int, int]:
    """The numbers of vertices and edges that it claims."""
    words = line.split()
    if not first or len(words) != 4 or words[1] not in ("edge", "edges", "col"):
        raise source.error(f"not a header of the form 'p edge VERTICES EDGES': {shown(line)}", number)
    vertices, claimed = (source.integer(word, "a count of the header", number) for word in words[2:])
    source.check_claim(vertices, "vertices", number)
    source.check_claim(claimed, "edges", number)
    return vertices, claimed


def _edge(source: Source, line: str, vertices: int, number: int) -> tuple[int, int]:
    words = line.split()
    if len(words) != 3:
        raise source.error(f"not an edge of the form 'e u v': {shown(line)}", number)
    return vertex(source, words[1], vertices, number), vertex(source, words[2], vertices, number)


def coloring(graph: ColoringGraph, colors: int | None = None) -> Problem:
    """The problem of colouring a graph with the given number of colours."""
    comments = list(graph.comments)
    if colors is None:
        colors = max(1, len(large_clique(graph.vertices, graph.edges.tolist())))
        comments.append(f"no number of colours given: taking {colors}, the size of the largest clique found")
    DOMAIN.check(colors)
    problem = coloring_problem(graph.vertices, graph.edges, colors)
    problem.comments = comments
    return problem


def write(problem: Problem) -> str:
    graph = soft_pairs(problem, "col")
    domains = {id(problem.domain(x)): problem.domain(x) for x in range(problem.num_variables)}
    if len(domains) > 1 or any(d.labels or d.values.tolist() != list(range(1, len(d) + 1)) for d in domains.values()):
        raise ConversionError("col colours every vertex with the same colours 1..K")
    if (graph.weights != 1).any():
        raise ConversionError("col has unweighted edges X ≠ Y only")
    if problem.objective is None or problem.objective.kind != "colors":
        raise ConversionError("col holds graph colouring only, this problem does not have colours as its objective")
    edges = graph.edges.tolist()
    if len({(min(e), max(e)) for e in edges}) < len(edges):
        raise ConversionError("col has every edge once")
    colors = [f"c colour it with --colors {len(domain)}" for domain in domains.values()]
    rows = [f"e {u + 1} {v + 1}" for u, v in edges]
    return "\n".join([*colors, f"p edge {problem.num_variables} {len(edges)}", *rows]) + "\n"
