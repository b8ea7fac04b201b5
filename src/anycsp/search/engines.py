"""The engine of a search, by its name: the one place that makes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anycsp.engine import Engine
from anycsp.model.structure import is_decision, kind_of
from anycsp.neural.engine import neural_engine
from anycsp.neural.models import Model
from anycsp.neural.temperature import Temperature
from anycsp.search import prior
from anycsp.search.bound import BoundedProblem
from anycsp.search.choose import choose_parameters, choose_shares, choose_strategy, fits_tree
from anycsp.search.enumeration import Enumeration, is_tiny
from anycsp.search.hybrid import HybridSearch
from anycsp.search.local import LocalSearch
from anycsp.search.options import SearchOptions
from anycsp.search.portfolio import LocalMember, Portfolio
from anycsp.search.prepare import Plan, Prepared
from anycsp.search.tree import TreeSearch


def make_engine(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """An engine that is yet to be started."""
    return _ENGINES[plan.search](prepared, plan, options)


def _local(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """All assignments where they are few; otherwise one strategy, the tree beside one, or several of them in turns:
    search/choose.py says which."""
    if is_tiny(prepared.graph.domains.sizes):
        return Enumeration(prepared.graph, options.seed, decides=is_decision(prepared.whole))
    shares = choose_shares(prepared.problem, prepared.graph, is_decision(prepared.whole))
    if len(shares) > 1:
        return portfolio(prepared, plan, options)
    (strategy,) = shares
    return LocalSearch(
        prepared.graph, strategy, plan.runs, options.seed, plan.threads, steps=options.steps, deadline=options.deadline
    )


def portfolio(
    prepared: Prepared, plan: Plan, options: SearchOptions, bounded: BoundedProblem | None = None
) -> Portfolio:
    """With an objective, which `bounded` is the problem of, all take turns, whatever the kind."""
    graph = prepared.graph
    objective = -1 if bounded is None else bounded.attach(graph)
    shares = choose_shares(prepared.problem, graph, is_decision(prepared.whole)) if bounded is None else prior.OPTIMISED
    strategies = [name for name in shares if name != "tree"]
    raced = len(strategies) > 1
    runs, threads = (1, 1) if raced else (plan.runs, plan.threads)
    rng = np.random.default_rng([options.seed & (2**64 - 1), 1])
    members = []
    for k, name in enumerate(strategies):
        search = LocalSearch(
            graph, name, runs, options.seed + k, threads,
            steps=options.steps, deadline=options.deadline, **choose_parameters(name, graph),
        )  # fmt: skip
        members.append(LocalMember(search, shares[name], rng.spawn(1)[0], bouts=raced))
    tree = None
    if "tree" in shares and fits_tree(graph):
        defined = prepared.problem.definitions
        tree = TreeSearch(graph, options.seed, defined=defined, objective=objective, deadline=options.deadline)
    threads = plan.threads if raced else 1
    by_steps, retreat = options.steps is not None, None if bounded is None else bounded.retreat
    ends_at_proof = kind_of(prepared.problem) not in prior.MINIMISED
    return Portfolio(
        graph, tree, shares.get("tree", 0.0), members, threads,
        by_steps=by_steps, retreat=retreat, ends_at_proof=ends_at_proof,
        refuted=prepared.reduced.refuted_by is not None,
    )  # fmt: skip


def _neural(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    model, heat = _network(prepared, plan, options)
    return neural_engine(
        prepared.graph, model, plan.runs, options.seed, heat, plan.threads,
        device=options.device, steps=options.steps, deadline=options.deadline,
    )  # fmt: skip


def _hybrid(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    model, heat = _network(prepared, plan, options)
    strategy = choose_strategy(prepared.problem)
    return HybridSearch(
        prepared.graph, model, strategy, plan.runs, options.seed, heat, plan.threads,
        device=options.device, steps=options.steps, deadline=options.deadline,
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
