"""A drawn problem through the library's own API: what `oracle.py` says the meaning of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anycsp.constraints.external import ExternalBlock
from anycsp.constraints.extremum import ExtremumBlock
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.short_table import ShortRelation, ShortTableBlock
from anycsp.constraints.sum import SumBlock
from anycsp.constraints.table import TableBlock
from anycsp.fuzz.problems.oracle import Case, Entry
from anycsp.model.bounds import bounds
from anycsp.model.expressions import Operand, Variable, operation
from anycsp.model.problem import Problem

Terms = dict[str, Any]


def build(case: Case) -> Problem:
    """The problem of a case."""
    problem = Problem()
    for variable in case["variables"]:
        problem.add_variable(variable["domain"], variable["name"])
    for definition in case.get("definitions", []):
        problem.define(expression(definition["expression"], problem), definition["name"])
    for entry in case["constraints"]:
        terms = {key: entry[key] for key in ("weight", "hard") if key in entry}
        POST[entry["post"]](problem, entry, terms)
    objective = case.get("objective")
    if objective is not None:
        goals = _operands(objective["goals"], problem)
        getattr(problem, objective["sense"])(goals if len(goals) > 1 else goals[0])
    return problem


def expression(tree: Any, problem: Problem) -> Any:
    """An expression, or any nest of them, with handles in place of `{"var": i}`."""
    if isinstance(tree, Mapping):
        return Variable(tree["var"], problem.names[tree["var"]])
    if not isinstance(tree, list):
        return tree
    return operation(tree[0], *(expression(operand, problem) for operand in tree[1:]))


def _operands(trees: Sequence[Any], problem: Problem) -> list[Operand]:
    return [expression(tree, problem) for tree in trees]


def _indices(scope: Sequence[Any]) -> list[int]:
    return [x["var"] for x in scope]


def branching(bound: int) -> Callable[..., bool]:
    """A function that looks at values, so that it cannot be traced into an expression."""
    return lambda *values: bool(sum(values) > bound if values[0] > 0 else values[-1] % 2 == 0)


# ── one function per post that is more than one call ─────────────────────────────────────────────


def _table(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_table(_indices(e["scope"]), e["rows"], allowed=e["allowed"], **terms)


def _tables(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_tables(np.array([_indices(e["scope"])]), e["rows"], allowed=e["allowed"], **terms)


def _tuples(p: Problem, e: Entry, terms: Terms) -> None:
    """In the layout of large tables, which these are too small to get by themselves."""
    own = Problem()
    for x in range(p.num_variables):
        own.add_variable(p.domain(x))
    _table(own, e, {})
    (block,) = own.blocks
    assert isinstance(block, TableBlock)
    for relation in block.relations:
        object.__setattr__(relation, "layout", "tuples")
    object.__setattr__(block, "terms", p.new_terms(**terms))
    p.add_block(block)


def _cells(row: Sequence[Any]) -> list[Any]:
    return [cell if cell == "*" else range(*cell["range"]) if isinstance(cell, Mapping) else set(cell) for cell in row]


def _short_table(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_short_table(_indices(e["scope"]), [_cells(row) for row in e["rows"]], allowed=e["allowed"], **terms)


def _short_block(p: Problem, e: Entry, terms: Terms) -> None:
    scope = _indices(e["scope"])
    relation = ShortRelation.of([p.domain(x) for x in scope], [_cells(row) for row in e["rows"]], e["allowed"])
    p.add_block(ShortTableBlock.one(np.array(scope), relation, p.new_terms(**terms)))


def _nogood(p: Problem, e: Entry, terms: Terms) -> None:
    scope = _indices(e["scope"])
    positions = [p.domain(x).position(value) for x, value in zip(scope, e["values"], strict=True)]
    p.add_nogood(scope, np.array(positions, dtype=np.int64), **terms)


def _clause(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_clause([(x["var"], value) for x, value in e["literals"]], **terms)


def _not_equal(p: Problem, e: Entry, terms: Terms) -> None:
    if "hard" not in terms:
        p.add_not_equal([(a["var"], b["var"]) for a, b in e["pairs"]], **terms)
        return
    p.add_tables(
        np.array([_indices(pair) for pair in e["pairs"]]),
        [[v, v] for v in p.domain(e["pairs"][0][0]["var"]).values.tolist()],
        allowed=False,
        **terms,
    )


def _traced(p: Problem, e: Entry, terms: Terms) -> None:
    """The same expression through a function that computes it."""
    p.add_rule(list(range(p.num_variables)), lambda *_: expression(e["expression"], p), **terms)


def _rule_block(p: Problem, e: Entry, terms: Terms) -> None:
    tree = expression(e["expression"], p)
    bounds(tree, p.bounds)  # whoever makes such a block refuses what leaves 64-bit arithmetic
    p.add_block(RuleBlock.one(tree, p.new_terms(**terms)))


def _function_block(p: Problem, e: Entry, terms: Terms) -> None:
    function = np.vectorize(branching(e["bound"]), otypes=[np.bool_])
    p.add_block(ExternalBlock.one(np.array(_indices(e["scope"])), function, p.new_terms(**terms)))


def _by_position(p: Problem, e: Entry) -> list[Any]:
    tables = zip(e["scope"], e["tables"], strict=True)
    return [p.domain(x["var"]).by_position(pairs) for x, pairs in tables]


def _sum(p: Problem, e: Entry, terms: Terms) -> None:
    scope = np.array(_indices(e["scope"]))
    p.add_block(SumBlock.one(scope, _by_position(p, e), e["operator"], e["bound"], p.new_terms(**terms)))


def _extremum(p: Problem, e: Entry, terms: Terms) -> None:
    scope, numbers = np.array(_indices(e["scope"])), _by_position(p, e)
    block = ExtremumBlock.one(scope, numbers, e["operator"], e["bound"], e["result"], p.new_terms(**terms))
    p.add_block(block)


def _cardinality(p: Problem, e: Entry, terms: Terms) -> None:
    occurs = [range(*o["range"]) if isinstance(o, Mapping) and "range" in o else expression(o, p) for o in e["occurs"]]
    p.add_cardinality(_operands(e["scope"], p), e["values"], occurs, e["closed"], **terms)


def _knapsack(p: Problem, e: Entry, terms: Terms) -> None:
    conditions = [(sign, expression(bound, p)) for sign, bound in (e["weight_condition"], e["profit_condition"])]
    p.add_knapsack(_operands(e["scope"], p), e["weights"], conditions[0], e["profits"], conditions[1], **terms)


def _bin_packing(p: Problem, e: Entry, terms: Terms) -> None:
    bins = [(number, sign, expression(bound, p)) for number, sign, bound in e["bins"]]
    p.add_bin_packing(_operands(e["scope"], p), e["sizes"], bins, **terms)


def _element(p: Problem, e: Entry, terms: Terms) -> None:
    index, bound = expression(e["index"], p), expression(e["bound"], p)
    p.add_element(_operands(e["scope"], p), index, e["operator"], bound, **terms)


def _ordered(p: Problem, e: Entry, terms: Terms) -> None:
    lengths = _operands(e["lengths"], p) if e.get("lengths") else None
    p.add_ordered(_operands(e["scope"], p), e["operator"], lengths, **terms)


def _all_different_lists(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_all_different_lists([_operands(scope, p) for scope in e["lists"]], except_lists=e["except"], **terms)


def _channel(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_channel(_operands(e["first"], p), None if e["second"] is None else _operands(e["second"], p), **terms)


def _circuit(p: Problem, e: Entry, terms: Terms) -> None:
    size = None if e["size"] is None else expression(e["size"], p)
    p.add_circuit(_operands(e["scope"], p), size, self_loops=e.get("self_loops", True), **terms)


def _no_overlap(p: Problem, e: Entry, terms: Terms) -> None:
    origins, lengths = ([_operands(box, p) for box in e[key]] for key in ("origins", "lengths"))
    if all(len(box) == 1 for box in origins):  # tasks in one dimension may be given as they are
        p.add_no_overlap([b[0] for b in origins], [b[0] for b in lengths], e["zero_ignored"], **terms)
    else:
        p.add_no_overlap(origins, lengths, e["zero_ignored"], **terms)


def _cumulative(p: Problem, e: Entry, terms: Terms) -> None:
    origins, lengths, heights = (_operands(e[key], p) for key in ("origins", "lengths", "heights"))
    p.add_cumulative(origins, lengths, heights, e["operator"], expression(e["bound"], p), **terms)


def _regular(p: Problem, e: Entry, terms: Terms) -> None:
    scope = [Variable(x, p.names[x]) for x in _indices(e["scope"])]
    p.add_regular(scope, [(a, v, b) for a, v, b in e["transitions"]], e["start"], e["final"], **terms)


def _mdd(p: Problem, e: Entry, terms: Terms) -> None:
    p.add_mdd([Variable(x, p.names[x]) for x in _indices(e["scope"])], [tuple(t) for t in e["transitions"]], **terms)


POST: dict[str, Callable[[Problem, Entry, Terms], object]] = {
    "table": _table,
    "tables": _tables,
    "tuples": _tuples,
    "short_table": _short_table,
    "short_block": _short_block,
    "nogood": _nogood,
    "clause": _clause,
    "linear": lambda p, e, t: p.add_linear(_indices(e["scope"]), e["coefficients"], e["operator"], e["bound"], **t),
    "all_different": lambda p, e, t: p.add_all_different(_indices(e["scope"]), except_values=e.get("except", ()), **t),
    "pairs_differ": lambda p, e, t: p.add_all_different(_operands(e["scope"], p), **t),
    "not_equal": _not_equal,
    "rule": lambda p, e, t: p.add(expression(e["expression"], p), **t),
    "rule_block": _rule_block,
    "traced": _traced,
    "function": lambda p, e, t: p.add_rule(_indices(e["scope"]), branching(e["bound"]), **t),
    "function_block": _function_block,
    "sum": _sum,
    "extremum": _extremum,
    "distinct": lambda p, e, t: p.add_distinct(
        _operands(e["scope"], p), e["operator"], expression(e["bound"], p), except_values=e.get("except", ()), **t
    ),
    "all_equal": lambda p, e, t: p.add_all_equal(_operands(e["scope"], p), except_values=e.get("except", ()), **t),
    "not_all_equal": lambda p, e, t: p.add_not_all_equal(_operands(e["scope"], p), **t),
    "count": lambda p, e, t: p.add_count(
        _operands(e["scope"], p), _operands(e["values"], p), e["operator"], expression(e["bound"], p), **t
    ),
    "cardinality": _cardinality,
    "knapsack": _knapsack,
    "bin_packing": _bin_packing,
    "maximum": lambda p, e, t: p.add_maximum(_operands(e["scope"], p), e["operator"], expression(e["bound"], p), **t),
    "minimum": lambda p, e, t: p.add_minimum(_operands(e["scope"], p), e["operator"], expression(e["bound"], p), **t),
    "element": _element,
    "ordered": _ordered,
    "lexicographic": lambda p, e, t: p.add_lexicographic(
        [_operands(scope, p) for scope in e["lists"]], e["operator"], **t
    ),
    "all_different_lists": _all_different_lists,
    "precedence": lambda p, e, t: p.add_precedence(_operands(e["scope"], p), e["values"], e["covered"], **t),
    "channel": _channel,
    "channel_value": lambda p, e, t: p.add_channel_value(_operands(e["scope"], p), expression(e["value"], p), **t),
    "circuit": _circuit,
    "instantiation": lambda p, e, t: p.add_instantiation(_operands(e["scope"], p), e["values"], **t),
    "no_overlap": _no_overlap,
    "cumulative": _cumulative,
    "regular": _regular,
    "mdd": _mdd,
}
"""By the names of `oracle.PARTS`."""
