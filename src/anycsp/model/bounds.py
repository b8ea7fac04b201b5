"""Between which numbers the value of an expression lies, and whether it may be undefined, by interval arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import chain

from anycsp.errors import ProblemError
from anycsp.model.expressions import LIMIT, Operand, Operation, Variable, postorder
from anycsp.model.program import PARTIAL

Bounds = tuple[int, int]


def bounds(expression: Operand, domain: Callable[[int], Bounds]) -> Bounds:
    """An interval that holds every value of the expression; refuses what could leave 64-bit arithmetic."""
    known: list[Bounds] = []
    for node in postorder(expression):
        if isinstance(node, Operation):
            count = len(node.operands)
            operands = known[len(known) - count :]
            interval = _BOUNDS.get(node.operator, _truth)(operands)
            del known[len(known) - count :]
            # A constant may be beyond what can be computed with, and yet bound nothing: 0 · 2^63, min(x, 2^63).
            if node.operator in _BOUNDS and any(not -(2**63) <= low <= high < 2**63 for low, high in operands):
                raise ProblemError(f"{node.operator}: a constant beyond 64-bit integers")
            if max(-interval[0], interval[1]) >= LIMIT:
                raise ProblemError(f"{node.operator}: a result beyond 64-bit integers")
            known.append(interval)
        else:
            known.append(domain(node.index) if isinstance(node, Variable) else (int(node), int(node)))  # type: ignore[arg-type]
    low, high = known[-1]
    if not -(2**63) <= low <= high < 2**63:  # it is a constant by itself, which nobody has looked at
        raise ProblemError("a constant beyond 64-bit integers")
    return low, high


def may_be_undefined(expression: Operand, domain: Callable[[int], Bounds]) -> bool:
    """Whether some part of it, as far as bounds tell, is undefined for some values."""
    for node in postorder(expression):
        if not isinstance(node, Operation) or node.operator not in PARTIAL:
            continue
        at = 0 if node.operator == "element" else 1  # the operand that not every value is allowed for
        low, high = bounds(node.operands[at], domain)
        if node.operator == "element" and (low < 0 or high >= len(node.operands) - 1):
            return True
        if node.operator == "pow" and low < 0:
            return True
        if node.operator not in ("element", "pow") and low <= 0 <= high:
            return True
    return False


def _truth(_: list[Bounds]) -> Bounds:
    return 0, 1


def _product(a: Bounds, b: Bounds) -> Bounds:
    corners = [p * q for p in a for q in b]
    if max(abs(corner) for corner in corners) >= LIMIT:
        raise ProblemError("mul: a result beyond 64-bit integers")
    return min(corners), max(corners)


def _abs_bounds(a: Bounds) -> Bounds:
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))


def _pow_bounds(a: Bounds, b: Bounds) -> Bounds:
    base, exponent = max(abs(a[0]), abs(a[1]), 1), max(b[1], 0)
    if base > 1 and exponent * base.bit_length() > 128:
        raise ProblemError("pow: a result beyond 64-bit integers")
    high = int(base**exponent)
    return (-high if a[0] < 0 else 0), high


def _difference(a: Bounds, b: Bounds) -> Bounds:
    return a[0] - b[1], a[1] - b[0]


def _quotient(a: list[Bounds]) -> Bounds:
    reach = max(abs(a[0][0]), abs(a[0][1])) + 1
    return (-reach if a[0][0] < 0 or a[1][0] < 0 else 0), (reach - 1 if a[0][1] > 0 or a[1][0] < 0 else 0)


def _remainder(a: list[Bounds]) -> Bounds:
    reach = max(abs(a[1][0]), abs(a[1][1]), 1)
    return (-reach if a[0][0] < 0 or a[1][0] < 0 else 0), reach


def _hull(parts: Iterable[Bounds]) -> Bounds:
    ends = list(chain.from_iterable(parts))
    return min(ends), max(ends)


_BOUNDS: dict[str, Callable[[list[Bounds]], Bounds]] = {
    "neg": lambda a: (-a[0][1], -a[0][0]),
    "abs": lambda a: _abs_bounds(a[0]),
    "add": lambda a: (sum(p[0] for p in a), sum(p[1] for p in a)),
    "sub": lambda a: _difference(a[0], a[1]),
    "mul": lambda a: reduce(_product, a),
    "div": _quotient,
    "mod": _remainder,
    "floordiv": _quotient,
    "floormod": _remainder,
    "sqr": lambda a: (_abs_bounds(a[0])[0] ** 2, _abs_bounds(a[0])[1] ** 2),
    "pow": lambda a: _pow_bounds(a[0], a[1]),
    "min": lambda a: (min(p[0] for p in a), min(p[1] for p in a)),
    "max": lambda a: (max(p[0] for p in a), max(p[1] for p in a)),
    "dist": lambda a: _abs_bounds(_difference(a[0], a[1])),
    "if": lambda a: _hull(a[1:]),
    "element": lambda a: _hull(a[1:]) if len(a) > 1 else (0, 0),
    "distinct": lambda a: (1, len(a)),
}
