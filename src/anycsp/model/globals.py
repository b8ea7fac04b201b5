"""Global constraints: the add_* methods of a problem that are written in terms of others.

Some become one constraint of a family with its own labels (counts, numbers of distinct values, extrema,
elements); the others are decomposed, and then `weight` and `hard` hold for every part. docs/guides/constraints.md lists
which is which.

Their arguments may be lists, arrays or generators, and integers of any type: each method makes plain lists and integers
of them first, since what follows asks whether something is an `int`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from anycsp.constraints.distinct import DistinctBlock
from anycsp.errors import ProblemError
from anycsp.model.automata import Layer, layers_of
from anycsp.model.domains import Domain
from anycsp.model.expressions import (
    COMPARISON,
    Expression,
    Operand,
    Variable,
    all_of,
    any_of,
    as_operand,
    circuit,
    distinct,
    element,
    if_else,
    maximum,
    minimum,
    operands_of,
    operation,
    total,
    whole_numbers,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Terms(TypedDict, total=False):
    """What every constraint takes beside its own arguments. It is required unless it has a weight."""

    weight: float | None
    """What it costs where it is violated; without one it must hold."""
    hard: bool | None
    """Required or not, whatever the weight says."""
    name: str | None
    """What `Result.violated_constraints` calls it."""


def _in_step(what: str, **lists: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """One of each at a time. Lists of different lengths are refused by their names, which `zip` would not know."""
    columns = {name: list(items) for name, items in lists.items()}
    if len({len(column) for column in columns.values()}) > 1:
        told = ", ".join(f"{len(column)} {name}" for name, column in columns.items())
        raise ProblemError(f"{what}: {told}: as many of each are needed")
    return zip(*columns.values(), strict=True)


TIMETABLE_LIMIT = 2_000_000
"""Edges a cumulative constraint may take as one sum for every start time; beyond, one rule for each task."""


SPARSE = 4
"""A domain is sparse where its range has so many times as many numbers as it has values: beyond, numbering them by
their places costs less than a list with a cell for every number between."""


def comparison(left: Operand, operator: str, right: Operand) -> Expression:
    """`left operator right` for an operator given as text."""
    if operator not in COMPARISON:
        raise ProblemError(f"unknown operator {operator!r}: use one of {', '.join(COMPARISON)}")
    return operation(COMPARISON[operator], left, right)


def lexicographic(first: Sequence[Operand], second: Sequence[Operand], strict: bool) -> Operand:
    """first ≤ second (or <) in lexicographic order, as nested choices."""
    result: Operand = int(not strict)
    for k in reversed(range(len(first))):
        a, b = first[k], second[k]
        at_end = isinstance(result, int)
        result = (
            operation("le" if result else "lt", a, b)
            if at_end
            else if_else(operation("eq", a, b), result, operation("lt", a, b))
        )
    return result


class GlobalConstraints:
    """Mixed into Problem, which gives `add`, `add_table`, `add_linear`, `add_block` and the variables."""

    if TYPE_CHECKING:

        def add(self, expression: Operand | Iterable[Operand], **terms: Unpack[Terms]) -> Any: ...
        def add_table(self, scope: Any, tuples: Any, *, allowed: bool = True, **terms: Unpack[Terms]) -> None: ...
        def add_all_different(
            self, scope: Any, *, except_values: Sequence[int] = (), **terms: Unpack[Terms]
        ) -> None: ...
        def add_block(self, block: Any, name: str | None = None) -> None: ...
        def add_auxiliary(self, domain: Iterable[int], definition: Operand, name: str | None = None) -> Variable: ...
        def new_terms(self, weight: Any = None, hard: Any = None, count: int = 1) -> Any: ...
        def remember_whole(self, kind: str, first: int, *operands: Any) -> None: ...
        @property
        def num_constraints(self) -> int: ...
        def domain(self, variable: Any) -> Domain: ...

    # ── counting ─────────────────────────────────────────────────────────────────────────────────────

    def add_count(
        self, scope: Sequence[Operand], values: Iterable[Operand], operator: str, bound: Operand, **terms: Unpack[Terms]
    ) -> None:
        """How many of the scope take one of the values, compared with a constant or variable: among with several
        values, atLeast, atMost and exactly with >=, <= and ==."""
        scope, wanted = operands_of(scope), operands_of(values)
        if all(isinstance(v, int) for v in wanted):
            hits = [operation("eq", x, wanted[0]) if len(wanted) == 1 else operation("in", x, *wanted) for x in scope]
        else:
            hits = [any_of(*(operation("eq", x, v) for v in wanted)) for x in scope]
        self.add(comparison(total(hits), operator, bound), **terms)

    def add_cardinality(
        self,
        scope: Sequence[Operand],
        values: Sequence[int],
        occurs: Sequence[Any],
        closed: bool = False,
        **terms: Unpack[Terms],
    ) -> None:
        """Each value occurs as often as `occurs` says: a constant, a variable or a range. With `closed` no other
        value occurs. One count for every value."""
        scope, values = operands_of(scope), whole_numbers(values)
        for value, occurrences in _in_step("cardinality", values=values, occurrences=occurs):
            count = total([operation("eq", x, value) for x in scope])
            if isinstance(occurrences, range) and abs(occurrences.step) != 1:
                self.add(operation("in", count, *occurrences), **terms)
            elif isinstance(occurrences, range):
                occurrences = occurrences[:: occurrences.step]
                if occurrences.start > 0:
                    self.add(count >= occurrences.start, **terms)
                if occurrences.stop - 1 < len(scope):
                    self.add(count <= occurrences.stop - 1, **terms)
            else:
                self.add(operation("eq", count, occurrences), **terms)
        if closed:
            for x in scope:
                self.add(operation("in", x, *values), **terms)

    def add_distinct(
        self,
        scope: Sequence[Operand],
        operator: str,
        bound: Operand,
        *,
        except_values: Sequence[int] = (),
        **terms: Unpack[Terms],
    ) -> None:
        """The number of distinct values taken (nValues), compared with a constant or variable."""
        scope, bound, excepted = operands_of(scope), as_operand(bound), whole_numbers(except_values)
        if not excepted:
            self.add(comparison(distinct(scope), operator, bound), **terms)
            return
        indices = list(dict.fromkeys(x.index for x in scope if isinstance(x, Variable)))
        result = bound.index if isinstance(bound, Variable) else None
        plain = all(isinstance(x, Variable) for x in scope) and not (isinstance(bound, Expression) and result is None)
        if not plain or result in indices:
            # Counted together with the excepted values, which are then taken off.
            excepted = sorted(set(excepted))
            count = operation("sub", distinct([*scope, *excepted]), len(excepted))
            self.add(comparison(count, operator, bound), **terms)
            return
        self.add_block(
            DistinctBlock.one(
                np.array(indices, dtype=np.int64),
                excepted,
                operator,
                bound if isinstance(bound, int) else 0,
                result,
                self.new_terms(terms.get("weight"), terms.get("hard")),
            ),
            terms.get("name"),
        )

    def add_all_equal(
        self, scope: Sequence[Operand], *, except_values: Sequence[int] = (), **terms: Unpack[Terms]
    ) -> None:
        """All variables of the scope (but for those at excepted values) take one value."""
        self.add_distinct(scope, "<=", 1, except_values=except_values, **terms)

    def add_not_all_equal(self, scope: Sequence[Operand], **terms: Unpack[Terms]) -> None:
        self.add_distinct(scope, ">=", 2, **terms)

    def add_knapsack(
        self,
        scope: Sequence[Operand],
        weights: Sequence[int],
        weight_condition: tuple[str, Operand],
        profits: Sequence[int],
        profit_condition: tuple[str, Operand],
        **terms: Unpack[Terms],
    ) -> None:
        """Two weighted sums over the same variables: e.g. weights ("<=", capacity), profits (">=", target)."""
        for coefficients, (operator, bound) in ((weights, weight_condition), (profits, profit_condition)):
            pairs = _in_step("knapsack", variables=scope, coefficients=coefficients)
            products = [operation("mul", x, c) for x, c in pairs]
            self.add(comparison(total(products), operator, bound), **terms)

    def add_bin_packing(
        self,
        scope: Sequence[Operand],
        sizes: Sequence[int],
        bins: Iterable[tuple[int, str, Operand]],
        **terms: Unpack[Terms],
    ) -> None:
        """Item i of size sizes[i] goes into bin scope[i]; the load of every (bin, operator, bound) is as said."""
        for number, operator, bound in bins:
            items = _in_step("bin packing", variables=scope, sizes=sizes)
            load = total([operation("mul", operation("eq", x, number), size) for x, size in items])
            self.add(comparison(load, operator, bound), **terms)

    # ── extrema, elements, orders ────────────────────────────────────────────────────────────────────

    def add_maximum(self, scope: Sequence[Operand], operator: str, bound: Operand, **terms: Unpack[Terms]) -> None:
        """The largest of the scope, compared with a constant or variable."""
        self.add(comparison(maximum(scope), operator, bound), **terms)

    def add_minimum(self, scope: Sequence[Operand], operator: str, bound: Operand, **terms: Unpack[Terms]) -> None:
        """The smallest of the scope, compared with a constant or variable."""
        self.add(comparison(minimum(scope), operator, bound), **terms)

    def add_element(
        self, items: Sequence[Operand], index: Operand, operator: str, value: Operand, **terms: Unpack[Terms]
    ) -> None:
        """`items[index] operator value`; items, index (from 0) and value may be variables."""
        self.add(comparison(element(items, index), operator, value), **terms)

    def add_ordered(
        self,
        scope: Sequence[Operand],
        operator: str = "<=",
        lengths: Sequence[Operand] | None = None,
        **terms: Unpack[Terms],
    ) -> None:
        """Each variable (plus its length) compared with the next."""
        scope, lengths = operands_of(scope), None if lengths is None else operands_of(lengths)
        if lengths is not None and len(lengths) not in (len(scope) - 1, len(scope)):
            raise ProblemError(
                f"ordered: {len(lengths)} lengths for {len(scope)} variables: one each, but for the last"
            )
        for k in range(len(scope) - 1):
            left = scope[k] if lengths is None else operation("add", scope[k], lengths[k])
            self.add(comparison(left, operator, scope[k + 1]), **terms)

    def add_lexicographic(
        self, lists: Sequence[Sequence[Operand]], operator: str = "<=", **terms: Unpack[Terms]
    ) -> None:
        """Each list compared with the next, lexicographically."""
        for first, second in pairwise(map(operands_of, lists)):
            a, b = (first, second) if operator in ("<=", "<") else (second, first)
            if operator not in ("<=", "<", ">=", ">") or len(a) != len(b):
                raise ProblemError("a lexicographic order is <=, <, >= or > on lists of one length")
            self.add(lexicographic(a, b, strict=operator in ("<", ">")), **terms)

    def add_all_different_lists(
        self, lists: Sequence[Sequence[Operand]], *, except_lists: Sequence[Sequence[int]] = (), **terms: Unpack[Terms]
    ) -> None:
        """No two lists are the same (excepted ones may be): one rule for every pair."""
        for first, second in combinations(map(operands_of, lists), 2):
            pairs = _in_step("all-different lists", **{"items of one": first, "of another": second})
            differs = [operation("ne", a, b) for a, b in pairs]
            excepted = [
                all_of([operation("eq", a, v) for a, v in _in_step("an excepted list", items=first, values=values)])
                for values in except_lists
            ]
            self.add(any_of(differs + excepted), **terms)

    def add_precedence(
        self, scope: Sequence[Operand], values: Sequence[int], covered: bool = False, **terms: Unpack[Terms]
    ) -> None:
        """The first occurrence of a value is before the first of the next one (that occurs)."""
        scope, values = operands_of(scope), whole_numbers(values)
        for before, after in pairwise(values):
            for k, x in enumerate(scope):
                earlier = [operation("eq", y, before) for y in scope[:k]]
                self.add(any_of([operation("ne", x, after), *earlier]), **terms)
        if covered and values:
            self.add_count(scope, [values[-1]], ">=", 1, **terms)

    # ── channels, circuits ───────────────────────────────────────────────────────────────────────────

    def add_channel(
        self, first: Sequence[Operand], second: Sequence[Operand] | None = None, **terms: Unpack[Terms]
    ) -> None:
        """first[i] = j exactly where second[j] = i (one list: its own inverse; a shorter first list: only from
        first to second). One binary relation for every pair."""
        first, second = operands_of(first), None if second is None else operands_of(second)
        if second is None:
            for i, j in combinations(range(len(first)), 2):
                self.add(operation("iff", operation("eq", first[i], j), operation("eq", first[j], i)), **terms)
            for x in first:
                self.add(operation("in", x, *range(len(first))), **terms)
            return
        operator, before = "iff" if len(first) == len(second) else "imp", self.num_constraints
        for i, x in enumerate(first):
            for j, y in enumerate(second):
                self.add(operation(operator, operation("eq", x, j), operation("eq", y, i)), **terms)
            self.add(operation("in", x, *range(len(second))), **terms)
        if len(first) == len(second):
            self.remember_whole("inverse", before, first, second)

    def add_channel_value(self, scope: Sequence[Operand], value: Operand, **terms: Unpack[Terms]) -> None:
        """scope[i] = 1 exactly where value = i."""
        scope = operands_of(scope)
        for i, x in enumerate(scope):
            self.add(operation("iff", operation("eq", x, 1), operation("eq", value, i)), **terms)
        self.add(operation("in", value, *range(len(scope))), **terms)

    def add_circuit(
        self,
        successors: Sequence[Operand],
        size: Operand | None = None,
        *,
        self_loops: bool | None = None,
        **terms: Unpack[Terms],
    ) -> None:
        """i → successors[i] is one circuit. `self_loops=True` lets nodes stay outside of it: they point to themselves,
        and two or more do not; `self_loops=False` has all of them on it; a `size` says how many are. One of these must
        be given where a node's domain allows it to follow itself. The all-different it implies is added too, since it
        tells far more about a wrong assignment."""
        nodes = operands_of(successors)
        loops = [i for i, x in enumerate(nodes) if self._may_be(x, i)]
        if self_loops is None and size is None and loops:
            raise ProblemError(
                f"add_circuit: node {loops[0]} may follow itself: write self_loops=False for a circuit of all nodes, "
                "self_loops=True where nodes may be left out"
            )
        self.add(circuit(nodes), **terms)
        if all(isinstance(x, Variable) for x in nodes):
            self.add_all_different(nodes, **terms)
        if size is not None:
            self.add(operation("eq", total([operation("ne", x, i) for i, x in enumerate(nodes)]), size), **terms)
        elif not self_loops:
            self.add([operation("ne", nodes[i], i) for i in loops], **terms)

    def _may_be(self, operand: Operand, value: int) -> bool:
        """Whether a variable has the value in its domain."""
        return not isinstance(operand, Variable) or value in self.domain(operand).values

    def add_instantiation(self, scope: Sequence[Operand], values: Sequence[int], **terms: Unpack[Terms]) -> None:
        """Every variable has its value."""
        for x, value in _in_step("instantiation", variables=scope, values=values):
            self.add(operation("eq", x, value), **terms)

    # ── scheduling ───────────────────────────────────────────────────────────────────────────────────

    def add_no_overlap(
        self,
        origins: Sequence[Operand] | Sequence[Sequence[Operand]],
        lengths: Sequence[Operand] | Sequence[Sequence[Operand]],
        zero_ignored: bool = True,
        **terms: Unpack[Terms],
    ) -> None:
        """No two tasks (boxes, where an origin is a list) overlap: one rule for every pair."""
        tasks = _in_step("no-overlap", origins=origins, lengths=lengths)
        boxes, before = [(_as_list(origin), _as_list(length)) for origin, length in tasks], self.num_constraints
        if len({len(side) for box in boxes for side in box}) > 1:
            raise ProblemError("no-overlap: origins and lengths have one number of dimensions")
        if zero_ignored:
            boxes = [box for box in boxes if not any(isinstance(l, int) and l == 0 for l in box[1])]
        for (a, a_length), (b, b_length) in combinations(boxes, 2):
            apart: list[Operand] = []
            for p, p_length, q, q_length in zip(a, a_length, b, b_length, strict=True):
                apart += [
                    operation("le", operation("add", p, p_length), q),
                    operation("le", operation("add", q, q_length), p),
                ]
            if zero_ignored:
                apart += [operation("eq", l, 0) for l in (*a_length, *b_length) if isinstance(l, Expression)]
            self.add(any_of(apart), **terms)
        self.remember_whole("no_overlap", before, *([box[side] for box in boxes] for side in (0, 1)))

    def add_cumulative(
        self,
        origins: Sequence[Operand],
        lengths: Sequence[Operand],
        heights: Sequence[Operand],
        operator: str,
        limit: Operand,
        **terms: Unpack[Terms],
    ) -> None:
        """At every time the heights of the running tasks stay within the limit (operator <= or <). The load can
        only rise where a task starts: with constant lengths and heights one sum for every possible start, else
        (or where that would be large) one rule for every task."""
        if operator not in ("<=", "<"):
            raise ProblemError("cumulative: the operator is <= or <")
        columns, limit = [operands_of(column) for column in (origins, lengths, heights)], as_operand(limit)
        # A task of length zero never runs, and asks for nothing where it starts.
        rows = _in_step("cumulative", origins=columns[0], lengths=columns[1], heights=columns[2])
        tasks = [t for t in rows if isinstance(t[1], Expression) or t[1] > 0]
        before = self.num_constraints
        self._add_load(tasks, operator, limit, **terms)
        greatest = limit if operator == "<=" else operation("sub", limit, 1)
        self.remember_whole("cumulative", before, *(list(column) for column in zip(*tasks, strict=True)), greatest)

    def _add_load(
        self, tasks: Sequence[tuple[Operand, Operand, Operand]], operator: str, limit: Operand, **terms: Any
    ) -> None:
        """The parts of a cumulative constraint."""
        constant = all(isinstance(l, int) and isinstance(h, int) and isinstance(x, Variable) for x, l, h in tasks)
        if constant:
            starts = sorted({int(v) for x, _, _ in tasks for v in self.domain(x).values})
            if len(starts) * sum(len(self.domain(x)) for x, _, _ in tasks) <= TIMETABLE_LIMIT:
                for time in starts:
                    running = [
                        operation("mul", all_of(operation("le", x, time), operation("gt", x, time - l)), h)  # type: ignore[operator]
                        for x, l, h in tasks
                    ]
                    self.add(comparison(total(running), operator, limit), **terms)
                return
        for k, (at, length, own_height) in enumerate(tasks):
            load = [
                own_height
                if i == k
                else operation(
                    "mul", all_of(operation("le", other, at), operation("gt", operation("add", other, l), at)), h
                )
                for i, (other, l, h) in enumerate(tasks)
            ]
            within = comparison(total(load), operator, limit)
            self.add(any_of(within, length <= 0) if isinstance(length, Expression) else within, **terms)

    # ── automata ─────────────────────────────────────────────────────────────────────────────────────

    def add_regular(
        self,
        scope: Sequence[Variable],
        transitions: Iterable[tuple[Any, int, Any]],
        start: Any,
        final: Iterable[Any],
        **terms: Unpack[Terms],
    ) -> None:
        """The values of the scope, in order, are a word of the automaton. Layered tables: an auxiliary variable
        holds the state after each variable but the last, and a table ties it to the state before."""
        self._add_layers(scope, layers_of([self.domain(x) for x in scope], transitions, start, final), **terms)

    def add_mdd(
        self, scope: Sequence[Variable], transitions: Iterable[tuple[Any, int, Any]], **terms: Unpack[Terms]
    ) -> None:
        """The values of the scope, in order, are a path of the decision diagram from its root to its terminal."""
        arcs = list(transitions)
        sources, targets = {a for a, _, _ in arcs}, {b for _, _, b in arcs}
        roots, terminals = sources - targets, targets - sources
        if len(roots) != 1 or not terminals:
            raise ProblemError(f"an mdd has one root and a terminal, not {len(roots)} roots")
        self.add_regular(scope, arcs, roots.pop(), terminals, **terms)

    def _add_layers(self, scope: Sequence[Variable], layers: Sequence[Layer], **terms: Unpack[Terms]) -> None:
        state: Variable | None = None
        for k, (x, layer) in enumerate(zip(scope, layers, strict=True)):
            if k == len(scope) - 1:
                rows = [(q, v) if state is not None else (v,) for q, v, _ in layer.arcs]
                self.add_table([x] if state is None else [state, x], rows, **terms)
                return
            # The state reached as a function of state and value, −1 where there is none.
            offset, place = _numbered(x, self.domain(x).values.tolist())
            width = max(place.values()) + 1
            table = [-1] * (layer.states * width)
            for q, v, reached in layer.arcs:
                table[q * width + place[v]] = reached
            index = offset if state is None else operation("add", operation("mul", state, width), offset)
            reached_state = self.add_auxiliary(range(max(layers[k + 1].states, 1)), element(table, index))
            steps = [(q, v, r) if state is not None else (v, r) for q, v, r in layer.arcs]
            self.add_table([x, reached_state] if state is None else [state, x, reached_state], steps, **terms)
            state = reached_state


def _numbered(x: Variable, values: Sequence[int]) -> tuple[Operand, dict[int, int]]:
    """A small number for every value, as an expression and as a table: the value less the least one, or, where values
    lie far apart, its place among them."""
    low = min(values)
    if max(values) - low < SPARSE * len(values):
        return operation("sub", x, low), {value: value - low for value in values}
    hits = [operation("mul", operation("eq", x, value), k) for k, value in enumerate(values)]
    return total(hits), {value: k for k, value in enumerate(values)}


def _as_list(value: Any) -> list[Operand]:
    return operands_of(value if isinstance(value, Iterable) and not isinstance(value, Expression) else [value])
