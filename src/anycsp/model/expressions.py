"""Expressions over variables: what `problem.add(x * y == z)` takes.

An expression is a tree of integer operations (0 and 1 are the truth values); the operators are those of XCSP3's
functional form plus `element` and `distinct`. `model/program.py` evaluates it, `model/bounds.py` says between which
numbers it lies.

Where an operation is undefined (division by zero, a negative exponent, an index outside its list) the
constraint it occurs in is violated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import ExpressionError, ProblemError
from anycsp.model.domains import Domain

OPERATIONS = (
    "slot", "constant",
    "neg", "abs", "add", "sub", "mul", "div", "mod", "floordiv", "floormod", "sqr", "pow", "min", "max", "dist",
    "lt", "le", "ge", "gt", "eq", "ne", "in",
    "not", "and", "or", "xor", "iff", "imp", "if",
    "element", "distinct", "circuit",
)  # fmt: skip
"""Their order is the opcode of the arrays and of the C++ side; slot and constant are the leaves."""
CODE = {name: code for code, name in enumerate(OPERATIONS)}
ARITY = {
    "neg": 1, "abs": 1, "sqr": 1, "not": 1, "sub": 2, "div": 2, "mod": 2, "floordiv": 2, "floormod": 2, "pow": 2,
    "dist": 2, "lt": 2, "le": 2, "ge": 2, "gt": 2, "ne": 2, "imp": 2, "if": 3,
}  # fmt: skip
"""Operations of fixed arity; the others take one operand or more (`in`: an operand and a set of constants;
`element`: an index and a list)."""
COMPARISON = {"<=": "le", ">=": "ge", "==": "eq", "!=": "ne", "<": "lt", ">": "gt"}
"""Comparisons by their signs; the order of the signs is the operator code of sums and of the C++ side."""
SYMBOL = {name: sign for sign, name in COMPARISON.items()}
COMPLEMENT = {"lt": "ge", "le": "gt", "ge": "lt", "gt": "le", "eq": "ne", "ne": "eq"}
"""not (a ∘ b) as a ∘' b."""
MIRRORED = {"lt": "gt", "le": "ge", "ge": "le", "gt": "lt", "eq": "eq", "ne": "ne"}
"""a ∘ b as b ∘' a."""
LIMIT = 2**62
"""Every intermediate result stays below this, so that 64-bit arithmetic is exact."""


class Expression:
    """An integer-valued expression; Python's operators build larger ones, elementwise where the other side is an array.
    Division and `%` round like Python's (towards −∞); `div` and `mod` round towards zero, as XCSP3 and C do."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy's integers and arrays leave `3 * x` to the operators below

    def __add__(self, other: Operand) -> Operation:
        return _binary("add", self, other)

    def __radd__(self, other: Operand) -> Operation:
        return _binary("add", other, self)

    def __sub__(self, other: Operand) -> Operation:
        return _binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Operation:
        return _binary("sub", other, self)

    def __mul__(self, other: Operand) -> Operation:
        return _binary("mul", self, other)

    def __rmul__(self, other: Operand) -> Operation:
        return _binary("mul", other, self)

    def __floordiv__(self, other: Operand) -> Operation:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Operation:
        return _binary("floordiv", other, self)

    def __truediv__(self, other: Operand) -> Operation:
        raise ExpressionError(f"{shown(self)} / …: expressions are whole numbers, write // (or div(a, b))")

    def __mod__(self, other: Operand) -> Operation:
        return _binary("floormod", self, other)

    def __rmod__(self, other: Operand) -> Operation:
        return _binary("floormod", other, self)

    def __pow__(self, other: Operand) -> Operation:
        return _binary("pow", self, other)

    def __rpow__(self, other: Operand) -> Operation:
        return _binary("pow", other, self)

    def __neg__(self) -> Operation:
        return operation("neg", self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Operation:
        return operation("abs", self)

    def __lt__(self, other: Operand) -> Operation:
        return _binary("lt", self, other)

    def __le__(self, other: Operand) -> Operation:
        return _binary("le", self, other)

    def __ge__(self, other: Operand) -> Operation:
        return _binary("ge", self, other)

    def __gt__(self, other: Operand) -> Operation:
        return _binary("gt", self, other)

    def __eq__(self, other: object) -> Operation:  # type: ignore[override]
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> Operation:  # type: ignore[override]
        return _binary("ne", self, other)

    def __and__(self, other: Operand) -> Operation:
        return _binary("and", self, other)

    def __rand__(self, other: Operand) -> Operation:
        return _binary("and", other, self)

    def __or__(self, other: Operand) -> Operation:
        return _binary("or", self, other)

    def __ror__(self, other: Operand) -> Operation:
        return _binary("or", other, self)

    def __xor__(self, other: Operand) -> Operation:
        return _binary("xor", self, other)

    def __rxor__(self, other: Operand) -> Operation:
        return _binary("xor", other, self)

    def __invert__(self) -> Operation:
        return operation("not", self)

    def implies(self, other: Operand) -> Operation:
        """Where this is true, so is the other."""
        return operation("imp", self, other)

    def only_enforce_if(self, *conditions: Operand) -> Operation:
        """This, where all the conditions are true."""
        return operation("imp", all_of(*conditions), self)

    def is_in(self, values: Iterable[int | str]) -> Operation:
        """The value is one of these constants."""
        return operation("in", self, *(_label(v, self) for v in values))

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"Python asked whether {shown(self)} is true, which only an answer can say: write a & b, a | b, ~a, "
            "x.is_in([1, 2]) and (0 <= x) & (x <= 9) in place of and, or, not, in and 0 <= x <= 9"
        )

    def __contains__(self, item: object) -> bool:
        raise ExpressionError(f"… in {shown(self)}: write {shown(self)}.is_in([1, 2])")

    def __iter__(self) -> Iterator[Any]:
        raise ExpressionError(f"{shown(self)} is an expression, not a list: write [{shown(self)}] for a list of one")


Operand = Expression | int


@dataclass(frozen=True, eq=False, slots=True)
class Variable(Expression):
    """A handle on one variable of a problem: what `add_*` methods take in their scopes, and an expression."""

    index: int
    name: str
    domain: Domain | None = field(default=None, repr=False)
    """What it ranges over; None where it is a slot of a rule and nobody's variable."""
    origin: object | None = field(default=None, repr=False)
    """What the variables of one problem, and of its copies, have in common."""

    def __hash__(self) -> int:
        return hash((self.index, self.name))


@dataclass(frozen=True, eq=False, slots=True)
class Operation(Expression):
    """One of OPERATIONS over its operands."""

    operator: str
    operands: tuple[Operand, ...]

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return text_of(self)


_INFIX = {
    "or": 1, "xor": 1, "and": 2, "lt": 3, "le": 3, "ge": 3, "gt": 3, "eq": 3, "ne": 3, "add": 4, "sub": 4, "mul": 5,
    "floordiv": 5, "floormod": 5, "pow": 6,
}  # fmt: skip
"""How strongly operators bind in `text_of`."""
_SIGNS = {
    **SYMBOL, "or": "|", "xor": "^", "and": "&", "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "floormod": "%",
    "pow": "**",
}  # fmt: skip


def text_of(expression: Operand, name_of: Callable[[Variable], str] = lambda x: x.name) -> str:
    """The expression as Python would write it."""
    ready: list[tuple[str, int]] = []  # text and binding of what waits for its parent
    for node in postorder(expression):
        if not isinstance(node, Operation):
            ready.append((name_of(node) if isinstance(node, Variable) else str(node), 9))
            continue
        first = len(ready) - len(node.operands)
        parts, binding = ready[first:], _INFIX.get(node.operator)
        if binding is not None:
            # Comparisons stand side by side with nothing of their own strength; - and // only on the left.
            inner = [t if b > binding or (b == binding != 3 and not k) else f"({t})" for k, (t, b) in enumerate(parts)]
            text = f" {_SIGNS[node.operator]} ".join(inner)
        elif node.operator in ("neg", "not"):
            text, binding = ("-" if node.operator == "neg" else "~") + _tight(*parts[0]), 8
        elif node.operator in ("imp", "in"):
            inside = ", ".join(t for t, _ in parts[1:])
            called = f"is_in([{inside}])" if node.operator == "in" else f"implies({inside})"
            text, binding = f"{_tight(*parts[0])}.{called}", 9
        else:
            text, binding = f"{node.operator}({', '.join(t for t, _ in parts)})", 9
        ready[first:] = [(text, binding)]
    return ready[0][0]


def _tight(text: str, binding: int) -> str:
    return text if binding == 9 else f"({text})"


def shown(expression: Operand) -> str:
    """The expression as an error shows it: not too long."""
    text = text_of(expression)
    return text if len(text) <= 60 else text[:57] + "…"


def operation(operator: str, *operands: Any) -> Operation:
    """An operation on expressions and integers, its arity checked."""
    if operator not in CODE or CODE[operator] < 2:
        raise ProblemError(f"unknown operation {operator!r}")
    if len(operands) != ARITY.get(operator, len(operands)) or not operands:
        raise ProblemError(f"operation {operator!r} on {len(operands)} operands")
    return Operation(operator, tuple(as_operand(o) for o in operands))


def _binary(operator: str, left: Any, right: Any) -> Operation:
    """`left operator right`, at least one of them an expression."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return elementwise(partial(_binary, operator), left, right)  # type: ignore[return-value]  # an Array
    if operator in ("eq", "ne"):
        left, right = _label(left, right), _label(right, left)
    return Operation(operator, (as_operand(left), as_operand(right)))


def _label(value: Any, beside: Any) -> Any:
    """The integer that a label stands for beside a variable of a labelled domain."""
    if isinstance(value, str) and isinstance(beside, Variable) and beside.domain is not None:
        try:
            return beside.domain.integer(value)
        except ProblemError as error:
            raise ProblemError(f"variable {beside.name!r}: {error}") from None
    return value


def as_operand(value: Any) -> Operand:
    """An expression as it is, any kind of integer as a plain one."""
    if type(value) is int or isinstance(value, Expression):
        return value
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return int(value)
    if isinstance(value, np.ndarray):
        raise ExpressionError("an array where one number is expected: take an element, or total(array)")
    raise ExpressionError(f"an expression holds variables and whole numbers, not {value!r}")


def _items(values: tuple[Any, ...]) -> list[Any]:
    """The operands, given one by one or as one list or array, which may have several dimensions."""
    if len(values) == 1 and not isinstance(values[0], (Expression, int, np.integer)):
        return flat(values[0])
    return list(values)


def flat(items: Iterable[Any]) -> list[Any]:
    """A list, an array of any number of dimensions, or whatever can be gone through, as a plain list."""
    if isinstance(items, np.ndarray):
        return list(items.flat)
    if isinstance(items, str):
        raise ProblemError(f"a list of variables, not the text {items!r}: write [{items!r}]")
    return [part for item in items for part in (item.flat if isinstance(item, np.ndarray) else (item,))]


def operands_of(items: Iterable[Any]) -> list[Operand]:
    """What `flat` gives, as operands."""
    return [as_operand(item) for item in flat(items)]


def whole_numbers(items: Iterable[Any]) -> list[int]:
    """What `flat` gives, as plain integers."""
    numbers = []
    for item in operands_of(items):
        if not isinstance(item, int):
            raise ExpressionError(f"a whole number stands here, not {shown(item)}")
        numbers.append(item)
    return numbers


class Array(np.ndarray[Any, np.dtype[np.object_]]):
    """Variables or expressions in a shape: indices, slices and arithmetic as numpy has them, and comparisons that give
    an array of conditions."""

    def __eq__(self, other: Any) -> Array:  # type: ignore[override]
        return elementwise(partial(_binary, "eq"), self, other)

    def __ne__(self, other: Any) -> Array:  # type: ignore[override]
        return elementwise(partial(_binary, "ne"), self, other)

    def __lt__(self, other: Any) -> Array:  # type: ignore[override]
        return elementwise(partial(_binary, "lt"), self, other)

    def __le__(self, other: Any) -> Array:  # type: ignore[override]
        return elementwise(partial(_binary, "le"), self, other)

    def __ge__(self, other: Any) -> Array:  # type: ignore[override]
        return elementwise(partial(_binary, "ge"), self, other)

    def __gt__(self, other: Any) -> Array:  # type: ignore[override]
        return elementwise(partial(_binary, "gt"), self, other)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, item: object) -> bool:
        if isinstance(item, Expression):
            return any(item is element for element in self.flat)
        raise ExpressionError("… in an array of variables: write x.is_in([1, 2]) for one of them")

    def __bool__(self) -> bool:
        raise ExpressionError("an array of conditions is neither true nor false: write all_of(a) or any_of(a)")

    def sum(self, axis: int | None = None, out: None = None) -> Any:  # type: ignore[override]
        """The total, or an array of totals along an axis."""
        return self._folded(total, axis)

    def min(self, axis: int | None = None, out: None = None) -> Any:  # type: ignore[override]
        return self._folded(minimum, axis)

    def max(self, axis: int | None = None, out: None = None) -> Any:  # type: ignore[override]
        return self._folded(maximum, axis)

    def all(self, axis: int | None = None, out: None = None) -> Any:  # type: ignore[override]
        return self._folded(all_of, axis)

    def any(self, axis: int | None = None, out: None = None) -> Any:  # type: ignore[override]
        return self._folded(any_of, axis)

    def _folded(self, fold: Callable[..., Operation], axis: int | None) -> Any:
        if axis is None:
            return fold(list(self.flat))
        lines = np.moveaxis(self, axis, -1)
        result = np.empty(lines.shape[:-1], dtype=object)
        for at in np.ndindex(*result.shape):
            result[at] = fold(list(lines[at]))
        return result.view(Array)


def elementwise(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Array:
    """A function of two operands over arrays, which are broadcast."""
    both = np.broadcast(*(_boxed(side) for side in (left, right)))
    result = np.empty(both.shape, dtype=object)
    for k, (a, b) in enumerate(both):
        result.flat[k] = function(a, b)
    return result.view(Array)


def _boxed(value: Any) -> npt.NDArray[Any]:
    """An array as it is, anything else as an array of one element without dimensions."""
    if isinstance(value, (np.ndarray, list, tuple)):
        return np.asarray(value)
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def minimum(*operands: Any) -> Operation:
    return operation("min", *_items(operands))


def maximum(*operands: Any) -> Operation:
    return operation("max", *_items(operands))


def total(*operands: Any) -> Operation:
    """The sum of its operands, as one flat operation."""
    return operation("add", *(_items(operands) or [0]))


def any_of(*operands: Any) -> Operation:
    return operation("or", *_items(operands))


def all_of(*operands: Any) -> Operation:
    return operation("and", *_items(operands))


def distinct(*operands: Any) -> Operation:
    """How many different values the operands take."""
    return operation("distinct", *_items(operands))


def circuit(successors: Sequence[Operand]) -> Operation:
    """Following `i → successors[i]` is one circuit of two or more nodes; nodes outside it point to themselves."""
    return operation("circuit", *flat(successors))


def if_else(condition: Operand, then: Operand, otherwise: Operand) -> Operation:
    return operation("if", condition, then, otherwise)


def element(items: Sequence[Operand], index: Operand) -> Operation:
    """`items[index]`, the index counted from 0."""
    return operation("element", index, *flat(items))


def div(a: Operand, b: Operand) -> Operation:
    """Integer division rounding towards zero."""
    return operation("div", a, b)


def mod(a: Operand, b: Operand) -> Operation:
    """The remainder of `div`: it has the sign of `a`."""
    return operation("mod", a, b)


def trace(function: Callable[..., Any], variables: Sequence[Variable]) -> Expression | None:
    """The expression a function computes, found by calling it on symbols; None where it needs real values."""
    try:
        result = function(*variables)
    except Exception:  # whatever the user's code raises when given symbols: it is then called on values
        return None
    return result if isinstance(result, Expression) else None


# ── walking ──────────────────────────────────────────────────────────────────────────────────────────


def postorder(expression: Operand) -> list[Operand]:
    """Every node after its operands; iterative, since parsed expressions can be deep. It is the reverse of the order
    that visits a node first and its operands from the last to the first."""
    order, stack = list[Operand](), [expression]
    while stack:
        node = stack.pop()
        order.append(node)
        if isinstance(node, Operation):
            stack.extend(node.operands)
    order.reverse()
    return order


def scope_of(expression: Operand) -> list[int]:
    """The indices of the variables that occur, in the order they first do."""
    return list(dict.fromkeys(node.index for node in postorder(expression) if isinstance(node, Variable)))


# ── as plain data ────────────────────────────────────────────────────────────────────────────────────


JOINED = ("add", "mul", "and", "or")
"""Operations whose operands may be operations of the same kind: (a + b) + c is a + b + c."""


def tree_of(expression: Operand) -> tuple[list[int], Any]:
    """The scope, and the expression over its slots as plain data: an integer, {"slot": i}, or [operation, …]. Sums in
    sums are one sum: Python's `sum` nests as many as it has terms, and no reader goes so deep."""
    scope = scope_of(expression)
    slot = {x: i for i, x in enumerate(scope)}
    ready: list[Any] = []
    for node in postorder(expression):
        if isinstance(node, Operation):
            first = len(ready) - len(node.operands)
            ready[first:] = [joined(node.operator, ready[first:])]
        else:
            ready.append({"slot": slot[node.index]} if isinstance(node, Variable) else node)
    return scope, ready[0]


def joined(operator: str, operands: list[Any]) -> list[Any]:
    """[operation, …]; the first operand, which nobody else has, is continued where it is of the same kind."""
    alike = [operator in JOINED and isinstance(operand, list) and operand[0] == operator for operand in operands]
    tree, rest = (operands[0], 1) if alike[0] else ([operator], 0)
    for operand, same in zip(operands[rest:], alike[rest:], strict=True):
        tree.extend(operand[1:] if same else [operand])
    return tree


def expression_of(tree: Any, scope: Sequence[Variable]) -> Operand:
    """The inverse of `tree_of`, for variables in the order of the scope."""
    if isinstance(tree, Mapping) and isinstance(tree.get("slot"), int) and 0 <= tree["slot"] < len(scope):
        return scope[tree["slot"]]
    if isinstance(tree, list) and tree and isinstance(tree[0], str):
        return operation(tree[0], *(expression_of(operand, scope) for operand in tree[1:]))
    if type(tree) is int:
        return tree
    raise ProblemError("an expression is an integer, a slot of the scope, or an operation on expressions")
