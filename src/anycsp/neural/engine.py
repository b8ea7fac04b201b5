"""The paper's search: the policy proposes a whole new assignment every step, nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anycsp import native
from anycsp.engine import Engine, NeuralEngine, TemperedEngine
from anycsp.errors import AnyCSPError
from anycsp.graph import ConstraintValueGraph
from anycsp.neural.cooling import CoolingSearch
from anycsp.neural.engine_torch import TwinSearch
from anycsp.neural.temperature import Temperature, as_range

if TYPE_CHECKING:
    from anycsp.neural.engine_native import NativeSearch
    from anycsp.neural.models import Model


def neural_engine(
    graph: ConstraintValueGraph,
    model: Model,
    runs: int,
    seed: int,
    temperature: Temperature,
    threads: int,
    *,
    steps: int | None = None,
    seconds: float | None = None,
) -> NeuralEngine:
    """The native engine on the processor, where it was built; the PyTorch twin elsewhere. `steps` and `seconds` say
    when the search will end, where that is known: cooling is planned to end with it."""
    hot, cold = as_range(temperature)
    engine: TemperedEngine
    if native.available() and graph.device.type == "cpu":
        from anycsp.neural.engine_native import NativeSearch

        engine = NativeSearch(graph, model.policy, runs, seed, hot, threads, model.guidance)
    else:
        native.warn_if_missing()
        engine = TwinSearch(graph, model.policy, runs, seed, hot, model.guidance)
    return engine if hot == cold else CoolingSearch(engine, runs, hot, cold, steps, seconds)


def profiled(engine: Engine) -> NativeSearch:
    """The native search inside an engine, with its clock running; errors where there is none to profile."""
    network: Any = engine.engine if isinstance(engine, CoolingSearch) else engine
    if not hasattr(network, "enable_profile"):
        raise AnyCSPError("a profile needs --search neural, the processor and the native module")
    search: NativeSearch = network
    search.enable_profile()
    return search
