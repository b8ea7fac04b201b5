"""dimod's own checks of a sampler, its exact solvers as judges, and its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

dimod = pytest.importorskip("dimod")
testing = pytest.importorskip("dimod.testing")

from anycsp import native, solve  # noqa: E402
from anycsp.errors import AnyCSPError  # noqa: E402
from anycsp.formats import read  # noqa: E402
from anycsp.integrations.dimod import AnyCSPSampler  # noqa: E402

pytestmark = pytest.mark.skipif(not native.available(), reason="the native module is not built")


def test_it_is_a_sampler_by_dimods_own_checks() -> None:
    sampler = AnyCSPSampler()
    testing.assert_sampler_api(sampler)
    for vartype in ("SPIN", "BINARY"):
        model = dimod.generators.gnm_random_bqm(8, 14, vartype, random_state=3)
        samples = sampler.sample(model, num_reads=3, time_limit=0.3)
        testing.assert_response_energies(samples, model)
        assert len(samples) == 3
        assert samples.vartype is model.vartype


@pytest.mark.parametrize("seed", range(6))
def test_it_finds_the_ground_state_of_small_models(seed: int) -> None:
    vartype = ("SPIN", "BINARY")[seed % 2]
    model = dimod.generators.gnm_random_bqm(10, 25, vartype, random_state=seed)
    model.relabel_variables({v: f"node {v}" for v in model.variables})
    best = dimod.ExactSolver().sample(model).first.energy
    assert AnyCSPSampler().sample(model, time_limit=0.5).first.energy == pytest.approx(best)


def test_biases_of_very_different_size_keep_their_order() -> None:
    model = dimod.BinaryQuadraticModel({"a": 1e-9, "b": -1e-9, "c": 0.1}, {("a", "c"): -1e6 / 3}, "BINARY")
    assert dict(AnyCSPSampler().sample(model, time_limit=0.3).first.sample) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize("unit", [1e308, 1e-300, 5e-324])
def test_biases_of_any_size_are_searched(unit: float) -> None:
    model = dimod.BinaryQuadraticModel({"a": unit, "b": -unit, "c": unit}, {("a", "c"): -unit}, "BINARY")
    assert AnyCSPSampler().sample(model, time_limit=0.3).first.energy == -unit


def test_initial_states_begin_the_search_and_wrong_ones_are_named() -> None:
    model = dimod.BinaryQuadraticModel({"a": 1.0, "b": 1.0}, {}, "BINARY")
    started = AnyCSPSampler().sample(model, num_reads=2, time_limit=0.2, initial_states={"a": 1, "b": 0})
    assert started.first.energy == 0
    with pytest.raises(AnyCSPError, match="lack variable 'b'"):
        AnyCSPSampler().sample(model, initial_states={"a": 1})
    with pytest.raises(AnyCSPError, match="neither 0 and 1"):
        AnyCSPSampler().sample(model, initial_states={"a": 1, "b": 7})
    with pytest.raises(AnyCSPError, match="num_reads = 0"):
        AnyCSPSampler().sample(model, num_reads=0)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_named(number: float) -> None:
    for model in (
        dimod.BinaryQuadraticModel({"a": number}, {}, "BINARY"),
        dimod.BinaryQuadraticModel({"a": 1.0}, {}, number, "BINARY"),
    ):
        with pytest.raises(AnyCSPError, match="not finite"):
            AnyCSPSampler().sample(model)
    objective, bounded = dimod.ConstrainedQuadraticModel(), dimod.ConstrainedQuadraticModel()
    objective.set_objective(dimod.BinaryQuadraticModel({"a": number}, {}, "BINARY"))
    bounded.add_constraint(dimod.Binary("a") + dimod.Binary("b") <= number, label="room")
    for model, named in ((objective, "objective: the bias of a"), (bounded, "constraint 'room': the bound")):
        with pytest.raises(AnyCSPError, match=f"{named} is .*: not finite"):
            AnyCSPSampler().sample_cqm(model)


def test_constrained_models_are_solved_to_their_optimum() -> None:
    model = dimod.ConstrainedQuadraticModel()
    i, j, b, s = (
        dimod.Integer("i", upper_bound=6),
        dimod.Integer("j", upper_bound=6),
        dimod.Binary("b"),
        dimod.Spin("s"),
    )
    model.set_objective(-1.5 * i * j + 3 * b + 0.5 * s * b)
    model.add_constraint(i + 2 * j <= 9, label="room")
    model.add_constraint(i - 2 * b <= 4, label="opened")
    model.add_constraint(s + 2 * b >= 1, label="spin")
    best = dimod.ExactCQMSolver().sample_cqm(model).filter(lambda row: row.is_feasible).first
    found = AnyCSPSampler().sample_cqm(model, time_limit=1.0).first
    assert found.is_feasible
    assert found.energy == pytest.approx(best.energy)
    real = dimod.ConstrainedQuadraticModel()
    real.set_objective(dimod.Real("r"))
    with pytest.raises(AnyCSPError, match="'r' is real"):
        AnyCSPSampler().sample_cqm(real)


@pytest.mark.parametrize("seed", range(12))
def test_constrained_models_mean_what_dimod_says(seed: int) -> None:
    """Biases, bounds and weights of any digits, soft constraints of both penalties beside an objective."""
    rng = np.random.default_rng(seed)
    model = dimod.ConstrainedQuadraticModel()
    digits = 1 if seed % 2 else 17
    x = [dimod.Binary(f"x{k}") for k in range(5)]
    n = dimod.Integer("n", lower_bound=-2, upper_bound=3)

    def drawn(low: float, high: float) -> float:
        return round(float(rng.uniform(low, high)), digits)

    model.set_objective(sum(drawn(-3, 3) * b for b in x) + drawn(-1, 1) * x[0] * n + drawn(-1, 1) * n * n)
    model.add_constraint(sum(drawn(0, 1) * b for b in x) + drawn(0, 1) * n <= drawn(1, 3), label="room")
    model.add_constraint(x[0] / 3 + x[1] / 3 + x[2] / 3 == 2 / 3, label="two")
    model.add_constraint(x[3] * n + n >= drawn(-1, 1), label="soft", weight=drawn(0, 2))
    model.add_constraint(x[0] + 2 * x[1] + x[4] == 3, label="square", weight=drawn(0, 2), penalty="quadratic")
    every = dimod.ExactCQMSolver().sample_cqm(model)
    judged = dimod.SampleSet.from_samples_cqm((every.record.sample, every.variables), model)
    best = judged.filter(lambda row: row.is_feasible).first
    found = AnyCSPSampler().sample_cqm(model, time_limit=1.0).first
    assert found.is_feasible
    assert found.energy == pytest.approx(best.energy, abs=1e-5)


def test_labels_that_look_alike_are_different_variables() -> None:
    cqm = dimod.ConstrainedQuadraticModel()
    number, text = dimod.Binary(1), dimod.Binary("1")
    cqm.set_objective(2 * number - 3 * text)
    cqm.add_constraint(number + text == 1)
    best = AnyCSPSampler().sample_cqm(cqm, time_limit=0.5).first
    assert (best.sample, best.energy, best.is_feasible) == ({1: 0, "1": 1}, -3, True)


def test_reads_of_constrained_models_begin_where_they_are_told() -> None:
    model = dimod.ConstrainedQuadraticModel()
    x, n, s = dimod.Binary("x"), dimod.Integer("n", upper_bound=9), dimod.Spin("s")
    model.add_constraint(x + n + s >= 3, label="room")
    begin = [{"x": 1, "n": 7, "s": -1}, {"x": 0, "n": 2, "s": 1}]
    found = AnyCSPSampler().sample_cqm(model, num_reads=2, time_limit=1.0, initial_states=begin)
    assert [dict(row) for row in found.samples(sorted_by=None)] == begin


@pytest.mark.parametrize("models", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_files_of_random_models_have_their_energies(tmp_path: Path, models: int) -> None:
    """dimod is the independent evaluator."""
    rng = np.random.default_rng(0)
    path = tmp_path / "model.bqm"
    for seed in range(models):
        nodes = int(rng.integers(1, 7))
        pairs = int(rng.integers(0, nodes * (nodes - 1) // 2 + 1))
        model = dimod.generators.gnm_random_bqm(nodes, pairs, ("SPIN", "BINARY")[seed % 2], random_state=seed)
        rounded = {v: round(b, 3) for v, b in model.linear.items()}
        couplings = {uv: round(b, 3) for uv, b in model.quadratic.items()}
        model = dimod.BinaryQuadraticModel(rounded, couplings, round(float(rng.normal()), 2), model.vartype)
        with model.to_file() as file:
            path.write_bytes(file.read())
        problem = read(path)
        for _ in range(4):
            bits = rng.integers(0, 2, nodes)
            taken = bits if model.vartype is dimod.BINARY else 2 * bits - 1
            energy = model.energy(dict(zip(model.variables, taken.tolist(), strict=True)))
            assert problem.objective.of_weight(problem.violation(bits).weight) == pytest.approx(energy, abs=1e-9)


def test_bqm_files_are_read(tmp_path: Path) -> None:
    model = dimod.BinaryQuadraticModel({"a": 0.5, "b": -1.0}, {("a", "b"): 2.0}, 0.25, "SPIN")
    path = tmp_path / "model.bqm"
    with model.to_file() as file:
        path.write_bytes(file.read())
    problem = read(path)
    found = solve(problem, time_limit=0.3)
    assert found.objective == {"kind": "cost", "value": dimod.ExactSolver().sample(model).first.energy}
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(AnyCSPError, match="not a model that dimod can read"):
        read(path)
