"""The rules behind `auto`: which search a problem gets, which strategy of local search, which model.

`model/structure.py` says what kind of problem it is; here is only what follows from that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anycsp import native
from anycsp.constraints.base import Block
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.table import TableBlock
from anycsp.errors import ModelError
from anycsp.graph import ConstraintValueGraph
from anycsp.model.problem import Problem
from anycsp.model.quadratic import as_soft_constraints
from anycsp.model.structure import Kind, has_long_tables, is_boolean, kind_of, may_be_satisfiable
from anycsp.neural.models import Model, shipped_models
from anycsp.presolve.network import required
from anycsp.search import prior
from anycsp.search.exact.model import installed
from anycsp.search.features import features
from anycsp.search.heuristic import BESIDE, Heuristic
from anycsp.search.prior import Schedule

MODELS = {Kind.CUT: "maxcut", Kind.COLORING: "coloring", Kind.BINARY: "rb"}
"""The shipped model trained on problems of a kind; formulas have two."""
FALLBACK = "universal"
"""For every other problem: it learned several kinds, structured ones among them."""

DEFAULT = Heuristic()
"""Settings that say nothing: everything as the kind of problem has it."""


def choose_search(model: str | Model | Heuristic) -> str:
    """A model or settings that were asked for are used; otherwise compiled local search, wherever it was built: on
    generated instances of all five kinds it reaches better assignments sooner than the policies shipped so far."""
    if isinstance(model, Heuristic):
        return "local"
    return "neural" if model != "auto" or not native.available() else "local"


def choose_strategy(problem: Problem) -> str:
    """The strategy that was best on generated instances of the problem's kind (research/local-search.md)."""
    kind = kind_of(problem)
    if kind is Kind.STRUCTURED or has_long_tables(problem):
        return "weighting"
    if kind is Kind.FORMULA and may_be_satisfiable(problem):
        return "probsat"
    return "annealing" if is_boolean(problem) else "tabu"


LARGEST_TREE = 3_000_000
"""Edges beyond which propagators are not built: the time to build them belongs to the moves. A clause, a ≠ and a rule
look at positions or bounds, and count by their slots."""


LARGEST_RACE = 3_000_000
"""Edges beyond which one strategy has all the time: every member keeps costs of its own and begins by counting them."""


def fits_tree(graph: ConstraintValueGraph) -> bool:
    by_slot, sizes = ("clause", "matching", "rule", "linear"), graph.domains.sizes
    looked_at = [len(l.scope) if l.native_kind in by_slot else int(sizes[l.scope].sum()) for l in graph.labellings]
    return sum(looked_at) <= LARGEST_TREE


def choose_schedule(
    problem: Problem,
    graph: ConstraintValueGraph,
    decision: bool,
    heuristic: Heuristic = DEFAULT,
    *,
    optimised: bool = False,
) -> Schedule:
    """The members of local search and their shares of the time. Where nothing must hold, neither hard constraints nor,
    in a `decision`, all of them, there is no tree: it could only say what nobody asked."""
    kind, strategy = kind_of(problem), choose_strategy(problem)
    must_hold = bool(graph.terms.hard.any()) or (decision and bool(required(graph).any()))
    tree = (kind is not Kind.CUT or problem.scoring.all_required) and must_hold and fits_tree(graph)
    if heuristic.shares:
        shares = {name: share for name, share in heuristic.shares.items() if name not in BESIDE or tree}
        return Schedule(shares, prior.LEADER_FIRST)
    if optimised:
        return Schedule(prior.OPTIMISED if graph.num_edges <= LARGEST_RACE else prior.OPTIMISED_LARGE)
    quadratic = kind is Kind.TABLES and not tree and is_boolean(problem)  # a cut with unary costs: annealing leads
    structured = kind in prior.RACED or (kind is Kind.BINARY and not looks_random(problem))
    if structured and not quadratic and graph.num_edges <= LARGEST_RACE:
        if tree:
            return prior.learned().schedule(features(problem, graph))
        return Schedule({name: s for name, s in prior.STRUCTURED.items() if name != "tree"})
    if kind is Kind.COLORING and tree and int(graph.domains.sizes.max()) <= prior.MOST_FEW:
        return Schedule(prior.FEW_COLORS, prior.LEADER_FIRST)
    if not tree:
        return Schedule({strategy: 1.0})
    return Schedule({"tree": prior.TREE_BESIDE_ONE, strategy: 1.0 - prior.TREE_BESIDE_ONE}, prior.LEADER_FIRST)


LARGEST_EXACT = 1_000_000
"""Variables of constraints and cells of tables beyond which CP-SAT does not join: making its model takes a second for
some hundred thousand, and it is seldom done with so much in the time of a search."""


def exact_helps(problem: Problem) -> bool:
    """Whether CP-SAT joins a search of `auto`: where OR-Tools is installed, the model is within `LARGEST_EXACT`, and
    the problem does not look drawn at random. On cuts, graph colourings, formulas of one clause length and binary
    tables that are all different local search is far ahead, and half its time would be lost."""
    if looks_random(problem) or not installed():
        return False
    return sum(_translated_size(block) for block in problem.blocks) <= LARGEST_EXACT


def looks_random(problem: Problem) -> bool:
    if problem.objective is not None and problem.objective.expression is not None:
        return as_soft_constraints(problem) is not None
    kind = kind_of(problem)
    if kind is Kind.FORMULA:
        lengths = np.unique(np.concatenate([block.arity for block in problem.blocks]))
        return len(lengths) == 1
    if kind is Kind.BINARY:
        relations = sum(len(block.relations) for block in problem.blocks if isinstance(block, TableBlock))
        return 2 * relations > problem.num_constraints
    return kind is Kind.CUT or (kind is Kind.COLORING and not problem.whole)


def _translated_size(block: Block) -> int:
    """What of a block CP-SAT's model has to list."""
    if isinstance(block, TableBlock):
        cells = np.array([relation.tuples.size for relation in block.relations], dtype=np.int64)
        return len(block.scope) + (int(cells[block.relation].sum()) if len(cells) else 0)
    if isinstance(block, RuleBlock):
        nodes = np.array([len(program) for program in block.programs], dtype=np.int64)
        return int(nodes[block.program].sum())
    return len(block.scope)


def choose_parameters(strategy: str, graph: ConstraintValueGraph, heuristic: Heuristic = DEFAULT) -> dict[str, Any]:
    """What a strategy is told beside its defaults."""
    tuned = dict(heuristic.parameters.get(strategy, {}))
    if strategy == "focused" and "eta" not in tuned:
        tuned["eta"] = prior.FOCUS * max(2, int(graph.domains.sizes.max())) ** prior.FOCUS_EXPONENT
    return tuned


def choose_model(problem: Problem) -> str:
    """The shipped model trained for the problem's kind, or the nearest there is."""
    available = shipped_models()
    if not available:
        raise ModelError("no model is shipped with this installation: pass --model PATH")
    kind = kind_of(problem)
    name = MODELS.get(kind, FALLBACK)
    if kind is Kind.FORMULA:
        name = "sat" if may_be_satisfiable(problem) else "maxsat"
    return next((candidate for candidate in (name, FALLBACK) if candidate in available), available[0])
