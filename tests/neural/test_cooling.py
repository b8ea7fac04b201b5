"""Cooling: temperatures fall from hot to cold, the last cycle ends with the search, native and PyTorch draw alike."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from anycsp import AnyCSPError, Problem, native, solve
from anycsp.deadline import Deadline
from anycsp.graph import compile_graph
from anycsp.neural.cooling import FIRST_CYCLE, GROWTH, LONGEST_CYCLES, CoolingEngine
from anycsp.neural.engine_torch import TorchEngine
from anycsp.neural.guidance import Guidance
from anycsp.neural.models import Model, load_model, save_model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.temperature import Temperature, as_range, as_temperature, at_domains
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig


def policy() -> PolicyNetwork:
    torch.manual_seed(7)
    return PolicyNetwork(PolicyConfig(8, "max", "gain", True))


def unsatisfiable() -> Problem:
    """K7 with three colours."""
    problem = Problem()
    problem.add_variables(7, range(3))
    problem.add_not_equal(np.array([[i, j] for i in range(7) for j in range(i)]))
    return problem


class Recorder(TorchEngine):
    """Notes the temperatures of every step instead of taking it."""

    def __init__(self, runs: int = 2) -> None:
        super().__init__(TensorGraph(compile_graph(unsatisfiable())), policy(), runs)
        self.noted: list[np.ndarray[Any, Any]] = []
        self.restarts: list[tuple[int, list[int]]] = []
        self._now = np.full(runs, math.nan)

    def set_temperature(self, temperature: np.ndarray[Any, Any]) -> None:
        assert len(temperature) == len(self.runs)
        self._now = temperature

    def restart(self, runs: Sequence[int]) -> None:
        self.restarts.append((self.steps, list(runs)))

    def advance(self, max_steps: int, seconds: float) -> int:
        self.noted += [self._now] * max_steps
        self.steps += max_steps
        return max_steps


@pytest.mark.parametrize("run", [0, 1])
@pytest.mark.parametrize("last", [1, 50, 199, 600, 601, 5000, 30_000])
def test_every_cycle_cools_and_the_last_ends_with_the_search(last: int, run: int) -> None:
    recorder = Recorder()
    search = CoolingEngine(recorder, 2, 2.0, 0.2, steps=last)
    search.start()
    while search.steps < last:
        assert 0 < search.advance(min(37, last - search.steps)) <= 37
    noted = np.array(recorder.noted)[:, run]
    assert len(noted) == last
    assert noted[0] == 2.0
    starts = np.flatnonzero(np.r_[True, noted[1:] > noted[:-1]])
    assert (noted[starts] == 2.0).all()
    assert (noted <= 2.0).all()
    assert (noted >= 0.2).all()
    if last >= 50:
        assert noted[-1] < 0.2 * 10 ** (10 / min(last, FIRST_CYCLE))  # cold at the very end
    lengths = np.diff(np.r_[starts, last])
    assert (lengths[1:] >= lengths[:-1]).all()
    assert list(lengths[:-1]) == [min(FIRST_CYCLE * GROWTH**i, LONGEST_CYCLES[run]) for i in range(len(lengths) - 1)]
    if last == 30_000:
        assert len(lengths) == (11, 7)[run]


def test_cycles_that_stopped_growing_are_new_tries() -> None:
    recorder = Recorder(runs=5)
    search = CoolingEngine(recorder, 5, 2.0, 0.2, steps=30_000)
    search.start()
    while search.steps < 30_000:
        search.advance(1000)
    noted = np.array(recorder.noted)[:, 0]
    starts = np.flatnonzero(np.r_[True, noted[1:] > noted[:-1]])
    assert recorder.restarts == [(step, [0, 2, 4]) for step in starts[5:]]  # after 200, 400, 800, 1600 and 3200


def test_a_single_runs_cycles_go_on_growing() -> None:
    recorder = Recorder(runs=1)
    search = CoolingEngine(recorder, 1, 2.0, 0.2, steps=30_000)
    search.start()
    while search.steps < 30_000:
        search.advance(30_000 - search.steps)
    assert int((np.diff(np.array(recorder.noted)[:, 0]) > 0).sum()) == 6
    assert recorder.restarts == []


def test_with_a_time_limit_the_last_cycle_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr("time.perf_counter", lambda: 0.01 * recorder.steps)  # a hundred steps a second
    search = CoolingEngine(recorder, 2, 2.0, 0.2, steps=None, deadline=Deadline.after(20.0))
    search.start()
    while search.steps < 2000:
        search.advance(64)
    noted = np.array(recorder.noted[:2000])[:, 0]
    assert noted[-1] < 0.21
    assert int((np.diff(noted) > 0).sum()) == 2  # 200, 400 and the 1400 steps that are left


@pytest.mark.skipif(not native.available(), reason="no native module")
def test_native_and_torch_cool_alike() -> None:
    from anycsp.neural.engine_native import NativeEngine

    graph, network = TensorGraph(compile_graph(unsatisfiable())), policy()
    slow = CoolingEngine(TorchEngine(graph, network, 3, 5), 3, 3.0, 0.1, steps=40)
    fast = CoolingEngine(NativeEngine(graph.topology, network.weights(), 3, 5), 3, 3.0, 0.1, steps=40)
    for engine in (slow, fast):
        engine.start()
        engine.advance(40)
    assert (slow.positions == fast.positions).all()
    assert [i[:1] + i[2:] for i in slow.improvements()] == [i[:1] + i[2:] for i in fast.improvements()]


@pytest.mark.skipif(not native.available(), reason="no native module")
def test_native_and_torch_restart_alike_and_forget_all() -> None:
    from anycsp.neural.engine_native import NativeEngine

    graph, network, guidance = TensorGraph(compile_graph(unsatisfiable())), policy(), Guidance((2.0,), 0.9)
    slow = TorchEngine(graph, network, 3, 5, 1.0, guidance)
    fast = NativeEngine(graph.topology, network.weights(), 3, 5, 1.0, 1, guidance)
    for engine in (slow, fast):
        engine.start()
        engine.advance(12, math.inf)
        before = engine.positions.copy()
        engine.restart([0, 2])
        assert (engine.positions[1] == before[1]).all()
        assert (engine.positions[[0, 2]] != before[[0, 2]]).any(axis=1).all()
    assert (slow.trace[[0, 2]] == 0).all()
    assert slow.trace[1].sum() > 0
    assert (slow.state[[0, 2]] == network.initial_state).all()
    assert (fast.state()[[0, 2]] == network.initial_state.detach().numpy()).all()
    for _ in range(8):
        assert (slow.positions == fast.positions).all()
        for engine in (slow, fast):
            engine.advance(1, math.inf)
    with pytest.raises(ValueError, match="no such run"):
        fast.restart([3])


@pytest.mark.skipif(not native.available(), reason="no native module")
def test_bad_temperatures_for_the_native_search_are_refused() -> None:
    from anycsp.neural.engine_native import NativeEngine

    search = NativeEngine(compile_graph(unsatisfiable()), policy().weights(), 3)
    for bad in ([1.0], [1.0, 0.0, 1.0], [1.0, math.nan, 1.0]):
        with pytest.raises(ValueError, match="temperature"):
            search.set_temperature(np.array(bad))


def test_a_models_range_is_stored_and_used(tmp_path: Any) -> None:
    save_model(Model("cooled", policy().weights(), (1.5, 0.25)), tmp_path / "cooled")
    model = load_model(tmp_path / "cooled.safetensors")
    assert model.temperature == (1.5, 0.25)
    options: dict[str, Any] = {"search": "neural", "steps": 60, "seed": 3, "runs": 2}
    stored = solve(unsatisfiable(), model=model, **options)
    given = solve(unsatisfiable(), model=Model("fixed", policy().weights()), temperature=(1.5, 0.25), **options)
    assert stored.assignment == given.assignment


@pytest.mark.parametrize(("text", "expected"), [("0.8", 0.8), ("1.5:0.3", (1.5, 0.3)), ([2, 1], (2.0, 1.0)), (1, 1.0)])
def test_temperatures_are_read(text: object, expected: object) -> None:
    assert as_temperature(text) == expected


@pytest.mark.parametrize("text", ["", "x", "0", "1:2:3", "-1:2", "inf", "nan", None, [], "1:"])
def test_other_temperatures_are_refused(text: object) -> None:
    with pytest.raises(AnyCSPError, match="temperature"):
        as_temperature(text)


@pytest.mark.parametrize("temperature", [1.2, (1.5, 0.25)])
def test_temperatures_tuned_at_one_size_of_domains_are_scaled_for_another(temperature: Temperature) -> None:
    """T·ln k stays the same; variables with one value have no disorder and do not count."""
    scaled = at_domains(temperature, 15, np.array([5, 1, 5, 5]))
    given, got = np.array(as_range(temperature)), np.array(as_range(scaled))
    assert type(scaled) is type(temperature)
    assert got * math.log(5) == pytest.approx(given * math.log(15))
    mixed = at_domains(temperature, 12, np.array([9, 16]))
    assert np.array(as_range(mixed)) == pytest.approx(given)  # √(9 · 16) = 12
    assert at_domains(temperature, 15, np.array([2, 3, 4])) == pytest.approx(scaled), "no hotter than at five values"
    assert at_domains(temperature, 15, np.array([1, 1])) == pytest.approx(temperature)


def test_a_models_domain_size_is_stored_and_used(tmp_path: Any) -> None:
    save_model(Model("tuned", policy().weights(), (1.5, 0.25), domain=25), tmp_path / "tuned")
    model = load_model(tmp_path / "tuned.safetensors")
    assert model.domain == 25
    scaled = model.temperature_for(unsatisfiable())
    assert scaled == pytest.approx((3.0, 0.5))  # three colours count as five; ln 25 = 2 ln 5
    options: dict[str, Any] = {"search": "neural", "steps": 60, "seed": 3, "runs": 2}
    stored = solve(unsatisfiable(), model=model, **options)
    given = solve(unsatisfiable(), model=Model("fixed", policy().weights()), temperature=scaled, **options)
    assert stored.assignment == given.assignment
    kept = solve(unsatisfiable(), model=model, temperature=(1.5, 0.25), **options)
    plain = solve(unsatisfiable(), model=Model("fixed", policy().weights()), temperature=(1.5, 0.25), **options)
    assert kept.assignment == plain.assignment, "a temperature that is asked for is not scaled"


@pytest.mark.parametrize("domain", [1, 0, -3, "x", [2]])
def test_a_model_tuned_at_impossible_domains_is_refused(tmp_path: Any, domain: object) -> None:
    save_model(Model("odd", policy().weights(), 1.0), tmp_path / "odd")
    description = json.loads((tmp_path / "odd.json").read_text())
    description["search"]["domain"] = domain
    (tmp_path / "odd.json").write_text(json.dumps(description))
    with pytest.raises(AnyCSPError, match="odd"):
        load_model(tmp_path / "odd.safetensors")
