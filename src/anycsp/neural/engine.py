"""The paper's search: the policy proposes a whole new assignment every step, nothing else moves."""

from __future__ import annotations

from anycsp import native
from anycsp.deadline import NEVER, Deadline
from anycsp.engine import Engine, NeuralEngine, TemperedEngine
from anycsp.errors import AnyCSPError
from anycsp.graph import ConstraintValueGraph
from anycsp.neural import require_torch
from anycsp.neural.cooling import CoolingEngine
from anycsp.neural.engine_native import NativeEngine
from anycsp.neural.models import Model
from anycsp.neural.pairs import PairsEngine
from anycsp.neural.temperature import Temperature, as_range


def neural_engine(
    graph: ConstraintValueGraph,
    model: Model,
    runs: int,
    seed: int,
    temperature: Temperature,
    threads: int,
    *,
    device: str = "cpu",
    steps: int | None = None,
    deadline: Deadline = NEVER,
) -> NeuralEngine:
    """The native engine on the processor, where it was built; PyTorch's elsewhere. `steps` and `deadline` say when the
    search will end, where that is known: cooling is planned to end with it."""
    hot, cold = as_range(temperature)
    engine: TemperedEngine
    if native.available() and device == "cpu":
        engine = NativeEngine(graph, model.weights, runs, seed, hot, threads, model.guidance, deadline=deadline)
    else:
        engine = _torch_engine(graph, model, runs, seed, hot, threads, device)
    return engine if hot == cold else CoolingEngine(engine, runs, hot, cold, steps, deadline)


def _torch_engine(
    graph: ConstraintValueGraph, model: Model, runs: int, seed: int, temperature: float, threads: int, device: str
) -> TemperedEngine:
    if device == "cpu":
        require_torch(f"neural search without the native module, which is {native.why_not()},")
        native.warn_if_missing()
    else:
        require_torch(f"device {device!r}")
    import torch

    from anycsp.neural.engine_torch import TorchEngine
    from anycsp.neural.tensors import TensorGraph

    tensors = TensorGraph(graph, torch.device(device))
    return TorchEngine(tensors, model.network(device), runs, seed, temperature, model.guidance, threads)


def native_network(engine: Engine | None) -> NativeEngine | None:
    """The native engine inside an engine; None where there is none."""
    while isinstance(engine, (CoolingEngine, PairsEngine)):
        engine = engine.engine
    return engine if isinstance(engine, NativeEngine) else None


def profiled(engine: Engine) -> NativeEngine:
    """The native engine inside an engine, with its clock running; errors where there is none to profile."""
    network = native_network(engine)
    if network is None:
        raise AnyCSPError("a profile needs --search neural, the processor and the native module")
    network.enable_profile()
    return network
