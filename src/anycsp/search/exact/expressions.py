"""Expressions in a CP-SAT model: every operation becomes a number or a literal with all the meaning it has in a rule.

Where a part of an expression is undefined the constraint it occurs in is violated. CP-SAT knows no undefined values, so
such a part gets some value there, and the condition that it is defined is kept aside (`conditions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from anycsp.errors import ProblemError
from anycsp.model.expressions import SYMBOL, Expression, Operand, Operation, Variable, scope_of
from anycsp.model.lowering import without_negation
from anycsp.model.program import evaluate
from anycsp.search.exact.model import ExactModel, Literal, Number

WIDEST_FUNCTION = 1 << 12
"""A non-linear function of one variable is a sum of literals up to this domain size, beyond it is computed."""

CONDITIONS = frozenset(["lt", "le", "ge", "gt", "eq", "ne", "in", "not", "and", "or", "xor", "iff", "imp", "circuit"])
"""Operations whose value is a truth value."""


class Expressions:
    """The expressions of one constraint."""

    def __init__(self, exact: ExactModel) -> None:
        self.exact, self.model = exact, exact.model
        self.conditions: list[Literal] = []
        """All of them hold where the expression is defined."""

    # ── constraints ──────────────────────────────────────────────────────────────────────────────────

    def enforce(self, expression: Operand, enforced: Sequence[Literal]) -> None:
        """The expression is defined and true, where all of `enforced` hold."""
        self._enforce(expression, enforced)
        for condition in self.conditions:
            self.model.add_bool_or([condition, *(~l for l in enforced)])

    def _enforce(self, expression: Operand, enforced: Sequence[Literal]) -> None:
        if isinstance(expression, Operation):
            expression = without_negation(expression)
            if expression.operator == "and":
                for operand in expression.operands:
                    self._enforce(operand, enforced)
                return
            if expression.operator in SYMBOL and len(expression.operands) == 2:
                self.exact.compare(self._difference(*expression.operands), SYMBOL[expression.operator], enforced)
                return
            if expression.operator == "circuit":
                self._circuit(expression, enforced)
                return
            if expression.operator == "or":
                self.model.add_bool_or([*map(self.literal, expression.operands), *(~l for l in enforced)])
                return
        self.model.add_bool_or([self.literal(expression), *(~l for l in enforced)])

    def _circuit(self, expression: Operation, enforced: Sequence[Literal]) -> None:
        nodes = len(expression.operands)
        arcs = [(i, j, l) for i, o in enumerate(expression.operands) for j, l in self._places(o, nodes, enforced)]
        stays = {i: literal for i, j, literal in arcs if i == j}
        if enforced:  # where it is given up, every node stays and no arc is taken
            holds = self.exact.all_of(enforced)
            taken = [(i, j, self.exact.all_of([literal, holds])) for i, j, literal in arcs if i != j]
            resting = [(i, i, self.exact.any_of([~holds, *([stays[i]] if i in stays else [])])) for i in range(nodes)]
            self.model.add_circuit(taken + resting)
        elif arcs:  # without any no operand names a node, which it is already required to do
            self.model.add_circuit(arcs)
        away = [~stays[i] if i in stays else self.true for i in range(nodes)]
        self.model.add_bool_or([*away, *(~l for l in enforced)])  # a circuit has at least two nodes

    def _places(self, operand: Operand, nodes: int, enforced: Sequence[Literal]) -> list[tuple[int, Literal]]:
        """The nodes that an operand can name, with the literal that it does; it has to name one."""
        if isinstance(operand, Variable):
            values = self.exact.domains[operand.index].values
            inside = (values >= 0) & (values < nodes)
            self.model.add_bool_or([self.exact.among(operand.index, inside), *(~l for l in enforced)])
            return [(int(values[p]), self.exact.at(operand.index, p)) for p in np.flatnonzero(inside).tolist()]
        node = self.exact.new_number(0, nodes - 1)
        self.exact.compare(self.number(operand).minus(node), "==", enforced)
        return [(j, self.exact.compared(node.minus(Number.constant(j)), "==")) for j in range(nodes)]

    # ── truth ────────────────────────────────────────────────────────────────────────────────────────

    def literal(self, operand: Operand) -> Literal:
        """Whether the operand is not zero."""
        if not isinstance(operand, Expression):
            return self.exact.truth(operand != 0)
        if isinstance(operand, Variable):
            return self.exact.among(operand.index, self.exact.domains[operand.index].values != 0)
        assert isinstance(operand, Operation)
        unary = self._unary(operand)
        if unary is not None:
            x, values = unary
            return self.exact.among(x, values != 0)
        if operand.operator in CONDITIONS:
            return _CONDITIONS[operand.operator](self, operand.operands)
        return self.exact.compared(self.number(operand), "!=")

    def _difference(self, a: Operand, b: Operand) -> Number:
        return self.exact.within(self.number(a).minus(self.number(b)))

    def compared(self, a: Operand, b: Operand, operator: str) -> Literal:
        return self.exact.compared(self._difference(a, b), operator)

    def _all_equal(self, operands: Sequence[Operand]) -> Literal:
        return self.exact.all_of([self.compared(operands[0], other, "==") for other in operands[1:]] or [self.true])

    @property
    def true(self) -> Literal:
        return self.exact.truth(True)

    def _exclusive(self, literals: Sequence[Literal]) -> Literal:
        """An odd number of them holds."""
        result = self.model.new_bool_var("")
        self.model.add_bool_xor([*literals, ~result])
        return result

    def _same(self, literals: Sequence[Literal]) -> Literal:
        every, none = self.exact.all_of(literals), self.exact.all_of([~l for l in literals])
        return self.exact.any_of([every, none])

    def _nested_circuit(self, _: Sequence[Operand]) -> Literal:
        raise ProblemError(
            f"constraint {(self.exact.constraint or 0) + 1}: exact search has no circuit within a condition: "
            "post it as a constraint of its own, or search local"
        )

    # ── numbers ──────────────────────────────────────────────────────────────────────────────────────

    def number(self, operand: Operand) -> Number:
        if not isinstance(operand, Expression):
            return self.exact.within(Number.constant(operand))
        if isinstance(operand, Variable):
            return self.exact.number(operand.index)
        assert isinstance(operand, Operation)
        if operand.operator not in ("add", "sub", "neg", "mul"):
            unary = self._unary(operand)
            if unary is not None:
                return self.exact.function(*unary)
        if operand.operator in CONDITIONS:
            return self.exact.of_literal(self.literal(operand))
        return self.exact.within(_NUMBERS[operand.operator](self, operand.operands))

    def _unary(self, operation: Operation) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
        """The variable of an expression that has one, of few values, and the value at each; some where undefined."""
        scope = scope_of(operation)
        if len(scope) != 1 or len(self.exact.domains[scope[0]]) > WIDEST_FUNCTION:
            return None
        own = self.exact.domains[scope[0]].values
        result, undefined = evaluate(operation, {scope[0]: own})
        values = np.broadcast_to(np.asarray(result, dtype=np.int64), own.shape)
        if undefined is not False:
            defined = np.broadcast_to(~np.asarray(undefined, dtype=np.bool_), own.shape)
            self.conditions.append(self.exact.among(scope[0], defined))
            values = np.where(defined, values, 0)
        return scope[0], values

    def _sum(self, operands: Sequence[Operand]) -> Number:
        return self.exact.total([self.number(operand) for operand in operands])

    def _product(self, numbers: Sequence[Number]) -> Number:
        result = Number.constant(1)
        for number in numbers:
            if number.is_constant or result.is_constant:
                factor, other = (number, result) if number.is_constant else (result, number)
                result = self.exact.within(other.times(factor.low))
                continue
            corners = [p * q for p in (result.low, result.high) for q in (number.low, number.high)]
            product = self.exact.new_number(min(corners), max(corners))
            factors = [self.exact.affine(factor) for factor in (result, number)]
            self.model.add_multiplication_equality(product.expression, factors)
            result = product
        return result

    def _extremum(self, numbers: Sequence[Number], largest: bool) -> Number:
        pick = max if largest else min
        result = self.exact.new_number(pick(n.low for n in numbers), pick(n.high for n in numbers))
        add = self.model.add_max_equality if largest else self.model.add_min_equality
        add(result.expression, [self.exact.affine(n) for n in numbers])
        return result

    def _absolute(self, number: Number) -> Number:
        reach = max(abs(number.low), abs(number.high))
        result = self.exact.new_number(0, reach)
        self.model.add_abs_equality(result.expression, self.exact.affine(number))
        return result

    def _division(self, a: Operand, b: Operand, floors: bool) -> tuple[Number, Number]:
        """Quotient and remainder of a = b · q + r, |r| < |b|; r has the sign of a, or, rounding down, that of b."""
        dividend, divisor = self.number(a), self._nonzero(self.number(b))
        reach = max(abs(dividend.low), abs(dividend.high))
        size = max(abs(divisor.low), abs(divisor.high))
        quotient = self.exact.new_number(-reach - 1, reach + 1)
        remainder = self.exact.new_number(-size + 1, size - 1)
        total = self._product([quotient, divisor]).plus(remainder)
        self.exact.compare(self.exact.within(total.minus(dividend)), "==")
        self.exact.compare(self._absolute(remainder).minus(self._absolute(divisor)), "<")
        sign = divisor if floors else dividend
        positive = self.exact.compared(sign, ">=")
        self.exact.compare(remainder, ">=", [positive])
        self.exact.compare(remainder, "<=", [~positive])
        return quotient, remainder

    def _nonzero(self, divisor: Number) -> Number:
        """The divisor, 1 in place of 0."""
        zero = self.exact.compared(divisor, "==")
        self.conditions.append(~zero)
        result = self.exact.new_number(min(divisor.low, 1), max(divisor.high, 1))
        self.exact.compare(result, "!=")
        self.exact.compare(result.minus(divisor), "==", [~zero])
        self.exact.compare(result.minus(Number.constant(1)), "==", [zero])
        return result

    def _power(self, a: Operand, b: Operand) -> Number:
        base, exponent = self.number(a), self.number(b)
        if exponent.low < 0:
            self.conditions.append(self.exact.compared(exponent, ">="))
        powers = [Number.constant(1)]
        for _ in range(max(exponent.high, 0)):
            powers.append(self._product([powers[-1], base]))
        return self._item(powers, exponent)

    def _item(self, items: Sequence[Number], index: Number) -> Number:
        """items[index], the nearest item where the index is outside."""
        if index.is_constant and 0 <= index.low < len(items):
            return items[index.low]
        inside = self._extremum([index, Number.constant(0)], largest=True) if index.low < 0 else index
        last = len(items) - 1
        inside = self._extremum([inside, Number.constant(last)], largest=False) if index.high > last else inside
        result = self.exact.new_number(min(n.low for n in items), max(n.high for n in items))
        self.model.add_element(self.exact.affine(inside), [self.exact.affine(n) for n in items], result.expression)
        return result

    def _element(self, operands: Sequence[Operand]) -> Number:
        index, items = self.number(operands[0]), [self.number(item) for item in operands[1:]]
        if not items:
            self.conditions.append(self.exact.truth(False))
            return Number.constant(0)
        if index.low < 0:
            self.conditions.append(self.exact.compared(index, ">="))
        if index.high >= len(items):
            self.conditions.append(self.exact.compared(index.minus(Number.constant(len(items))), "<"))
        return self._item(items, index)

    def _choice(self, operands: Sequence[Operand]) -> Number:
        condition, numbers = self.literal(operands[0]), [self.number(operand) for operand in operands[1:]]
        result = self.exact.new_number(min(n.low for n in numbers), max(n.high for n in numbers))
        for number, literal in zip(numbers, (condition, ~condition), strict=True):
            self.exact.compare(result.minus(number), "==", [literal])
        return result

    def _distinct(self, operands: Sequence[Operand]) -> Number:
        """One more for every operand that differs from all before it."""
        numbers = [self.number(operand) for operand in operands]
        differs = {(i, j): self.exact.compared(numbers[j].minus(numbers[i]), "!=")
                   for i, j in combinations(range(len(numbers)), 2)}  # fmt: skip
        new = [self.exact.all_of([differs[i, j] for i in range(j)]) for j in range(1, len(numbers))]
        return self.exact.total([Number.constant(1), *map(self.exact.of_literal, new)])


def _ordered(symbol: str) -> Callable[[Expressions, Sequence[Operand]], Literal]:
    return lambda e, operands: e.compared(operands[0], operands[1], symbol)


def _several(combine: Callable[[Expressions, Sequence[Literal]], Literal]) -> Callable[..., Literal]:
    return lambda e, operands: combine(e, [e.literal(operand) for operand in operands])


_CONDITIONS: dict[str, Callable[[Expressions, Sequence[Operand]], Literal]] = {
    **{name: _ordered(symbol) for name, symbol in SYMBOL.items()},
    "eq": lambda e, operands: e._all_equal(operands),
    "in": lambda e, operands: e.exact.any_of([e.compared(operands[0], v, "==") for v in operands[1:]] or [~e.true]),
    "not": lambda e, operands: ~e.literal(operands[0]),
    "and": _several(lambda e, literals: e.exact.all_of(literals)),
    "or": _several(lambda e, literals: e.exact.any_of(literals)),
    "xor": _several(lambda e, literals: e._exclusive(literals)),
    "iff": _several(lambda e, literals: e._same(literals)),
    "imp": lambda e, operands: e.exact.any_of([~e.literal(operands[0]), e.literal(operands[1])]),
    "circuit": lambda e, operands: e._nested_circuit(operands),
}
_NUMBERS: dict[str, Callable[[Expressions, Sequence[Operand]], Number]] = {
    "neg": lambda e, a: e.number(a[0]).times(-1),
    "abs": lambda e, a: e._absolute(e.number(a[0])),
    "add": lambda e, a: e._sum(a),
    "sub": lambda e, a: e._difference(a[0], a[1]),
    "mul": lambda e, a: e._product([e.number(operand) for operand in a]),
    "div": lambda e, a: e._division(a[0], a[1], floors=False)[0],
    "mod": lambda e, a: e._division(a[0], a[1], floors=False)[1],
    "floordiv": lambda e, a: e._division(a[0], a[1], floors=True)[0],
    "floormod": lambda e, a: e._division(a[0], a[1], floors=True)[1],
    "sqr": lambda e, a: e._product([e.number(a[0])] * 2),
    "pow": lambda e, a: e._power(a[0], a[1]),
    "min": lambda e, a: e._extremum([e.number(operand) for operand in a], largest=False),
    "max": lambda e, a: e._extremum([e.number(operand) for operand in a], largest=True),
    "dist": lambda e, a: e._absolute(e._difference(a[0], a[1])),
    "if": lambda e, a: e._choice(a),
    "element": lambda e, a: e._element(a),
    "distinct": lambda e, a: e._distinct(a),
}
