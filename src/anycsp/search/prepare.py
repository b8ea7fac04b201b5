"""Before the search: what `auto` comes to, what is left of the problem, and where the runs begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.rule import RuleBlock
from anycsp.deadline import Deadline
from anycsp.errors import ProblemError
from anycsp.footprint import check_memory, count_edges
from anycsp.graph import ConstraintValueGraph, compile_graph
from anycsp.model.problem import Problem
from anycsp.model.variables import Assignment
from anycsp.neural.models import Model, load_model
from anycsp.presolve.construct import constructed
from anycsp.presolve.reduce import Presolved, presolved
from anycsp.randomness import initial_positions
from anycsp.search.choose import LARGEST_TREE, choose_model, choose_search, exact_helps
from anycsp.search.enumeration import is_tiny
from anycsp.search.heuristic import Heuristic
from anycsp.search.options import SearchOptions

BUILDING_SECONDS = 1e-7
"""Per edge of the graph, from the problem to an engine that has counted its first assignment, or per slot where it does
without. Where less time is left than that, nothing is built."""
EVALUATING_SECONDS = 4e-10
"""Per operand of a rule and value of its variables: local strategies and the network evaluate a rule for every one of
these before their first move, which for a circuit of 1,500 vertices takes two seconds."""
RECOUNTING_SECONDS = 3e-8
"""Per slot, for the answer to be counted anew; and per operation of a rule, which is one of numpy: 1e-5."""
OPERATION_SECONDS = 1e-5
COUNTING_SHARE = 0.1
"""The most of the time that counting a first assignment of local search may take where the tree and invariants, which
look at no single values, can do without it."""
INVARIANT_SECONDS = 5e-7
"""Per slot: what the graph of invariants takes to be made."""
SHORTEST_WITH_EXACT = 1.0
"""Seconds: a shorter search is over before OR-Tools is imported and the model is made."""


@dataclass(frozen=True)
class Plan:
    """How a problem is searched, nothing left to be chosen."""

    search: str
    model: Model | None
    """None where the search has no network."""
    heuristic: Heuristic
    """The settings of compiled search; the default ones where none were asked for."""
    runs: int
    threads: int

    @property
    def hidden(self) -> int:
        """Numbers that a run keeps of each value: the network's hidden size, one without a network."""
        return 1 if self.model is None else self.model.weights.config.hidden

    @property
    def model_name(self) -> str:
        """What the search was given to go by, "none" where that is nothing."""
        return self.model.name if self.model is not None else self.heuristic.name or "none"


@dataclass(frozen=True)
class Prepared:
    """What an engine searches, and the way back to the problem that was asked."""

    whole: Problem
    reduced: Presolved
    graph: ConstraintValueGraph
    """The graph of what is left. Its deadline leaves time for the way back."""

    @property
    def problem(self) -> Problem:
        """What is left to search."""
        return self.reduced.problem

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Positions of what is left → of the whole problem."""
        return self.reduced.extended(positions)


def plan_for(problem: Problem, options: SearchOptions) -> Plan:
    search = choose_search(options.model) if options.search == "auto" else options.search
    heuristic = options.model if isinstance(options.model, Heuristic) else Heuristic()
    if search == "local" and _may_be_joined(options) and exact_helps(problem):
        search = "auto"
    model = None if search in ("auto", "local", "exact") else _model(problem, options)
    # Where steps are counted an answer repeats, so nothing may depend on how many threads there are.
    local_runs = options.thread_count if options.steps is None else 1
    runs = options.runs or (local_runs if model is None else model.runs)
    return Plan(search, model, heuristic, runs, options.thread_count)


def _may_be_joined(options: SearchOptions) -> bool:
    """Whether exact search could join: it was not ruled out by naming a search or its settings, it comes later, and its
    answers do not repeat by steps."""
    if options.search != "auto" or isinstance(options.model, Heuristic):
        return False
    return options.steps is None and options.deadline.left > SHORTEST_WITH_EXACT


def _model(problem: Problem, options: SearchOptions) -> Model:
    model = options.model
    assert not isinstance(model, Heuristic), "which asks for compiled search"
    if not isinstance(model, Model):
        model = load_model(choose_model(problem) if model == "auto" else model)
    model = model.suited_to(problem)
    return model if options.guidance is None else replace(model, guidance=options.guidance)


def prepare(problem: Problem, options: SearchOptions, plan: Plan, *, of_one_kind: bool = True) -> Prepared:
    """Refuse what would not fit in memory, presolve, compile (`of_one_kind` as there)."""
    check_memory([problem], runs=plan.runs, hidden=plan.hidden)
    slots = _slots(problem) + problem.num_variables
    recounting = RECOUNTING_SECONDS * slots + OPERATION_SECONDS * _operations(problem)
    compiled = plan.search in ("local", "auto")
    lean = compiled and slots <= LARGEST_TREE and not counts_in_time(problem, options.deadline)
    counted = plan.search != "exact" and not lean
    building = counting_seconds(problem) if counted else BUILDING_SECONDS * slots
    begin_by = options.deadline.earlier(building + recounting)
    begin_by.check()
    reduced = presolved(problem, begin_by) if is_presolved(problem, options) else Presolved(problem)
    search_until = options.deadline.earlier(reduced.seconds + recounting)
    graph = compile_graph(reduced.problem, deadline=search_until, of_one_kind=of_one_kind)
    search_until.check()
    return Prepared(problem, reduced, graph)


def counts_in_time(problem: Problem, deadline: Deadline) -> bool:
    """Whether a local strategy has counted its first assignment in a small part of the time, or before the others
    have begun."""
    return counting_seconds(problem) <= max(COUNTING_SHARE * deadline.left, invariant_seconds(problem))


def invariant_seconds(problem: Problem) -> float:
    return INVARIANT_SECONDS * _slots(problem)


def counting_seconds(problem: Problem) -> float:
    """Until a search that looks at every value of every constraint has counted its first assignment."""
    edges = count_edges(problem) + problem.num_variables
    return BUILDING_SECONDS * edges + EVALUATING_SECONDS * _evaluations(problem)


def _evaluations(problem: Problem) -> int:
    """Operands of rules that are looked at where each is evaluated for every value of its variables."""
    total = 0
    for block in problem.blocks:
        if isinstance(block, RuleBlock):
            operands = np.array([len(program.operands) for program in block.programs], dtype=np.int64)
            values = np.add.reduceat(np.append(problem.domain_sizes[block.scope], 0), block.scope_start[:-1])
            total += int((values * (block.arity > 0) * operands[block.program]).sum())
    return total


def _slots(problem: Problem) -> int:
    """What propagators and a recount look at: the variables of each constraint; all their values in families that list
    these."""
    by_slot, sizes = (ClauseBlock, RuleBlock, LinearBlock), problem.domain_sizes
    return int(sum(len(b.scope) if isinstance(b, by_slot) else int(sizes[b.scope].sum()) for b in problem.blocks))


def _operations(problem: Problem) -> int:
    """Operations of all rules; those that share a program are computed together."""
    return sum(len(program) for b in problem.blocks if isinstance(b, RuleBlock) for program in b.programs)


def is_presolved(problem: Problem, options: SearchOptions) -> bool:
    """A hint is an assignment of the whole problem, so with one nothing is taken away from it; of a tiny problem every
    assignment is looked at, whatever its constraints require; and CP-SAT alone presolves by itself."""
    settled = not isinstance(options.model, Heuristic) or options.model.presolve
    wanted = options.presolve and settled and options.hint is None and options.search != "exact"
    return wanted and not is_tiny(problem.domain_sizes, options.steps)


def starts(prepared: Prepared, options: SearchOptions, plan: Plan) -> npt.NDArray[np.int64]:
    """[runs, variables]: random positions; the hint in every run, or a constructed assignment in the first one of a
    search that moves locally. The network alone begins at random, as in the paper."""
    start = initial_positions(prepared.graph.domains.sizes, options.seed, range(plan.runs))
    if options.hint is not None:
        return _hinted(prepared.whole, options.hint, start)
    if plan.search != "neural" and (first := constructed(prepared.problem, options.deadline)) is not None:
        start[0] = first
    return start


def first_positions(problem: Problem, options: SearchOptions) -> npt.NDArray[np.int32]:
    """[variables]: the hint, otherwise random positions; where nothing is prepared."""
    start = initial_positions(problem.domain_sizes, options.seed, range(1))
    positions: npt.NDArray[np.int32] = (start if options.hint is None else _hinted(problem, options.hint, start))[0]
    positions = positions.astype(np.int32)
    if options.hint is None:
        problem.complete(positions)
    return positions


def _hinted(problem: Problem, hint: Assignment, start: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The random starts with the hinted variables set, in every run."""
    if isinstance(hint, Mapping):
        hint = problem.by_name(hint)
        for name, value in hint.items():
            try:
                start[:, problem.index(name)] = problem.domain(name).position(value)
            except ProblemError as error:
                raise ProblemError(f"the hint for {name!r}: {error}") from None
        unhinted = [x for x in problem.definitions if problem.names[x] not in hint]
        for row in start:
            problem.complete(row, unhinted)
        return start
    try:
        return np.tile(problem.positions(hint), (len(start), 1))
    except ProblemError as error:
        raise ProblemError(f"the hint: {error}") from None
