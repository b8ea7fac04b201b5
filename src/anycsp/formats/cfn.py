"""toulbar2's .cfn: cost function networks in a lenient JSON, where quotes, commas and colons may be left out.

`mustbe: "<k"` forbids costs of at least k and minimises, `">k"` maximises. Costs are rounded to the decimals k is
written with, as toulbar2 does. Three global cost functions are read: salldiff and samong with the measure `var`, and
both and sgcc with any measure where their cost reaches the bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from anycsp.errors import UnsupportedError
from anycsp.formats.budget import DEPTH, REPETITIONS
from anycsp.formats.costs import add_constant, add_costs, add_graded
from anycsp.formats.files import Source, shown
from anycsp.formats.wcsp import soft_all_different
from anycsp.model.expressions import operation, total
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem
from anycsp.model.score import as_written, written

_TOKEN = re.compile(r'"([^"]*)"|([{}\[\]])|([^\s,:{}\[\]"]+)|[\s,:]+|(.)', re.DOTALL)


def sniff(head: bytes) -> bool:
    return re.match(rb'\s*\{\s*"?problem"?\s*:?\s*\{', head) is not None


def _tokens(source: Source) -> Iterator[tuple[str, bool]]:
    """Every word and bracket, and whether it is a bracket."""
    for match in _TOKEN.finditer(source.data.decode("utf-8", errors="replace")):
        quoted, bracket, word, stray = match.groups()
        if stray is not None:
            raise source.error(f"unexpected {shown(stray)}", source.data.count(b"\n", 0, match.start()) + 1)
        if bracket is not None:
            yield bracket, True
        elif quoted is not None or word is not None:
            yield (quoted if quoted is not None else word).rstrip(":"), False


class _Reader:
    """Objects become lists of (key or None, value), arrays lists, everything else text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = list(_tokens(source))
        self.at = 0

    def next(self) -> tuple[str, bool]:
        if self.at >= len(self.tokens):
            raise self.source.error("ends inside an object")
        self.at += 1
        return self.tokens[self.at - 1]

    def value(self, depth: int = 0) -> Any:
        self.source.check(DEPTH, depth)
        token, bracket = self.next()
        if not bracket:
            return token
        if token == "[":
            items = []
            while self.peek() != ("]", True):
                items.append(self.value(depth + 1))
            self.at += 1
            return items
        if token == "{":
            members: list[tuple[str | None, Any]] = []
            while self.at < len(self.tokens) and self.peek() != ("}", True):
                key = None if self.peek()[1] else self.next()[0]
                members.append((key, self.value(depth + 1)))
            self.at += 1  # toulbar2 accepts a file whose last brace is missing
            return dict_of(members)
        raise self.source.error(f"unexpected {token!r}")

    def peek(self) -> tuple[str, bool]:
        if self.at >= len(self.tokens):
            raise self.source.error("ends inside an object")
        return self.tokens[self.at]


class Members(list[tuple[str | None, Any]]):
    """The members of an object in order; functions may be nameless, and names may repeat."""

    def get(self, key: str, default: Any = None) -> Any:
        return next((value for name, value in self if name == key), default)


def dict_of(members: list[tuple[str | None, Any]]) -> Members:
    return Members(members)


def read(source: Source) -> Problem:
    reader = _Reader(source)
    document = _members(source, reader.value(), "the file")
    head, variables = (_members(source, document.get(key), f"`{key}`") for key in ("problem", "variables"))
    problem = Problem(str(head.get("name", "")))
    top, decimals, maximise = _bound(source, str(head.get("mustbe", "")))
    for name, spec in variables:
        if isinstance(spec, list):
            problem.add_variable([str(label) for label in spec], name)
        else:
            size = source.integer(str(spec), f"the domain size of {shown(str(name))}", 1)
            if size <= 0:
                raise UnsupportedError(source.path, f"variable {shown(str(name))}: interval domains are not supported")
            source.check_domain(size, str(name))
            problem.add_variable(range(size), name)
    network = _Network(source, problem, top, decimals, -1 if maximise else 1)
    for name, function in _members(source, document.get("functions", Members()), "`functions`"):
        network.function(str(name or ""), function)
    constant = written(network.constant, "costs without variables")
    problem.objective = Objective("gain", -constant) if maximise else Objective("cost", constant)
    return problem


def _members(source: Source, value: Any, what: str) -> Members:
    if not isinstance(value, Members):
        raise source.error(f"not a cost function network: {what} is no object")
    return value


def _bound(source: Source, text: str) -> tuple[float, int, bool]:
    match = re.fullmatch(r"\s*([<>])\s*(-?[\d.]+(?:[eE][+-]?\d+)?)\s*", text)
    if match is None:
        raise source.error(f"`mustbe` is not of the form <number or >number: {shown(text)}")
    try:
        number = Decimal(match.group(2))
    except InvalidOperation:
        raise source.error(f"`mustbe` is not a number: {shown(text)}") from None
    decimals = max(0, -int(number.as_tuple().exponent))
    maximise = match.group(1) == ">"
    return (-float(number) if maximise else float(number)), decimals, maximise


def _below(word: str, bound: int) -> bool:
    return re.fullmatch(r"[0-9]{1,18}", word) is not None and int(word) < bound


class _Network:
    def __init__(self, source: Source, problem: Problem, top: float, decimals: int, sign: int) -> None:
        self.source, self.problem, self.top, self.decimals, self.sign = source, problem, top, decimals, sign
        self.constant = Fraction(0)

    def cost(self, word: Any) -> float:
        if isinstance(word, str) and word in ("inf", "+inf"):
            return self.top
        try:
            cost = round(float(word), self.decimals)
        except (TypeError, ValueError):
            cost = math.nan
        if not math.isfinite(cost):
            raise self.source.error(f"a cost is a number, not {shown(str(word))}")
        return self.sign * cost

    def function(self, name: str, function: Any) -> None:
        if not isinstance(function, Members):
            raise self.source.error(f"function {shown(name)} is no object")
        scope = [self._variable(name, word) for word in self._list(function, "scope", name)]
        kind = function.get("type")
        if kind is not None:
            params = _members(self.source, function.get("params", Members()), f"`params` of {shown(name)}")
            self._global(name, str(kind), scope, params)
            return
        costs = function.get("costs")
        if isinstance(costs, str):  # a function with the costs of an earlier one
            raise UnsupportedError(self.source.path, f"function {shown(name)} shares the costs of {shown(costs)}")
        if not isinstance(costs, list):
            raise self.source.error(f"function {shown(name)} has no costs")
        if not scope:
            for cost in costs:
                self.constant += as_written(add_constant(self.problem, self.cost(cost), self.top))
            return
        sizes = [len(self.problem.domain(x)) for x in scope]
        default = function.get("defaultcost")
        if default is None:
            if len(costs) != math.prod(sizes):
                raise self.source.error(
                    f"function {shown(name)} lists {len(costs)} costs for {math.prod(sizes)} tuples"
                )
            tuples = np.indices(sizes).reshape(len(sizes), -1).T.astype(np.int64)
            values = np.array([self.cost(c) for c in costs], dtype=np.float64)
        else:
            if len(costs) % (len(scope) + 1):
                raise self.source.error(f"function {shown(name)} lists tuples of the wrong length")
            rows = [costs[k : k + len(scope) + 1] for k in range(0, len(costs), len(scope) + 1)]
            tuples = np.array(
                [[self._position(x, w) for x, w in zip(scope, r, strict=False)] for r in rows], dtype=np.int64
            )
            tuples = tuples.reshape(len(rows), len(scope))
            values = np.array([self.cost(r[-1]) for r in rows], dtype=np.float64)
        outside = 0.0 if default is None else self.cost(default)
        self.constant += as_written(add_costs(self.problem, scope, tuples, values, outside, self.top))

    def _variable(self, function: str, word: Any) -> int:
        if isinstance(word, str) and (index := self.problem.index_of_name(word)) is not None:
            return index
        if isinstance(word, str) and _below(word, self.problem.num_variables):
            return int(word)
        raise self.source.error(f"function {shown(function)}: unknown variable {shown(str(word))}")

    def _position(self, x: int, word: Any) -> int:
        domain = self.problem.domain(x)
        if domain.labels is not None and word in domain.labels:
            return domain.position(word)
        if isinstance(word, str) and _below(word, len(domain)):
            return int(word)
        raise self.source.error(
            f"a tuple has the value {shown(str(word))}, outside the domain of {self.problem.names[x]}"
        )

    def _list(self, members: Members, key: str, function: str) -> list[Any]:
        value = members.get(key, [])
        if not isinstance(value, list):
            raise self.source.error(f"function {shown(function)}: `{key}` is no list")
        return value

    def _integers(self, words: Any, count: int, what: str) -> list[int]:
        if not isinstance(words, list) or len(words) != count:
            raise self.source.error(f"{what}: not {count} numbers")
        return [self.source.integer(str(word), what) for word in words]

    def _global(self, name: str, kind: str, scope: list[int], params: Members) -> None:
        cost, measure = self.cost(params.get("cost", "0")), str(params.get("metric", ""))
        graded = kind in ("salldiff", "samong") and measure == "var"
        if not graded and (kind not in ("salldiff", "samong", "sgcc") or cost < self.top):
            detail = f" with the measure {measure} and a cost below the bound" if cost < self.top else ""
            raise UnsupportedError(self.source.path, f"function {shown(name)}: {kind}{detail} is not supported")
        variables = [self.problem.variables[x] for x in scope]
        if kind == "salldiff":
            soft_all_different(self.problem, variables, cost, self.top)
            return
        if kind == "sgcc":
            rows = self._list(params, "bounds", name)
            counts = [self._integers(row, 3, f"a bound of function {shown(name)}") for row in rows]
            ranges = [range(low, high + 1) for _, low, high in counts]
            self.problem.add_cardinality(variables, [value for value, _, _ in counts], ranges, hard=True)
            return
        limits = [params.get("min", "0"), params.get("max", str(len(scope)))]
        low, high = self._integers(limits, 2, f"the bounds of function {shown(name)}")
        self.source.check(REPETITIONS, max(low, len(scope) - high))
        positions = {x: [self._position(x, w) for w in self._list(params, "values", name)] for x in scope}
        hits = []
        for x, variable in zip(scope, variables, strict=True):
            values = self.problem.domain(x).values
            hits.append(operation("in", variable, *(int(values[p]) for p in positions[x])))
        count = total(hits)
        for conditions in (
            [count > low - k for k in range(1, low + 1)],
            [count < high + k for k in range(1, len(scope) - high + 1)],
        ):
            costs = [written(as_written(cost) * k, "costs") for k in range(1, len(conditions) + 1)]
            add_graded(self.problem, conditions, costs, self.top)
