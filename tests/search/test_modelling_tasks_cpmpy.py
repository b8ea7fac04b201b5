"""The same tasks written in CPMpy, whose rewriting must leave them as solvable."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import structured_models as models

from anycsp import native

cp = pytest.importorskip("cpmpy")
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


@pytest.mark.parametrize("makespan_variable", [False, True])
def test_job_shop(makespan_variable: bool) -> None:
    horizon = sum(duration for job in models.FT06 for _, duration in job)
    start = cp.intvar(0, horizon, shape=(6, 6))
    durations = np.array([[duration for _, duration in job] for job in models.FT06])
    machines = np.array([[machine for machine, _ in job] for job in models.FT06])
    model = cp.Model(start[:, :-1] + durations[:, :-1] <= start[:, 1:])
    for machine in range(6):
        on = machines == machine
        model += cp.NoOverlap(start[on], durations[on], start[on] + durations[on])
    ends = start[:, -1] + durations[:, -1]
    if makespan_variable:
        makespan = cp.intvar(0, horizon)
        model += ends <= makespan
        model.minimize(makespan)
    else:
        model.minimize(cp.max(ends))
    assert solved(model)
    assert model.objective_value() == 55
    assert (start.value() + durations).max() == 55


def test_travelling_salesman_of_20_cities() -> None:
    distance = models.distances(20, 0)
    after = cp.intvar(0, 19, shape=20)
    model = cp.Model(cp.Circuit(after))
    model.minimize(cp.sum(cp.Element(distance[i], after[i]) for i in range(20)))
    assert solved(model)
    assert sum(distance[i][j] for i, j in enumerate(after.value())) == 299


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
