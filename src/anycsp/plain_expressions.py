"""Expressions as plain data, evaluated one number at a time: the checker's own arithmetic.

A tree is an integer, `{"slot": k}` for the k-th value given, or `[operation, tree, …]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Tree = Any


class Undefined(ArithmeticError):
    """Division by zero, a negative exponent, an index outside its list: the constraint is then violated."""


def value(tree: Tree, taken: Sequence[int] | Mapping[int, int]) -> int:
    """What the tree evaluates to; truth values are 0 and 1."""
    if isinstance(tree, Mapping):
        return taken[tree["slot"]]
    if not isinstance(tree, Sequence):
        return int(tree)
    return int(_OPERATIONS[tree[0]](*(value(operand, taken) for operand in tree[1:])))


def holds(tree: Tree, taken: Sequence[int]) -> bool:
    try:
        return value(tree, taken) != 0
    except Undefined:
        return False


def _defined(condition: bool) -> None:
    if not condition:
        raise Undefined


def _div(a: int, b: int) -> int:
    """Rounding towards zero."""
    _defined(b != 0)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor_div(a: int, b: int) -> int:
    _defined(b != 0)
    return a // b


def _pow(a: int, b: int) -> int:
    _defined(b >= 0)
    return int(a**b)


def _element(index: int, *items: int) -> int:
    _defined(0 <= index < len(items))
    return items[index]


def _circuit(*successors: int) -> bool:
    """One cycle through all the nodes that do not point to themselves, two or more."""
    if any(not 0 <= s < len(successors) for s in successors):
        return False
    active = {i for i, s in enumerate(successors) if i != s}
    if len(active) < 2:
        return False
    start = min(active)
    visited, at = {start}, successors[start]
    while at not in visited:
        visited.add(at)
        at = successors[at]
    return at == start and visited == active


_OPERATIONS: dict[str, Callable[..., int | bool]] = {
    "neg": lambda a: -a,
    "abs": lambda a: abs(a),
    "add": lambda *a: sum(a),
    "sub": lambda a, b: a - b,
    "mul": lambda *a: math.prod(a),
    "div": _div,
    "mod": lambda a, b: a - b * _div(a, b),
    "floordiv": _floor_div,
    "floormod": lambda a, b: a - b * _floor_div(a, b),
    "sqr": lambda a: a * a,
    "pow": _pow,
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
    "xor": lambda *a: sum(bool(v) for v in a) % 2,
    "iff": lambda *a: len({bool(v) for v in a}) == 1,
    "imp": lambda a, b: not a or bool(b),
    "if": lambda a, b, c: b if a else c,
    "element": _element,
    "distinct": lambda *a: len(set(a)),
    "circuit": _circuit,
}
