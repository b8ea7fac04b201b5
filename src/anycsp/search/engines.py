"""The engine of a search, by its name: the one place that makes them."""

from __future__ import annotations

from collections.abc import Callable

from anycsp.engine import Engine
from anycsp.neural.engine import neural_engine
from anycsp.neural.models import Model
from anycsp.neural.temperature import Temperature
from anycsp.search.choose import choose_strategy
from anycsp.search.hybrid import HybridSearch
from anycsp.search.local import LocalSearch
from anycsp.search.options import SearchOptions
from anycsp.search.prepare import Plan, Prepared


def make_engine(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """An engine that is yet to be started."""
    return _ENGINES[plan.search](prepared, plan, options)


def _local(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    strategy = choose_strategy(prepared.problem)
    return LocalSearch(
        prepared.graph, strategy, plan.runs, options.seed, plan.threads, steps=options.steps, seconds=options.seconds
    )


def _neural(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    model, heat = _network(prepared, plan, options)
    return neural_engine(
        prepared.graph, model, plan.runs, options.seed, heat, plan.threads,
        device=options.device, steps=options.steps, seconds=options.seconds,
    )  # fmt: skip


def _hybrid(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    model, heat = _network(prepared, plan, options)
    strategy = choose_strategy(prepared.problem)
    return HybridSearch(
        prepared.graph, model, strategy, plan.runs, options.seed, heat, plan.threads,
        device=options.device, steps=options.steps, seconds=options.seconds,
    )  # fmt: skip


def _network(prepared: Prepared, plan: Plan, options: SearchOptions) -> tuple[Model, Temperature]:
    """The model, and its temperature, which depends on the domains of the whole problem."""
    assert plan.model is not None, "a search with a network has a model"
    return plan.model, options.temperature or plan.model.temperature_for(prepared.whole)


_ENGINES: dict[str, Callable[[Prepared, Plan, SearchOptions], Engine]] = {
    "local": _local,
    "neural": _neural,
    "hybrid": _hybrid,
}
