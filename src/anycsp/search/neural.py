"""The paper's search: the policy proposes a whole new assignment every step, nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anycsp import native
from anycsp.errors import AnyCSPError
from anycsp.graph import ConstraintValueGraph
from anycsp.search.cooling import CoolingSearch
from anycsp.search.engine import Engine, NeuralEngine, TemperedEngine
from anycsp.search.twin import TwinSearch
from anycsp.temperature import Temperature, as_range

if TYPE_CHECKING:
    from anycsp.models import Model
    from anycsp.native.search import NativeSearch


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
        from anycsp.native.search import NativeSearch

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
