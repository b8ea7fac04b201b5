"""Judge a policy: the mean number of unsatisfied constraints on a fixed set, after several numbers of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from anycsp.distributions import Distribution
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.neural.engine import neural_engine
from anycsp.neural.guidance import UNGUIDED, Guidance
from anycsp.neural.models import Model
from anycsp.neural.pairs import in_pairs
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.temperature import Temperature
from anycsp.neural.tensors import TensorGraph

VALIDATION_SEED = 20_230_101
"""The validation set of a distribution is the same for every run, whatever its seed."""

INTERRUPTIBLE = 50
"""Steps in one call of the engine, during which no Ctrl-C is heard."""


class ValidationSet:
    """Fixed instances in one graph, searched together."""

    def __init__(self, distribution: Distribution, instances: int) -> None:
        self.problems = distribution.sample(VALIDATION_SEED, instances)
        self.graph: ConstraintValueGraph = compile_graph([in_pairs(p) for p in self.problems], of_one_kind=True)

    def unsatisfied(self, positions: npt.NDArray[np.integer[Any]]) -> float:
        """Mean violated weight over the instances, whose assignments are side by side in `positions` [variables]."""
        graph, at = TensorGraph(self.graph), torch.as_tensor(positions, dtype=torch.int64)[None]
        score = graph.violations(graph.satisfied(at, graph.labels(at))).score[0]
        return float((score.numpy() / self.graph.units).mean())

    def measure(
        self,
        policy: PolicyNetwork,
        depths: Sequence[int],
        temperature: Temperature = 1.0,
        guidance: Guidance = UNGUIDED,
    ) -> dict[int, float]:
        """Depth → mean violated weight of the best assignment so far, over the instances."""
        return self.measure_model(Model("validated", policy.weights(), temperature, 1, guidance), depths)

    def measure_model(self, model: Model, depths: Sequence[int]) -> dict[int, float]:
        """The same for a model with search settings of its own."""
        temperature = model.temperature_for(self.problems[0])
        # A search that cools is planned for its length, so every depth is a search of its own.
        searches = [[depth] for depth in depths] if isinstance(temperature, tuple) else [depths]
        result = {}
        for goals in searches:
            threads = torch.get_num_threads()
            engine = neural_engine(self.graph, model, 1, VALIDATION_SEED, temperature, threads, steps=goals[-1])
            engine.start()
            for depth in goals:
                # The search of a single instance ends where that is solved.
                while engine.steps < depth and engine.advance(min(depth - engine.steps, INTERRUPTIBLE), math.inf):
                    pass
                result[depth] = float((engine.best_score() / self.graph.units).mean())
        return result
