"""Problem: the variables, domains and constraints a user writes. Knows nothing of tensors.

Constraints are kept in *blocks*, many constraints of one family as arrays, so that a formula of
300,000 clauses is a handful of arrays and not 300,000 objects. Adding one constraint adds a block of
one; `Problem.blocks` joins the blocks of a family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations as combinations_of
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp import html
from anycsp.constraints.all_different import all_different
from anycsp.constraints.base import Block, Terms
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.comparison import OPERATORS
from anycsp.constraints.external import ExternalBlock, vectorised
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.relation import DENSE_LIMIT, Relation
from anycsp.constraints.short_table import short_table
from anycsp.constraints.table import TableBlock
from anycsp.errors import ExpressionError, ProblemError
from anycsp.model.bounds import bounds
from anycsp.model.domains import Domain
from anycsp.model.expressions import (
    LIMIT,
    SYMBOL,
    Expression,
    Operand,
    Operation,
    Variable,
    all_of,
    any_of,
    as_operand,
    flat,
    operation,
    scope_of,
    trace,
    whole_numbers,
)
from anycsp.model.gathering import Gathered
from anycsp.model.globals import GlobalConstraints
from anycsp.model.lowering import block_of, combinations, different, linear_form
from anycsp.model.objective import Objective, in_order
from anycsp.model.program import evaluate
from anycsp.model.score import Scoring, scoring
from anycsp.model.variables import Assignment, IntArray, Scope, Value, VariableLike, Variables
from anycsp.model.whole import Whole


class Violation(NamedTuple):
    """What an assignment violates; `weight` counts hard constraints too, each with its own weight."""

    violated: int
    weight: float
    hard: int


class Constraint:
    """What `add` has added: one constraint, or one per element of a list. It can still be made conditional."""

    __slots__ = ("_expressions", "_hard", "_name", "_places", "_problem", "_weight")

    def __init__(
        self,
        problem: Problem,
        expressions: list[Operand],
        places: range,
        weight: float | None,
        hard: bool | None,
        name: str | None,
    ) -> None:
        self._problem, self._expressions, self._places = problem, expressions, places
        self._weight, self._hard, self._name = weight, hard, name

    @property
    def places(self) -> range:
        """The numbers of its constraints in the order in which they were added, from 0."""
        return self._places

    def only_enforce_if(self, *conditions: Operand) -> Constraint:
        """Let it hold only where all the conditions are true; right after `add`, before another constraint."""
        when = all_of(*conditions)
        self._problem._withdraw(self._places)
        replaced = [operation("imp", when, expression) for expression in self._expressions]
        return self._problem.add(replaced, weight=self._weight, hard=self._hard, name=self._name)


AUXILIARY_LIMIT = 100_000
"""The widest range an auxiliary variable may have where its values cannot be enumerated."""


class Problem(Variables, GlobalConstraints):
    """A CSP or MaxCSP instance: finite domains, and constraints over them.

    A constraint is required unless it has a weight: `add(c)` must hold, `add(c, weight=3)` costs 3 where it does not.
    Where not everything required can hold, an answer violates as few of these constraints as possible.
    """

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.name = name
        self.objective: Objective | None = None
        """How the violated weight translates into the user's own objective, e.g. the size of a cut."""
        self.comments: list[str] = []
        """Warnings a reader wants to pass on: a wrong clause count, dropped self-loops."""
        self._blocks: list[Block | Gathered] = []
        self.constraint_names: dict[int, str] = {}
        """The names of constraints that have one, by their number."""
        self.written: dict[int, Operand] = {}
        """What the user wrote where a named constraint became something else, such as a table; by its number."""
        self._constraints = 0
        self._scoring: Scoring | None = None
        self.relations: dict[Hashable, Relation] = {}
        """Relations of tabulated rules, by rule and domains."""
        self.whole: list[Whole] = []
        """Global constraints that were posted whole and are held in parts."""

    def copy(self) -> Problem:
        """A problem that can be extended without changing this one; constraints and domains are shared."""
        self._blocks = list(self.blocks)  # nothing gathered is shared
        other = Problem(self.name)
        other.__dict__.update({k: v.copy() if isinstance(v, (list, dict)) else v for k, v in self.__dict__.items()})
        return other

    def without_constraints(self, variables: Sequence[int]) -> Problem:
        """A problem of some of the variables, in this order, and nothing else."""
        part = Problem(self.name)
        part._names = [self._names[x] for x in variables]
        part._domain_of = [self._domain_of[x] for x in variables]
        part._interned = self._interned.copy()
        return part

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return f"Problem({label}{self.num_variables} variables, {self.num_constraints} constraints)"

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes and kinds."""
        sizes = self.domain_sizes
        kinds = {block.kind: len(block) for block in self.blocks if len(block)}
        required = sum(int(block.terms.hard.sum()) for block in self.blocks)
        rows: dict[str, object] = {
            "variables": f"{self.num_variables:,}",
            "domains": f"{sizes.min()} to {sizes.max()} values" if len(sizes) else "none",
            "constraints": f"{self.num_constraints:,}: {required:,} required, {self.num_constraints - required:,} soft",
            "kinds": ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()) or "none",
        }
        if self.objective is not None:
            rows["objective"] = self.objective.kind
        return html.table(f"Problem {self.name}".rstrip(), rows)

    @property
    def num_constraints(self) -> int:
        return self._constraints

    # ── constraints ────────────────────────────────────────────────────────────────────────────────

    def add(
        self,
        expression: Operand | Iterable[Operand],
        *,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> Constraint:
        """The expression, such as `x * y == z`, must be true; with a `weight` it is a wish that costs as much where it
        is not. Each of a list or an array of expressions is a constraint of its own. `hard` says otherwise than the
        weight: `hard=True` with a weight is required all the same, and counts as much among what is violated."""
        first = self._constraints
        if isinstance(expression, (Expression, int, np.bool_)):
            expressions: list[Operand] = [expression]  # type: ignore[list-item]
        elif isinstance(expression, (str, float)) or not isinstance(expression, Iterable):
            raise ExpressionError(f"a constraint is an expression such as x + y <= 3, not {expression!r}")
        else:
            expressions = flat(expression)
        place = self._place(weight, hard)
        for one in expressions:
            self._add_expression(one, place)
        added = range(first, self._constraints)
        if name is not None:
            self._name(added, name)
            self.written.update(zip(added, expressions, strict=True))
        return Constraint(self, expressions, added, weight, hard, name)

    def _add_expression(self, expression: Operand, place: tuple[float, bool]) -> None:
        if isinstance(expression, (bool, np.bool_)):
            raise ExpressionError(
                f"the constraint is {bool(expression)}, which Python has evaluated already: write ~(x == 1) for not, & "
                "for and, | for or, x.is_in([1, 2]) for in"
            )
        if isinstance(expression, Operation) and expression.operator in SYMBOL and len(expression.operands) == 2:
            parts, constant = linear_form(expression.operands[0])
            others, other = linear_form(expression.operands[1], -1)
            if self._add_linear_form(parts + others, expression.operator, -(constant + other), place):
                return
        self.check_own(expression)
        self.add_block(block_of(self, expression, Terms.of(self._constraints, *place)))

    def _add_linear_form(
        self, parts: list[tuple[int, Expression]], operator: str, bound: int, place: tuple[float, bool]
    ) -> bool:
        """Gather Σ coefficient · part ∘ bound where all parts are variables, two or more of them."""
        merged: dict[int, int] = {}
        reach = abs(bound)
        for coefficient, part in parts:
            if type(part) is not Variable:
                return False
            if part.origin is not self._origin:
                self.check_own(part)
            low, high = self._domain_of[part.index].bounds
            reach += abs(coefficient) * max(-low, high)
            merged[part.index] = merged.get(part.index, 0) + coefficient
        if len(merged) < 2 or reach >= LIMIT:
            return False
        if not (self._blocks and isinstance(self._blocks[-1], Gathered)):
            self._blocks.append(Gathered())
        gathered = self._blocks[-1]
        assert isinstance(gathered, Gathered)
        scope, factors = list(merged), list(merged.values())
        at = (self._constraints, *place)
        if operator == "ne" and len(scope) == 2 == len(parts) and all(factors):
            gathered.add_pair(at, scope, different(self, scope, factors, bound))
        else:
            gathered.add_linear(at, scope, factors, OPERATORS.index(SYMBOL[operator]), bound)
        self._constraints += 1
        self._scoring = None
        return True

    def _place(self, weight: float | None, hard: bool | None) -> tuple[float, bool]:
        """Weight and hardness of one constraint, checked."""
        if weight is None:
            return 1.0, hard is None or bool(hard)
        terms = self.new_terms(weight, hard)
        return float(terms.weight[0]), bool(terms.hard[0])

    def _name(self, places: Iterable[int], name: str) -> None:
        if not isinstance(name, str):
            raise ProblemError(f"the name of a constraint is a string, not {name!r}")
        self.constraint_names.update(dict.fromkeys(places, name))

    def _withdraw(self, places: range) -> None:
        """Take the constraints that were added last away again."""
        if places.stop != self._constraints:
            raise ProblemError(
                "only_enforce_if comes right after add, before another constraint: or write add(condition.implies(…))"
            )
        for place in reversed(places):
            last = self._blocks[-1]
            if isinstance(last, Gathered):
                last.remove(place)
            elif len(last) == 1:
                self._blocks.pop()
            else:
                raise ProblemError("only_enforce_if: the constraint is in use already; write add(condition.implies(…))")
            self.constraint_names.pop(place, None)
            self.written.pop(place, None)
        self._constraints = places.start
        self._scoring = None

    def add_rule(
        self,
        scope: Scope,
        rule: Callable[..., Any],
        *,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """`rule(*values)` must be true. It is traced into an expression where it can be; a function that needs real
        values is called on them, on whole arrays where it can take those."""
        indices = self._scope(scope)
        expression = trace(rule, [self._handle(int(x)) for x in indices])
        if expression is not None:
            self.add(expression, weight=weight, hard=hard, name=name)
            return
        values = [self._domain_of[x].values for x in indices]
        samples = np.stack([np.resize(v[:: max(1, len(v) // 7)], 8) for v in values], axis=1)
        function, terms = vectorised(rule, samples), self.new_terms(weight, hard)
        unique = len(np.unique(indices)) == len(indices)
        if unique and combinations(self, indices.tolist()) <= DENSE_LIMIT:
            grid = np.meshgrid(*values, indexing="ij")
            truth = np.asarray(function(*(axis.reshape(-1) for axis in grid)), dtype=np.bool_)
            self.add_block(TableBlock.of_truth(indices, truth.reshape([len(v) for v in values]), terms), name)
        elif unique:
            self.add_block(ExternalBlock.one(indices, function, terms), name)
        else:
            raise ProblemError("a rule over a repeated variable: list each variable once")

    # ── constraints of one family ──────────────────────────────────────────────────────────────────

    def add_table(
        self,
        scope: Scope,
        tuples: Sequence[Sequence[Value]] | npt.NDArray[np.integer[Any]],
        *,
        allowed: bool = True,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """The scope must take (or with `allowed=False` must not take) one of the tuples."""
        terms = self.new_terms(weight, hard)
        self.add_block(TableBlock.one(self._domain_of, self._scope(scope), tuples, allowed, terms), name)

    def add_tables(
        self,
        scopes: npt.NDArray[np.integer[Any]],
        tuples: Sequence[Sequence[Value]] | npt.NDArray[np.integer[Any]],
        *,
        allowed: bool = True,
        weight: float | npt.NDArray[np.floating[Any]] | None = None,
        hard: bool | npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """One relation over many scopes at once: `scopes` is [constraints, arity], no variable twice in a row."""
        rows = _integers(scopes, "scopes")
        self._check_indices(rows)
        self.add_block(TableBlock.many(self._domain_of, rows, tuples, allowed, self.new_terms(weight, hard, len(rows))))

    def add_not_equal(
        self,
        scopes: npt.NDArray[np.integer[Any]] | Sequence[tuple[VariableLike, VariableLike]],
        weight: float | npt.NDArray[np.floating[Any]] | None = None,
    ) -> None:
        """X ≠ Y for every pair; the bulk form of colouring and MaxCut. All the variables share one domain."""
        if not isinstance(scopes, np.ndarray):
            scopes = np.array([[self.index(x), self.index(y)] for x, y in scopes], dtype=np.int64).reshape(-1, 2)
        if len(scopes) == 0:
            return
        values = self._domain_of[int(scopes[0, 0])].values
        self.add_tables(scopes, np.stack([values, values], axis=1), allowed=False, weight=weight)

    def add_short_table(
        self,
        scope: Scope,
        tuples: Sequence[Sequence[Any]],
        *,
        allowed: bool = True,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """A table whose cells may be `"*"` (any value), a range or a set of values."""
        terms = self.new_terms(weight, hard)
        self.add_block(short_table(self._domain_of, self._scope(scope), tuples, allowed, terms), name)

    def add_clause(
        self,
        literals: Sequence[tuple[VariableLike, Value]],
        *,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """At least one literal `(variable, value)` holds, a literal being X = value, over two-valued domains."""
        scope = self._scope(v for v, _ in literals)
        for x in scope:
            if len(self._domain_of[x]) != 2:
                raise ProblemError(f"clause literal on {self._names[x]!r}: its domain has not exactly two values")
        true = [self._domain_of[x].position(value) for x, (_, value) in zip(scope, literals, strict=True)]
        self.add_nogood(scope, 1 - np.array(true, dtype=np.int64), weight=weight, hard=hard, name=name)

    def add_nogood(
        self,
        scope: Scope | IntArray,
        positions: IntArray,
        *,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Not all variables at these domain positions at once: a clause, over domains of any size."""
        scope, at = self._scope(scope), np.asarray(positions)
        sizes = self.domain_sizes[scope]
        if at.shape != scope.shape or (at.size and (at.dtype.kind not in "iu" or not ((at >= 0) & (at < sizes)).all())):
            raise ProblemError("a nogood has a position in its domain, from 0, for each of its variables")
        offsets = np.array([0, len(scope)], dtype=np.int64)
        self.add_block(ClauseBlock.of(offsets, scope, at, self.new_terms(weight, hard)), name)

    def add_clauses(
        self,
        offsets: npt.NDArray[np.integer[Any]],
        literals: npt.NDArray[np.integer[Any]],
        *,
        weight: float | npt.NDArray[np.floating[Any]] | None = None,
        hard: bool | npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """DIMACS clauses in bulk: clause i is `literals[offsets[i]:offsets[i+1]]`, literal ±(index + 1)
        of two-valued variables, a positive literal meaning the second value."""
        literals, offsets = _integers(literals, "literals"), _integers(offsets, "offsets")
        if offsets[:1].tolist() != [0] or offsets[-1] != len(literals) or (np.diff(offsets) < 0).any():
            raise ProblemError("the offsets of clauses rise from 0 to the number of literals")
        scope = np.abs(literals) - 1
        self._check_indices(scope)
        if (self.domain_sizes[scope] != 2).any():
            raise ProblemError("add_clauses: over variables of two values only")
        terms = self.new_terms(weight, hard, len(offsets) - 1)
        self.add_block(ClauseBlock.of(offsets, scope, literals < 0, terms))

    def add_linear(
        self,
        scope: Scope,
        coefficients: Sequence[int],
        operator: str,
        bound: int,
        *,
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Σ coefficient·variable `operator` bound, the operator one of <=, >=, ==, !=, <, >."""
        terms = self.new_terms(weight, hard)
        self.add_block(LinearBlock.one(self._domain_of, self._scope(scope), coefficients, operator, bound, terms), name)

    def add_all_different(
        self,
        scope: Scope,
        *,
        except_values: Sequence[int] = (),
        weight: float | None = None,
        hard: bool | None = None,
        name: str | None = None,
    ) -> None:
        """No two of the scope take the same value (values in `except_values` may repeat). Expressions such as x + 1
        may stand in the scope; then every pair is a constraint of its own, most of them matchings."""
        items, excepted = flat(scope), whole_numbers(except_values)
        if any(isinstance(x, Operation) for x in items):
            if excepted:
                raise ProblemError("all-different with excepted values: over variables only")
            operands = [self._operand(x) for x in items]
            first = self._constraints
            self.add(
                [Operation("ne", pair) for pair in combinations_of(operands, 2)], weight=weight, hard=hard, name=name
            )
            self.remember_whole("all_different", first, operands)
            return
        if excepted and len({x.index if isinstance(x, Variable) else x for x in items}) < len(items):
            # Listed twice, a variable can only take an excepted value: a rule says so, the family cannot.
            pairs = combinations_of([self._operand(x) for x in items], 2)
            self.add(
                all_of([any_of(Operation("ne", (a, b)), operation("in", a, *excepted)) for a, b in pairs]),
                weight=weight, hard=hard, name=name,
            )  # fmt: skip
            return
        terms = self.new_terms(weight, hard)
        self.add_block(all_different(self._domain_of, self._scope(items), excepted, terms), name)

    # ── objective, auxiliary variables ─────────────────────────────────────────────────────────────

    def minimize(self, expression: Operand | Sequence[Operand]) -> None:
        """Among assignments that violate nothing, prefer a small value of the expression. Of several expressions the
        first counts most, the second decides among equals, and so on."""
        self.objective = self._objective("minimize", expression)

    def maximize(self, expression: Operand | Sequence[Operand]) -> None:
        """Among assignments that violate nothing, prefer a large value of the expression, or of several in order of
        priority."""
        self.objective = self._objective("maximize", expression)

    def _objective(self, kind: str, expression: Operand | Sequence[Operand]) -> Objective:
        if not isinstance(expression, Sequence):
            goal = as_operand(expression)
            self.check_own(goal)
            bounds(goal, self.bounds)  # refuses what leaves 64-bit arithmetic
            return Objective(kind, expression=goal)
        goals = [as_operand(goal) for goal in expression]
        for goal in goals:
            self.check_own(goal)
        if not goals:
            raise ProblemError(f"{kind} nothing: give an expression, or several in order of priority")
        return Objective(kind, expression=in_order(goals, self.bounds), goals=tuple(goals))

    def define(self, expression: Operand, name: str | None = None) -> Variable:
        """An auxiliary variable equal to the expression. Answers omit it; its domain is what can occur."""
        self.check_own(expression)
        scope = scope_of(expression)
        if combinations(self, scope) <= DENSE_LIMIT:
            axes = np.meshgrid(*(self._domain_of[x].values for x in scope), indexing="ij") if scope else []
            result, undefined = evaluate(expression, dict(zip(scope, axes, strict=True)))
            values, bad = np.broadcast_arrays(np.asarray(result, dtype=np.int64), np.asarray(undefined, dtype=np.bool_))
            domain: Iterable[int] = np.unique(values[~bad]).tolist()
        else:
            low, high = bounds(expression, self.bounds)
            if high - low >= AUXILIARY_LIMIT:
                raise ProblemError(f"an auxiliary variable over {low}..{high} is too wide to be searched")
            domain = range(low, high + 1)
        auxiliary = self.add_auxiliary(domain, expression, name)
        self.add(auxiliary == expression)
        return auxiliary

    # ── all constraints as blocks ──────────────────────────────────────────────────────────────────

    def add_block(self, block: Block, name: str | None = None) -> None:
        """Add constraints in the bulk form of their family; what every `add_*` method ends in."""
        if not len(block):  # a graph without edges: writers and searches look at the first constraint of a block
            return
        if name is not None:
            self._name(range(self._constraints, self._constraints + len(block)), name)
        self._blocks.append(block)
        self._constraints += len(block)
        self._scoring = None

    def over(self, domains: Sequence[Domain], blocks: Iterable[Block]) -> Problem:
        """The same variables over other domains with other constraints, in the order that their terms name."""
        other = self.copy()
        other._domain_of = [other._intern(domain) for domain in domains]
        other._domains = other._sizes = other._scoring = None
        parts = [block for block in blocks if len(block)]
        place = np.argsort(np.argsort(np.concatenate([np.zeros(0, np.int64), *(b.terms.index for b in parts)])))
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        other._blocks = [
            replace(block, terms=replace(block.terms, index=place[first:last]))
            for block, (first, last) in zip(parts, pairwise(ends), strict=True)
        ]
        other._constraints = len(place)
        left = np.sort(np.concatenate([np.zeros(0, np.int64), *(b.terms.index for b in parts)]))
        other.whole = [
            posted._replace(constraints=np.flatnonzero(np.isin(left, posted.constraints))) for posted in self.whole
        ]
        kept = list(enumerate(left.tolist()))
        other.constraint_names = {now: self.constraint_names[was] for now, was in kept if was in self.constraint_names}
        other.written = {now: self.written[was] for now, was in kept if was in self.written}
        return other

    def renumber(self, place: IntArray) -> None:
        """Change the order of the constraints: the i-th one added becomes number `place[i]`."""
        if len(place) != self._constraints or (np.sort(place) != np.arange(self._constraints)).any():
            raise ProblemError(f"an order of the constraints names each of 0..{self._constraints - 1} once")
        self._blocks = [replace(b, terms=replace(b.terms, index=place[b.terms.index])) for b in self.blocks]
        self.constraint_names = {int(place[number]): name for number, name in self.constraint_names.items()}
        self.written = {int(place[number]): expression for number, expression in self.written.items()}
        self.whole = [posted._replace(constraints=place[posted.constraints]) for posted in self.whole]
        self._scoring = None

    def remember_whole(self, kind: str, first: int, *operands: Any) -> None:
        """The constraints from number `first` on are one global constraint."""
        self.whole.append(Whole(kind, operands, np.arange(first, self._constraints, dtype=np.int64)))

    def require_all(self) -> None:
        """Make every constraint hard: what an optimisation problem means by its constraints."""
        self._set_hard(True)

    def relax_all(self) -> None:
        """Make every constraint soft, with the weight it has."""
        self._set_hard(False)

    def _set_hard(self, hard: bool) -> None:
        self._blocks = [replace(b, terms=replace(b.terms, hard=np.full(len(b), hard))) for b in self.blocks]
        self._scoring = None

    def _check_indices(self, variables: npt.NDArray[np.integer[Any]]) -> None:
        if variables.size and not (variables.min() >= 0 and variables.max() < len(self._names)):
            bad = variables.max() if variables.max() >= len(self._names) else variables.min()
            raise ProblemError(f"unknown variable {int(bad)}: there are {len(self._names)}")

    def new_terms(self, weight: Any = None, hard: Any = None, count: int = 1) -> Terms:
        """The one rule: required unless weighted, unless `hard` says otherwise."""
        required = weight is None if hard is None else hard
        return Terms.of(self._constraints, 1.0 if weight is None else weight, required, count)

    @property
    def scoring(self) -> Scoring:
        """What violated constraints cost; refused where their weights cannot be added up exactly."""
        if self._scoring is None:
            weights, hard = np.ones(self._constraints), np.zeros(self._constraints, dtype=np.bool_)
            for block in self.blocks:
                weights[block.terms.index], hard[block.terms.index] = block.terms.weight, block.terms.hard
            self._scoring = scoring(weights, hard)
        return self._scoring

    @property
    def blocks(self) -> list[Block]:
        """The constraints, one block for each family."""
        by_family: dict[type[Block], list[Block]] = {}
        for part in self._blocks:
            for block in part.blocks() if isinstance(part, Gathered) else [part]:
                by_family.setdefault(type(block), []).append(block)
        joined = [family.concat(parts) if len(parts) > 1 else parts[0] for family, parts in by_family.items()]
        self._blocks = list(joined)
        return joined

    def describe_constraints(self) -> Iterator[dict[str, Any]]:
        """Every constraint in the order it was added, as plain data in domain values (the JSON form)."""
        located = [(int(index), block, row) for block in self.blocks for row, index in enumerate(block.terms.index)]
        for _, block, row in sorted(located, key=lambda item: item[0]):
            yield block.describe(row, self._domain_of)

    # ── what an assignment violates ────────────────────────────────────────────────────────────────

    def violation(self, assignment: Assignment) -> Violation:
        """Count what an assignment violates."""
        return self.violation_of_positions(self.positions(assignment))

    def violation_of_positions(self, positions: npt.NDArray[np.integer[Any]]) -> Violation:
        violated, hard = [np.zeros(0, dtype=np.int64)], 0
        for block in self.blocks:
            broken = ~block.satisfied(self.domains, positions)
            violated.append(block.terms.index[broken])
            hard += int((broken & block.terms.hard).sum())
        rows = np.concatenate(violated)
        return Violation(len(rows), self.scoring.weight_of(rows), hard)


def _integers(values: Any, what: str) -> IntArray:
    """An array of integers of any type; floats would be cut off."""
    given = np.asarray(values)
    if given.size and given.dtype.kind not in "iu":
        raise ProblemError(f"{what} are arrays of integers, not of {given.dtype}")
    return given.astype(np.int64, copy=False)
