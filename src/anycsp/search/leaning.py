"""What a network leans to while it searches: its soft assignment in terms of the problem that was asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from anycsp.engine import Engine
from anycsp.neural.cooling import CoolingEngine
from anycsp.neural.engine_native import NativeEngine
from anycsp.search.driver import Leaning
from anycsp.search.prepare import Prepared


def leaning_of(engine: Engine, prepared: Prepared) -> Callable[[int], Leaning] | None:
    """A function of the run; None where no network searches alone, or not by the native engine."""
    network = engine.engine if isinstance(engine, CoolingEngine) else engine
    return partial(_leaning, network, prepared) if isinstance(network, NativeEngine) else None


def _leaning(network: NativeEngine, prepared: Prepared, run: int) -> Leaning:
    """The softmax of the logits over the values of each variable that is left; the others follow from those."""
    domains = prepared.graph.domains
    first, sizes = domains.start[:-1], domains.sizes
    logits = network.logits()[run]
    likelihood = np.exp(logits - np.repeat(np.maximum.reduceat(logits, first), sizes))
    likelihood /= np.repeat(np.add.reduceat(likelihood, first), sizes)
    highest = np.maximum.reduceat(likelihood, first)
    places = np.flatnonzero(likelihood >= np.repeat(highest, sizes))
    owner = np.repeat(np.arange(len(sizes)), sizes)[places]
    likeliest = places[np.searchsorted(owner, np.arange(len(sizes)))] - first
    confidence = np.ones(prepared.whole.num_variables, dtype=np.float32)
    index = {name: x for x, name in enumerate(prepared.whole.names)}
    confidence[[index[name] for name in prepared.problem.names]] = highest
    return Leaning(prepared.whole.completed(prepared.extended(likeliest)), confidence)
