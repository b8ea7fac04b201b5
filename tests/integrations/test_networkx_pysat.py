"""networkx graphs and PySAT formulas mean what they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from anycsp import ProblemError


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


def test_pysat_formulas() -> None:
    formula = pytest.importorskip("pysat.formula")
    from anycsp.integrations.pysat import from_formula

    cnf = formula.CNF(from_clauses=[[1, -2], [2, 3], [-1]])
    wcnf = formula.WCNF()
    wcnf.append([1, 2])
    wcnf.append([-1], weight=3)
    wcnf.append([-2, 3], weight=2)
    for values in itertools.product((0, 1), repeat=3):
        true = {i + 1 if v else -i - 1 for i, v in enumerate(values)}
        assert from_formula(cnf).violation(values).violated == sum(not true & set(c) for c in cnf.clauses)
        counted = from_formula(wcnf).violation(values)
        assert counted.hard == sum(not true & set(c) for c in wcnf.hard)
        soft = sum(w for c, w in zip(wcnf.soft, wcnf.wght, strict=True) if not true & set(c))
        assert counted.weight - counted.hard == soft
    with pytest.raises(ProblemError):
        from_formula(type("Broken", (), {"clauses": [[0]], "nv": 1})())
