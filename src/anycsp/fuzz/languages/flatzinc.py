"""An evaluator of FlatZinc predicates that shares nothing with the reader: what each means on plain Python values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
}


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _power(a: int, b: int) -> int | None:
    if b >= 0:
        return int(a**b)
    return None if a == 0 else _quotient(1, a**-b)


def _dot(a: list[int], x: list[int]) -> int:
    return sum(p * q for p, q in zip(a, x, strict=True))


def _at(i: int, items: list[Any]) -> Any:
    return items[i - 1] if 1 <= i <= len(items) else None


def _circuit(first: int, x: list[int]) -> bool:
    at, seen = 0, set()
    while at not in seen and 0 <= x[at] - first < len(x):
        seen.add(at)
        at = x[at] - first
    return at == 0 and len(seen) == len(x) > 1


def _subcircuit(first: int, x: list[int]) -> bool:
    away = [i for i, v in enumerate(x) if v - first != i]
    if not away:
        return True
    at, seen = away[0], set()
    while at not in seen and 0 <= x[at] - first < len(x):
        seen.add(at)
        at = x[at] - first
    return at == away[0] and seen == set(away)


def _cumulative(s: list[int], d: list[int], r: list[int], b: int) -> bool:
    times = range(min(s), max(p + q for p, q in zip(s, d, strict=True)) + 1)
    load = (sum(h for p, q, h in zip(s, d, r, strict=True) if p <= t < p + q) for t in times)
    return b >= 0 and all(total <= b for total in load)


def _apart(boxes: list[tuple[list[int], list[int]]], ignored: bool) -> bool:
    for (a, p), (b, q) in itertools.combinations(boxes, 2):
        if ignored and (0 in p or 0 in q):
            continue
        if not any(a[k] + p[k] <= b[k] or b[k] + q[k] <= a[k] for k in range(len(a))):
            return False
    return True


def _tasks(s: list[int], d: list[int], ignored: bool) -> bool:
    return min(d) >= 0 and _apart([([p], [q]) for p, q in zip(s, d, strict=True)], ignored)


def _boxes(x: list[int], y: list[int], dx: list[int], dy: list[int], ignored: bool) -> bool:
    return _apart([([a, b], [p, q]) for a, b, p, q in zip(x, y, dx, dy, strict=True)], ignored)


def _regular(x: list[int], q: int, s: int, d: list[int], start: int, final: frozenset[int]) -> bool:
    state = start
    for symbol in x:
        if not 1 <= symbol <= s:
            return False
        state = d[(state - 1) * s + symbol - 1]
        if state == 0:
            return False
    return state in final


def _precedes(s: int, t: int, x: list[int]) -> bool:
    return t not in x or (s in x and x.index(s) < x.index(t))


def _loads(first: int, bins: list[int], w: list[int], count: int) -> list[int] | None:
    if any(not first <= b < first + count for b in bins):
        return None
    return [sum(size for b, size in zip(bins, w, strict=True) if b == first + k) for k in range(count)]


def _first_true(conditions: list[bool], values: list[Any]) -> Any:
    return next(v for c, v in zip(conditions, values, strict=True) if c)


MEANING: dict[str, Callable[..., bool]] = {
    **{f"{kind}_{o}": f for kind in ("int", "bool") for o, f in COMPARE.items()},
    **{
        f"{kind}_lin_{o}": lambda a, x, c, f=f: f(_dot(a, x), c)
        for kind in ("int", "bool")
        for o, f in COMPARE.items()
    },
    "int_abs": lambda a, b: abs(a) == b,
    "int_plus": lambda a, b, c: a + b == c,
    "int_minus": lambda a, b, c: a - b == c,
    "int_times": lambda a, b, c: a * b == c,
    "int_div": lambda a, b, c: b != 0 and _quotient(a, b) == c,
    "int_mod": lambda a, b, c: b != 0 and a - b * _quotient(a, b) == c,
    "int_max": lambda a, b, c: max(a, b) == c,
    "int_min": lambda a, b, c: min(a, b) == c,
    "int_pow": lambda a, b, c: _power(a, b) == c,
    "bool2int": lambda a, b: int(a) == b,
    "bool_not": lambda a, b: a != b,
    "bool_and": lambda a, b, r: (a and b) == r,
    "bool_or": lambda a, b, r: (a or b) == r,
    "bool_xor": lambda a, b, r=True: (a != b) == r,
    "bool_clause": lambda p, n: any(p) or not all(n),
    "array_bool_and": lambda x, r: all(x) == r,
    "array_bool_or": lambda x, r: any(x) == r,
    "array_bool_xor": lambda x: sum(x) % 2 == 1,
    "array_int_maximum": lambda m, x: max(x) == m,
    "array_int_minimum": lambda m, x: min(x) == m,
    **{f"array_{v}{k}_element": lambda i, x, c: _at(i, x) == c for v in ("", "var_") for k in ("int", "bool", "set")},
    "set_in": lambda x, s: x in s,
    "set_card": lambda s, n: len(s) == n,
    "set_eq": lambda a, b: a == b,
    "set_ne": lambda a, b: a != b,
    "set_subset": lambda a, b: a <= b,
    "set_superset": lambda a, b: a >= b,
    "set_le": lambda a, b: sorted(a) <= sorted(b),
    "set_lt": lambda a, b: sorted(a) < sorted(b),
    "set_union": lambda a, b, c: a | b == c,
    "set_intersect": lambda a, b, c: a & b == c,
    "set_diff": lambda a, b, c: a - b == c,
    "set_symdiff": lambda a, b, c: a ^ b == c,
    "fzn_all_different_int": lambda x: len(set(x)) == len(x),
    "fzn_all_equal_int": lambda x: len(set(x)) <= 1,
    "fzn_alldifferent_except": lambda x, s: len({v for v in x if v not in s}) == sum(v not in s for v in x),
    "fzn_count_eq": lambda x, y, c: c == x.count(y),
    "fzn_count_neq": lambda x, y, c: c != x.count(y),
    "fzn_count_leq": lambda x, y, c: c <= x.count(y),
    "fzn_count_lt": lambda x, y, c: c < x.count(y),
    "fzn_count_geq": lambda x, y, c: c >= x.count(y),
    "fzn_count_gt": lambda x, y, c: c > x.count(y),
    "fzn_among": lambda n, x, s: n == sum(v in s for v in x),
    "fzn_nvalue": lambda n, x: n == len(set(x)),
    "fzn_increasing_int": lambda x: x == sorted(x),
    "fzn_decreasing_int": lambda x: x[::-1] == sorted(x),
    "fzn_strictly_increasing_int": lambda x: x == sorted(set(x)),
    "fzn_strictly_decreasing_int": lambda x: x[::-1] == sorted(set(x)),
    "fzn_increasing_bool": lambda x: x == sorted(x),
    "fzn_decreasing_bool": lambda x: x[::-1] == sorted(x),
    "fzn_lex_less_int": lambda x, y: x < y,
    "fzn_lex_lesseq_int": lambda x, y: x <= y,
    "fzn_lex_less_bool": lambda x, y: x < y,
    "fzn_lex_lesseq_bool": lambda x, y: x <= y,
    "fzn_member_int": lambda x, y: y in x,
    "fzn_member_bool": lambda x, y: y in x,
    "fzn_knapsack": lambda w, p, x, a, b: min(*x, a, b) >= 0 and _dot(w, x) == a and _dot(p, x) == b,
    **{f"fzn_if_then_else_{k}": lambda c, x, y: _first_true(c, x) == y for k in ("int", "bool", "var_int", "var_bool")},
    **{
        f"anycsp_table_{kind}": lambda x, t: x in [t[k : k + len(x)] for k in range(0, len(t), len(x))]
        for kind in ("int", "bool")
    },
    "anycsp_regular": _regular,
    "fzn_global_cardinality": lambda x, v, c: [x.count(k) for k in v] == c,
    "fzn_global_cardinality_closed": lambda x, v, c: [x.count(k) for k in v] == c and set(x) <= set(v),
    "fzn_global_cardinality_low_up": lambda x, v, a, b: all(
        p <= x.count(k) <= q for k, p, q in zip(v, a, b, strict=True)
    ),
    "fzn_global_cardinality_low_up_closed": lambda x, v, a, b: (
        set(x) <= set(v) and all(p <= x.count(k) <= q for k, p, q in zip(v, a, b, strict=True))
    ),
    "anycsp_circuit": _circuit,
    "anycsp_subcircuit": _subcircuit,
    "anycsp_inverse": lambda p, f, q, g: (
        all(0 <= v - q < len(g) and g[v - q] == p + i for i, v in enumerate(f))
        and all(0 <= v - p < len(f) and f[v - p] == q + j for j, v in enumerate(g))
    ),
    "fzn_disjunctive": lambda s, d: _tasks(s, d, True),
    "fzn_disjunctive_strict": lambda s, d: _tasks(s, d, False),
    "fzn_cumulative": _cumulative,
    "fzn_diffn": lambda x, y, dx, dy: _boxes(x, y, dx, dy, False),
    "fzn_diffn_nonstrict": lambda x, y, dx, dy: _boxes(x, y, dx, dy, True),
    "fzn_bin_packing": lambda c, x, w: all(
        sum(s for b, s in zip(x, w, strict=True) if b == bin) <= c for bin in set(x)
    ),
    "anycsp_bin_packing_load": lambda first, load, x, w: _loads(first, x, w, len(load)) == load,
    "anycsp_bin_packing_capa": lambda first, c, x, w: (
        (loads := _loads(first, x, w, len(c))) is not None and all(a <= b for a, b in zip(loads, c, strict=True))
    ),
    "fzn_value_precede_int": _precedes,
    "fzn_value_precede_chain_int": lambda t, x: all(_precedes(a, b, x) for a, b in itertools.pairwise(t)),
}  # fmt: skip


@dataclass
class Flat:
    """A FlatZinc model as plain data; arguments are constants, names of variables (as `Var`) and lists of both."""

    variables: dict[str, tuple[str, list[Any]]] = field(default_factory=dict)
    """Kind and values by name; the values of a set variable are frozensets."""
    constraints: list[tuple[str, list[Any], str]] = field(default_factory=list)
    """Predicate, arguments, and the name of the variable it is said to define, or nothing."""
    goal: tuple[str, str] = ("satisfy", "")

    def text(self) -> str:
        lines = []
        for name, (kind, values) in self.variables.items():
            domain = (
                "bool"
                if kind == "bool"
                else _written(frozenset().union(*values) if kind == "set" else frozenset(values))
            )
            lines.append(f"var {'set of ' if kind == 'set' else ''}{domain}: {name} :: output_var;")
        for predicate, arguments, defined in self.constraints:
            note = f" :: defines_var({defined})" if defined else ""
            lines.append(f"constraint {predicate}({', '.join(map(_written, arguments))}){note};")
        return "\n".join([*lines, f"solve {' '.join(self.goal).strip()};"]) + "\n"

    @property
    def assignments(self) -> int:
        return math.prod(len(values) for _, values in self.variables.values())

    def data(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "variables": {name: [kind, plain(values)] for name, (kind, values) in self.variables.items()},
            "constraints": [[predicate, plain(arguments), d] for predicate, arguments, d in self.constraints],
            "goal": list(self.goal),
        }

    @staticmethod
    def of(data: Mapping[str, Any]) -> Flat:
        """The inverse of `data`."""
        variables = {name: (kind, meant(values)) for name, (kind, values) in data["variables"].items()}
        constraints = [(predicate, meant(arguments), d) for predicate, arguments, d in data["constraints"]]
        return Flat(variables, constraints, (data["goal"][0], data["goal"][1]))

    def solutions(self) -> Iterator[dict[str, Any]]:
        names = list(self.variables)
        for values in itertools.product(*(self.variables[name][1] for name in names)):
            assignment = dict(zip(names, values, strict=True))
            if all(holds(p, [value_of(a, assignment) for a in arguments]) for p, arguments, _ in self.constraints):
                yield assignment


class Var(str):
    """The name of a variable as an argument."""


def plain(argument: Any) -> Any:
    if isinstance(argument, Var):
        return {"var": str(argument)}
    if isinstance(argument, frozenset):
        return {"set": sorted(argument)}
    return list(map(plain, argument)) if isinstance(argument, list) else argument


def meant(data: Any) -> Any:
    """The inverse of `plain`."""
    if isinstance(data, Mapping):
        return Var(data["var"]) if "var" in data else frozenset(data["set"])
    return list(map(meant, data)) if isinstance(data, list) else data


def holds(predicate: str, arguments: list[Any]) -> bool:
    if predicate in MEANING:
        return bool(MEANING[predicate](*arguments))
    if predicate.endswith("_reif"):
        return bool(holds(predicate.removesuffix("_reif"), arguments[:-1]) == arguments[-1])
    return not arguments[-1] or holds(predicate.removesuffix("_imp"), arguments[:-1])


def value_of(argument: Any, assignment: dict[str, Any]) -> Any:
    if isinstance(argument, Var):
        return assignment[argument]
    return [value_of(a, assignment) for a in argument] if isinstance(argument, list) else argument


def _written(argument: Any) -> str:
    if isinstance(argument, list):
        return f"[{', '.join(map(_written, argument))}]"
    if isinstance(argument, bool):
        return str(argument).lower()
    if isinstance(argument, frozenset):
        ordered = sorted(argument)
        whole = bool(ordered) and ordered[-1] - ordered[0] == len(ordered) - 1
        return f"{ordered[0]}..{ordered[-1]}" if whole else "{" + ", ".join(map(str, ordered)) + "}"
    return str(argument)
