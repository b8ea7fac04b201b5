"""Read back what `Block.describe` writes: the JSON form of a constraint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anycsp.constraints.distinct import DistinctBlock
from anycsp.constraints.extremum import ExtremumBlock
from anycsp.constraints.rule import RuleBlock
from anycsp.constraints.sum import SumBlock
from anycsp.errors import ProblemError
from anycsp.expressions import ARITY, CODE, Operand, Variable, operation

if TYPE_CHECKING:
    from anycsp.problem import Problem


def add_described(problem: Problem, data: Mapping[str, Any]) -> None:
    """Add one constraint given as plain data."""
    reader = _READERS.get(str(data.get("kind")))
    if reader is None:
        raise ProblemError(f"unknown kind of constraint {data.get('kind')!r}: use one of {', '.join(_READERS)}")
    terms = {"weight": data.get("weight", 1.0), "hard": bool(data.get("hard", False))}
    try:
        scope = [problem.index(x) for x in data["scope"]]
        reader(problem, scope, data, terms)
    except (KeyError, TypeError, IndexError) as error:
        raise ProblemError(f"a {data['kind']} constraint lacks or misuses {error}") from None


Reader = Callable[["Problem", list[int], Mapping[str, Any], dict[str, Any]], None]


def _table(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    allowed = "allowed" in data
    problem.add_table(scope, data["allowed" if allowed else "forbidden"], allowed=allowed, **terms)


def _short_table(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    allowed = "allowed" in data
    rows = []
    for row in data["allowed" if allowed else "forbidden"]:
        cells = zip(scope, row, strict=True)
        rows.append([c if c == "*" else {_integer(problem, x, v) for v in c} for x, c in cells])
    problem.add_short_table(scope, rows, allowed=allowed, **terms)


def _integer(problem: Problem, x: int, value: int | str) -> int:
    return int(problem.domain(x).values[problem.domain(x).position(value)])


def _clause(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    if data.get("tautology"):
        problem.add_table(scope, [], allowed=False, **terms)
        return
    positions = [problem.domain(x).position(v) for x, v in zip(scope, data["forbidden"], strict=True)]
    problem.add_nogood(scope, np.array(positions, dtype=np.int64), **terms)


def _linear(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    problem.add_linear(scope, data["coefficients"], data["operator"], data["bound"], **terms)


def _all_different(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    problem.add_all_different(scope, except_values=data.get("except", ()), **terms)


def _sum(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    contributions = [_by_position(problem, x, pairs) for x, pairs in zip(scope, data["contributions"], strict=True)]
    indices = np.array(scope, dtype=np.int64)
    problem.add_block(
        SumBlock.one(indices, contributions, data["operator"], int(data["bound"]), problem.new_terms(**terms))
    )


def _extremum(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    by_slot = [_by_position(problem, x, pairs) for x, pairs in zip(scope, data["terms"], strict=True)]
    indices = np.array(scope, dtype=np.int64)
    result = bool(data.get("result", False))
    problem.add_block(
        ExtremumBlock.one(indices, by_slot, data["operator"], int(data["bound"]), result, problem.new_terms(**terms))
    )


def _by_position(problem: Problem, x: int, pairs: Any) -> Any:
    values = np.zeros(len(problem.domain(x)), dtype=np.int64)
    for value, term in pairs:
        values[problem.domain(x).position(value)] = int(term)
    return values


def _distinct(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    indices = np.array(scope[:-1] if data.get("result") else scope, dtype=np.int64)
    result = scope[-1] if data.get("result") else None
    excepted = data.get("except", ())
    problem.add_block(
        DistinctBlock.one(indices, excepted, data["operator"], int(data["bound"]), result, problem.new_terms(**terms))
    )


def _rule(problem: Problem, scope: list[int], data: Mapping[str, Any], terms: dict[str, Any]) -> None:
    expression = _expression(data["expression"], [Variable(x, problem.names[x]) for x in scope])
    problem.add_block(RuleBlock.one(expression, problem.new_terms(**terms)))


def _expression(tree: Any, scope: list[Variable]) -> Operand:
    if isinstance(tree, Mapping):
        return scope[tree["slot"]]
    if isinstance(tree, list):
        if tree[0] not in CODE or len(tree) - 1 != ARITY.get(tree[0], len(tree) - 1):
            raise ProblemError(f"unknown operation {tree[0]!r} on {len(tree) - 1} operands")
        return operation(tree[0], *(_expression(operand, scope) for operand in tree[1:]))
    return int(tree)


_READERS: dict[str, Reader] = {
    "table": _table,
    "short_table": _short_table,
    "clause": _clause,
    "linear": _linear,
    "all_different": _all_different,
    "sum": _sum,
    "extremum": _extremum,
    "distinct": _distinct,
    "rule": _rule,
}
