"""Random FlatZinc: every predicate in every form, over few variables of few values."""

from __future__ import annotations

import itertools
import random
from typing import Any

from anycsp.formats.flatzinc_constraints import TRUTHS
from anycsp.formats.flatzinc_globals import TRUTHS as GLOBAL_TRUTHS
from anycsp.fuzz.languages.flatzinc import MEANING, Flat, Var

ORDERS = ("eq", "ne", "le", "lt", "ge", "gt")
SIGNATURES = {
    **{f"{kind}_{o}": 2 * kind[0] for kind in ("int", "bool") for o in ORDERS},
    **{f"int_lin_{o}": "CIc" for o in ORDERS},
    **{f"bool_lin_{o}": "CBi" for o in ORDERS},
    **{f"int_{n}": "iii" for n in ("plus", "minus", "times", "div", "mod", "max", "min", "pow")},
    "int_abs": "ii", "bool2int": "bi", "bool_not": "bb", "bool_and": "bbb", "bool_or": "bbb", "bool_xor": "bbb",
    "bool_clause": "BB", "array_bool_and": "Bb", "array_bool_or": "Bb", "array_bool_xor": "B",
    "array_int_maximum": "iI", "array_int_minimum": "iI",
    "array_int_element": "iCi", "array_var_int_element": "iIi", "array_bool_element": "iDb",
    "array_var_bool_element": "iBb", "array_set_element": "iTs", "array_var_set_element": "iSs",
    "set_in": "is", "set_card": "si",
    **dict.fromkeys(["set_eq", "set_ne", "set_subset", "set_superset", "set_le", "set_lt"], "ss"),
    **dict.fromkeys(["set_union", "set_intersect", "set_diff", "set_symdiff"], "sss"),
    **dict.fromkeys(["all_different_int", "all_equal_int", "increasing_int", "decreasing_int"], "I"),
    "fzn_alldifferent_except": "It", "fzn_among": "iIt", "fzn_nvalue": "iI",
    **{f"fzn_{n}_int": "I" for n in ("all_different", "all_equal", "increasing", "decreasing")},
    **{f"fzn_strictly_{n}_int": "I" for n in ("increasing", "decreasing")},
    **{f"fzn_{n}_bool": "B" for n in ("increasing", "decreasing")},
    **{f"fzn_count_{o}": "Iii" for o in ("eq", "neq", "leq", "lt", "geq", "gt")},
    **{f"fzn_lex_{n}_{k}": 2 * k[0].upper() for n in ("less", "lesseq") for k in ("int", "bool")},
    "fzn_member_int": "Ii", "fzn_member_bool": "Bb", "fzn_knapsack": "PPIii",
    "fzn_disjunctive": "IP", "fzn_disjunctive_strict": "IP", "fzn_cumulative": "IPPi", "fzn_diffn": "IIPP",
    "fzn_diffn_nonstrict": "IIPP", "fzn_bin_packing": "cIP", "fzn_value_precede_int": "ccI",
}  # fmt: skip
"""Kinds of arguments: i, b, s a variable or constant, I, B, S three; c, t constants, C, D, T three; P three from 0."""


class Draw:
    """Random arguments over few variables."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.flat = Flat()

    def variable(self, kind: str) -> Var:
        name = f"{kind}{self.random.randrange(3 if kind != 'set' else 2)}"
        if name not in self.flat.variables:
            self.flat.variables[name] = (kind, self._values(kind))
        return Var(name)

    def _values(self, kind: str) -> list[Any]:
        if kind == "bool":
            return [False, True]
        if kind == "int":
            low = self.random.randint(-2, 2)
            return sorted(self.random.sample(range(low, low + 5), self.random.randint(1, 4)))
        members = self.random.sample(range(0, 4), self.random.randint(1, 2))
        return [frozenset(c) for n in range(len(members) + 1) for c in itertools.combinations(members, n)]

    def constant(self, kind: str) -> Any:
        if kind == "int":
            return self.random.randint(-2, 4)
        return self.random.random() < 0.5 if kind == "bool" else frozenset(self.random.sample(range(4), 2))

    def argument(self, letter: str) -> Any:
        kind = {"i": "int", "b": "bool", "s": "set", "c": "int", "d": "bool", "t": "set", "p": "int"}[letter.lower()]
        if letter.isupper():
            return [self.argument(letter.lower()) for _ in range(3)]
        if letter == "p":
            return self.random.randint(0, 2)
        return self.variable(kind) if letter in "ibs" and self.random.random() < 0.8 else self.constant(kind)

    def first(self) -> int:
        """Where an index set begins."""
        return self.random.randint(0, 2)

    def post(self, predicate: str, form: str = "") -> None:
        arguments = (
            SPECIAL[predicate](self) if predicate in SPECIAL else list(map(self.argument, SIGNATURES[predicate]))
        )
        if form:
            arguments.append(self.argument("b"))
        self.flat.constraints.append((predicate + form, arguments, ""))


def _table(kind: str) -> Any:
    return lambda d: [
        [d.argument(kind) for _ in range(2)],
        [d.constant({"i": "int", "b": "bool"}[kind]) for _ in range(6)],
    ]


def _counts(d: Draw) -> list[Any]:
    return [d.argument("I"), d.random.sample(range(-2, 5), 2), [d.argument("i"), d.argument("i")]]


def _ranges(d: Draw) -> list[Any]:
    return [d.argument("I"), d.random.sample(range(-2, 5), 2), [0, 1], [d.random.randint(0, 2), 2]]


def _choice(letter: str) -> Any:
    return lambda d: [
        [d.argument("b"), d.argument("b"), True],
        d.argument(letter.upper()),
        d.argument({"d": "b", "c": "i"}.get(letter, letter)),
    ]


SPECIAL: dict[str, Any] = {
    "anycsp_table_int": _table("i"),
    "anycsp_table_bool": _table("b"),
    "anycsp_regular": lambda d: [
        d.argument("I"), 2, 3, [d.random.randint(0, 2) for _ in range(6)], 1, frozenset(d.random.sample([1, 2], 1))
    ],
    "fzn_global_cardinality": _counts,
    "fzn_global_cardinality_closed": _counts,
    "fzn_global_cardinality_low_up": _ranges,
    "fzn_global_cardinality_low_up_closed": _ranges,
    "anycsp_circuit": lambda d: [d.first(), d.argument("I")],
    "anycsp_subcircuit": lambda d: [d.first(), d.argument("I")],
    "anycsp_inverse": lambda d: [d.first(), d.argument("I")[:2], d.first(), d.argument("I")[:2]],
    "anycsp_bin_packing_load": lambda d: [d.first(), d.argument("I")[:2], d.argument("I"), d.argument("P")],
    "anycsp_bin_packing_capa": lambda d: [d.first(), d.argument("P")[:2], d.argument("I"), d.argument("P")],
    "fzn_value_precede_chain_int": lambda d: [d.random.sample(range(-2, 4), 3), d.argument("I")],
    "fzn_if_then_else_int": _choice("c"),
    "fzn_if_then_else_bool": _choice("d"),
    "fzn_if_then_else_var_int": _choice("i"),
    "fzn_if_then_else_var_bool": _choice("b"),
}  # fmt: skip
KNOWN = sorted(name for name in MEANING if name in SIGNATURES or name in SPECIAL)
FORMS = sorted(
    [(name, "") for name in KNOWN]
    + [(name, form) for name in KNOWN for form in ("_reif", "_imp") if name in TRUTHS or name in GLOBAL_TRUTHS]
)


def random_model(rng: random.Random) -> Flat:
    """A few constraints, some over one result that they are said to define, and perhaps an objective."""
    draw = Draw(rng)
    for _ in range(draw.random.randint(1, 4)):
        draw.post(*draw.random.choice(FORMS))
    if draw.random.random() < 0.6:
        terms = [draw.variable("int") for _ in range(2)]
        values = [sum(c) for c in itertools.product(*(draw.flat.variables[x][1] for x in terms))]
        draw.flat.variables["cost"] = ("int", list(range(min(values), max(values) + 1)))
        draw.flat.constraints.append(("int_lin_eq", [[1, 1, -1], [*terms, Var("cost")], 0], "cost"))
        draw.flat.goal = (draw.random.choice(["minimize", "maximize"]), "cost")
    return draw.flat
