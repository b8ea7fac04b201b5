"""Exact search on CPMpy models: the status and the optimum of CPMpy's own OR-Tools back end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cpmpy", reason="needs the extra anycsp[cpmpy]")
pytest.importorskip("ortools")

import anycsp.integrations.cpmpy  # noqa: E402, F401

Draw = Callable[[Any, np.random.Generator], Any]

CONSTRAINTS: list[Draw] = [
    lambda x, rng: cp.AllDifferent(x[:4]),
    lambda x, rng: cp.AllDifferent([y + i for i, y in enumerate(x[:4])]),
    lambda x, rng: cp.sum(x) == int(rng.integers(5, 15)),
    lambda x, rng: cp.sum(int(c) * y for c, y in zip(rng.integers(-2, 3, len(x)), x, strict=True)) <= 3,
    lambda x, rng: (x[0] > x[1]).implies(x[2] == x[3]),
    lambda x, rng: cp.any([x[0] == 1, x[1] * x[2] > 4, x[3] != x[4]]),
    lambda x, rng: cp.Element([3, 1, 4, 1, 5], x[0]) >= x[1],
    lambda x, rng: cp.max(x[:3]) == x[4],
    lambda x, rng: cp.min(x[1:4]) < x[0],
    lambda x, rng: abs(x[0] - x[1]) >= 2,
    lambda x, rng: x[0] // 2 + x[1] % 3 == x[2],
    lambda x, rng: cp.Table(list(x[:2]), [[int(a), int(b)] for a, b in rng.integers(0, 5, (6, 2))]),
    lambda x, rng: cp.Count(list(x), 2) >= 2,
    lambda x, rng: cp.Cumulative(
        list(x[:3]), [2, 1, 2], [s + d for s, d in zip(x[:3], (2, 1, 2), strict=True)], [1, 2, 1], 2
    ),
    lambda x, rng: cp.NoOverlap(list(x[:3]), [2, 1, 2], [s + d for s, d in zip(x[:3], (2, 1, 2), strict=True)]),
    lambda x, rng: cp.Circuit(list(x)),
    lambda x, rng: cp.NValue(list(x)) == 3,
    lambda x, rng: cp.Xor([x[0] > 2, x[1] > 2, x[2] > 1]),
    lambda x, rng: x[0] ** 2 + x[1] > x[2] * x[3],
]


def model_of(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x = cp.intvar(0, 4, shape=5, name=f"x{seed}_")
    drawn = [CONSTRAINTS[i](x, rng) for i in rng.choice(len(CONSTRAINTS), rng.integers(2, 5), replace=False)]
    model = cp.Model(drawn)
    if rng.integers(2):
        (model.minimize if rng.integers(2) else model.maximize)(cp.sum([3, -2, 1, 1, -1] * x) + x[0] * x[1])
    return model


def agrees(seed: int) -> bool:
    model = model_of(seed)
    found = model.solve(solver="ortools", num_workers=1)
    status, value = model.status().exitstatus, model.objective_value() if found else None
    ours = model.solve(solver="anycsp", search="exact", threads=1, time_limit=60)
    holds = not ours or all(bool(c.value()) for c in model.constraints)
    said = ours, model.status().exitstatus, model.objective_value() if ours else None
    return (found, status, value) == said and holds


@pytest.mark.parametrize("seed", range(40))
def test_it_agrees_with_cpmpys_own_back_end(seed: int) -> None:
    assert agrees(seed)


@pytest.mark.slow
def test_it_agrees_with_cpmpys_own_back_end_on_many() -> None:
    assert [seed for seed in range(100, 400) if not agrees(seed)] == []
