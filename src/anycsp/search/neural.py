"""The paper's search: the policy proposes a whole new assignment every step, nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anycsp import native
from anycsp.graph import ConstraintValueGraph
from anycsp.search.cooling import CoolingSearch
from anycsp.search.engine import NeuralEngine
from anycsp.search.twin import TwinSearch
from anycsp.temperature import Temperature, as_range

if TYPE_CHECKING:
    from anycsp.models import Model


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
    engine: NeuralEngine
    if native.available() and graph.device.type == "cpu":
        from anycsp.native.search import NativeSearch

        engine = NativeSearch(graph, model.policy, runs, seed, hot, threads)
    else:
        engine = TwinSearch(graph, model.policy, runs, seed, hot)
    return engine if hot == cold else CoolingSearch(engine, runs, hot, cold, steps, seconds)
