"""The paper's search: the policy proposes a whole new assignment every step, nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anycsp import native
from anycsp.graph import ConstraintValueGraph
from anycsp.search.engine import NeuralEngine
from anycsp.search.twin import TwinSearch

if TYPE_CHECKING:
    from anycsp.models import Model


def neural_engine(
    graph: ConstraintValueGraph, model: Model, runs: int, seed: int, temperature: float, threads: int
) -> NeuralEngine:
    """The native engine on the processor, where it was built; the PyTorch twin elsewhere."""
    if native.available() and graph.device.type == "cpu":
        from anycsp.native.search import NativeSearch

        return NativeSearch(graph, model.policy, runs, seed, temperature, threads)
    return TwinSearch(graph, model.policy, runs, seed, temperature)
