"""networkx graphs mean what they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest


def test_networkx_coloring_and_maxcut() -> None:
    nx = pytest.importorskip("networkx")
    from anycsp.integrations.networkx import coloring, maxcut

    graph = nx.cycle_graph(5)
    graph.add_edge(0, 0)
    problem = coloring(graph, 3)
    for values in itertools.product(range(1, 4), repeat=5):
        clashes = sum(values[u] == values[v] for u, v in graph.edges if u != v)
        assert problem.violation(values).violated == clashes

    weighted = nx.Graph()
    weighted.add_weighted_edges_from([("a", "b", 2.5), ("b", "c", -1.0), ("a", "c", 1.0)])
    cut = maxcut(weighted)
    assert cut.objective is not None
    for values in itertools.product((0, 1), repeat=3):
        sides = dict(zip(weighted.nodes, values, strict=True))
        expected = sum(w for u, v, w in weighted.edges(data="weight") if sides[u] != sides[v])
        violation = cut.violation({str(n): s for n, s in sides.items()})
        assert cut.objective.value(violation.weight, np.array(values)) == expected
