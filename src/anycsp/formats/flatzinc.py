"""FlatZinc (.fzn), what MiniZinc makes of a model: Booleans, integers and sets of integers; floats are refused.

    var 0..9: x :: output_var;
    var bool: b :: is_defined_var;
    constraint int_le_reif(x, 4, b) :: defines_var(b);
    solve maximize x;

A set becomes one variable with the values 0 and 1 per member it may have. A variable that is the same as another, or
has one value, becomes none; neither does the objective, nor an integer with very many values, where a constraint
defines it: its definition takes its place. `flatzinc_constraints` and `flatzinc_globals` have the predicates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from anycsp.deadline import OutOfTime
from anycsp.errors import FormatError, ProblemError, UnsupportedError
from anycsp.formats import flatzinc_globals
from anycsp.formats.files import Source
from anycsp.formats.flatzinc_bounds import WIDE, Intervals, bound_sets, tightened
from anycsp.formats.flatzinc_constraints import TRUTHS, Truth, can_define, definition, result_place, truth_of
from anycsp.formats.flatzinc_parser import (
    ITEMS_PER_LOOK,
    Call,
    ConstantSet,
    Declared,
    Items,
    Posted,
    parse,
)
from anycsp.model.bounds import bounds
from anycsp.model.domains import Domain
from anycsp.model.expressions import Expression, Operand, Variable, operation, postorder
from anycsp.model.lowering import conjuncts
from anycsp.model.problem import Problem

_SOLVE = re.compile(rb"^[ \t]*solve\b[^;]*\b(?:satisfy|minimize|maximize)\b", re.MULTILINE)
_BEGIN = re.compile(rb"\s*(?:(?:%[^\n]*\n)\s*)*(?:predicate |var |array ?\[|(?:bool|int|float|set of int)\s*:)")

LONGEST_DEFINITION = 2000
"""Operations of a definition that takes the place of its variable: longer ones are worth a variable."""


def sniff(head: bytes) -> bool:
    return _BEGIN.match(head) is not None


@dataclass(frozen=True)
class Output:
    """What a solution prints: a variable, or an array with its index sets."""

    name: str
    kind: str
    """"bool", "int" or "set"."""
    items: tuple[Any, ...]
    """Operands, or truth values by member for sets."""
    indices: tuple[ConstantSet, ...] | None = None


@dataclass(frozen=True)
class SearchOrder:
    """An annotation such as `int_search(x, first_fail, indomain_min)`: names of variables, and the two choices in
    MiniZinc's words."""

    variables: tuple[str, ...]
    choose: str
    value: str


@dataclass
class FlatZinc:
    """A file as a problem, what it wants printed, and where and in which order it wants the search to begin."""

    problem: Problem
    outputs: list[Output] = field(default_factory=list)
    hint: dict[str, int] = field(default_factory=dict)
    order: list[SearchOrder] = field(default_factory=list)


def read(source: Source) -> Problem:
    return read_flatzinc(source).problem


def read_flatzinc(source: Source) -> FlatZinc:
    """The problem of a file, with all that an answer to it needs."""
    items = parse(source)
    loader = Loader(items, source)
    try:
        return loader.load()
    except OutOfTime:
        raise source.late() from None
    except UnsupportedError as error:
        raise UnsupportedError(source.path, f"{loader.where}{error.reason}") from None
    except FormatError:
        raise
    except ProblemError as error:
        raise FormatError(source.path, f"{loader.where}{error}") from None
    except (TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        raise FormatError(source.path, f"{loader.where}arguments that do not fit ({error})"[:250]) from None


class Loader:
    """Fills a problem; `where` names the item at hand, for errors."""

    def __init__(self, items: Items, source: Source) -> None:
        self._items, self._source = items, source
        self.problem = Problem()
        self.where = ""
        self._same: dict[Declared, Any] = {}
        """What a variable is the same as: another one, or a constant."""
        self._operands: dict[Declared, Any] = {}
        """An operand, or the truth values of a set by member."""
        self._domains: dict[Any, Domain] = {}
        self._clauses: list[list[int]] = []
        """Literals ±(index + 1), added all at once."""

    def load(self) -> FlatZinc:
        self._check_predicates()
        left = self._unified()
        bound_sets(left, self.same)
        intervals = tightened(left, self.same)
        defined = self._definitions(left, intervals)
        self._variables(intervals, defined)
        used = {id(posted) for posted, _ in defined.values()}
        for number, posted in enumerate(left):
            if number % ITEMS_PER_LOOK == 0:
                self._source.deadline.check()
            if id(posted) not in used:
                self._post(posted)
        self._define(defined, intervals)
        self._add_clauses()
        self._objective()
        self.where = ""
        if not self.problem.num_variables:
            self.problem.add_variable([0], "nothing")  # a model of constants only
        return FlatZinc(
            self.problem, list(self._outputs()), self._hint(self._items.search), list(self._order(self._items.search))
        )

    def _check_predicates(self) -> None:
        for name in dict.fromkeys(posted.predicate for posted in self._items.constraints):
            if name not in flatzinc_globals.POSTS and _truth(name) is None:
                self.where = f"constraint {name}: "
                floats = " (floats are not supported)" if "float" in name else ""
                raise UnsupportedError("", f"an unknown predicate{floats}")

    # ── what is the same ─────────────────────────────────────────────────────────────────────────────

    def same(self, x: Any) -> Any:
        """The variable or constant that stands for a variable."""
        while isinstance(x, Declared) and x in self._same:
            x = self._same[x]
        return x

    def _unified(self) -> list[Posted]:
        """Variables declared to be equal to something are one with it, and a Boolean with its integer; the constraints
        that are left."""
        for x in self._items.variables:
            if x.value is not None:
                self._unify(x, x.value)
        left = []
        for posted in self._items.constraints:
            if posted.predicate == "bool2int" and len(posted.arguments) == 2:
                self._unify(*posted.arguments[::-1])
                continue
            if posted.predicate == "array_int_element" and len(posted.arguments) == 3:
                self._restrict(posted.arguments[2], posted.arguments[1])
            left.append(posted)
        return left

    def _restrict(self, x: Any, values: Sequence[int]) -> None:
        """An element of a list of constants is one of these, however far they are apart."""
        x = self.same(x)
        if isinstance(x, Declared) and (x.domain is None or len(x.domain) > len(values)):
            x.domain = _both(x.domain, frozenset(values)) or x.domain

    def _unify(self, x: Any, other: Any) -> None:
        x, other = self.same(x), self.same(other)
        if not isinstance(x, Declared):
            x, other = other, x
        if x is other:
            return
        if not isinstance(x, Declared) or (not isinstance(other, Declared) and x.kind == "set"):
            # Two constants, or a set that is one.
            self._items.constraints.append(Posted("set_eq" if _is_set(other) else "int_eq", [x, other], []))
            return
        if isinstance(other, Declared):
            other.domain = _both(x.domain, other.domain)
        elif x.domain is not None and int(other) not in x.domain:
            self._items.constraints.append(Posted("int_eq", [int(other) + 1, int(other)], []))  # which cannot be
        self._same[x] = other if isinstance(other, Declared) else int(other)

    # ── definitions ──────────────────────────────────────────────────────────────────────────────────

    def _definitions(self, constraints: list[Posted], intervals: Intervals) -> dict[Declared, tuple[Posted, int]]:
        """The variables that their definitions take the place of, each after those that its own needs, with the
        constraint and the place in it."""
        objective = self.same(self._items.objective)
        found: dict[Declared, tuple[Posted, int]] = {}
        for posted in constraints:
            if not posted.annotations or not can_define(posted.predicate):
                continue
            for x in _defined_by(posted):
                x = self.same(x)
                if not isinstance(x, Declared) or x in found or not (x is objective or _size(x, intervals) > WIDE):
                    continue
                place = self._place(posted, x)
                if place is not None:
                    found[x] = (posted, place)
        while True:
            needs = {
                x: [y for y in self._scope(posted) if y is not x and y in found] for x, (posted, _) in found.items()
            }
            try:
                return {x: found[x] for x in TopologicalSorter(needs).static_order()}
            except CycleError as error:
                del found[error.args[1][0]]

    def _place(self, posted: Posted, x: Declared) -> int | None:
        """Where a constraint has the variable, which it must have once only."""
        linear = posted.predicate == "int_lin_eq"
        items = posted.arguments[1] if linear else posted.arguments
        places = [k for k, item in enumerate(items) if isinstance(item, Declared) and self.same(item) is x]
        if len(places) != 1 or sum(y is x for y in self._scope(posted)) != 1:
            return None
        if linear:
            return places[0] if abs(posted.arguments[0][places[0]]) == 1 else None
        return places[0] if places[0] == result_place(posted.predicate, len(posted.arguments)) else None

    def _scope(self, posted: Posted) -> list[Any]:
        """The variables of a constraint, as often as they occur."""
        flat = [y for a in posted.arguments for y in (a if isinstance(a, list) else [a])]
        return [self.same(y) for y in flat if isinstance(y, Declared)]

    def _define(self, defined: dict[Declared, tuple[Posted, int]], intervals: Intervals) -> None:
        """What a definition can be, and its variable could not, is forbidden."""
        for x in defined:
            self.where = f"variable {x.name}: "
            operand, domain = self._operands[x], x.domain
            if domain is None or not isinstance(operand, Expression) or isinstance(operand, Variable):
                continue
            low, high = bounds(operand, self.problem.bounds)
            if isinstance(domain, frozenset):
                self.problem.add(operation("in", operand, *sorted(domain)))
                continue
            if low < domain[0]:
                self.problem.add(operation("ge", operand, domain[0]))
            if high > domain[-1]:
                self.problem.add(operation("le", operand, domain[-1]))

    # ── variables ────────────────────────────────────────────────────────────────────────────────────

    def _variables(self, intervals: Intervals, defined: dict[Declared, tuple[Posted, int]]) -> None:
        for number, x in enumerate(self._items.variables):
            if number % ITEMS_PER_LOOK == 0:
                self._source.deadline.check()
            if x not in self._same and x not in defined:
                self.where = f"variable {x.name}: "
                self._operands[x] = self._set(x) if x.kind == "set" else self._integer(x, intervals)
        for x, (posted, place) in defined.items():
            self.where = f"variable {x.name}: "
            operand = definition(posted.predicate, self._arguments(posted, x), place)
            if isinstance(operand, Expression) and len(postorder(operand)) > LONGEST_DEFINITION:
                variable = self._integer(x, intervals)
                self.problem.add(operation("eq", variable, operand))
                operand = variable
            self._operands[x] = operand

    def _integer(self, x: Declared, intervals: Intervals) -> Operand:
        low, high = intervals.of(x)
        if math.isinf(low) or math.isinf(high):
            raise ProblemError("no bounds are given, and none follow from the constraints: declare its domain")
        if isinstance(x.domain, frozenset):
            values: Any = tuple(sorted(v for v in x.domain if low <= v <= high))
            if not values and x.domain:
                values = tuple(sorted(x.domain))
        else:
            values = range(int(low), int(high) + 1)
        if x.domain is not None and not len(x.domain):
            self.problem.add(0)  # an empty domain
            values = (0,)
        if len(values) == 1:
            return int(values[0])
        if values not in self._domains:
            self._source.check_domain(len(values), x.name)
            self._domains[values] = Domain.of(values)
        return self.problem.add_variable(self._domains[values], x.name)

    def _set(self, x: Declared) -> dict[int, Operand]:
        if x.domain is None:
            raise ProblemError("a set without bounds: declare what it may hold, as in var set of 1..9")
        members = sorted(x.domain)
        self._source.check_domain(2 * len(members), x.name)
        bits = self.problem.add_variables(len(members), self._binary(), names=[f"{x.name}[{v}]" for v in members])
        return dict(zip(members, bits, strict=True))

    def _binary(self) -> Domain:
        return self._domains.setdefault(range(2), Domain.of(range(2)))

    # ── constraints ──────────────────────────────────────────────────────────────────────────────────

    def operand(self, item: Any) -> Any:
        """What stands in a constraint, as operands, lists of them, sets and constants."""
        if isinstance(item, Declared):
            same = self.same(item)
            return self._operands[same] if isinstance(same, Declared) else int(same)
        if isinstance(item, list):
            return [self.operand(part) for part in item]
        if isinstance(item, bool):
            return int(item)
        if isinstance(item, float):
            raise UnsupportedError("", f"the float {item}: only bool, int and set of int are supported")
        return item

    def _arguments(self, posted: Posted, leaving_out: Declared) -> list[Any]:
        """The operands of a constraint, 0 for the variable that it defines."""
        self._operands[leaving_out] = 0
        arguments = [self.operand(argument) for argument in posted.arguments]
        del self._operands[leaving_out]
        return arguments

    def _post(self, posted: Posted) -> None:
        name = posted.predicate
        self.where = f"constraint {name}: "
        arguments = [self.operand(argument) for argument in posted.arguments]
        if name == "bool_clause" and self._clause(*arguments):
            return
        if name == "array_bool_or" and _is_true(arguments[1]) and self._clause(arguments[0], []):
            return
        post = flatzinc_globals.POSTS.get(name)
        if post is not None:
            post(self.problem, *arguments)
            return
        truth = _truth(name)
        assert truth is not None  # _check_predicates
        for part in conjuncts(truth(*arguments)):
            if isinstance(part, Expression) or not part:
                self.problem.add(part)

    def _clause(self, positive: Sequence[Operand], negative: Sequence[Operand]) -> bool:
        """Keep a clause of variables and constants for later; False where something else is in it."""
        literals: list[int] = []
        for items, sign in ((positive, 1), (negative, -1)):
            for x in items:
                if isinstance(x, Variable):
                    literals.append(sign * (x.index + 1))
                elif isinstance(x, Expression):
                    return False
                elif bool(x) == (sign > 0):
                    return True
        if not literals:
            return False
        self._clauses.append(literals)
        return True

    def _add_clauses(self) -> None:
        if self._clauses:
            offsets = np.cumsum([0, *map(len, self._clauses)])
            self.problem.add_clauses(offsets, np.array([l for clause in self._clauses for l in clause]))

    def _objective(self) -> None:
        if self._items.goal == "satisfy":
            return
        self.where = f"{self._items.goal}: "
        objective = self.operand(self._items.objective)
        if isinstance(objective, dict):
            raise ProblemError("a set is no objective")
        if not isinstance(objective, Expression):
            if not self.problem.num_variables:
                self.problem.add_variable([0], "nothing")
            objective = operation("add", operation("mul", self.problem.variables[0], 0), objective)
        (self.problem.minimize if self._items.goal == "minimize" else self.problem.maximize)(objective)

    # ── output, hints ────────────────────────────────────────────────────────────────────────────────

    def _outputs(self) -> Iterator[Output]:
        for x in self._items.variables:
            if any(annotation == "output_var" for annotation in x.annotations):
                yield Output(x.name, x.kind, (self.operand(x),))
        for array in self._items.arrays:
            for annotation in array.annotations:
                if isinstance(annotation, Call) and annotation.name == "output_array":
                    indices = tuple(annotation.arguments[0])
                    yield Output(array.name, array.kind, tuple(self.operand(array.items)), indices)

    def _hint(self, annotations: Sequence[Any]) -> dict[str, int]:
        """The values that warm_start annotations, wherever they stand, give to variables."""
        hint: dict[str, int] = {}
        pending = list(annotations)
        while pending:
            annotation = pending.pop(0)
            if isinstance(annotation, list):
                pending += annotation
            if not isinstance(annotation, Call):
                continue
            if not annotation.name.startswith("warm_start") or len(annotation.arguments) != 2:
                pending += annotation.arguments
                continue
            for x, value in zip(*annotation.arguments, strict=False):
                operand = self.operand(x)
                if isinstance(operand, Variable):
                    self._hint_value(hint, operand, int(value))
                elif isinstance(operand, dict):
                    for v, bit in operand.items():
                        if isinstance(bit, Variable):
                            self._hint_value(hint, bit, int(v in value))
        return hint

    def _order(self, annotations: Sequence[Any]) -> Iterator[SearchOrder]:
        """What search annotations say, in their order; those without variables of the problem are left out."""
        for annotation in annotations:
            if isinstance(annotation, list):
                yield from self._order(annotation)
            if not isinstance(annotation, Call):
                continue
            if annotation.name not in ("int_search", "bool_search", "set_search") or len(annotation.arguments) < 3:
                yield from self._order(annotation.arguments)
                continue
            items, choose, value = annotation.arguments[:3]
            operands = self.operand(items if isinstance(items, list) else [items])
            flat = [bit for x in operands for bit in (x.values() if isinstance(x, dict) else [x])]
            names = tuple(dict.fromkeys(x.name for x in flat if isinstance(x, Variable)))
            if names:
                yield SearchOrder(names, _word(choose), _word(value))

    def _hint_value(self, hint: dict[str, int], x: Variable, value: int) -> None:
        if value in self.problem.domain(x).values:
            hint.setdefault(x.name, value)


def _truth(predicate: str) -> Truth | None:
    return truth_of(predicate, TRUTHS) or truth_of(predicate, flatzinc_globals.TRUTHS)


def _is_true(operand: Any) -> bool:
    return isinstance(operand, int) and bool(operand)


def _word(annotation: Any) -> str:
    """The name of an annotation, without its arguments."""
    return annotation.name if isinstance(annotation, Call) else str(annotation)


def _is_set(item: Any) -> bool:
    return isinstance(item, (range, frozenset)) or (isinstance(item, Declared) and item.kind == "set")


def _both(a: ConstantSet | None, b: ConstantSet | None) -> ConstantSet | None:
    """What two domains have in common."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, range) and isinstance(b, range):
        return range(max(a.start, b.start), min(a.stop, b.stop))
    return frozenset(v for v in a if v in b) if isinstance(a, frozenset) else frozenset(v for v in b if v in a)


def _size(x: Declared, intervals: Intervals) -> float:
    low, high = intervals.of(x)
    return high - low + 1 if x.kind == "int" else 2


def _defined_by(posted: Posted) -> list[Any]:
    """The variables that annotations say are defined by a constraint."""
    return [a.arguments[0] for a in posted.annotations if isinstance(a, Call) and a.name == "defines_var"]


def operands(outputs: Sequence[Output]) -> list[Expression]:
    """All that outputs are made of but constants, sets as their truth values."""
    flat = [item for output in outputs for item in output.items]
    bits = [bit for item in flat for bit in (item.values() if isinstance(item, dict) else [item])]
    return [bit for bit in bits if isinstance(bit, Expression)]
