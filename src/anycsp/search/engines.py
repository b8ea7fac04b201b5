"""The engine of a search, by its name: the one place that makes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from anycsp.deadline import OutOfTime
from anycsp.engine import Engine
from anycsp.graph import compile_graph
from anycsp.model.structure import Kind, is_decision, is_modelled, kind_of
from anycsp.neural.engine import neural_engine
from anycsp.neural.models import Model
from anycsp.neural.pairs import PairsEngine, in_pairs
from anycsp.neural.temperature import Temperature
from anycsp.presolve.network import required
from anycsp.search import prior
from anycsp.search.bound import BoundedProblem
from anycsp.search.choose import choose_parameters, choose_schedule, choose_strategy, fits_tree
from anycsp.search.enumeration import Enumeration, is_tiny
from anycsp.search.exact.beside import BesideExact, Partner
from anycsp.search.exact.engine import ExactSearch, score_of
from anycsp.search.hybrid import HybridSearch
from anycsp.search.invariant_member import InvariantMember
from anycsp.search.invariants import NAME as INVARIANTS
from anycsp.search.invariants import InvariantSearch, possible_values
from anycsp.search.local import FOREVER, LocalSearch
from anycsp.search.options import SearchOptions
from anycsp.search.portfolio import FIRST_BOUT, LocalMember, Portfolio
from anycsp.search.prepare import Plan, Prepared, counts_in_time, invariant_seconds
from anycsp.search.prior import Schedule
from anycsp.search.tree import TreeSearch


def make_engine(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """An engine that is yet to be started."""
    return _ENGINES[plan.search](prepared, plan, options)


def _local(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """All assignments where they are few, and steps enough for them; otherwise by moves."""
    if is_tiny(prepared.graph.domains.sizes, options.steps):
        decides, claims = is_decision(prepared.whole), plan.search == "auto"
        return Enumeration(prepared.graph, options.seed, decides=decides, claims=claims)
    return _by_moves(prepared, plan, options)


def _by_moves(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """One strategy, the tree beside one, or several of them in turns: search/choose.py says which."""
    schedule = choose_schedule(prepared.problem, prepared.graph, is_decision(prepared.whole), plan.heuristic)
    if len(schedule.shares) > 1 or plan.heuristic.bout is not None:
        return portfolio(prepared, plan, options, schedule)
    (strategy,) = schedule.shares
    return _strategy(strategy, prepared, plan, options, options.seed, plan.runs, plan.threads)


def _strategy(
    name: str, prepared: Prepared, plan: Plan, options: SearchOptions, seed: int, runs: int, threads: int
) -> LocalSearch:
    return LocalSearch(
        prepared.graph, name, runs, seed, threads,
        steps=options.steps, deadline=options.deadline, graded=plan.heuristic.graded,
        **choose_parameters(name, prepared.graph, plan.heuristic),
    )  # fmt: skip


def _auto(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """Local search, and exact search beside it where not all assignments are looked at anyway."""
    workers, own = _divided(plan)
    engine = _local(prepared, own, options)
    if isinstance(engine, Enumeration):
        return engine
    decision, alone = is_decision(prepared.whole), plan.threads == 1
    partner = Partner(
        prepared.problem, options.seed, workers, options.deadline,
        decision=decision, alone=alone, branching=options.branching,
    )  # fmt: skip
    return BesideExact(engine, partner, alone=alone)


def improving_engine(
    prepared: Prepared, plan: Plan, options: SearchOptions, bounded: BoundedProblem
) -> Portfolio | BesideExact:
    """The engine for a problem with an objective, which `bounded` is made of."""
    if plan.search == "local":
        return _optimising(prepared, plan, options, bounded)
    workers, own = _divided(plan)
    engine = _optimising(prepared, own, options, bounded)
    alone = plan.threads == 1
    partner = Partner(
        bounded.original, options.seed, workers, options.deadline,
        decision=True, alone=alone, branching=options.branching,
    )  # fmt: skip
    return BesideExact(engine, partner, alone=alone, bounded=bounded)


def _divided(plan: Plan) -> tuple[int, Plan]:
    """The threads of CP-SAT, and the plan of the search beside it: half each, and one is shared."""
    workers = max(1, plan.threads // 2)
    return workers, replace(plan, threads=max(1, plan.threads - workers))


def _optimising(prepared: Prepared, plan: Plan, options: SearchOptions, bounded: BoundedProblem) -> Portfolio:
    """With an objective, which `bounded` is the problem of, all take turns, whatever the kind."""
    objective = bounded.attach(prepared.graph)
    schedule = choose_schedule(prepared.problem, prepared.graph, True, plan.heuristic, optimised=True)
    return portfolio(prepared, plan, options, schedule, bounded, objective)


def portfolio(
    prepared: Prepared,
    plan: Plan,
    options: SearchOptions,
    schedule: Schedule,
    bounded: BoundedProblem | None = None,
    objective: int = -1,
) -> Portfolio:
    """`objective` is the constraint that bounds one, where there is one."""
    graph, heuristic, shares = prepared.graph, plan.heuristic, schedule.shares
    if options.tell is not None:
        options.tell(f"portfolio: {schedule}")
    counted = heuristic.shares or counts_in_time(prepared.problem, options.deadline)
    if not counted and _can_do_without_local(prepared, shares, bounded):
        shares = prior.UNCOUNTED
    strategies = [name for name in shares if name not in ("tree", INVARIANTS)]
    raced = len(strategies) > 1
    bout = heuristic.bout or (FIRST_BOUT if raced else None)
    runs, threads = (1, 1) if raced else (plan.runs, plan.threads)
    rng = np.random.default_rng([options.seed & (2**64 - 1), 1])
    members: list[LocalMember] = []
    for k, name in enumerate(strategies):
        if members and options.deadline.passed:
            break  # one is enough for an answer
        search = _strategy(name, prepared, plan, options, options.seed + k, runs, threads)
        members.append(LocalMember(search, shares[name], rng.spawn(1)[0], bout=bout, growth=heuristic.growth))
    tree = _tree(prepared, options, objective) if "tree" in shares and fits_tree(graph) else None
    invariants = None
    if INVARIANTS in shares and fits_tree(graph):
        invariants = InvariantMember(
            lambda: _invariants(prepared, options, objective), shares[INVARIANTS], optimises=bounded is not None
        )
    threads = plan.threads if raced else 1
    by_steps, retreat = options.steps is not None, None if bounded is None else bounded.retreat
    kind, whole = kind_of(prepared.problem), prepared.whole
    asked = whole.scoring.all_required or (kind is Kind.FORMULA and is_modelled(whole) and is_decision(whole))
    ends_at_proof = asked or kind not in prior.MINIMISED
    return Portfolio(
        graph, tree, shares.get("tree", 0.0), members, threads,
        invariants=invariants, by_steps=by_steps, retreat=retreat, ends_at_proof=ends_at_proof, leader=heuristic.leader,
        refuted=prepared.reduced.refuted_by is not None, first_turn=schedule.first_turn,
        count=lambda at: (score_of(prepared.problem, at), prepared.problem.violation_of_positions(at)),
        **({} if bounded is None else {"improves": bounded.improves}),
    )  # fmt: skip


def _can_do_without_local(prepared: Prepared, shares: Mapping[str, float], bounded: BoundedProblem | None) -> bool:
    """Whether all that the tree finds is a solution, so that nobody need count what it violates."""
    whole = bounded is not None or bool(required(prepared.graph).all())
    return "tree" in shares and fits_tree(prepared.graph) and whole


def _tree(prepared: Prepared, options: SearchOptions, objective: int) -> TreeSearch | None:
    """None where there is no time to build it."""
    defined = prepared.problem.definitions
    try:
        return TreeSearch(prepared.graph, options.seed, defined=defined, objective=objective, deadline=options.deadline)
    except OutOfTime:
        return None


def _invariants(prepared: Prepared, options: SearchOptions, objective: int) -> InvariantSearch | None:
    """None where there is no time to build it: that cannot be cut short."""
    graph = prepared.graph
    if options.deadline.earlier(invariant_seconds(prepared.problem)).passed:
        return None
    return InvariantSearch(
        graph, required(graph), 1, options.seed, defined=prepared.problem.definitions, objective=objective,
        kept=possible_values(graph, options.deadline),
    )  # fmt: skip


NETWORK_SECONDS = 4e-7
"""Per value of the problem and run: what the state of a network takes to be made. Where less is left, it is not."""


def _neural(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    options.deadline.earlier(NETWORK_SECONDS * plan.runs * prepared.graph.num_values).check()
    model, heat = _network(prepared, plan, options)
    problem, graph = prepared.problem, prepared.graph
    pairs = in_pairs(problem, graph.deadline)
    engine = neural_engine(
        graph if pairs is problem else compile_graph(pairs, deadline=graph.deadline, of_one_kind=True),
        model, plan.runs, options.seed, heat, plan.threads,
        device=options.device, steps=options.steps, deadline=options.deadline,
    )  # fmt: skip
    if pairs is problem:
        return engine
    return PairsEngine(engine, lambda at: (score_of(problem, at), problem.violation_of_positions(at)))


def _hybrid(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    """Local search, and a network that advises it where not all assignments are looked at anyway."""
    model, heat = _network(prepared, plan, options)
    if is_tiny(prepared.graph.domains.sizes, options.steps):
        return _local(prepared, plan, options)
    # Steps are the network's; moves are then counted in place of seconds, but not limited.
    counted = options if options.steps is None else replace(options, steps=FOREVER)
    free = _by_moves(prepared, replace(plan, runs=plan.threads if options.steps is None else 1), counted)
    strategy = choose_strategy(prepared.problem)
    return HybridSearch(
        prepared.graph, free, model, strategy, plan.runs, options.seed, heat, plan.threads,
        device=options.device, steps=options.steps, deadline=options.deadline,
    )  # fmt: skip


IMPORTING_SECONDS = 0.15
"""What the import of OR-Tools takes at least. Where less is left, it is not begun."""


def _exact(prepared: Prepared, plan: Plan, options: SearchOptions) -> Engine:
    if "ortools" not in sys.modules:
        options.deadline.earlier(IMPORTING_SECONDS).check()
    return ExactSearch(prepared.problem, options.seed, plan.threads, steps=options.steps, deadline=options.deadline)


def _network(prepared: Prepared, plan: Plan, options: SearchOptions) -> tuple[Model, Temperature]:
    """The model, and its temperature, which depends on the domains of the whole problem."""
    assert plan.model is not None, "a search with a network has a model"
    return plan.model, options.temperature or plan.model.temperature_for(prepared.whole)


_ENGINES: dict[str, Callable[[Prepared, Plan, SearchOptions], Engine]] = {
    "auto": _auto,
    "local": _local,
    "neural": _neural,
    "hybrid": _hybrid,
    "exact": _exact,
}
