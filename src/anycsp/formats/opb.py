"""Pseudo-Boolean problems of the competitions: .opb (linear or with products, perhaps an objective) and .wbo (soft).

    * #variable= 4 #constraint= 2             soft: 10 ;
    min: +2 x1 -1 ~x3 ;                       [3] +1 x1 +1 x2 >= 1 ;
    +1 x1 +4 x1 ~x2 -2 x4 >= 1 ;              +2 x1 +3 x4 >= 2 ;

A term is a coefficient and a product of literals; ~x is 1 − x. Constraints must hold, but for those of a .wbo file that
begin with their cost in brackets. Numbers that 64 bits do not hold are refused, since they could only be rounded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.comparison import OPERATORS
from anycsp.constraints.linear import LinearBlock
from anycsp.errors import ConversionError, UnsupportedError
from anycsp.formats.answers import Values
from anycsp.formats.files import Source, ascii_text, shown
from anycsp.model.expressions import Operand, Variable, operation
from anycsp.model.lowering import linear_form
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem

LARGEST = 2**62
"""Coefficients and their sums stay within 64 bits."""

_CLAIM = re.compile(r"\*\s*#variable=\s*(\d+)")
_TERM = re.compile(r"([+-]?\s*\d+)((?:\s+~?x\d+)*)\s*")
_ENDING = re.compile(r"(>=|<=|=)\s*([+-]?\s*\d+)$")
_COST = re.compile(r"\[\s*(\d+)\s*\]\s*")

Product = tuple[int, ...]
"""Literals as signed numbers of variables, each variable once."""
Sum = dict[Product, int]


def sniff(head: bytes) -> bool:
    return re.match(rb"\s*\*[ \t]*#variable=", head) is not None


def read(source: Source) -> Problem:
    claimed, statements = _statements(source)
    parsed = [_parsed(source, text, line) for text, line in statements]
    variables = max([claimed, *(part.largest for part in parsed)])
    source.check_claim(variables, "variables", 1)
    if not variables:
        raise source.error("no variables")
    problem = Problem()
    handles = problem.add_variables(variables, (0, 1), names=[f"x{i}" for i in range(1, variables + 1)])
    _check_goals(source, parsed, [line for _, line in statements])
    total = sum(part.cost for part in parsed if part.cost is not None)
    for part in parsed:
        if part.kind == "soft:":
            problem.objective = Objective("cost")
            if part.bound is not None and part.bound <= total:
                raise UnsupportedError(source.path, f"a limit of {part.bound} to the cost, which may be {total}")
        elif part.kind:
            optimise = problem.minimize if part.kind == "min:" else problem.maximize
            optimise(_expression(part.sum, handles))
        elif part.cost != 0:
            _post(problem, part, handles)
    if total and problem.objective is None:
        problem.objective = Objective("cost")
    return problem


@dataclass(frozen=True)
class _Part:
    """What one statement says."""

    kind: str
    """"min:" or "max:" an objective, "soft:" a limit to the cost, otherwise a constraint."""
    sum: Sum
    operator: str = ""
    bound: int | None = None
    largest: int = 0
    """The last variable that is named."""
    cost: int | None = None
    """What a soft constraint costs where it is violated."""


def _statements(source: Source) -> tuple[int, list[tuple[str, int]]]:
    """How many variables are claimed, and what stands before each semicolon, with its line."""
    claimed, result = 0, []
    text, first = "", 0
    for number, line in source.lines():
        if line.startswith("*"):
            if claim := _CLAIM.match(line):
                claimed = source.integer(claim[1], "a count of the header", number)
                source.check_claim(claimed, "variables", number)
            continue
        *whole, rest = line.split(";")
        for piece in whole:
            result.append((f"{text} {piece}".strip(), first or number))
            text, first = "", 0
        if rest.strip():
            text, first = f"{text} {rest}".strip(), first or number
    if text:
        raise source.error(f"a statement without its semicolon: {shown(text)}", first)
    return claimed, result


def _parsed(source: Source, text: str, line: int) -> _Part:
    for kind in ("min:", "max:", "soft:"):
        if text.startswith(kind):
            body = text.removeprefix(kind).strip()
            if kind == "soft:":
                return _Part(kind, {}, bound=_number(source, body, line) if body else None)
            return _Part(kind, _sum(source, body, line), largest=_largest(body))
    cost = None
    if found := _COST.match(text):
        cost, text = _number(source, found[1], line), text[found.end() :]
    ending = _ENDING.search(text)
    if ending is None:
        raise source.error(f"neither an objective nor a constraint with >=, <= or =: {shown(text)}", line)
    left = _sum(source, text[: ending.start()], line)
    operator = "==" if ending[1] == "=" else ending[1]
    return _Part("", left, operator, _number(source, ending[2], line), _largest(text), cost)


def _check_goals(source: Source, parsed: list[_Part], lines: list[int]) -> None:
    """One objective, or costs of constraints."""
    goals = [(part, line) for part, line in zip(parsed, lines, strict=True) if part.kind]
    if len(goals) > 1:
        raise source.error(f"a second goal: {goals[1][0].kind} after {goals[0][0].kind}", goals[1][1])
    if goals and goals[0][0].kind != "soft:" and any(part.cost for part in parsed):
        raise source.error("an objective beside soft constraints", goals[0][1])


def _largest(text: str) -> int:
    return max((int(name) for name in re.findall(r"x(\d{1,18})", text)), default=0)


def _number(source: Source, text: str, line: int) -> int:
    digits = re.sub(r"\s", "", text)
    if not re.fullmatch(r"[+-]?\d+", digits):
        raise source.error(f"not a whole number: {shown(text)}", line)
    if len(digits) > 20 or abs(int(digits)) > LARGEST:
        raise source.error(f"a number beyond 2^62, which would be rounded: {shown(digits)}", line)
    return int(digits)


def _sum(source: Source, text: str, line: int) -> Sum:
    """Coefficients by product; x·x is x, and x·~x is nothing."""
    result: Sum = defaultdict(int)
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or term.end() == at:
            raise source.error(f"not a term such as '+2 x1 ~x2': {shown(text[at:])}", line)
        literals = {
            source.integer(name.lstrip("~x"), "a variable's number", line) * (-1 if name[0] == "~" else 1)
            for name in term[2].split()
        }
        if 0 in literals:
            raise source.error("variables count from x1, not x0", line)
        if not any(-literal in literals for literal in literals):
            result[tuple(sorted(literals, key=abs))] += _number(source, term[1], line)
        at = term.end()
    if sum(map(abs, result.values())) > LARGEST:
        raise source.error("coefficients that add up to more than 2^62", line)
    return result


def _post(problem: Problem, part: _Part, handles: list[Variable]) -> None:
    assert part.bound is not None
    terms: dict[str, Any] = {"hard": True} if part.cost is None else {"weight": float(part.cost)}
    if any(len(product) > 1 for product in part.sum):
        left = _expression(part.sum, handles)
        condition = {"<=": left <= part.bound, ">=": left >= part.bound, "==": left == part.bound}  # type: ignore[operator]
        problem.add(condition[part.operator], **terms)
        return
    coefficients, bound = _linear(part.sum, part.bound)
    scope = [handles[x - 1] for x in coefficients]
    problem.add_linear(scope, list(coefficients.values()), part.operator, bound, **terms)


def _linear(terms: Sum, bound: int) -> tuple[dict[int, int], int]:
    """Coefficients by variable; what ~x = 1 − x leaves goes over to the bound."""
    result: dict[int, int] = defaultdict(int)
    for product, c in terms.items():
        literal = product[0] if product else 0
        bound -= c if literal <= 0 else 0
        if literal:
            result[abs(literal)] += c if literal > 0 else -c
    return result, bound


def _expression(terms: Sum, handles: list[Variable]) -> Operand:
    literals = {x: handles[x - 1] if x > 0 else 1 - handles[-x - 1] for product in terms for x in product}
    return operation("add", 0, *(operation("mul", c, *(literals[x] for x in product)) for product, c in terms.items()))


# ── writing, and answers ─────────────────────────────────────────────────────────────────────────────


def write(problem: Problem) -> str:
    """An .opb file, or a .wbo one where constraints are soft. Variables are numbered in their order."""
    for name, domain in zip(problem.names, problem.domain_list, strict=True):
        if domain.labels is not None or domain.values.tolist() != [0, 1]:
            raise ConversionError(f"opb has values 0 and 1 only, variable {name!r} has {domain.summary()}")
    rows = [row for block in problem.blocks for row in _rows(block)]
    head = [f"* #variable= {problem.num_variables} #constraint= {problem.num_constraints}"]
    objective = problem.objective
    if objective is not None and objective.expression is not None:
        head.append(f"{objective.kind[:3]}: {_written(_linear_objective(objective))} ;")
    elif objective is not None and (objective.kind != "cost" or objective.constant):
        raise ConversionError(f"opb cannot hold the objective {objective.kind!r}")
    elif objective is not None or any(text.startswith("[") for _, text in rows):
        head.append("soft: ;")  # costs mean this objective, also where the line is missing
    return "\n".join([*head, *(text for _, text in sorted(rows))]) + "\n"


def _linear_objective(objective: Objective) -> dict[int, int]:
    assert objective.expression is not None
    parts, constant = linear_form(objective.expression, 1)
    if constant or not all(isinstance(part, Variable) for _, part in parts):
        raise ConversionError("opb files are written with linear objectives without a constant only")
    return {part.index: coefficient for coefficient, part in parts if isinstance(part, Variable)}


def _rows(block: Any) -> list[tuple[int, str]]:
    """Number and text of every constraint."""
    if not isinstance(block, (LinearBlock, ClauseBlock)):
        raise ConversionError(f"opb has sums only, constraint {int(block.terms.index[0]) + 1} is a {block.kind}")
    rows = []
    for row, index in enumerate(block.terms.index.tolist()):
        slots = slice(int(block.scope_start[row]), int(block.scope_start[row + 1]))
        scope = block.scope[slots].tolist()
        if isinstance(block, LinearBlock):
            operator, bound = OPERATORS[int(block.operator[row])], int(block.bound[row])
            coefficients = dict(zip(scope, block.coefficient[slots].tolist(), strict=True))
            if operator == "!=":
                raise ConversionError(f"opb has no ≠, which constraint {index + 1} is")
            operator, bound = {"<": ("<=", bound - 1), ">": (">=", bound + 1)}.get(operator, (operator, bound))
        else:  # a clause: Σ literals ≥ 1
            signs = [] if block.tautology[row] else np.sign(block.literals[slots]).tolist()
            coefficients, operator = dict(zip(scope, signs, strict=False)), ">="
            bound = 0 if block.tautology[row] else 1 - sum(sign < 0 for sign in signs)
        weight = float(block.terms.weight[row])
        if block.terms.hard[row] and weight != 1:
            raise ConversionError(f"opb has hard constraints without a weight: give constraint {index + 1} weight 1")
        if not block.terms.hard[row] and not weight.is_integer():
            raise ConversionError(f"wbo has whole costs, constraint {index + 1} weighs {weight:g}")
        cost = "" if block.terms.hard[row] else f"[{int(weight)}] "
        written = _written(coefficients) or "0 x1"
        rows.append((index, f"{cost}{written} {'=' if operator == '==' else operator} {bound} ;"))
    return rows


def _written(coefficients: dict[int, int]) -> str:
    return " ".join(f"{c:+d} x{x + 1}" for x, c in coefficients.items() if c)


def answer(problem: Problem, positions: npt.NDArray[np.integer[Any]]) -> list[str]:
    """`v` lines of literals, as the competitions want them."""
    values = problem.assignment(positions)
    return ["v " + " ".join(name if value else f"-{name}" for name, value in values.items())]


def read_answer(text: str) -> Values:
    """The inverse: a variable that is not named is false."""
    return {word.lstrip("-"): int(not word.startswith("-")) for word in ascii_text(text.encode()).split()}
