"""The same tasks written in CPMpy, whose rewriting must leave them as solvable."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import structured_models as models

from anycsp import clock, native

cp = pytest.importorskip("cpmpy")
from cpmpy.transformations.normalize import toplevel_list  # noqa: E402

import anycsp.integrations.cpmpy  # noqa: E402, F401  (registers the solver)

pytestmark = pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")


def solved(model: Any) -> bool:
    return bool(model.solve(solver="anycsp", time_limit=10, search="local", threads=1, seed=0))


@pytest.mark.parametrize("name", models.SUDOKUS)
def test_sudoku(name: str) -> None:
    clues = [0 if clue == "." else int(clue) for clue in models.SUDOKUS[name]]
    cells = cp.intvar(1, 9, shape=81)
    model = cp.Model([cp.AllDifferent(cells[unit]) for unit in models.sudoku_units()])
    model += [cells[k] == clue for k, clue in enumerate(clues) if clue]
    assert solved(model)
    assert all(len({cells[k].value() for k in unit}) == 9 for unit in models.sudoku_units())


def test_queens() -> None:
    columns = cp.intvar(0, 199, shape=200)
    rows = np.arange(200)
    model = cp.Model(cp.AllDifferent(columns), cp.AllDifferent(columns + rows), cp.AllDifferent(columns - rows))
    assert solved(model)
    for slope in (-1, 0, 1):
        assert len(set((columns.value() + slope * rows).tolist())) == 200


def test_magic_square() -> None:
    cells = cp.intvar(1, 25, shape=(5, 5))
    model = cp.Model(cp.AllDifferent(cells.flatten()))
    model += [cp.sum(line) == 65 for line in [*cells, *cells.T, cells.diagonal(), cells[:, ::-1].diagonal()]]
    assert solved(model)
    assert set(cells.value().sum(axis=0)) | set(cells.value().sum(axis=1)) == {65}


def test_all_interval_series() -> None:
    notes = cp.intvar(0, 13, shape=14)
    model = cp.Model(cp.AllDifferent(notes), cp.AllDifferent([abs(b - a) for a, b in pairwise(notes)]))
    assert solved(model)
    assert len({abs(b - a) for a, b in pairwise(notes.value().tolist())}) == 13


def test_quasigroup_with_holes() -> None:
    rng = random.Random(0)
    square = np.array(models.latin_square(20, rng))
    kept = np.array([rng.random() >= 0.42 for _ in range(400)]).reshape(20, 20)
    cells = cp.intvar(0, 19, shape=(20, 20))
    model = cp.Model([cp.AllDifferent(line) for line in [*cells, *cells.T]], cells[kept] == square[kept])
    assert solved(model)
    assert all(len(set(line)) == 20 for line in [*cells.value().tolist(), *cells.value().T.tolist()])


def test_nonogram() -> None:
    """Every line a word of the automaton 0* 1…1 0+ 1…1 0* of its clue."""
    picture = np.array(models.random_picture(25, 0.5, seed=0))
    cells = cp.intvar(0, 1, shape=(25, 25))
    model = cp.Model()
    for line, drawn in zip([*cells, *cells.T], [*picture, *picture.T], strict=True):
        runs = models.clue(drawn.tolist())
        arcs, state = [(0, 0, 0)], 0
        for k, length in enumerate(runs):
            arcs += [(state + i, 1, state + i + 1) for i in range(length)]
            state += length
            if k < len(runs) - 1:
                arcs.append((state, 0, state + 1))
                state += 1
            arcs.append((state, 0, state))
        model += cp.Regular(line, arcs, 0, [state])
    assert solved(model)
    found = cells.value().astype(int)
    for line, drawn in zip([*found, *found.T], [*picture, *picture.T], strict=True):
        assert models.clue(line.tolist()) == models.clue(drawn.tolist())


def test_bin_packing() -> None:
    sizes = np.array(models.Items(30, seed=0, smallest=20, largest=100).sizes)
    where = cp.intvar(0, 12, shape=30)
    model = cp.Model([cp.sum((where == b) * sizes) <= 150 for b in range(13)])
    assert solved(model)
    assert max(sizes[where.value() == b].sum() for b in range(13)) <= 150


def job_shop(jobs: models.Jobs, makespan_variable: bool) -> tuple[Any, Any]:
    """The model, and when each job ends."""
    horizon = sum(duration for job in jobs for _, duration in job)
    start = cp.intvar(0, horizon, shape=(len(jobs), len(jobs[0])))
    durations = np.array([[duration for _, duration in job] for job in jobs])
    machines = np.array([[machine for machine, _ in job] for job in jobs])
    model = cp.Model(start[:, :-1] + durations[:, :-1] <= start[:, 1:])
    for machine in range(len(jobs[0])):
        on = machines == machine
        model += cp.NoOverlap(start[on], durations[on], start[on] + durations[on])
    ends = start[:, -1] + durations[:, -1]
    if makespan_variable:
        makespan = cp.intvar(0, horizon)
        model += ends <= makespan
        model.minimize(makespan)
    else:
        model.minimize(cp.max(ends))
    return model, ends


@pytest.mark.parametrize("makespan_variable", [False, True])
def test_job_shop(makespan_variable: bool) -> None:
    model, ends = job_shop(models.FT06, makespan_variable)
    assert solved(model)
    assert model.objective_value() == 55
    assert all(constraint.value() for constraint in toplevel_list(model.constraints))
    assert max(end.value() for end in ends) == 55


@pytest.mark.slow
@pytest.mark.parametrize("makespan_variable", [False, True])
def test_job_shop_of_ten_jobs_on_ten_machines(makespan_variable: bool) -> None:
    model, ends = job_shop(models.FT10, makespan_variable)
    assert solved(model)
    assert all(constraint.value() for constraint in toplevel_list(model.constraints))
    assert max(end.value() for end in ends) <= 1.05 * 930


@pytest.mark.parametrize(("cities", "longest"), [(20, 299), pytest.param(50, 1.05 * 529, marks=pytest.mark.slow)])
def test_travelling_salesman(cities: int, longest: float) -> None:
    distance = models.distances(cities, 0)
    after = cp.intvar(0, cities - 1, shape=cities)
    model = cp.Model(cp.Circuit(after))
    model.minimize(cp.sum(cp.Element(distance[i], after[i]) for i in range(cities)))
    assert solved(model)
    city, length, visited = 0, 0, set()
    while city not in visited:
        visited.add(city)
        length += distance[city][after[city].value()]
        city = after[city].value()
    assert len(visited) == cities
    assert length <= longest


QUBO_PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "minimum": lambda x, y: cp.min([x, y]),
    "neither is 0": lambda x, y: ~(~x | ~y),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", QUBO_PRODUCTS)
def test_qubo_however_it_is_written(form: str) -> None:
    """CPMpy itself takes seconds to hand over 45,000 products, which are not counted."""
    coefficients = models.quadratic(300, 0)
    x = cp.boolvar(shape=300)
    model = cp.Model()
    model.minimize(
        cp.sum([q * (x[i] if i == j else QUBO_PRODUCTS[form](x[i], x[j])) for (i, j), q in coefficients.items()])
    )
    solver = cp.SolverLookup.get("anycsp", model)
    with clock.cpu_time():
        assert solver.solve(time_limit=1, search="local", threads=1, seed=0)
    assert models.qubo_value(coefficients, x.value().tolist()) <= 0.999 * -9727


@pytest.mark.slow
def test_knapsack_of_40_items() -> None:
    items = models.Items(40, 0)
    taken = cp.boolvar(shape=40)
    model = cp.Model(cp.sum(taken * np.array(items.sizes)) <= sum(items.sizes) // 2)
    model.maximize(cp.sum(taken * np.array(items.worth)))
    assert solved(model)
    assert model.objective_value() == 688


def test_nurse_roster() -> None:
    ward = models.Ward(0)
    roster = cp.intvar(0, 3, shape=(ward.nurses, ward.days))
    model = cp.Model([cp.Count(day, shift) == count for day in roster.T for shift, count in ward.need.items()])
    worn_out = [(models.LATE, models.EARLY), (models.NIGHT, models.EARLY), (models.NIGHT, models.LATE)]
    for row in roster:
        model += [~((a == late) & (b == early)) for a, b in pairwise(row) for late, early in worn_out]
        model += [cp.Count(row[first : first + 6], models.OFF) >= 1 for first in range(ward.days - 5)]
        model += [cp.sum(row != models.OFF) >= 8, cp.sum(row != models.OFF) <= 11]
    model.minimize(cp.sum((roster[n, d] != shift) * much for n, d, shift, much in ward.wishes))
    assert solved(model)
    assert model.objective_value() == 11


@pytest.mark.parametrize("seed", range(8))
def test_planted_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, planted = cp.intvar(1, 9, shape=60), rng.integers(1, 10, 60)
    model = cp.Model()
    for _ in range(45):
        a, b, c = rng.choice(60, 3, replace=False)
        model += x[a] * x[b] * x[c] == int(planted[a] * planted[b] * planted[c])
    assert solved(model)
