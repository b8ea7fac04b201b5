"""Every neural path computes where its tensors lie. Without a GPU that is checked in two ways: on the `meta` device,
which knows shapes only, and on fake tensors that claim to be on a GPU, where mixing devices is an error as it would be
there. Where there is a GPU, it computes what the processor does."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from anycsp import Problem, solve
from anycsp.graph import compile_graph
from anycsp.model.builders import formula_problem
from anycsp.neural import labels as labels_module
from anycsp.neural.guidance import Guidance, guided, updated
from anycsp.neural.policy import TORCH, PolicyNetwork
from anycsp.neural.sampling import sample_global, sample_local
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.training.config import TrainingConfig
from anycsp.training.reinforce import RunningScale, move_reward, reinforce
from anycsp.training.rollout import rollout
from anycsp.training.trainer import Trainer
from anycsp.training.walk import Batch, SearchState

RUNS, HIDDEN = 2, 8
GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
C10_REGISTER_GUARD_IMPL(CUDA, c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA>)
"""
"""What a torch that was built without CUDA lacks for fake tensors of a GPU: something that switches to a device. One
that was built with it puts the same in its place where there is no GPU."""
gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


def formula() -> Problem:
    return formula_problem(4, np.array([0, 3, 5]), np.array([1, -2, 3, 2, -4]))


def coloring() -> Problem:
    problem = Problem()
    x = problem.add_variables(4, 0, 2)
    for i in range(3):
        problem.add(x[i] != x[i + 1])
    return problem


def mixed() -> Problem:
    """Domains of different sizes, several families, weights."""
    problem = Problem()
    x, y = problem.add_variables(3, 0, 3), problem.add_variables(2, 0, 1)
    problem.add(x[0] + 2 * x[1] - x[2] <= 3, weight=2)
    problem.add_all_different(x)
    problem.add((x[0] != x[1]) | (y[0] == y[1]))
    problem.add(y[0] != y[1], weight=3)
    return problem


PROBLEMS = [formula, coloring, mixed]


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Fake tensors of a GPU can be made and used here."""
    if torch.version.cuda:
        return
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("a torch without CUDA needs a compiler to pretend that there is a GPU")
    folder, torch_folder = tmp_path_factory.mktemp("guard"), Path(torch.__file__).parent
    (folder / "guard.cpp").write_text(GUARD)
    paths = [f"-I{torch_folder / 'include'}", f"-L{torch_folder / 'lib'}"]
    files = [str(folder / "guard.cpp"), "-o", str(folder / "guard.so")]
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", *paths, *files, "-lc10"], check=True)
    ctypes.CDLL(str(folder / "guard.so"))


@pytest.fixture(scope="module")
def cell() -> Iterator[None]:
    """The shapes of the one kernel that only a GPU has: torch knows none for it."""

    def fused(gates: Tensor, of_state: Tensor, state: Tensor, *biases: Tensor | None) -> tuple[Tensor, Tensor]:
        return torch.empty_like(state), gates.new_empty(state.shape[0], 5 * state.shape[1])

    library = torch.library.Library("aten", "IMPL", "Meta")
    library.impl("_thnn_fused_gru_cell", fused)
    yield
    library._destroy()


@pytest.fixture(params=["shapes", "devices"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    """Arrays of the topology become tensors there, without their content."""

    def placed(owner: Any, array: np.ndarray[Any, Any]) -> Tensor:
        return torch.empty(array.shape, dtype=torch.from_numpy(array[:0].copy()).dtype, device=owner.device)

    monkeypatch.setattr(TensorGraph, "tensor", placed)
    monkeypatch.setattr(labels_module.Slots, "tensor", placed)
    if request.param == "shapes":
        yield torch.device("meta")
    else:
        for needed in ("guard", "cell"):
            request.getfixturevalue(needed)
        with FakeTensorMode():
            yield torch.device("cuda")


def test_tensors_of_two_devices_do_not_mix(guard: None) -> None:
    """What the tests below rely on: a tensor that was left on the processor fails them."""
    with FakeTensorMode():
        there, index = torch.zeros(4, 3, device="cuda"), torch.zeros(2, dtype=torch.int64, device="cuda")
        assert there[index].device.type == "cuda"
        with pytest.raises(RuntimeError, match="cuda:0 and cpu"):
            there + torch.zeros(4, 3)


def placed_network(config: PolicyConfig, device: torch.device) -> PolicyNetwork:
    network = PolicyNetwork(config)
    for module in network.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, nn.Parameter(torch.empty(parameter.shape, device=device)))
    return network


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("aggregation", ["max", "mean", "sum"])
@pytest.mark.parametrize("features", ["none", "graded"])
def test_a_step_of_the_search_stays_where_it_is(
    device: torch.device, problem: Callable[[], Problem], aggregation: str, features: str
) -> None:
    config = PolicyConfig(hidden=HIDDEN, aggregation=aggregation, features=features, inertia=True, kinds=True)
    graph, network = TensorGraph(compile_graph(problem()), device), placed_network(config, device)
    positions = torch.zeros(RUNS, graph.num_variables, dtype=torch.int64, device=device)
    labels = graph.labels(positions)
    assert labels.shape == (RUNS, graph.num_edges)
    satisfied = graph.satisfied(positions, labels)
    assert satisfied.shape == (RUNS, graph.num_constraints)
    logits, state = network(graph, network.start(graph, RUNS), positions, labels)
    assert (logits.shape, state.shape) == ((RUNS, graph.num_values), (RUNS, graph.num_values, HIDDEN))
    guidance = Guidance((0.5,), 0.9)
    trace = updated(torch.zeros(RUNS, graph.num_constraints, device=device), satisfied, guidance)
    logits = guided(graph, logits, labels, trace, guidance)
    for drawn in (
        sample_global(graph, logits, 1.0, 0, range(RUNS), 1),
        sample_local(graph, logits, positions, 1.0, 0, range(RUNS), 1),
    ):
        assert (drawn.shape, drawn.device.type) == (positions.shape, device.type)
    assert graph.violations(satisfied).score.device.type == logits.device.type == device.type


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("sampling", ["global", "local"])
def test_a_window_of_training_stays_where_it_is(
    device: torch.device, problem: Callable[[], Problem], sampling: str
) -> None:
    config = TrainingConfig(
        policy=PolicyConfig(hidden=HIDDEN, sampling=sampling), replicas=RUNS, baseline="leave-one-out", window=2,
        local_expectation=True,
    )  # fmt: skip
    graph = TensorGraph(compile_graph([problem(), problem()]), device)
    batch, network = Batch(graph), placed_network(config.policy, device)
    best = torch.zeros(RUNS, graph.instances, dtype=torch.float64, device=device)
    start = SearchState(
        torch.zeros(RUNS, graph.num_variables, dtype=torch.int64, device=device),
        torch.zeros(RUNS, graph.num_values, HIDDEN, device=device),
        torch.ones(graph.instances, dtype=torch.bool, device=device),
        best,
        torch.zeros_like(best),
        torch.zeros(RUNS, graph.num_constraints, device=device),
    )

    def sample(logits: Tensor, positions: Tensor, step: int) -> Tensor:
        return TORCH.draw(graph, logits, 0, range(RUNS), step)

    window, end = rollout(
        network, batch, start, 2, sample, 1e-5, move_reward=move_reward(config), guidance=Guidance((0.5,), 0.9)
    )
    loss = reinforce(config, batch, window, end.initial, torch.zeros(2, device=device), RunningScale())
    assert (loss.value.shape, loss.value.device.type) == ((), device.type)
    assert {tensor.device.type for tensor in vars(end).values()} == {device.type}


@gpu
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_gpu_searches_as_the_processor_does(problem: Callable[[], Problem]) -> None:
    """Not bit by bit: sums have another order there."""
    here, there = (
        solve(problem(), search="neural", device=d, steps=20, seed=1, presolve=False) for d in ("cpu", "cuda")
    )
    assert here.violated == there.violated


@gpu
def test_training_on_a_gpu_begins_as_on_the_processor(tmp_path: Path) -> None:
    config = TrainingConfig(
        parameters={"n": 10}, policy=PolicyConfig(hidden=HIDDEN), instances=3, replicas=RUNS, window=3, depth=3,
        validation_parameters={"validation_n": 10},
    )  # fmt: skip
    here, there = (Trainer(config, tmp_path / device, TORCH, device=device) for device in ("cpu", "cuda"))
    for _ in range(2):
        assert there.update()["gradient"] == pytest.approx(here.update()["gradient"], rel=1e-3)
    here.close()
    there.close()
