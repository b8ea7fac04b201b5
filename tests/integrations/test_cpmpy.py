"""The CPMpy back end: known models are solved, and every kind of constraint means what CPMpy says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

cp = pytest.importorskip("cpmpy", reason="needs the extra anycsp[cpmpy]")

from cpmpy.expressions.utils import argval  # noqa: E402
from cpmpy.solvers.solver_interface import ExitStatus  # noqa: E402

import anycsp.search  # noqa: E402
from anycsp import native  # noqa: E402
from anycsp.integrations.cpmpy import CPM_anycsp  # noqa: E402

needs_native = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


@pytest.fixture(autouse=True)
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    real = anycsp.search.solve
    monkeypatch.setattr(
        anycsp.search, "solve", lambda problem, **o: real(problem, **{"search": "local", "threads": 1, **o})
    )


# ── the examples ─────────────────────────────────────────────────────────────────────────────────────


def solved(model: object, seconds: float = 20.0) -> bool:
    """Solved by name, with every constraint true by CPMpy's own evaluation."""
    found = model.solve(solver="anycsp", time_limit=seconds)  # type: ignore[attr-defined]
    assert model.status().exitstatus == (ExitStatus.FEASIBLE if found else ExitStatus.UNKNOWN)  # type: ignore[attr-defined]
    return found and all(bool(c.value()) for c in cp.transformations.normalize.toplevel_list(model.constraints))  # type: ignore[attr-defined]


@needs_native
def test_n_queens() -> None:
    queens = cp.intvar(1, 12, shape=12)
    shift = np.arange(12)
    assert solved(cp.Model(cp.AllDifferent(queens), cp.AllDifferent(queens - shift), cp.AllDifferent(queens + shift)))


@needs_native
def test_send_more_money() -> None:
    s, e, n, d, m, o, r, y = letters = cp.intvar(0, 9, shape=8)
    total = sum([s, e, n, d] * np.array([1000, 100, 10, 1])) + sum([m, o, r, e] * np.array([1000, 100, 10, 1]))
    model = cp.Model(
        cp.AllDifferent(letters), total == sum([m, o, n, e, y] * np.array([10000, 1000, 100, 10, 1])), s > 0, m > 0
    )
    assert solved(model)
    assert letters.value().tolist() == [9, 5, 6, 7, 1, 0, 8, 2]


@needs_native
def test_graph_colouring() -> None:
    rng = np.random.default_rng(0)
    planted = rng.integers(0, 4, 40)
    edges = [(u, v) for u, v in itertools.combinations(range(40), 2) if planted[u] != planted[v] and rng.random() < 0.2]
    colors = cp.intvar(1, 4, shape=40)
    assert solved(cp.Model([colors[u] != colors[v] for u, v in edges]))


@needs_native
def test_sudoku() -> None:
    given = [
        "53..7....", "6..195...", ".98....6.", "8...6...3", "4..8.3..1", "7...2...6", ".6....28.", "...419..5",
        "....8..79",
    ]  # fmt: skip
    grid = cp.intvar(1, 9, shape=(9, 9))
    model = cp.Model([grid[r, c] == int(given[r][c]) for r in range(9) for c in range(9) if given[r][c] != "."])
    model += [cp.AllDifferent(row) for row in grid] + [cp.AllDifferent(column) for column in grid.T]
    model += [cp.AllDifferent(grid[r : r + 3, c : c + 3]) for r in (0, 3, 6) for c in (0, 3, 6)]
    assert solved(model)


@needs_native
def test_bus_scheduling() -> None:
    demands = [8, 10, 7, 12, 4, 4]
    buses = cp.intvar(0, max(demands), shape=6)
    model = cp.Model([buses[i] + buses[i - 1] >= demands[i] for i in range(6)], minimize=sum(buses))
    assert solved(model, seconds=2.0)
    assert model.objective_value() == 26


@needs_native
def test_hints_and_status() -> None:
    x = cp.intvar(0, 9, shape=3)
    solver = CPM_anycsp(cp.Model(sum(x) == 27))
    solver.solution_hint(x, [9, 9, 9])
    assert solver.solve(time_limit=1)
    assert x.value().tolist() == [9, 9, 9]
    impossible = CPM_anycsp(cp.Model(sum(x) == 28))
    assert not impossible.solve(time_limit=0.2)
    assert impossible.status().exitstatus == ExitStatus.UNSATISFIABLE, "propagation has proved it"
    assert x[0].value() is None


# ── what constraints mean ────────────────────────────────────────────────────────────────────────────

x = cp.intvar(0, 3, shape=4, name="x")
b = cp.boolvar(shape=2, name="b")
CONSTRAINTS = [
    x[0] * x[1] == x[2],
    x[0] // (x[1] + 1) == x[2] % 2,
    (x[0] - 3) // 2 == x[1] - 2,
    cp.Division(x[0] - 3, x[1] - 1) == -1,
    cp.Modulo(x[0] - 3, x[1] - 4) == -1,
    cp.abs(x[0] - x[1]) > x[2],
    cp.max(x) - cp.min(x) == 2,
    x[0] ** 2 == x[1] + x[2],
    2 * x[0] + 3 * x[1] - x[2] <= 4,
    ~((x[0] == 1) & (x[1] == 2)),
    b[0].implies(x[0] > x[1]),
    (x[0] < x[1]) == b[1],
    cp.any([x[0] == 3, b[0] & ~b[1]]),
    cp.Xor([b[0], b[1], x[0] == 1]),
    cp.AllDifferent(x),
    ~cp.AllDifferent(x[:3]),
    b[0].implies(cp.AllDifferent(x[:3])),
    cp.AllDifferentExcept0(x),
    cp.AllEqual(x[:3]),
    cp.cpm_array(x[:3])[x[3]] == 2,
    cp.cpm_array([3, 0, 2, 1])[x[0]] == x[1],
    cp.Count(x, 2) >= 2,
    cp.Among(x, [1, 2]) == x[0],
    cp.NValue(x) == 2,
    cp.Table([x[0], x[1]], [[0, 1], [2, 2], [9, 9]]),
    cp.NegativeTable([x[0], x[1]], [[0, 1], [2, 2]]),
    cp.ShortTable([x[0], x[1], x[2]], [[0, "*", 1], [2, 2, "*"]]),
    cp.Regular(x[:3], [("a", 0, "a"), ("a", 1, "b"), ("b", 2, "b")], "a", ["b"]),
    cp.Circuit(x),
    cp.Inverse(x[:2], x[2:]),
    cp.GlobalCardinalityCount(x, [0, 1], [x[0], 1]),
    cp.Increasing(x),
    cp.DecreasingStrict(x[:3]),
    cp.LexLess(x[:2], x[2:]),
    cp.LexLessEq(x[:2], x[2:]),
    cp.Precedence(x, [0, 1, 2]),
    cp.Cumulative(x[:3], [2, 1, 2], demand=[1, 2, 1], capacity=2),
    cp.NoOverlap(x[:3], [1, 2, 1]),
    cp.InDomain(x[0], [0, 2]),
    cp.IfThenElse(x[0] > 1, x[1] == 0, x[2] == 0),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_a_constraint_holds_where_cpmpy_says(constraint: object) -> None:
    solver = CPM_anycsp(cp.Model(constraint))
    variables = [*x, *b]
    solver.solver_vars(variables)
    rng = np.random.default_rng(0)
    everything = list(itertools.product(*[range(4)] * 4, *[range(2)] * 2))
    for k in rng.choice(len(everything), 60, replace=False):
        values = dict(zip((v.name for v in variables), everything[k], strict=True))
        for v in variables:
            v._value = bool(values[v.name]) if v.is_bool() else values[v.name]
        ours = [n for n in solver.problem.names if solver.problem.index(n) not in solver.problem.definitions]
        if any(n not in values for n in ours):
            pytest.skip("CPMpy decomposed it with variables of its own")
        held = solver.problem.violation({n: values[n] for n in ours}).violated == 0
        assert held == bool(argval(constraint)), values
