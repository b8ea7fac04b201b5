"""Expressions, evaluated by a second evaluator that is written from their definition, one number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Undefined(Exception):
    """A division by zero, a negative exponent, an index outside its list."""


def evaluate(tree: Any, slots: Sequence[int]) -> int:
    """An expression as plain data: an integer, {"slot": i}, or [operation, operand, …]."""
    if isinstance(tree, Mapping):
        return slots[tree["slot"]]
    if not isinstance(tree, list):
        return int(tree)
    return int(_OPERATIONS[tree[0]](*(evaluate(operand, slots) for operand in tree[1:])))


def _divide(a: int, b: int) -> int:
    """Rounding towards zero."""
    if b == 0:
        raise Undefined
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor_divide(a: int, b: int) -> int:
    if b == 0:
        raise Undefined
    return a // b


def _power(a: int, b: int) -> int:
    if b < 0:
        raise Undefined
    return int(a**b)


def _element(index: int, *items: int) -> int:
    if not 0 <= index < len(items):
        raise Undefined
    return items[index]


def _circuit(*successors: int) -> bool:
    """One circuit through two or more nodes, the others pointing to themselves."""
    moving = [node for node, successor in enumerate(successors) if successor != node]
    if len(moving) < 2 or not all(0 <= s < len(successors) for s in successors):
        return False
    visited, node = set(), moving[0]
    while node not in visited:
        visited.add(node)
        node = successors[node]
    return node == moving[0] and visited == set(moving)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "add": lambda *a: sum(a),
    "sub": lambda a, b: a - b,
    "mul": lambda *a: math.prod(a),
    "div": _divide,
    "mod": lambda a, b: a - b * _divide(a, b),
    "floordiv": _floor_divide,
    "floormod": lambda a, b: a - b * _floor_divide(a, b),
    "sqr": lambda a: a * a,
    "pow": _power,
    "min": lambda *a: min(a),
    "max": lambda *a: max(a),
    "dist": lambda a, b: abs(a - b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "eq": lambda *a: len(set(a)) == 1,
    "ne": lambda a, b: a != b,
    "in": lambda a, *values: a in values,
    "not": lambda a: not a,
    "and": lambda *a: all(a),
    "or": lambda *a: any(a),
    "xor": lambda *a: sum(map(bool, a)) % 2,
    "iff": lambda *a: len(set(map(bool, a))) == 1,
    "imp": lambda a, b: not a or bool(b),
    "if": lambda a, b, c: b if a else c,
    "element": _element,
    "distinct": lambda *a: len(set(a)),
    "circuit": _circuit,
}
