"""What a network leans to while it searches: its soft assignment in terms of the problem that was asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from anycsp.engine import Engine
from anycsp.neural.engine import native_network
from anycsp.neural.engine_native import NativeEngine
from anycsp.search.driver import Leaning
from anycsp.search.hybrid import HybridSearch
from anycsp.search.prepare import Prepared


def leaning_of(engine: Engine, prepared: Prepared) -> Callable[[int], Callable[[], Leaning] | None] | None:
    """From the run with the best to what the network leans to there; None where no network searches, or not by the
    native engine."""
    if isinstance(engine, HybridSearch):
        return lambda run: _advice(engine.advice(), prepared)
    network = native_network(engine)
    return None if network is None else lambda run: partial(_leaning, network, prepared, run)


def _advice(network: Engine | None, prepared: Prepared) -> Callable[[], Leaning] | None:
    """Of its runs the one that is best."""
    native = native_network(network)
    return None if native is None else partial(_leaning, native, prepared, int(native.best_score()[:, 0].argmin()))


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
