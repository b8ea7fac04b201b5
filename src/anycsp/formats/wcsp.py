"""toulbar2's .wcsp: weighted CSPs as cost functions over domain positions 0 … size − 1.

Costs of at least the upper bound of the first line are forbidden. Two global cost functions are read: salldiff with
the measure `var`, and salldiff and sgcc with any measure where their cost reaches the bound. Others are refused.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from anycsp.errors import UnsupportedError
from anycsp.formats.costs import add_constant, add_costs, add_graded, as_cost
from anycsp.formats.files import Source, shown
from anycsp.model.expressions import Variable, distinct
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem
from anycsp.model.score import as_written, written

_Shared = tuple[int, npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Default cost, tuples and costs of a cost function that later ones refer to."""


def sniff(head: bytes) -> bool:
    """`name variables max-domain functions bound`, then as many domain sizes as there are variables."""
    lines = [line.split() for line in head.split(b"\n") if line.strip()]
    if len(lines) < 2 or len(lines[0]) != 5 or not all(re.fullmatch(rb"\d+", w) for w in lines[0][1:]):
        return False
    return not re.fullmatch(rb"-?\d+", lines[0][0]) and all(re.fullmatch(rb"-?\d+", w) for w in lines[1])


EXACT = 2**53
"""From here on floats round integers."""


class _Tokens:
    """The words of a file one after the other, each with its line for errors."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.words: list[str] = []
        self.line: list[int] = []
        for number, line in source.lines():
            words = line.split("#")[0].split()
            self.words += words
            self.line += [number] * len(words)
        self.at = 0

    def word(self, what: str) -> str:
        if self.at >= len(self.words):
            raise self.source.error(f"ends before {what}")
        self.at += 1
        return self.words[self.at - 1]

    def integer(self, what: str) -> int:
        word = self.word(what)
        return self.source.integer(word, what, self.line[self.at - 1])

    def numbers(self, count: int, what: str, top: int) -> npt.NDArray[np.float64]:
        """Numbers of which none that matters is rounded: all from `top` on are forbidden costs, and so the same."""
        if self.at + count > len(self.words):
            raise self.source.error(f"ends before {what}")
        block = self.words[self.at : self.at + count]
        try:
            result = np.array(block, dtype=np.float64)
        except ValueError:
            bad = next(w for w in block if not re.fullmatch(r"-?\d+(\.\d+)?", w))
            raise self.source.error(f"{what}: not a number: {shown(bad)}", self.line[self.at]) from None
        for place in np.flatnonzero(~(np.abs(result) < EXACT)).tolist():
            if not re.fullmatch(r"-?\d{1,18}", block[place]):
                raise self.source.error(f"{what}: not a number below 10^18: {shown(block[place])}", self.line[self.at])
            result[place] = as_cost(int(block[place]), top)
        self.at += count
        return result

    def error(self, reason: str) -> Exception:
        return self.source.error(reason, self.line[min(self.at, len(self.line)) - 1] if self.line else None)


def read(source: Source) -> Problem:
    tokens = _Tokens(source)
    problem = Problem(tokens.word("its name"))
    count, _, functions, top = (
        tokens.integer(f"the {w}") for w in ("variables", "largest domain", "functions", "bound")
    )
    source.check_claim(count, "variables", 1)
    source.check_claim(functions, "cost functions", 1)
    for index in range(count):
        size = tokens.integer("a domain size")
        if size <= 0:
            raise UnsupportedError(source.path, f"variable {index}: interval domains (size {size}) are not supported")
        source.check_domain(size, f"x{index}", tokens.line[tokens.at - 1])
        problem.add_variable(range(size), f"x{index}")
    constant = Fraction(0)
    shared: list[_Shared] = []
    for _ in range(functions):
        constant += as_written(_function(tokens, problem, top, shared))
    problem.objective = Objective("cost", written(constant, "costs without variables"))
    return problem


def _function(tokens: _Tokens, problem: Problem, top: int, shared: list[_Shared]) -> float:
    signed = tokens.integer("an arity")
    arity = abs(signed)
    scope = [tokens.integer("a variable of a cost function") for _ in range(arity)]
    for x in scope:
        if not 0 <= x < problem.num_variables:
            raise tokens.error(f"unknown variable {x}")
    default = tokens.integer("a default cost")
    if default == -1:
        _global(tokens, problem, scope, float(top))
        return 0.0
    listed = tokens.integer("a number of tuples")
    if listed < 0:
        if -listed > len(shared):
            raise tokens.error(f"refers to shared cost function {-listed}, of which there are {len(shared)}")
        default, tuples, costs = shared[-listed - 1]
    else:
        rows = tokens.numbers(listed * (arity + 1), "a tuple", top).reshape(listed, arity + 1)
        tuples, costs = rows[:, :-1].astype(np.int64), rows[:, -1]
        if signed < 0:
            shared.append((default, tuples, costs))
    for k, x in enumerate(scope):
        if len(tuples) and not (tuples[:, k].min() >= 0 and tuples[:, k].max() < len(problem.domain(x))):
            raise tokens.error(f"a tuple has a value outside the domain of variable {x}")
    if not arity:  # the one tuple there is, where it is listed, does not have the default cost
        return add_constant(problem, costs.tolist()[-1] if len(costs) else as_cost(default, top), float(top))
    return add_costs(problem, scope, tuples, costs, as_cost(default, top), float(top))


def _global(tokens: _Tokens, problem: Problem, scope: list[int], top: float) -> None:
    name = tokens.word("the name of a global cost function")
    if name not in ("salldiff", "sgcc"):
        line = tokens.line[tokens.at - 1]
        raise UnsupportedError(tokens.source.path, f"the global cost function {name} is not supported", line)
    measure, cost = tokens.word("a measure"), float(tokens.integer("a cost"))
    if cost < top and (name, measure) != ("salldiff", "var"):
        raise UnsupportedError(
            tokens.source.path, f"{name} with the measure {measure} is not supported below the bound"
        )
    variables = [problem.variables[x] for x in scope]
    if name == "salldiff":
        soft_all_different(problem, variables, cost, top)
        return
    counts = (
        tokens.numbers(3 * tokens.integer("a number of values"), "a value's bounds", EXACT).astype(int).reshape(-1, 3)
    )
    ranges = [range(low, high + 1) for _, low, high in counts.tolist()]
    problem.add_cardinality(variables, counts[:, 0].tolist(), ranges, hard=True)


def soft_all_different(problem: Problem, scope: list[Variable], cost: float, top: float) -> None:
    """Costs `cost` for every variable that would have to change: arity − distinct values."""
    if cost >= top:
        problem.add_all_different(scope, hard=True)
        return
    steps = range(1, len(scope))
    costs = [written(as_written(cost) * k, "costs") for k in steps]
    add_graded(problem, [distinct(scope) > len(scope) - k for k in steps], costs, top)
