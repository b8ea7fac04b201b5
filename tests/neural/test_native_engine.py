"""The native search step equals its PyTorch reference, whatever the threads, families, domains and options."""

from __future__ import annotations

import copy
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anycsp import Problem, native
from anycsp.constraints.base import Labelling
from anycsp.constraints.external import ExternalLabelling
from anycsp.constraints.table_layouts import DenseLabelling
from anycsp.distributions.sat import random_formula
from anycsp.graph import compile_graph
from anycsp.neural.engine_torch import TorchEngine
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.neural.weights import PolicyConfig
from anycsp.randomness import uniforms

pytestmark = [
    pytest.mark.skipif(not native.available(), reason=f"native module {native.why_not()}"),
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support"),
]
if native.available():
    from anycsp.neural.engine_native import NativeEngine

OPERATORS = ["<=", ">=", "==", "!=", "<", ">"]


def mixed_problem(seed: int, variables: int = 12, constraints: int = 25, largest_domain: int = 6) -> Problem:
    """Every family, domains of 1 to `largest_domain` values and two-valued ones, weights, hard constraints."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    x = [problem.add_variable(range(int(rng.integers(1, largest_domain + 1)))) for _ in range(variables)]
    bits = [problem.add_variable([0, 1]) for _ in range(6)]
    sizes = [len(problem.domain(v)) for v in x]

    def scope(low: int, high: int) -> list[int]:
        return [int(i) for i in rng.choice(variables, int(rng.integers(low, high)), replace=False)]

    for _ in range(constraints):
        terms = {"weight": float(rng.integers(1, 4)), "hard": bool(rng.integers(0, 4) == 0)}
        match int(rng.integers(0, 7)):
            case 0:
                chosen = rng.choice(6, int(rng.integers(1, 4)), replace=False)
                problem.add_clause([(bits[i], int(rng.integers(0, 2))) for i in chosen], **terms)
            case 1:
                i, j = scope(2, 3)
                equal = [(v, v) for v in range(min(sizes[i], sizes[j]))]
                problem.add_table([x[i], x[j]], equal, allowed=False, **terms)
            case 2:
                s = scope(1, 4)
                tuples = [[int(rng.integers(0, sizes[i])) for i in s] for _ in range(int(rng.integers(0, 8)))]
                problem.add_table([x[i] for i in s], tuples, allowed=bool(rng.integers(0, 2)), **terms)
            case 3:
                s = scope(1, 5)
                coefficients = [int(c) for c in rng.integers(-2, 3, len(s))]
                problem.add_linear(
                    [x[i] for i in s], coefficients, OPERATORS[rng.integers(0, 6)], int(rng.integers(-3, 6)), **terms
                )
            case 4:
                excepted = [0] if rng.integers(0, 2) else []
                problem.add_all_different([x[i] for i in scope(1, 5)], except_values=excepted, **terms)
            case 5:
                s = scope(1, 4)
                positions = np.array([int(rng.integers(0, sizes[i])) for i in s])
                problem.add_nogood([x[i] for i in s], positions, **terms)
            case 6:  # too many combinations for a truth table: the list of tuples
                wide = [problem.add_variable(range(41)) for _ in range(3)]
                near = np.tile(rng.integers(0, 41, 3), (60, 1))
                near[np.arange(60), rng.integers(0, 3, 60)] = rng.integers(0, 41, 60)
                problem.add_table(wide, near, allowed=bool(rng.integers(0, 2)), **terms)
    return problem


def random_policy(seed: int = 0, **config: object) -> PolicyNetwork:
    """Weights away from their initial values, so that no shift is zero and no scale is one."""
    torch.manual_seed(seed)
    policy = PolicyNetwork(PolicyConfig(**config))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return policy


def relative_error(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def reference_step(
    graph: TensorGraph, policy: PolicyNetwork, state: torch.Tensor, positions: np.ndarray
) -> tuple[np.ndarray, torch.Tensor]:
    """In the precision of the policy: a double one is the reference, as far from float's rounding as can be."""
    with torch.no_grad():
        at = torch.from_numpy(positions).long()
        output = policy(graph, state, at, graph.labels(at))
    return output.logits.numpy(), output.state


def random_positions(graph: TensorGraph, runs: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, graph.topology.domains.sizes, (runs, graph.num_variables)).astype(np.int32)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_labels_and_violations_equal_the_reference(seed: int, instances: int) -> None:
    graph = TensorGraph(compile_graph([mixed_problem(seed + i) for i in range(instances)]))
    search = NativeEngine(graph.topology, random_policy(hidden=8).weights(), runs=3, threads=2)
    for round_ in range(3):
        positions = random_positions(graph, 3, seed + round_)
        search.start(positions)
        at = torch.from_numpy(positions).long()
        labels = graph.labels(at)
        expected = graph.violations(graph.satisfied(at, labels))
        violated, weight, hard, score = search.violations()
        assert (search.labels() == labels.numpy()).all()
        assert (violated == expected.violated.numpy()).all()
        assert (hard == expected.hard.numpy()).all()
        assert np.allclose(weight, expected.weight.numpy(), rtol=1e-12)
        assert np.allclose(score, expected.score.numpy(), rtol=1e-12)


@pytest.mark.parametrize("hidden", [8, 24, 32])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "max"])
@pytest.mark.parametrize("features", ["none", "gain", "graded"])
@pytest.mark.parametrize("options", [{}, {"inertia": True}, {"weighted": True}])
def test_logits_equal_the_reference(hidden: int, aggregation: str, features: str, options: dict[str, bool]) -> None:
    for seed in range(3):
        graph = TensorGraph(compile_graph([mixed_problem(seed), mixed_problem(seed + 100, largest_domain=40)]))
        kinds = features == "graded"
        policy = random_policy(seed, hidden=hidden, aggregation=aggregation, features=features, kinds=kinds, **options)
        positions = random_positions(graph, 2, seed)
        reference = copy.deepcopy(policy).double()
        expected, state = reference_step(graph, reference, reference.start(graph, 2), positions)
        for form in ["direct"] if aggregation == "max" else ["direct", "linear"]:
            search = NativeEngine(graph.topology, policy.weights(), runs=2, form=form, tile_bytes=seed * 2000)
            search.start(positions)
            search.advance(1)
            tolerance = 1e-5 if features != "graded" else 2e-5  # sums of grades are larger, and so is their rounding
            assert relative_error(search.logits(), expected) < tolerance
            assert relative_error(search.state(), state.numpy()) < tolerance


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["sum", "mean", "max"]), st.integers(1, 50))
def test_any_hidden_size_and_problem_equals_the_reference(seed: int, aggregation: str, hidden: int) -> None:
    graph = TensorGraph(compile_graph([mixed_problem(seed, constraints=seed % 40), mixed_problem(seed + 1)]))
    policy = random_policy(seed, hidden=hidden, aggregation=aggregation)
    positions = random_positions(graph, 1, seed)
    reference = copy.deepcopy(policy).double()
    expected, _ = reference_step(graph, reference, reference.start(graph, 1), positions)
    search = NativeEngine(graph.topology, policy.weights())
    search.start(positions)
    search.advance(1)
    # a LayerNorm over one or two features divides by √ε: rounding is amplified
    assert relative_error(search.logits(), expected) < (1e-5 if hidden > 4 else 1e-3)


@pytest.mark.parametrize("aggregation", ["sum", "mean", "max"])
def test_no_drift_in_200_steps_on_one_sequence_of_assignments(aggregation: str) -> None:
    graph = TensorGraph(compile_graph([mixed_problem(7), mixed_problem(8)]))  # two instances: never stops early
    policy = random_policy(3, hidden=16, aggregation=aggregation)
    search = NativeEngine(graph.topology, policy.weights(), runs=2)
    search.start()
    state = policy.start(graph, 2)
    for _ in range(200):
        expected, state = reference_step(graph, policy, state, search.positions)
        search.advance(1)
        assert relative_error(search.logits(), expected) < 1e-4


@pytest.mark.parametrize("aggregation", ["mean", "max"])
@pytest.mark.parametrize("runs", [1, 4])
def test_results_do_not_depend_on_threads(aggregation: str, runs: int) -> None:
    graph = TensorGraph(compile_graph([mixed_problem(seed, variables=60, constraints=150) for seed in range(4)]))
    policy = random_policy(hidden=16, aggregation=aggregation)
    outcomes = []
    for threads in (1, 2, 3):
        search = NativeEngine(graph.topology, policy.weights(), runs=runs, seed=5, threads=threads)
        search.start()
        assert search.advance(10) == 10
        outcomes.append((search.positions, search.logits(), search.best_positions(), search.violations()[1]))
    for outcome in outcomes[1:]:
        for a, b in zip(outcomes[0], outcome, strict=True):
            assert (a == b).all()


def linear_problem(seed: int) -> Problem:
    """One family with stored labels, so that a batch can be worked through in parts."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    x = problem.add_variables(40, 0, 2)
    for _ in range(250):
        problem.add_linear([x[i] for i in rng.choice(40, 2, replace=False)], [1, -1], "<=", int(rng.integers(-1, 2)))
    return problem


def clauses_problem(seed: int) -> Problem:
    return random_formula(np.random.default_rng(seed), 50, 300, 3)


def sparse_clauses_problem(seed: int) -> Problem:
    """Fewer slots than values, so that every slot has its own row."""
    return random_formula(np.random.default_rng(seed), 150, 90, 2)


@pytest.mark.parametrize("problem", [linear_problem, clauses_problem, sparse_clauses_problem])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "max"])
def test_a_batch_in_parts_is_the_same_as_in_one(problem: Callable[[int], Problem], aggregation: str) -> None:
    graph = TensorGraph(compile_graph([problem(seed) for seed in range(4)]))
    policy = random_policy(4, hidden=128, aggregation=aggregation, features="gain")
    positions = random_positions(graph, 1, 0)
    in_parts, in_one = (NativeEngine(graph.topology, policy.weights(), threads=threads) for threads in (1, 2))
    assert in_parts.parts > 1
    assert in_one.parts == 1  # several threads go through it as a whole
    for search in (in_parts, in_one):
        search.start(positions)
        search.advance(1)
    expected, _ = reference_step(graph, policy, policy.start(graph, 1), positions)
    assert relative_error(in_parts.logits(), expected) < 1e-5
    for search in (in_parts, in_one):
        search.advance(4)
    assert (in_parts.positions == in_one.positions).all()
    assert (in_parts.state() == in_one.state()).all()


def test_a_part_of_the_runs_is_the_same_as_in_the_whole() -> None:
    graph = TensorGraph(compile_graph([mixed_problem(1), mixed_problem(2)]))
    policy = random_policy(hidden=8)
    whole = NativeEngine(graph.topology, policy.weights(), runs=4, seed=3)
    part = NativeEngine(graph.topology, policy.weights(), runs=range(2, 4), seed=3)
    for search in (whole, part):
        search.start()
        search.advance(5)
    assert (whole.positions[2:] == part.positions).all()


def test_draws_are_the_generators() -> None:
    """α^(0) is ⌊u·|D|⌋ with step 0's draw; α^(t) the inverse CDF of the softmax with step t's."""
    graph = TensorGraph(compile_graph([mixed_problem(11), mixed_problem(12)]))
    search = NativeEngine(graph.topology, random_policy(hidden=16).weights(), runs=3, seed=9, temperature=0.7)
    search.start()
    u = uniforms(9, range(3), 0, graph.num_variables)
    assert (search.positions == np.floor(u * graph.topology.domains.sizes)).all()
    for step in range(1, 6):
        search.advance(1)
        u = uniforms(9, range(3), step, graph.num_variables)
        logits = search.logits() / 0.7
        for x in range(graph.num_variables):
            domain = slice(graph.topology.domains.start[x], graph.topology.domains.start[x + 1])
            weight = np.exp(logits[:, domain] - logits[:, domain].max(axis=1, keepdims=True))
            cumulative = np.cumsum(weight, axis=1)
            threshold = u[:, x] * cumulative[:, -1]
            nearest = np.abs(cumulative - threshold[:, None]).min(axis=1)
            expected = (cumulative > threshold[:, None]).argmax(axis=1)
            assert ((search.positions[:, x] == expected) | (nearest < 1e-5)).all()


def test_sampled_frequencies_follow_the_softmax() -> None:
    runs = 4000
    graph = TensorGraph(compile_graph([mixed_problem(21), mixed_problem(22)]))
    search = NativeEngine(graph.topology, random_policy(4, hidden=8).weights(), runs=runs, seed=1)
    search.start(np.repeat(random_positions(graph, 1, 0), runs, axis=0))  # all runs share the distribution of step 1
    search.advance(1)
    logits = search.logits()[0]
    statistic, freedom = 0.0, 0
    for x in range(graph.num_variables):
        domain = slice(graph.topology.domains.start[x], graph.topology.domains.start[x + 1])
        probability = np.exp(logits[domain] - logits[domain].max())
        probability /= probability.sum()
        observed = np.bincount(search.positions[:, x], minlength=len(probability))
        common = probability * runs >= 5  # the chi-square approximation wants five expected draws in a cell
        cells = [(observed[common], probability[common] * runs)]
        if not common.all():
            cells.append((observed[~common].sum(keepdims=True), probability[~common].sum(keepdims=True) * runs))
        statistic += sum(float(((o - e) ** 2 / e).sum()) for o, e in cells if len(e))
        freedom += sum(len(e) for _, e in cells) - 1
    assert abs(statistic - freedom) < 4.5 * np.sqrt(2 * freedom)


def test_the_whole_search_is_the_references() -> None:
    """Same draws, same assignments: the trajectories part only where a draw falls on a boundary to rounding."""
    for sampling in ("global", "local"):
        graph = TensorGraph(compile_graph([mixed_problem(31), mixed_problem(32)]))
        policy = random_policy(hidden=16, sampling=sampling)
        engines = (NativeEngine(graph.topology, policy.weights(), 3, 5, 0.8), TorchEngine(graph, policy, 3, 5, 0.8))
        for engine in engines:
            engine.start()
            assert engine.advance(20, np.inf) == 20
        native_, torch_ = engines
        assert (native_.positions == torch_.positions).all()
        assert np.allclose(native_.best_score(), torch_.best_score())
        assert (native_.best_positions() == torch_.best_positions()).all()
        for ours, theirs in zip(native_.improvements(), torch_.improvements(), strict=True):
            assert ours._replace(seconds=0) == theirs._replace(seconds=0)


def test_best_is_the_best_of_the_sequence() -> None:
    problems = [mixed_problem(31), mixed_problem(32)]
    problems[0].add_table([], [], weight=2.0)  # never holds, whatever the assignment
    graph = TensorGraph(compile_graph(problems))
    search = NativeEngine(graph.topology, random_policy(hidden=8).weights(), runs=2)
    search.start()
    lowest = np.full((2, 2), np.inf)
    for step in range(30):
        lowest = np.minimum(lowest, search.violations()[3])
        assert (search.best_score() == lowest).all()
        assert search.steps == step
        search.advance(1)
    last = {(entry.run, entry.instance): entry for entry in search.improvements()}
    split = problems[0].num_variables
    for run, positions in enumerate(search.best_positions()):
        for i, part in enumerate((positions[:split], positions[split:])):
            violation, entry = problems[i].violation_of_positions(part), last[run, i]
            assert (violation.violated, violation.hard) == (entry.violated, entry.hard)
            assert violation.weight == pytest.approx(entry.weight)
            assert entry.score == search.best_score()[run, i]
    assert search.improvements() == []


def test_stops_at_the_first_solution() -> None:
    problem = Problem()
    x = problem.add_variables(6, [0, 1])
    for a, b in itertools.pairwise(x):
        problem.add_clause([(a, 1), (b, 1)])
    search = NativeEngine(compile_graph(problem), random_policy(hidden=8).weights(), runs=2)
    search.start(np.zeros((2, 6)))
    done = search.advance(10_000)
    assert done < 10_000
    assert search.violations()[0].min() == 0
    assert search.best_score().min() == 0
    assert search.advance(10) == 0


def test_the_clock_stops_a_search() -> None:
    graph = TensorGraph(compile_graph([mixed_problem(1), mixed_problem(2)]))
    search = NativeEngine(graph.topology, random_policy(hidden=8).weights())
    search.start()
    assert 1 < search.advance(10**9, seconds=0.05) < 10**9
    assert search.advance(10, seconds=0.0) == 1


def test_local_sampling_moves_one_variable_of_each_instance() -> None:
    graph = TensorGraph(compile_graph([mixed_problem(41), mixed_problem(42)]))
    search = NativeEngine(graph.topology, random_policy(hidden=8, sampling="local").weights(), runs=4)
    search.start()
    for _ in range(10):
        before = search.positions
        search.advance(1)
        moved = before != search.positions
        for instance in range(2):
            assert (moved[:, graph.variable_instance == instance].sum(axis=1) == 1).all()


def test_external_labels_come_from_python() -> None:
    graph = compile_graph([mixed_problem(51), mixed_problem(52)])

    def outside(labelling: Labelling) -> Labelling:
        """The same relations, looked up by functions of the values."""
        if not isinstance(labelling, DenseLabelling):
            return labelling

        def looked_up(row: int) -> Callable[..., npt.NDArray[np.uint8]]:
            slots = slice(labelling.scope_start[row], labelling.scope_start[row + 1])

            def function(*columns: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
                address = labelling.base[row]
                for x, stride, column in zip(labelling.scope[slots], labelling.stride[slots], columns, strict=True):
                    values = graph.domains.values[graph.domains.start[x] : graph.domains.start[x + 1]]
                    address = address + stride * (column[:, None] == values).argmax(axis=1)
                return labelling.truth[address]

            return function

        functions = tuple(looked_up(row) for row in range(len(labelling)))
        return ExternalLabelling(labelling.terms, labelling.scope_start, labelling.scope, labelling.domains, functions)

    moved = replace(graph, labellings=tuple(outside(l) for l in graph.labellings))
    assert any(isinstance(l, ExternalLabelling) for l in moved.labellings)
    policy = random_policy(hidden=8).weights()
    inside, external = NativeEngine(graph, policy, runs=2), NativeEngine(moved, policy, runs=2)
    for search in (inside, external):
        search.start()
        search.advance(5)
    assert (inside.positions == external.positions).all()
    assert (inside.labels() == external.labels()).all()


def test_degrees_beyond_16_bits() -> None:
    problem = Problem()
    hub = problem.add_variable([0, 1])
    leaves = problem.add_variables(40_000, [0, 1])
    scopes = np.stack([np.full(40_000, hub.index), [v.index for v in leaves]], axis=1)
    problem.add_not_equal(scopes)
    graph = TensorGraph(compile_graph([problem, mixed_problem(0)]))
    for aggregation in ("sum", "mean", "max"):
        policy = random_policy(hidden=8, aggregation=aggregation)
        search = NativeEngine(graph.topology, policy.weights())
        search.start()
        expected, _ = reference_step(graph, policy, policy.start(graph, 1), search.positions)
        search.advance(1)
        # a sum of 40,000 floats is good to a few 1e-4 in either back end
        assert relative_error(search.logits(), expected) < (1e-5 if aggregation == "max" else 1e-3)


def test_a_problem_without_constraints() -> None:
    problem = Problem()
    problem.add_variables(3, range(4))
    graph = TensorGraph(compile_graph([problem, problem]))
    for aggregation in ("sum", "max"):
        policy = random_policy(hidden=8, aggregation=aggregation)
        search = NativeEngine(graph.topology, policy.weights())
        search.start()
        expected, _ = reference_step(graph, policy, policy.start(graph, 1), search.positions)
        search.advance(1)
        assert relative_error(search.logits(), expected) < 1e-5


def test_bad_arguments_raise() -> None:
    graph = TensorGraph(compile_graph([mixed_problem(1), mixed_problem(2)]))
    policy = random_policy(hidden=8)
    search = NativeEngine(graph.topology, policy.weights(), runs=2)
    for bad in (
        np.zeros((1, graph.num_variables)),
        np.zeros((2, graph.num_variables - 1)),
        np.full((2, graph.num_variables), 1000),
        np.full((2, graph.num_variables), -1),
    ):
        with pytest.raises(ValueError, match="position"):
            search.start(bad)
    with pytest.raises(TypeError):
        search.start(np.zeros(graph.num_variables))
    for options in ({"runs": 0}, {"threads": 0}, {"temperature": 0.0}, {"form": "linear"}, {"form": "other"}):
        with pytest.raises(ValueError, match=r"runs|threads|temperature|linear|form"):
            NativeEngine(graph.topology, policy.weights(), **options)


def test_bad_weights_raise() -> None:
    from anycsp.neural.native_weights import step_weights

    graph = TensorGraph(compile_graph([mixed_problem(1), mixed_problem(2)]))
    module, problem, policy = native.module(), graph.topology.native_problem, random_policy(hidden=8)
    layout = module.Layout(problem, "max", 8, False, False, "auto", 0, True)
    options = {
        "first_run": 0,
        "runs": 1,
        "threads": 1,
        "seed": 0,
        "temperature": 1.0,
        "guidance": [0.0],
        "memory": 1.0,
        "local": False,
    }
    options |= {"hidden": 8, "aggregation": "max", "gain": False, "graded": False, "inertia": 0.0}
    weights = step_weights(policy.weights(), linear=False)
    network = module.make_network(weights, layout, options)
    module.make_search(problem, layout, network, options, graph.topology.constant, None)
    fewer = {name: array for name, array in weights.items() if name != "value1"}
    with pytest.raises(ValueError, match="missing weights value1"):
        module.make_network(fewer, layout, options)
    with pytest.raises(ValueError, match="wrong shape"):
        module.make_network(weights, layout, options | {"hidden": 16})
    with pytest.raises(ValueError, match="instances"):
        module.make_search(problem, layout, network, options, graph.topology.constant[:1].copy(), None)
    with pytest.raises(ValueError, match="another problem"):
        module.make_search(
            replace(graph.topology).native_problem, layout, network, options, graph.topology.constant, None
        )
    linear = module.Layout(problem, "sum", 8, False, False, "linear", 0, True)
    with pytest.raises(ValueError, match="another form"):
        module.make_search(problem, linear, network, options, graph.topology.constant, None)


def test_profile_accounts_for_the_time() -> None:
    graph = TensorGraph(compile_graph([mixed_problem(seed, variables=60, constraints=150) for seed in range(4)]))
    search = NativeEngine(graph.topology, random_policy(hidden=32).weights(), runs=4)
    search.start()
    search.enable_profile()
    began = time.thread_time()
    search.advance(50)
    elapsed = time.thread_time() - began
    profile = search.profile()
    assert profile.steps == 50
    assert 0.5 * elapsed < sum(profile.seconds.values()) <= elapsed
    assert 0 < profile.share_of_peak < 1.5


_LEVEL_SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
from test_native_engine import *
graph = TensorGraph(compile_graph([mixed_problem(1), mixed_problem(2)]))
for aggregation in ("mean", "max"):
    policy = random_policy(hidden=24, aggregation=aggregation)
    search = NativeEngine(graph.topology, policy.weights(), form="auto" if aggregation == "max" else "linear")
    search.start()
    expected, _ = reference_step(graph, policy, policy.start(graph, 1), search.positions)
    search.advance(1)
    assert relative_error(search.logits(), expected) < 1e-5
print(native.module().level())
"""


@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_lower_instruction_sets_compute_the_same(level: str) -> None:
    order = ["baseline", "avx2", "avx512"]
    here = native.module().level()
    if here not in order or order.index(here) < order.index(level):
        pytest.skip(f"this processor has {here} only")
    environment = os.environ | {"ANYCSP_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", _LEVEL_SCRIPT, os.path.dirname(__file__)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [level]
