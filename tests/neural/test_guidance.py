"""Guidance: the trace is that of the definition; native, torch and training agree; it is read, stored, turned off."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anycsp import Problem, distributions, load_model, native, solve
from anycsp.errors import AnyCSPError
from anycsp.graph import compile_graph
from anycsp.neural.engine_torch import TorchEngine
from anycsp.neural.guidance import UNGUIDED, Guidance, as_guidance, guidance_json, guided
from anycsp.neural.models import Model, save_model
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.sampling import sample_global
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.training.config import TrainingConfig
from anycsp.training.pool import Pool
from anycsp.training.rollout import rollout
from anycsp.training.walk import Batch, SearchState


def policy(aggregation: str = "max") -> PolicyNetwork:
    torch.manual_seed(3)
    return PolicyNetwork(PolicyConfig(8, aggregation, "gain", True)).eval()


def mixed() -> Problem:
    """Clauses, tables, ≠ and all-different side by side: every way the native search stores labels."""
    problem = Problem()
    problem.add_variables(8, range(3))
    problem.add_not_equal([(i, i + 1) for i in range(7)])
    problem.add_nogood([0, 1, 2], np.array([0, 1, 2]))
    problem.add_nogood([3, 4, 5], np.array([2, 1, 0]))
    problem.add_table([5, 6, 7], [(0, 1, 2), (1, 2, 0), (2, 2, 2)])
    problem.add_all_different([0, 3, 6])
    problem.add_all_different([1, 2, 4, 7])  # four variables, three values: never satisfied
    return problem


def test_the_trace_and_the_pull_are_those_of_the_definition() -> None:
    problem, guidance = mixed(), Guidance((0.7,), 0.9)
    graph, steps = TensorGraph(compile_graph(problem)), 6
    search = TorchEngine(graph, policy(), 2, 5, 1.0, guidance)
    search.start()
    trace = np.zeros((2, problem.num_constraints))
    for _ in range(steps):
        for run, positions in enumerate(search.positions):
            violated = np.zeros(problem.num_constraints)
            for block in problem.blocks:
                violated[block.terms.index] = ~block.satisfied(problem.domains, positions)
            trace[run] = guidance.memory * trace[run] + violated
        search.advance(1, np.inf)
    assert sorted(search.trace[0].tolist()) == pytest.approx(sorted(trace[0].tolist()), rel=1e-5)
    assert search.trace.sum(dim=1).numpy() == pytest.approx(trace.sum(axis=1), rel=1e-5)

    # A value's logit loses the trace of the constraints it would leave violated, by degree: moving there shows which.
    zero = torch.zeros(2, graph.num_values)
    pulled = guided(graph, zero, search.labels, search.trace, guidance).numpy()
    for run in range(2):
        here = search.positions[run]
        for x in range(8):
            for p in range(3):
                there = here.copy()
                there[x] = p
                satisfied = graph.satisfied(torch.tensor(there[None]), graph.labels(torch.tensor(there[None])))[0]
                mine = torch.zeros(graph.num_constraints, dtype=torch.bool)
                mine[graph.edge_constraint[graph.edge_value == 3 * x + p]] = True
                expected = -0.7 * float(search.trace[run][mine & ~satisfied].sum()) / int(mine.sum())
                assert pulled[run, 3 * x + p] == pytest.approx(expected, abs=1e-5)


@pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}")
@pytest.mark.parametrize("aggregation", ["max", "sum"])
@pytest.mark.parametrize("threads", [1, 2])
def test_native_and_torch_are_guided_alike(aggregation: str, threads: int) -> None:
    from anycsp.neural.engine_native import NativeEngine

    guidance = Guidance((0.5, 3.0), 0.98)
    problems = [mixed(), distributions.draw(distributions.get("sat", n=30, density=((5.0, 6.0),)), 1, 0)]
    for problem in problems:
        graph, network = TensorGraph(compile_graph(problem)), policy(aggregation)
        slow = TorchEngine(graph, network, 3, 5, 0.8, guidance)
        fast = NativeEngine(graph.topology, network.weights(), 3, 5, 0.8, threads, guidance)
        slow.start()
        fast.start()
        for _ in range(30):
            slow.advance(1, np.inf)
            fast.advance(1, np.inf)
            assert (slow.positions == fast.positions).all()


def test_training_is_guided_as_the_search_is() -> None:
    """Two windows, the second carried on from the first, take the steps of one search."""
    guidance, seed, runs = Guidance((0.7, 0.2), 0.9), 5, range(3)
    graph, network = TensorGraph(compile_graph([mixed(), mixed()])), policy()
    search = TorchEngine(graph, network, len(runs), seed, 0.8, guidance)
    search.start()
    zeros = torch.zeros(len(runs), graph.instances, dtype=torch.float64)
    trace = torch.zeros(len(runs), graph.num_constraints)
    fresh = torch.ones(graph.instances, dtype=torch.bool)
    state = SearchState(
        torch.from_numpy(search.positions).long(), network.start(graph, len(runs)), fresh, zeros, zeros, trace
    )
    heat, taken = torch.full((graph.instances,), 0.8), 0
    for steps in (4, 3):

        def sample(logits: torch.Tensor, _: torch.Tensor, step: int, taken: int = taken) -> torch.Tensor:
            return sample_global(graph, logits, 1.0, seed, runs, taken + step + 1)

        _, state = rollout(network, Batch(graph), state, steps, sample, 0.0, temperature=heat, guidance=guidance)
        search.advance(steps, np.inf)
        taken += steps
        assert (state.positions.numpy() == search.positions).all()
        assert torch.equal(state.trace, search.trace)
    assert state.trace.sum() > 0


TWO_KINDS = """
from anycsp import Problem
def draw(rng):
    problem = Problem()
    problem.add_variables(6, range(2))
    kinds = [lambda: problem.add_linear([3, 5], [1, 1], "==", 1), lambda: problem.add_not_equal([(0, 1), (2, 4)])]
    for kind in rng.permutation(2):
        kinds[int(kind)]()
    return problem
"""


def test_a_carried_search_keeps_its_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch groups constraints by kind, and beside other instances the kinds come in another order."""
    (tmp_path / "two_kinds.py").write_text(TWO_KINDS)
    monkeypatch.syspath_prepend(tmp_path)
    config = TrainingConfig(
        "python:two_kinds:draw", instances=3, window=2, depth=12, lifetime="log-uniform", policy=PolicyConfig(4)
    )
    pool = Pool(config, 4)
    carried, orders = 0, set()
    for _ in range(30):
        pool.refresh()
        graph = pool.batch.graph
        orders.add(type(graph.topology.labellings[0]))
        for i, slot in enumerate(pool.slots):
            own = (graph.constraint_instance == i).nonzero()[:, 0]
            order = torch.from_numpy(graph.topology.terms.index)[own].argsort()
            added = order.argsort() + 1  # as a trace: 1, 2, … in order
            if slot.depth > 0:
                assert (pool.state.trace[:, own] == added).all()
                carried += 1
            pool.state.trace[:, own] = added.float()
        pool.state.fresh[:] = False
        pool.advanced(pool.state)
    pool.close()
    assert carried > 10
    assert len(orders) == 2


def test_a_models_guidance_is_stored_used_and_can_be_turned_off(tmp_path: Path) -> None:
    given = Guidance((2.0, 5.0), 0.9)
    save_model(Model("guided", policy().weights(), 1.0, 4, given), tmp_path / "guided")
    model = load_model(tmp_path / "guided.safetensors")
    assert model.guidance == given
    options: dict[str, Any] = {"search": "neural", "steps": 40, "seed": 3}
    plain = Model("plain", policy().weights(), 1.0, 4)
    stored = solve(mixed(), model=model, **options)
    same = solve(mixed(), model=plain, guidance="2,5:0.9", **options)
    assert same.best_per_run == stored.best_per_run
    assert (same.positions == stored.positions).all()
    off = solve(mixed(), model=model, guidance="0", **options)
    assert (off.positions == solve(mixed(), model=plain, **options).positions).all()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0.5:0.98", ((0.5,), 0.98)),
        ("1,4:0.98", ((1.0, 4.0), 0.98)),
        ([1, 1], ((1.0,), 1.0)),
        ([[0, 2.5], 1], ((0.0, 2.5), 1.0)),
        ("0", UNGUIDED),
        (0, UNGUIDED),
    ],
)
def test_guidance_is_read_and_written(given: object, expected: tuple[tuple[float, ...], float]) -> None:
    guidance = as_guidance(given)
    assert guidance == expected
    assert as_guidance(guidance_json(guidance)) == guidance


def test_pairs_of_runs_take_turns_with_strengths() -> None:
    assert Guidance((1.0, 4.0), 0.98).of(range(7)) == [1, 1, 4, 4, 1, 1, 4]
    assert Guidance((1.0, 4.0), 0.98).of(range(2, 4)) == [4, 4]


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x",
        "1",
        "1:2",
        "-1:0.5",
        "inf:0.5",
        "nan:0.5",
        "1:0.5:1",
        "1,:0.5",
        "1,-1:0.5",
        "1:0.5,0.6",
        [[], 0.5],
        None,
        [],
    ],
)
def test_other_guidance_is_refused(given: object) -> None:
    with pytest.raises(AnyCSPError, match="guidance"):
        as_guidance(given)
