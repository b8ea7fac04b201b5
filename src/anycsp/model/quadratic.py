"""An objective with nothing else to satisfy is soft constraints in other words, where it is a quadratic form over
two-valued variables, which is a weighted cut, or a sum of many conditions.

Compiled search moves through soft constraints at millions of moves per second.

A quadratic form is recognised by what it is, however it is written. Every largest part of the expression over at most
two variables is known by its values, four at most, whatever its operations: q·x·y, q·(x ∧ y), min(x, y), |x − y|. What
joins these parts are sums, multiples, and products of two sums, which are multiplied out. A variable that an equation
defines and nothing else mentions is replaced by what it equals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import ragged_rows
from anycsp.constraints.comparison import OPERATORS
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.rule import RuleBlock
from anycsp.model.bounds import bounds
from anycsp.model.builders import quadratic_problem
from anycsp.model.expressions import CODE, LIMIT, OPERATIONS, Operand, Variable, operation, total
from anycsp.model.lowering import block_alike, block_of, linear_form
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem
from anycsp.model.program import Program, compile_expression
from anycsp.model.score import LARGEST_WEIGHT

IntArray = npt.NDArray[np.int64]
Compiled = tuple[list[int], Program, list[int]]
"""A scope, a program over it, and the program's parameters."""

MOST_PAIRS = 1_000_000
"""That products of sums are multiplied out to at most: about two seconds of building."""
FEWEST_TERMS = 250
"""A form of 20 variables has 210. Fewer are left to the search for an objective, which finds the best at once and often
proves it."""
FEWEST_CONDITIONS = 1_000
"""The same, where CP-SAT may still prove hundreds."""
DEEPEST = 1_000
"""Operations one inside the other in a part over two variables: each level is a round, over all parts at once, of a
tenth of a millisecond."""
MOST_EQUATIONS = 100
"""That define variables: each takes about a millisecond, and most problems with more turn out to be no such form."""


def as_soft_constraints(problem: Problem) -> Problem | None:
    """The same variables with soft constraints whose violated weight plus a constant is the objective (its negative, to
    maximise); None where the objective is neither a quadratic form over two-valued variables nor a sum of conditions,
    of many terms either way, its coefficients are too large for weights, or there are constraints other than the
    equations of variables it is written with: those are then auxiliary."""
    objective = problem.objective
    if objective is None or objective.expression is None:
        return None
    sign = 1 if objective.kind == "minimize" else -1
    try:
        return _of_form(problem, objective, sign)
    except NotQuadratic:
        return _of_conditions(problem, objective, sign)


def _of_form(problem: Problem, objective: Objective, sign: int) -> Problem | None:
    defined = _definitions(problem)
    scope, program, parameters = objective.compiled
    if any(len(problem.domain_list[x]) > 2 and x not in defined for x in scope) or problem.definitions.keys() - defined:
        raise NotQuadratic
    form = _Form()
    form.add(_form_of(problem, scope, program, parameters), sign, defined)
    if len(form.terms) < FEWEST_TERMS or sum(map(abs, form.terms.values())) + abs(form.constant) > LARGEST_WEIGHT:
        return None
    soft = quadratic_problem(problem.num_variables, form.terms, form.constant)
    weighted = problem.over(problem.domain_list, soft.blocks)  # the same handles and values, for hints
    weighted.objective = soft.objective
    weighted.constraint_names, weighted.written, weighted.whole = {}, {}, []
    weighted.definitions = {x: form.expression(problem.variables) for x, form in defined.items()}
    return weighted


def _of_conditions(problem: Problem, objective: Objective, sign: int) -> Problem | None:
    """Σ coefficient · condition: a condition that costs must not hold, one that is gained must. A condition is whatever
    is 0 or 1. Those alike but for their variables are lowered once."""
    assert objective.expression is not None
    if problem.num_constraints or problem.definitions or objective.may_be_undefined(problem.bounds):
        return None
    parts, constant = linear_form(objective.expression, sign)
    if len(parts) < FEWEST_CONDITIONS or sum(abs(c) for c, _ in parts) + abs(constant) > LARGEST_WEIGHT:
        return None
    alike: dict[Hashable, tuple[Operand, list[list[int]], list[int]]] = {}
    for coefficient, part in parts:
        if coefficient == 0:
            continue
        scope, program, parameters = compile_expression(part)
        form = (coefficient > 0, program, *parameters, *(problem.domain_list[x].key for x in scope))
        if form not in alike:
            low, high = bounds(part, problem.bounds)
            if low < 0 or high > 1:
                return None
            alike[form] = (operation("eq" if coefficient > 0 else "ne", part, 0), [], [])
        alike[form][1].append(scope)
        alike[form][2].append(abs(coefficient))
    soft = problem.copy()
    for condition, scopes, weights in alike.values():
        one = block_of(soft, condition, soft.new_terms(1.0, False))
        terms = soft.new_terms(np.array(weights), False, len(scopes))
        soft.add_block(block_alike(one, scopes[0], scopes, terms))
    soft.objective = Objective("cost", constant=float(constant + sum(min(c, 0) for c, _ in parts)))
    return soft


class NotQuadratic(Exception):
    """The expression is no quadratic form that is always defined, or not one within 64-bit integers."""


@dataclass
class _Form:
    """Σ coefficient · product + constant. In a product of one variable or two, a two-valued variable stands for its
    position, 0 or 1, in its domain; one with more values, which only occurs alone, for its value."""

    terms: dict[tuple[int, ...], int] = field(default_factory=lambda: defaultdict(int))
    constant: int = 0

    def add(self, other: _Form, factor: int, defined: dict[int, _Form] | None = None) -> None:
        """Add a multiple of another form, in which defined variables are replaced by what they equal."""
        self.constant += factor * other.constant
        for scope, coefficient in other.terms.items():
            if defined and scope[0] in defined:
                self.add(defined[scope[0]], factor * coefficient)
            else:
                self.terms[scope] += factor * coefficient

    def bounds(self) -> tuple[int, int]:
        """An interval of all values. Each product is 0 or 1; or, in other words, (1 ± s) · (1 ± t) / 4 with s and t of
        −1 and 1. Either way of writing the form bounds it, and for most models one of them exactly."""
        low = high = self.constant
        middle, alone, together = 4 * self.constant, defaultdict[int, int](int), 0
        for scope, c in self.terms.items():
            low, high = low + min(c, 0), high + max(c, 0)
            middle += 2 * c if len(scope) == 1 else c
            together += 0 if len(scope) == 1 else abs(c)
            for x in scope:
                alone[x] += 2 * c if len(scope) == 1 else c
        reach = together + sum(map(abs, alone.values()))
        return max(low, -((reach - middle) // 4)), min(high, (middle + reach) // 4)

    def expression(self, variables: Sequence[Variable]) -> Operand:
        """The form over the variables' values."""
        rows: dict[int, list[Operand]] = defaultdict(list)
        for scope, c in self.terms.items():
            rows[scope[0]].append(c * _bit(variables[scope[1]]) if len(scope) == 2 else c)
        return total([_bit(variables[x]) * total(row) for x, row in rows.items()]) + self.constant


def _bit(variable: Variable) -> Operand:
    """Its position in a domain of two."""
    assert variable.domain is not None
    values = variable.domain.values.tolist()
    return variable if values == [0, 1] else operation("eq", variable, values[1])


# ── variables that equations define ──────────────────────────────────────────────────────────────────


def _definitions(problem: Problem) -> dict[int, _Form]:
    """What variables equal, where all constraints are equations that each define one of its own, with more values than
    two, and none of the values it needs is missing."""
    if problem.num_constraints > MOST_EQUATIONS:
        raise NotQuadratic
    defined: dict[int, _Form] = {}
    for equation in list(_equations(problem)):  # all of them are equations, before any is looked into
        form = _form_of(problem, *equation)
        several = [scope for scope in form.terms if len(problem.domain_list[scope[0]]) > 2]
        if len(several) != 1 or several[0][0] in defined or abs(factor := form.terms.pop(several[0])) != 1:
            raise NotQuadratic
        (variable,) = several[0]
        defined[variable] = _Form()
        defined[variable].add(form, -factor)
        low, high = defined[variable].bounds()
        least, most = problem.bounds(variable)
        if low < least or high > most or most - least >= len(problem.domain_list[variable]):
            raise NotQuadratic
    return defined


def _equations(problem: Problem) -> Iterator[Compiled]:
    """For each constraint, which has to be an equation, the difference of its sides."""
    for block in problem.blocks:
        if not block.terms.hard.all() or not isinstance(block, (RuleBlock, LinearBlock)):
            raise NotQuadratic
        for row in range(len(block)):
            scope = block.scope_of(row).tolist()
            if isinstance(block, RuleBlock):
                program = block.programs[block.program[row]]
                if OPERATIONS[program.code[-1]] != "eq" or program.operand_start[-1] - program.operand_start[-2] != 2:
                    raise NotQuadratic
                difference = replace(program, code=(*program.code[:-1], CODE["sub"]))
                yield scope, difference, block.parameters_of(np.array([row]))[0].tolist()
            else:
                if OPERATORS[block.operator[row]] != "==":
                    raise NotQuadratic
                slots = slice(block.scope_start[row], block.scope_start[row + 1])
                terms = [c * Variable(x, "") for x, c in zip(scope, block.coefficient[slots].tolist(), strict=True)]
                yield compile_expression(total(terms) - int(block.bound[row]))


# ── the form of one expression ───────────────────────────────────────────────────────────────────────


def _form_of(problem: Problem, scope: Sequence[int], program: Program, parameters: Sequence[int]) -> _Form:
    """The quadratic form that a program is over its scope; all its parts are computed with at once."""
    tree = _Tree(problem, scope, program, parameters)
    factor, into, products = _taken_apart(tree)
    parts, several = tree.parts, tree.is_several[tree.parts]
    table = np.where(several[:, None], 0, tree.values[parts])
    if (np.abs(table) >= LIMIT // 4).any() or into[several].any():  # a product of more than positions
        raise NotQuadratic
    # t(x, y) = t(0, 0) + x · (t(1, 0) − t(0, 0)) + y · (t(0, 1) − t(0, 0)) + x · y · (…)
    none, second, first, both = table.T
    x, y = tree.variable(tree.first[parts]), tree.variable(tree.second[parts])
    alone = np.full(len(parts), -1, dtype=np.int64)
    coefficients = [none, np.where(several, 1, first - none), second - none, both - first - second + none]
    left, right = [alone, alone, alone, np.minimum(x, y)], [alone, x, y, np.maximum(x, y)]
    terms = _Terms(
        np.tile(into, 4),
        np.concatenate(left),
        np.concatenate(right),
        _times(np.tile(factor, 4), np.concatenate(coefficients)),
    ).merged(problem.num_variables)
    if products:
        own = terms.into == 0
        expanded = _multiplied_out(terms.take(~own), products)
        terms = _Terms.joined(terms.take(own), expanded).merged(problem.num_variables)
    form = _Form()
    for a, b, c in zip(terms.left.tolist(), terms.right.tolist(), terms.coefficient.tolist(), strict=True):
        if b < 0:
            form.constant += c
        else:
            form.terms[(b,) if a < 0 else (a, b)] = c
    return form


class _Tree:
    """The program of an expression as arrays. An operation comes right after its operands, so that every part of the
    expression is a range of nodes; a *small* part has two variables at most."""

    def __init__(self, problem: Problem, scope: Sequence[int], program: Program, parameters: Sequence[int]) -> None:
        if any(abs(p) >= LIMIT for p in parameters):
            raise NotQuadratic
        self.program = program
        self._scope = np.array([*scope, -1], dtype=np.int64)
        self._code = np.array(program.code, dtype=np.int64)
        self._start = np.array(program.operand_start, dtype=np.int64)
        self._operand = np.array(program.operands, dtype=np.int64)
        domains = [problem.domain_list[x].values for x in scope]
        several = np.array([len(values) > 2 for values in domains] + [False])
        nodes, own = np.arange(len(self._code)), self._operand[self._start[:-1]]
        self._slot = np.where(self._code == CODE["slot"], own, -1)
        self.is_several = several[self._slot]
        """[nodes]: a variable of more values than two."""
        self._inner = self._code > CODE["constant"]
        began = np.where(self._inner, own, nodes)
        while not np.array_equal(began, further := began[began]):
            began = further
        self.first, self.second, third = _last_three(self._slot, began)
        """[nodes]: the slots of two variables that occur in the part that ends there, −1 where there are none."""
        counted = np.concatenate([[0], np.cumsum(self.is_several)])
        self.small = (third < 0) & ((counted[1:] == counted[began]) | ~self._inner)
        within = np.zeros(len(nodes), dtype=np.bool_)
        within[self._below(nodes[self._inner & self.small])] = True
        self.parts = nodes[self.small & ~within]
        """The largest small parts, by their last nodes."""
        ends = np.array([[values[0], values[-1]] for values in domains], dtype=np.int64).reshape(-1, 2)
        if (ends <= -LIMIT).any() or (ends >= LIMIT).any():
            raise NotQuadratic
        self.values = self._values(ends, np.array(parameters, dtype=np.int64))

    def variable(self, slot: IntArray) -> IntArray:
        return self._scope[slot]

    def _below(self, nodes: IntArray) -> IntArray:
        """The operands of operations."""
        return self._operand[ragged_rows(self._start, nodes)[1]]

    def _values(self, ends: IntArray, parameters: IntArray) -> IntArray:
        """[nodes, 4]: of small parts, for the two variables of the largest one they belong to at 00, 01, 10 and 11."""
        values = np.zeros((len(self._code), 4), dtype=np.int64)
        constant = self._code == CODE["constant"]
        values[constant] = parameters[self._operand[self._start[:-1][constant]]][:, None]
        leaves = np.flatnonzero(self.small & (self._slot >= 0))
        first = self._slot[leaves] == self.first[self.parts[np.searchsorted(self.parts, leaves)]]
        at = np.where(first[:, None], [0, 0, 1, 1], [0, 1, 0, 1])
        values[leaves] = ends[self._slot[leaves][:, None], at]
        levels, nodes = list[IntArray](), self.parts[self._inner[self.parts]]
        while len(nodes):
            if len(levels) == DEEPEST:
                raise NotQuadratic
            levels.append(nodes)
            below = self._below(nodes)
            nodes = below[self._inner[below]]
        for nodes in reversed(levels):
            count = self._start[nodes + 1] - self._start[nodes]
            for code, operands in set(zip(self._code[nodes].tolist(), count.tolist(), strict=True)):
                alike = nodes[(self._code[nodes] == code) & (count == operands)]
                below = self._below(alike).reshape(-1, operands)
                values[alike] = _evaluated(OPERATIONS[code], [values[column] for column in below.T])
        return values


def _last_three(slot: IntArray, began: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """[nodes]: the last slot that occurs in the part that ends there, the last other one, and the last one other than
    these two; −1 where there is none. The slot of each node is −1 where it is no variable."""
    leaves = np.flatnonzero(slot >= 0)
    changes = np.diff(slot[leaves], prepend=-1) != 0
    run = np.cumsum(changes) - 1  # leaves of one slot in a row
    of_run = slot[leaves][changes]
    # Where run k − 2 has the slot of run k, both have the same two last slots, and so the same third.
    new = np.append([False, False], of_run[2:] != of_run[:-2])[: len(of_run)]
    third = np.maximum.accumulate(np.where(new, np.arange(len(of_run)) - 2, -1))
    last = np.append(leaves[np.append(changes[1:], True)[: len(leaves)]], -1)  # leaf of a run; −1 of run −1
    latest = np.cumsum(slot >= 0) - 1
    found = []
    for leaf in (leaves, last[run - 1], last[third[run]]):
        node = np.append(leaf, -1)[latest]
        found.append(np.where(node >= began, slot[node], -1))
    return found[0], found[1], found[2]


def _evaluated(operator: str, operands: list[IntArray]) -> IntArray:
    """An operation on arrays; refused where it is undefined anywhere, or beyond 64 bits."""
    _, program, _ = compile_expression(operation(operator, *(Variable(k, "") for k in range(len(operands)))))
    result, undefined = program.evaluate(operands, [])
    if np.any(undefined):
        raise NotQuadratic
    if operator in ("add", "sub", "mul", "sqr", "pow", "dist"):
        with np.errstate(over="ignore"):
            rounded, _ = program.evaluate([operand.astype(np.float64) for operand in operands], [])
        if not (np.abs(rounded) < LIMIT).all():
            raise NotQuadratic
    return np.asarray(result, dtype=np.int64)


# ── sums and products of parts ───────────────────────────────────────────────────────────────────────


def _taken_apart(tree: _Tree) -> tuple[IntArray, IntArray, list[tuple[int, int, int]]]:
    """What joins the largest small parts: the factor of each, and the sum that it is added to. Sum 0 is the expression;
    a product is a coefficient and the two sums that are multiplied."""
    code, start, operand = tree.program.code, tree.program.operand_start, tree.program.operands
    place = {len(code) - 1: (1, 0)}
    products: list[tuple[int, int, int]] = []
    sums = 1
    for node in np.flatnonzero(~tree.small)[::-1].tolist():
        factor, into = place[node]
        operator, below = OPERATIONS[code[node]], operand[start[node] : start[node + 1]]
        if operator == "add":
            place.update(dict.fromkeys(below, (factor, into)))
        elif operator == "sub":
            place[below[0]], place[below[1]] = (factor, into), (-factor, into)
        elif operator == "neg":
            place[below[0]] = (-factor, into)
        else:
            multiple, factors = _factors(tree, operator, below)
            if len(factors) == 1:
                place[factors[0]] = (factor * multiple, into)
            elif len(factors) == 2 and into == 0:
                left, right = sums, sums + (factors[0] != factors[1])
                place[factors[0]], place[factors[1]] = (1, left), (1, right)
                products.append((factor * multiple, left, right))
                sums = right + 1
            else:
                raise NotQuadratic
    factors_and_sums = [place.get(part, (0, 0)) for part in tree.parts.tolist()]  # a constant factor is in no sum
    if any(abs(factor) >= LIMIT for factor, _ in chain(factors_and_sums, ((p[0], 0) for p in products))):
        raise NotQuadratic
    factor_of, into_of = np.array(factors_and_sums, dtype=np.int64).reshape(-1, 2).T
    return factor_of, into_of, products


def _factors(tree: _Tree, operator: str, operands: Sequence[int]) -> tuple[int, list[int]]:
    """The constant and the other factors of a product."""
    constants = [int(tree.values[node, 0]) for node in operands if tree.small[node] and tree.first[node] < 0]
    others = [node for node in operands if not tree.small[node] or tree.first[node] >= 0]
    if operator == "mul":
        return prod(constants), others
    if operator == "sqr" or (operator == "pow" and constants == [2] and others == [operands[0]]):
        return 1, 2 * others
    raise NotQuadratic


@dataclass(frozen=True)
class _Terms:
    """Each is coefficient · left · right, two variables or −1 for none, added into a sum."""

    into: IntArray
    left: IntArray
    right: IntArray
    coefficient: IntArray

    @staticmethod
    def joined(one: _Terms, other: _Terms) -> _Terms:
        return _Terms(*(np.concatenate(both) for both in zip(one._arrays, other._arrays, strict=True)))

    @property
    def _arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        return self.into, self.left, self.right, self.coefficient

    def take(self, rows: npt.NDArray[Any]) -> _Terms:
        return _Terms(*(array[rows] for array in self._arrays))

    def merged(self, variables: int) -> _Terms:
        """One term for each sum and pair of variables, in this order, none of them 0."""
        base, sums = variables + 1, int(self.into.max(initial=0)) + 1
        if sums * base**2 >= LIMIT or np.abs(self.coefficient.astype(np.float64)).sum() >= LIMIT:
            raise NotQuadratic
        key, term = np.unique((self.into * base + self.left + 1) * base + self.right + 1, return_inverse=True)
        total = np.zeros(len(key), dtype=np.int64)
        np.add.at(total, term, self.coefficient)
        key, total = key[total != 0], total[total != 0]
        return _Terms(key // base**2, key // base % base - 1, key % base - 1, total)


def _multiplied_out(terms: _Terms, products: list[tuple[int, int, int]]) -> _Terms:
    """Each product of two sums, whose terms come in their order, as terms of sum 0."""
    if (terms.left >= 0).any():  # three variables and more
        raise NotQuadratic
    multiple, one, other = np.array(products, dtype=np.int64).T
    start = np.searchsorted(terms.into, np.arange(max(int(one.max()), int(other.max())) + 2))
    size = np.diff(start)
    if (size[one] * size[other]).sum() > MOST_PAIRS:
        raise NotQuadratic
    left = ragged_rows(start, one)[1]
    product = np.repeat(np.arange(len(products)), size[one])
    right = ragged_rows(start, other[product])[1]
    left, product = (np.repeat(array, size[other[product]]) for array in (left, product))
    x, y = terms.right[left], terms.right[right]
    coefficient = _times(multiple[product], _times(terms.coefficient[left], terms.coefficient[right]))
    same = x == y  # a position is 0 or 1, its square the same
    return _Terms(np.zeros(len(x), dtype=np.int64), np.where(same, -1, np.minimum(x, y)), np.maximum(x, y), coefficient)


def _times(a: IntArray, b: IntArray) -> IntArray:
    if (np.abs(a.astype(np.float64) * b) >= LIMIT).any():
        raise NotQuadratic
    return a * b
