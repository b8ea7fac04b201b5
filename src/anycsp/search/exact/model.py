"""A problem's variables in a CP-SAT model: their integers, a literal per value or set of values, and exact arithmetic.

Everything that constraints are translated to is made here, so that what would leave 64-bit integers is refused in one
place, by the name of the constraint that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp.errors import AnyCSPError, ProblemError
from anycsp.model.domains import Domain
from anycsp.model.problem import Problem

LARGEST = 2**61
"""No number of a model reaches this: CP-SAT adds two of them in 64 bits."""
WRAPPING = "9.15."
"""Releases of OR-Tools that lose solutions where variables reach 2^31: of 1,416 random minima of x · y, written as
conditions on the product, 281 were wrong and called optimal or infeasible, of those below 2^31 none; sums of small
variables with coefficients up to 2^48 were right, 6,000 of 6,000."""
LARGEST_WRAPPING = 2**30
"""No variable of a model reaches this with one of those releases."""
OLDEST = (9, 15)
"""Releases before it call a wrong minimum of x optimal where x ≠ y is said three times, over {-3, 2, 3, 4}."""

IntArray = npt.NDArray[np.int64]
Literal = Any
"""A Boolean variable of CP-SAT, or its negation."""


@cache
def release() -> str:
    """The version of OR-Tools that is installed; "" without it. It is not imported, since that takes half a second."""
    try:
        return version("ortools") if find_spec("ortools") is not None else ""
    except PackageNotFoundError:
        return ""


def installed() -> bool:
    """Whether OR-Tools can be imported, in a release that is right."""
    return _numbers(release()) >= OLDEST


def _numbers(release: str) -> tuple[int, ...]:
    """The first two."""
    return tuple(int(part) for part in release.split(".")[:2] if part.isdecimal())


def cp_model() -> Any:
    """OR-Tools' module, imported when first used."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise AnyCSPError("exact search needs OR-Tools, which is not installed: pip install 'anycsp[exact]'") from None
    if not installed():
        raise AnyCSPError(f"exact search needs OR-Tools 9.15 or newer, not {release()}: pip install 'anycsp[exact]'")
    return cp_model


class Number(NamedTuple):
    """A linear expression of CP-SAT, or an integer, and the bounds of its value."""

    expression: Any
    low: int
    high: int

    @staticmethod
    def constant(value: int) -> Number:
        return Number(value, value, value)

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    def times(self, factor: int) -> Number:
        ends = (self.low * factor, self.high * factor)
        return Number(self.expression * factor, min(ends), max(ends))

    def plus(self, other: Number) -> Number:
        return Number(self.expression + other.expression, self.low + other.low, self.high + other.high)

    def minus(self, other: Number) -> Number:
        return self.plus(other.times(-1))


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
OPPOSITE = {"<=": ">", ">=": "<", "==": "!=", "!=": "==", "<": ">=", ">": "<="}


class ExactModel:
    """The CP-SAT model of a problem, its constraints yet to be added."""

    def __init__(self, problem: Problem) -> None:
        self.cp = cp_model()
        self.model = self.cp.CpModel()
        self._wraps = release().startswith(WRAPPING)
        self.problem = problem
        self.domains = problem.domain_list
        self.constraint: int | None = None
        """The one that is being translated; None for the objective."""
        self._true = self.model.new_constant(1)
        self._sets: dict[tuple[int, bytes], Literal] = {}
        self._compared: dict[tuple[str, int, int], Literal] = {}
        self.variables: list[Any] = []
        """By variable of the problem: a CP-SAT variable, a Boolean for two values."""
        self._number: list[Number] = []
        for x, domain in enumerate(self.domains):
            self._add(domain, f"variable {x + 1}")

    def _add(self, domain: Domain, name: str) -> None:
        low, high = domain.bounds
        self._refuse_wide(low, high, name)
        if len(domain) == 2:
            variable = self.model.new_bool_var("")
            first, second = domain.values.tolist()
            number = Number(variable * (second - first) + first, low, high)
            if (first, second) == (0, 1):
                number = Number(variable, 0, 1)
        elif high - low + 1 == len(domain):
            variable = self.model.new_int_var(low, high, "")
            number = Number(variable, low, high)
        else:
            variable = self.model.new_int_var_from_domain(self.cp.Domain.from_values(domain.values.tolist()), "")
            number = Number(variable, low, high)
        self.variables.append(variable)
        self._number.append(number)

    # ── literals ─────────────────────────────────────────────────────────────────────────────────────

    def truth(self, value: bool) -> Literal:
        return self._true if value else ~self._true

    def at(self, x: int, position: int) -> Literal:
        """The variable is at this domain position."""
        if len(self.domains[x]) == 2:
            return self.variables[x] if position else ~self.variables[x]
        holds = np.zeros(len(self.domains[x]), dtype=np.bool_)
        holds[position] = True
        return self.among(x, holds)

    def among(self, x: int, holds: npt.NDArray[np.bool_]) -> Literal:
        """The variable is at one of the flagged domain positions."""
        count = int(np.count_nonzero(holds))
        if count in (0, len(holds)):
            return self.truth(count > 0)
        if len(holds) == 2:
            return self.variables[x] if holds[1] else ~self.variables[x]
        if 2 * count > len(holds) or (2 * count == len(holds) and not holds[0]):
            return ~self.among(x, ~holds)
        key = (x, holds.tobytes())
        if key not in self._sets:
            values, literal = self.domains[x].values, self.model.new_bool_var("")
            self._in_set(x, values[holds], literal)
            self._in_set(x, values[~holds], ~literal)
            self._sets[key] = literal
        return self._sets[key]

    def _in_set(self, x: int, values: IntArray, literal: Literal) -> None:
        domain = self.cp.Domain.from_values(values.tolist())
        self.model.add_linear_expression_in_domain(self.variables[x], domain).only_enforce_if(literal)

    def all_of(self, literals: Sequence[Literal]) -> Literal:
        if len(literals) == 1:
            return literals[0]
        result = self.model.new_bool_var("")
        self.model.add_bool_and(list(literals)).only_enforce_if(result)
        self.model.add_bool_or([result, *(~l for l in literals)])
        return result

    def any_of(self, literals: Sequence[Literal]) -> Literal:
        return ~self.all_of([~l for l in literals])

    def compared(self, difference: Number, operator: str) -> Literal:
        """The truth of `difference operator 0`."""
        known = decided(difference, operator)
        if known is not None:
            return self.truth(known)
        literal = self.model.new_bool_var("")
        self.compare(difference, operator, [literal])
        self.compare(difference, OPPOSITE[operator], [~literal])
        return literal

    # ── numbers ──────────────────────────────────────────────────────────────────────────────────────

    def within(self, number: Number) -> Number:
        """The number, refused where CP-SAT could not hold it."""
        if max(-number.low, number.high) >= LARGEST:
            told = f"{self._name}: numbers beyond the 61 bits of exact search"
            raise ProblemError(f"{told}: scale it down, or search local")
        return number

    def _refuse_wide(self, low: int, high: int, name: str) -> None:
        """Refuses the bounds of a variable that CP-SAT could not hold."""
        if max(-low, high) < (LARGEST_WRAPPING if self._wraps else LARGEST):
            return
        told = (
            f"OR-Tools {release()} is wrong with variables beyond 30 bits"
            if self._wraps
            else "beyond the 61 bits of exact search"
        )
        raise ProblemError(f"{name}: {told}: scale it down, or search local")

    @property
    def _name(self) -> str:
        return "the objective" if self.constraint is None else f"constraint {self.constraint + 1}"

    def number(self, x: int) -> Number:
        return self._number[x]

    def new_number(self, low: int, high: int) -> Number:
        self._refuse_wide(low, high, self._name)
        return Number(self.model.new_int_var(low, high, ""), low, high)

    def affine(self, number: Number) -> Any:
        """The number as CP-SAT's non-linear constraints take it: of one variable at most."""
        if number.is_constant:
            return number.low
        if len(self.cp.FlatIntExpr(number.expression).vars) <= 1:
            return number.expression
        return self.variable(number)

    def variable(self, number: Number) -> Any:
        """The number as some of CP-SAT's constraints take it: a variable itself, no multiple of one, or a constant."""
        if number.is_constant:
            return number.low
        if isinstance(number.expression, self.cp.IntVar):
            return number.expression
        variable = self.new_number(number.low, number.high)
        self.compare(variable.minus(number), "==")
        return variable.expression

    def of_literal(self, literal: Literal) -> Number:
        return Number(1 * literal, 0, 1)

    def total(self, numbers: Sequence[Number]) -> Number:
        low, high = sum(n.low for n in numbers), sum(n.high for n in numbers)
        return self.within(Number(self.cp.LinearExpr.sum([n.expression for n in numbers]), low, high))

    def function(self, x: int, values: IntArray) -> Number:
        """What a variable's positions are mapped to: a multiple of its value where it is one, otherwise a sum of
        literals, one per value of the function but the commonest."""
        low, high = int(values.min()), int(values.max())
        self.within(Number(0, low, high))
        if low == high:
            return Number.constant(low)
        own = self.domains[x].values
        rise, run = int(values[1]) - int(values[0]), int(own[1]) - int(own[0])
        if rise % run == 0 and abs(rise) < 2**31 and abs(int(np.abs(own).max())) < 2**31:
            slope = rise // run
            shift = int(values[0]) - slope * int(own[0])
            if (slope * own + shift == values).all():
                return self.number(x).times(slope).plus(Number.constant(shift))
        taken, counts = np.unique(values, return_counts=True)
        base = int(taken[np.argmax(counts)])
        literals = [self.among(x, values == value) for value in taken.tolist() if value != base]
        weights = [value - base for value in taken.tolist() if value != base]
        return Number(self.cp.LinearExpr.weighted_sum(literals, weights) + base, low, high)

    def compare(self, difference: Number, operator: str, enforced: Sequence[Literal] = ()) -> None:
        """`difference operator 0`, where all of `enforced` hold."""
        known = decided(difference, operator)
        if known is None:
            self.within(difference)
            self.post(self.model.add(COMPARE[operator](difference.expression, 0)), enforced)
        elif not known:
            self.forbid(enforced)

    def forbid(self, enforced: Sequence[Literal]) -> None:
        """Not all of these hold at once; nothing can hold where there are none."""
        self.model.add_bool_or([~l for l in enforced])

    @staticmethod
    def post(constraint: Any, enforced: Sequence[Literal]) -> None:
        if enforced:
            constraint.only_enforce_if(list(enforced))


def decided(difference: Number, operator: str) -> bool | None:
    """Whether its bounds alone say that `difference operator 0` is true or false."""
    ends = {bool(COMPARE[operator](end, 0)) for end in (difference.low, difference.high)}
    if operator in ("==", "!="):
        if difference.low <= 0 <= difference.high and not difference.is_constant:
            return None
    elif len(ends) == 2:
        return None
    return ends.pop()
