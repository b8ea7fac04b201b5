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


def test_initial_states_begin_the_search_and_wrong_ones_are_named() -> None:
    model = dimod.BinaryQuadraticModel({"a": 1.0, "b": 1.0}, {}, "BINARY")
    started = AnyCSPSampler().sample(model, num_reads=2, time_limit=0.2, initial_states={"a": 1, "b": 0})
    assert started.first.energy == 0
    with pytest.raises(AnyCSPError, match="lack variable 'b'"):
        AnyCSPSampler().sample(model, initial_states={"a": 1})
    with pytest.raises(AnyCSPError, match="not finite"):
        AnyCSPSampler().sample(dimod.BinaryQuadraticModel({"a": float("nan")}, {}, "BINARY"))


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
