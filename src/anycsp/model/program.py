"""The program that an expression is evaluated by.

A `Program` is the tree of an expression in postfix order, its variables replaced by numbered slots and its constants by
parameters. So equal rules over different variables share one program. It is evaluated on integers and numpy arrays
alike, by broadcasting; cpp/families/rule.cpp reads the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.model.expressions import CODE, OPERATIONS, Operand, Operation, Variable, postorder

_FURTHER: Mapping[str, Callable[[Any], Any]] = {
    "le": abs,
    "ge": abs,
    "eq": abs,
    "lt": lambda difference: abs(difference) + 1,
    "gt": lambda difference: abs(difference) + 1,
}
"""How far the sides of a false comparison are from making it true, by their difference."""


@dataclass(frozen=True)
class Program:
    """Nodes in postfix order: node i has opcode `code[i]` and the operands
    `operands[operand_start[i]:operand_start[i+1]]`, earlier nodes; a leaf has there its slot or parameter number."""

    code: tuple[int, ...]
    operand_start: tuple[int, ...]
    operands: tuple[int, ...]
    slots: int
    parameters: int

    def __len__(self) -> int:
        return len(self.code)

    @cached_property
    def key(self) -> int:
        return hash((self.code, self.operand_start, self.operands))

    def __hash__(self) -> int:
        return self.key

    def evaluate(self, slots: Sequence[Any], parameters: Sequence[Any]) -> tuple[Any, Any]:
        """The value and where it is undefined (False where nowhere), broadcasting over arrays or tensors."""
        values, undefined = self._evaluate(slots, parameters)
        return values[-1], undefined

    def _evaluate(self, slots: Sequence[Any], parameters: Sequence[Any]) -> tuple[list[Any], Any]:
        """The value of every node."""
        values: list[Any] = []
        undefined: Any = False
        for node, code in enumerate(self.code):
            at = self.operands[self.operand_start[node] : self.operand_start[node + 1]]
            if code == 0:
                values.append(slots[at[0]])
            elif code == 1:
                values.append(parameters[at[0]])
            else:
                result, bad = _EVALUATE[code]([values[i] for i in at])
                undefined = bad if undefined is False else undefined if bad is False else undefined | bad
                values.append(result)
        return values, undefined

    def holds(self, slots: Sequence[Any], parameters: Sequence[Any]) -> Any:
        """Where the expression is defined and not zero."""
        value, undefined = self.evaluate(slots, parameters)
        true = value != 0
        return true if undefined is False else true & (undefined == 0)

    def distance(self, slots: Sequence[Any], parameters: Sequence[Any]) -> Any:
        """How far from true, 0 where it holds: for a comparison that is defined the difference of its sides, else 1."""
        values, undefined = self._evaluate(slots, parameters)
        false = values[-1] == 0
        result = (false if undefined is False else false | (undefined != 0)) * 1
        at = self.operands[self.operand_start[-2] :]
        if len(at) == 2 and OPERATIONS[self.code[-1]] in _FURTHER:
            further = _FURTHER[OPERATIONS[self.code[-1]]](values[at[0]] - values[at[1]])
            apart = false if undefined is False else false & (undefined == 0)
            result = result + apart * (further - 1)
        return result


def compile_expression(expression: Operand) -> tuple[list[int], Program, list[int]]:
    """The scope, the program over it, and the program's parameters."""
    code: list[int] = []
    start, operands = [0], list[int]()
    slot: dict[int, int] = {}
    parameters: list[int] = []
    ready: list[int] = []  # node numbers waiting for their parent
    for node in postorder(expression):
        if isinstance(node, Operation):
            count = len(node.operands)
            code.append(CODE[node.operator])
            operands += ready[len(ready) - count :]
            del ready[len(ready) - count :]
        elif isinstance(node, Variable):
            code.append(0)
            operands.append(slot.setdefault(node.index, len(slot)))
        else:
            code.append(1)
            operands.append(len(parameters))
            parameters.append(int(node))  # type: ignore[arg-type]
        ready.append(len(code) - 1)
        start.append(len(operands))
    return list(slot), Program(tuple(code), tuple(start), tuple(operands), len(slot), len(parameters)), parameters


def evaluate(expression: Operand, values: Mapping[int, Any] | Sequence[Any] | npt.NDArray[Any]) -> tuple[Any, Any]:
    """The value, and where it is undefined, for the values of variables by index: numbers or arrays."""
    scope, program, parameters = compile_expression(expression)
    return program.evaluate([values[x] for x in scope], parameters)


# Arithmetic below uses operators only, so that it serves integers and numpy arrays alike;
# multiplying a truth value by 1 makes it an integer in both.

Result = tuple[Any, Any]


def _true(a: Any) -> Any:
    return (a != 0) * 1


def _smaller(a: Any, b: Any) -> Any:
    return b + (a - b) * ((a < b) * 1)


def _larger(a: Any, b: Any) -> Any:
    return b + (a - b) * ((a > b) * 1)


def _div(a: Any, b: Any) -> Result:
    safe = b + (b == 0) * 1
    quotient = abs(a) // abs(safe)
    return quotient * (1 - 2 * (((a < 0) * 1) ^ ((safe < 0) * 1))), b == 0


def _mod(a: Any, b: Any) -> Result:
    quotient, bad = _div(a, b)
    return a - b * quotient, bad


def _floordiv(a: Any, b: Any) -> Result:
    return a // (b + (b == 0) * 1), b == 0


def _floormod(a: Any, b: Any) -> Result:
    quotient, bad = _floordiv(a, b)
    return a - b * quotient, bad


def _pow(a: Any, b: Any) -> Result:
    return a ** (b * ((b >= 0) * 1)), b < 0


def _element(values: list[Any]) -> Result:
    index, items = values[0], values[1:]
    result: Any = 0
    for k, item in enumerate(items):
        result = result + item * ((index == k) * 1)
    return result, (index < 0) | (index >= len(items))


def _distinct(values: list[Any]) -> Any:
    count: Any = 1
    for k in range(1, len(values)):
        count = count + reduce(lambda new, other: new * ((values[k] != other) * 1), values[:k], 1)
    return count


def _circuit(values: list[Any]) -> Any:
    """Walk from the first node that does not point to itself: it must come back after visiting all such nodes."""
    successor = np.stack(np.broadcast_arrays(*map(np.asarray, values)), axis=-1)
    nodes = np.arange(len(values))
    inside = ((successor >= 0) & (successor < len(values))).all(axis=-1)
    # A constant beyond 64 bits, which is no node, would leave objects or floats.
    successor = np.clip(successor, 0, len(values) - 1).astype(np.int64)
    active = successor != nodes
    size = active.sum(axis=-1)
    start = active.argmax(axis=-1)[..., None]
    at, returned = start, np.zeros_like(size)
    for step in range(1, len(values) + 1):
        at = np.take_along_axis(successor, at, axis=-1)
        returned = np.where((returned == 0) & (at == start)[..., 0], step, returned)
    # Coming back in exactly `size` steps visits that many active nodes: a node pointing to itself holds the walk.
    return (inside & (size >= 2) & (returned == size)) * 1


def _all_equal(values: list[Any]) -> Any:
    return reduce(lambda so_far, v: so_far * ((v == values[0]) * 1), values[1:], 1)


_TOTAL: dict[str, Callable[[list[Any]], Any]] = {
    "neg": lambda a: -a[0],
    "abs": lambda a: abs(a[0]),
    "add": lambda a: reduce(lambda p, q: p + q, a),
    "sub": lambda a: a[0] - a[1],
    "mul": lambda a: reduce(lambda p, q: p * q, a),
    "sqr": lambda a: a[0] * a[0],
    "min": lambda a: reduce(_smaller, a),
    "max": lambda a: reduce(_larger, a),
    "dist": lambda a: abs(a[0] - a[1]),
    "lt": lambda a: (a[0] < a[1]) * 1,
    "le": lambda a: (a[0] <= a[1]) * 1,
    "ge": lambda a: (a[0] >= a[1]) * 1,
    "gt": lambda a: (a[0] > a[1]) * 1,
    "eq": _all_equal,
    "ne": lambda a: (a[0] != a[1]) * 1,
    "in": lambda a: reduce(lambda found, v: found | ((a[0] == v) * 1), a[1:], a[0] * 0),
    "not": lambda a: (a[0] == 0) * 1,
    "and": lambda a: reduce(lambda p, q: p * _true(q), a[1:], _true(a[0])),
    "or": lambda a: reduce(lambda p, q: p | _true(q), a[1:], _true(a[0])),
    "xor": lambda a: reduce(lambda p, q: p ^ _true(q), a[1:], _true(a[0])),
    "iff": lambda a: _all_equal([_true(v) for v in a]),
    "imp": lambda a: ((a[0] == 0) * 1) | _true(a[1]),
    "if": lambda a: a[1] * _true(a[0]) + a[2] * ((a[0] == 0) * 1),
    "distinct": _distinct,
    "circuit": _circuit,
}
PARTIAL: dict[str, Callable[[list[Any]], Result]] = {
    "div": lambda a: _div(a[0], a[1]),
    "mod": lambda a: _mod(a[0], a[1]),
    "floordiv": lambda a: _floordiv(a[0], a[1]),
    "floormod": lambda a: _floormod(a[0], a[1]),
    "pow": lambda a: _pow(a[0], a[1]),
    "element": _element,
}
"""The operations that are undefined for some operands."""


def _defined(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Result]:
    return lambda a: (function(a), False)


_EVALUATE: list[Callable[[list[Any]], Result]] = [
    PARTIAL[name] if name in PARTIAL else _defined(_TOTAL[name]) if name in _TOTAL else _defined(lambda a: a[0])
    for name in OPERATIONS
]
