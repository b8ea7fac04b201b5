"""The builtins of FlatZinc as expressions: one small function per predicate says when it is true.

From it follow all three forms: `p(…)` demands it, `p_reif(…, r)` makes r equal to it, `p_imp(…, r)` demands it where r
is true. Booleans are 0 and 1; a set is a truth value per member it may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from anycsp.model.expressions import (
    Expression,
    Operand,
    all_of,
    any_of,
    element,
    if_else,
    maximum,
    minimum,
    operation,
    total,
)

Set = range | frozenset[int] | Mapping[int, Operand]
"""Constant, or the truth value of every member it may have."""
Truth = Callable[..., Operand]


# ── integers and Booleans ────────────────────────────────────────────────────────────────────────────


def negation(operand: Operand) -> Operand:
    return operation("not", operand) if isinstance(operand, Expression) else int(not operand)


def compare(operator: str, a: Operand, b: Operand) -> Operand:
    return operation(operator, a, b)


def weighted(coefficients: Sequence[int], items: Sequence[Operand]) -> Operand:
    """Σ coefficient · item."""
    parts: list[Operand] = []
    constant = 0
    for a, x in zip(coefficients, items, strict=True):
        if isinstance(x, Expression):
            parts.append(x if a == 1 else operation("mul", x, a))
        else:
            constant += a * x
    if constant or not parts:
        parts.append(constant)
    return total(parts) if len(parts) > 1 else parts[0]


def linear(operator: str, coefficients: Sequence[int], items: Sequence[Operand], bound: Operand) -> Operand:
    return operation(operator, weighted(coefficients, items), bound)


def function(operator: str, *arguments: Operand) -> Operand:
    """The last argument is the value of an operation on the others."""
    return operation("eq", operation(operator, *arguments[:-1]), arguments[-1])


def power(a: Operand, b: Operand) -> Operand:
    """a^b, which is 1 div a^−b for a negative exponent: 0 but for a = ±1, undefined for a = 0."""
    if isinstance(b, int) and b >= 0:
        return operation("pow", a, b)
    inverse = operation("div", 1, operation("pow", a, maximum(operation("neg", b), 0)))
    return if_else(operation("ge", b, 0), operation("pow", a, maximum(b, 0)), inverse)


def conjunction(items: Sequence[Operand]) -> Operand:
    return all_of(list(items)) if items else 1


def disjunction(items: Sequence[Operand]) -> Operand:
    return any_of(list(items)) if items else 0


def clause(positive: Sequence[Operand], negative: Sequence[Operand]) -> Operand:
    return disjunction([*positive, *(negation(x) for x in negative)])


def all_true(items: Sequence[Operand], result: Operand) -> Operand:
    """`result` is the least of the truth values, which is how it is labelled fastest."""
    return operation("eq", minimum(items), result) if len(items) > 2 else equivalent(conjunction(items), result)


def any_true(items: Sequence[Operand], result: Operand) -> Operand:
    return operation("eq", maximum(items), result) if len(items) > 2 else equivalent(disjunction(items), result)


def equivalent(value: Operand, result: Operand) -> Operand:
    """`result` is the truth of an expression."""
    if not isinstance(result, Expression):
        return value if result else negation(value)
    return operation("iff", result, value)


def implied(value: Operand, condition: Operand) -> Operand:
    if not isinstance(condition, Expression):
        return value if condition else 1
    return operation("imp", condition, value)


def exclusive(a: Operand, b: Operand, result: Operand = 1) -> Operand:
    return equivalent(operation("xor", a, b), result)


def odd(items: Sequence[Operand]) -> Operand:
    return operation("xor", *items) if items else 0


def item(index: Operand, items: Sequence[Operand]) -> Operand:
    """The element of a list that counts from 1."""
    if isinstance(index, int) and 1 <= index <= len(items):
        return items[index - 1]
    return element(items, operation("sub", index, 1))


def choice(conditions: Sequence[Operand], values: Sequence[Operand]) -> Operand:
    """The value of the first condition that is true; the last one always is."""
    result = values[-1]
    for condition, value in reversed(list(zip(conditions[:-1], values[:-1], strict=True))):
        if isinstance(condition, Expression):
            result = if_else(condition, value, result)
        elif condition:
            result = value
    return result


# ── sets ─────────────────────────────────────────────────────────────────────────────────────────────


def bits(members: Set) -> Mapping[int, Operand]:
    """The truth value of every member."""
    return members if isinstance(members, Mapping) else dict.fromkeys(members, 1)


def _everything(*sets: Set) -> list[int]:
    return sorted(set().union(*(bits(members) for members in sets)))


def _bitwise(operator: Callable[..., Operand], *sets: Set) -> Operand:
    """A condition on each value's membership in every set."""
    parts = [bits(members) for members in sets]
    return conjunction([operator(*(part.get(v, 0) for part in parts)) for v in _everything(*sets)])


def member(x: Operand, members: Set) -> Operand:
    if isinstance(members, range) and len(members) > 2:
        return all_of(operation("ge", x, members[0]), operation("le", x, members[-1]))
    if not isinstance(members, Mapping):
        return operation("in", x, *sorted(members)) if members else 0
    if isinstance(x, int):
        return members.get(x, 0)
    return disjunction([_both(operation("eq", x, v), bit) for v, bit in members.items()])


def _both(a: Operand, b: Operand) -> Operand:
    return all_of(a, b) if isinstance(b, Expression) else a if b else 0


def same_set(a: Set, b: Set) -> Operand:
    return _bitwise(lambda p, q: operation("iff", p, q), a, b)


def subset(a: Set, b: Set) -> Operand:
    return _bitwise(lambda p, q: operation("imp", p, q), a, b)


def set_of(operator: Callable[[Operand, Operand], Operand], a: Set, b: Set, result: Set) -> Operand:
    return _bitwise(lambda p, q, r: operation("iff", operator(p, q), r), a, b, result)


def sets_ordered(strict: bool, a: Set, b: Set) -> Operand:
    """a before b, as sorted lists of members in lexicographic order: where they first differ, the list with the member
    comes first if the other one goes on, and last if that one ends there."""
    p, q = bits(a), bits(b)
    result: Operand = int(not strict)
    p_rest: list[Operand] = []
    q_rest: list[Operand] = []
    for v in reversed(_everything(a, b)):
        x, y = p.get(v, 0), q.get(v, 0)
        differs = if_else(x, disjunction(q_rest), negation(disjunction(p_rest)))
        result = if_else(operation("iff", x, y), result, differs)
        p_rest, q_rest = [x, *p_rest], [y, *q_rest]
    return result


def set_item(index: Operand, sets: Sequence[Set], result: Set) -> Operand:
    parts, wanted = [bits(members) for members in sets], bits(result)
    values = _everything(*sets, result)
    equal = [operation("eq", item(index, [part.get(v, 0) for part in parts]), wanted.get(v, 0)) for v in values]
    return conjunction([member(index, range(1, len(sets) + 1)), *equal])


# ── the table ────────────────────────────────────────────────────────────────────────────────────────

ORDERS = ("eq", "ne", "le", "lt", "ge", "gt")

TRUTHS: dict[str, Truth] = {
    **{f"{kind}_{order}": partial(compare, order) for kind in ("int", "bool") for order in ORDERS},
    **{f"{kind}_lin_{order}": partial(linear, order) for kind in ("int", "bool") for order in ORDERS},
    "int_abs": partial(function, "abs"),
    "int_plus": partial(function, "add"),
    "int_minus": partial(function, "sub"),
    "int_times": partial(function, "mul"),
    "int_div": partial(function, "div"),
    "int_mod": partial(function, "mod"),
    "int_max": partial(function, "max"),
    "int_min": partial(function, "min"),
    "int_pow": lambda a, b, c: operation("eq", power(a, b), c),
    "int_pow_fixed": lambda a, b, c: operation("eq", power(a, b), c),
    "bool2int": partial(compare, "eq"),
    "bool_not": partial(compare, "ne"),
    "bool_and": lambda a, b, r: equivalent(all_of(a, b), r),
    "bool_or": lambda a, b, r: equivalent(any_of(a, b), r),
    "bool_xor": exclusive,
    "bool_clause": clause,
    "array_bool_and": all_true,
    "array_bool_or": any_true,
    "array_bool_xor": odd,
    "array_int_maximum": lambda m, items: operation("eq", maximum(items), m),
    "array_int_minimum": lambda m, items: operation("eq", minimum(items), m),
    **{
        f"array_{variable}{kind}_element": lambda index, items, value: operation("eq", item(index, items), value)
        for variable in ("", "var_")
        for kind in ("bool", "int")
    },
    "array_set_element": set_item,
    "array_var_set_element": set_item,
    "set_in": member,
    "set_card": lambda members, n: operation("eq", total(list(bits(members).values())), n),
    "set_eq": same_set,
    "set_ne": lambda a, b: negation(same_set(a, b)),
    "set_subset": subset,
    "set_superset": lambda a, b: subset(b, a),
    "set_le": partial(sets_ordered, False),
    "set_lt": partial(sets_ordered, True),
    "set_union": partial(set_of, any_of),
    "set_intersect": partial(set_of, all_of),
    "set_diff": partial(set_of, lambda p, q: all_of(p, negation(q))),
    "set_symdiff": partial(set_of, lambda p, q: operation("xor", p, q)),
}
"""When each predicate is true, given its arguments."""


def _within(index: Operand, items: Sequence[Any], result: Callable[[Operand], Operand]) -> Operand:
    """Whether an index is one of the list's, and the rest holds at the nearest that is."""
    if isinstance(index, int):
        return result(index) if 1 <= index <= len(items) else 0
    nearest = minimum(maximum(index, 1), len(items))
    return all_of(member(index, range(1, len(items) + 1)), result(nearest))


def _divided(operator: str, a: Operand, b: Operand, c: Operand) -> Operand:
    safe = if_else(operation("eq", b, 0), 1, b)
    return all_of(operation("ne", b, 0), operation("eq", operation(operator, a, safe), c))


def _raised(a: Operand, b: Operand, c: Operand) -> Operand:
    defined = any_of(operation("ne", a, 0), operation("ge", b, 0))
    return all_of(defined, operation("eq", power(if_else(defined, a, 1), b), c))


def _element(name: str) -> Truth:
    plain = TRUTHS[name]
    return lambda index, items, value: _within(index, items, lambda i: plain(i, items, value))


GUARDED: dict[str, Truth] = {
    **{name: _element(name) for name in TRUTHS if name.endswith("_element")},
    "int_div": partial(_divided, "div"),
    "int_mod": partial(_divided, "mod"),
    "int_pow": _raised,
    "int_pow_fixed": _raised,
}
"""The same for predicates that are undefined somewhere: false there, where others would have the whole constraint
violated. What reified forms are made of."""


TRUTHS["bool_clause_reif"] = lambda positive, negative, r: any_true(
    [*positive, *(operation("sub", 1, x) for x in negative)], r
)
"""As a maximum, where the rule below would say the same more slowly."""


def truth_of(predicate: str, truths: Mapping[str, Truth] = TRUTHS) -> Truth | None:
    """The function that says when a predicate, in any of its forms, is true; None for an unknown one."""
    if predicate in truths:
        return truths[predicate]
    for ending, combine in (("_reif", equivalent), ("_imp", implied)):
        name = predicate.removesuffix(ending)
        if name != predicate and name in truths:
            return partial(_conditional, GUARDED.get(name, truths[name]), combine)
    return None


def _conditional(truth: Truth, combine: Callable[[Operand, Operand], Operand], *arguments: Any) -> Operand:
    return combine(truth(*arguments[:-1]), arguments[-1])


# ── definitions ──────────────────────────────────────────────────────────────────────────────────────

_LAST: dict[str, Callable[..., Operand]] = {
    "int_abs": lambda a: operation("abs", a),
    "int_plus": lambda a, b: operation("add", a, b),
    "int_minus": lambda a, b: operation("sub", a, b),
    "int_times": lambda a, b: operation("mul", a, b),
    "int_max": lambda a, b: maximum(a, b),
    "int_min": lambda a, b: minimum(a, b),
}
_FIRST: dict[str, Callable[..., Operand]] = {"array_int_maximum": maximum, "array_int_minimum": minimum}


def can_define(predicate: str) -> bool:
    """Whether `definition` may know what the predicate makes of one of its arguments."""
    return predicate in ("int_lin_eq", *_LAST, *_FIRST)


def definition(predicate: str, arguments: Sequence[Any], place: int) -> Operand:
    """What total functions make of the others: the value of the argument at `place`, or of the term at `place` of a
    linear equation, which has the coefficient 1 or −1."""
    if predicate == "int_lin_eq":
        coefficients, items, bound = arguments
        sign = -coefficients[place]
        others = [k for k in range(len(items)) if k != place]
        return weighted([sign * coefficients[k] for k in others] + [-sign], [*(items[k] for k in others), bound])
    return _FIRST[predicate](arguments[1]) if predicate in _FIRST else _LAST[predicate](*arguments[:-1])


def result_place(predicate: str, arguments: int) -> int:
    """Where a function has its value."""
    return 0 if predicate in _FIRST else arguments - 1
