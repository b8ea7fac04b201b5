"""Problem: the variables, domains and constraints a user writes. Knows nothing of tensors.

Constraints are kept in *blocks*, many constraints of one family as arrays, so that a formula of
300,000 clauses is a handful of arrays and not 300,000 objects. Adding one constraint adds a block of
one; `Problem.blocks` joins the blocks of a family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations as combinations_of
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp.constraints.all_different import all_different
from anycsp.constraints.base import Block, Terms
from anycsp.constraints.clause import ClauseBlock
from anycsp.constraints.external import ExternalBlock, vectorised
from anycsp.constraints.linear import LinearBlock
from anycsp.constraints.short_table import short_table
from anycsp.constraints.table import DENSE_LIMIT, Relation, TableBlock
from anycsp.errors import ProblemError
from anycsp.model.domains import Domain, Domains
from anycsp.model.expressions import (
    Expression,
    Operand,
    Operation,
    Variable,
    bounds,
    evaluate,
    operation,
    scope_of,
    trace,
)
from anycsp.model.globals import GlobalConstraints
from anycsp.model.lowering import block_of, combinations
from anycsp.model.objective import Objective
from anycsp.model.score import Scoring, scoring

IntArray = npt.NDArray[np.int64]
Value = int | str
Assignment = Mapping[str, Value] | Sequence[Value] | npt.NDArray[np.integer[Any]]


VariableLike = Variable | int | str


class Violation(NamedTuple):
    """What an assignment violates; `weight` counts hard constraints too, each with its own weight."""

    violated: int
    weight: float
    hard: int


AUXILIARY_LIMIT = 100_000
"""The widest range an auxiliary variable may have where its values cannot be enumerated."""


class Problem(GlobalConstraints):
    """A CSP or MaxCSP instance: finite domains, and weighted, possibly hard, constraints over them."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.objective: Objective | None = None
        """How the violated weight translates into the user's own objective, e.g. the size of a cut."""
        self.comments: list[str] = []
        """Warnings a reader wants to pass on: a wrong clause count, dropped self-loops."""
        self._names: list[str] = []
        self._index: dict[str, int] = {}
        """Of the first names, all of them once one is looked up: `_by_name`."""
        self._domain_of: list[Domain] = []
        self._interned: dict[Hashable, Domain] = {}
        self._blocks: list[Block] = []
        self._constraints = 0
        self._domains: Domains | None = None
        self._sizes: IntArray | None = None
        self._scoring: Scoring | None = None
        self.relations: dict[Hashable, Relation] = {}
        """Relations of tabulated rules, by rule and domains."""
        self.definitions: dict[int, Operand] = {}
        """Auxiliary variables: each is determined by variables before it, and no part of an answer."""

    def copy(self) -> Problem:
        """A problem that can be extended without changing this one; constraints and domains are shared."""
        other = Problem(self.name)
        other.__dict__.update({k: v.copy() if isinstance(v, (list, dict)) else v for k, v in self.__dict__.items()})
        return other

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return f"Problem({label}{self.num_variables} variables, {self.num_constraints} constraints)"

    # ── variables ────────────────────────────────────────────────────────────────────────────────

    def add_variable(self, domain: Domain | Iterable[Value] | Mapping[str, int], name: str | None = None) -> Variable:
        """Add a variable. `domain` holds integers, or labels (a list of strings, or label → integer)."""
        return self.add_variables(1, domain, names=None if name is None else [name])[0]

    def add_variables(
        self,
        count: int,
        domain: Domain | Iterable[Value] | Mapping[str, int],
        prefix: str = "x",
        names: Sequence[str] | None = None,
    ) -> list[Variable]:
        """Add `count` variables of one domain, named by `names` or `prefix0, prefix1, …`."""
        shared = self._intern(Domain.of(domain))
        first = len(self._names)
        new_names = list(names) if names is not None else [f"{prefix}{first + i}" for i in range(count)]
        if len(new_names) != count:
            raise ProblemError(f"{count} variables but {len(new_names)} names")
        index = dict(zip(new_names, range(first, first + count), strict=True))
        known = self._by_name()
        if len(index) < count or not known.keys().isdisjoint(index):
            twice = next(name for i, name in enumerate(new_names) if name in known or index[name] != first + i)
            raise ProblemError(f"duplicate variable name {twice!r}")
        known.update(index)
        self._append(new_names, shared)
        return [Variable(first + i, name) for i, name in enumerate(new_names)]

    def add_numbered(self, count: int, domain: Domain | Iterable[Value]) -> None:
        """The variables 1 … count of one domain, as files count them, in a problem that has none yet. A header may
        claim a million: so no handle is made for any, and their names are indexed when one is first looked up."""
        if self._names:
            raise ProblemError("numbered variables come first")
        self._append(list(map(str, range(1, count + 1))), self._intern(Domain.of(domain)))

    def _append(self, names: list[str], domain: Domain) -> None:
        self._names.extend(names)
        self._domain_of.extend([domain] * len(names))
        self._domains = self._sizes = None

    def _by_name(self) -> dict[str, int]:
        """The index of every name."""
        known = len(self._index)
        if known < len(self._names):
            self._index.update(zip(self._names[known:], range(known, len(self._names)), strict=True))
        return self._index

    def define(self, expression: Operand, name: str | None = None, *, hard: bool = True) -> Variable:
        """An auxiliary variable equal to the expression. Answers omit it; its domain is what can occur."""
        scope = scope_of(expression)
        if combinations(self, scope) <= DENSE_LIMIT:
            axes = np.meshgrid(*(self._domain_of[x].values for x in scope), indexing="ij") if scope else []
            result, undefined = evaluate(expression, dict(zip(scope, axes, strict=True)))
            values = np.asarray(result)[~np.asarray(undefined, dtype=np.bool_)] if undefined is not False else result
            domain: Iterable[int] = np.unique(np.asarray(values, dtype=np.int64)).tolist()
        else:
            low, high = bounds(expression, self.bounds)
            if high - low >= AUXILIARY_LIMIT:
                raise ProblemError(f"an auxiliary variable over {low}..{high} is too wide to be searched")
            domain = range(low, high + 1)
        auxiliary = self.add_auxiliary(domain, expression, name)
        self.add(auxiliary == expression, hard=hard)
        return auxiliary

    def add_auxiliary(self, domain: Iterable[int], definition: Operand, name: str | None = None) -> Variable:
        """A variable that answers omit and `positions` recomputes; the caller adds the constraints that bind it."""
        number = len(self.definitions)
        while name is None and f"_{number}" in self._index:  # a name that a user has taken
            number += 1
        auxiliary = self.add_variable(domain, name or f"_{number}")
        self.definitions[auxiliary.index] = definition
        return auxiliary

    def _intern(self, domain: Domain) -> Domain:
        return self._interned.setdefault(domain.key, domain)

    @property
    def num_variables(self) -> int:
        return len(self._names)

    @property
    def num_constraints(self) -> int:
        return self._constraints

    @property
    def names(self) -> Sequence[str]:
        return self._names

    @property
    def variables(self) -> list[Variable]:
        return [Variable(i, name) for i, name in enumerate(self._names)]

    def domain(self, variable: VariableLike) -> Domain:
        return self._domain_of[self.index(variable)]

    @property
    def domain_list(self) -> Sequence[Domain]:
        return self._domain_of

    def bounds(self, variable: int) -> tuple[int, int]:
        """The least and greatest value of a variable."""
        return self._domain_of[variable].bounds

    @property
    def domain_sizes(self) -> IntArray:
        """The size of every domain, known before all of them are laid out."""
        if self._sizes is None:
            self._sizes = np.fromiter(map(len, self._domain_of), dtype=np.int64, count=len(self._domain_of))
            self._sizes.flags.writeable = False
        return self._sizes

    @property
    def domains(self) -> Domains:
        """All domains laid end to end; value (X, d) is row `start[X] + position of d`."""
        if self._domains is None:
            self._domains = Domains.of(self._domain_of)
        return self._domains

    def index(self, variable: VariableLike | Expression) -> int:
        """The index of a variable given by handle, name or index."""
        if isinstance(variable, Variable):
            index = variable.index
        elif isinstance(variable, Expression):
            raise ProblemError(f"{variable!r} is an expression: only a variable can stand here")
        elif isinstance(variable, str):
            named = self.index_of_name(variable)
            if named is None:
                raise ProblemError(f"unknown variable {variable!r}")
            return named
        else:
            index = int(variable)
        if not 0 <= index < len(self._names):
            raise ProblemError(f"unknown variable {index}: there are {len(self._names)}")
        return index

    def index_of_name(self, name: str) -> int | None:
        return self._by_name().get(name)

    def _operand(self, item: VariableLike | Expression) -> Expression:
        """An expression as it is, a variable given by name or index as its handle."""
        if isinstance(item, Expression):
            return item
        index = self.index(item)
        return Variable(index, self._names[index])

    def _scope(self, scope: Iterable[VariableLike | Expression]) -> IntArray:
        return np.array([self.index(v) for v in scope], dtype=np.int64)

    # ── constraints ──────────────────────────────────────────────────────────────────────────────

    def add(self, expression: Operand, *, weight: float = 1.0, hard: bool = False) -> None:
        """The expression, such as `x * y == z`, must be true."""
        self.add_block(block_of(self, expression, self.new_terms(weight, hard)))

    def add_rule(
        self, scope: Sequence[VariableLike], rule: Callable[..., Any], *, weight: float = 1.0, hard: bool = False
    ) -> None:
        """`rule(*values)` must be true. It is traced into an expression where it can be; a function that needs real
        values is called on them, on whole arrays where it can take those."""
        indices = self._scope(scope)
        expression = trace(rule, [Variable(int(x), self._names[x]) for x in indices])
        if expression is not None:
            self.add(expression, weight=weight, hard=hard)
            return
        values = [self._domain_of[x].values for x in indices]
        samples = np.stack([np.resize(v[:: max(1, len(v) // 7)], 8) for v in values], axis=1)
        function, terms = vectorised(rule, samples), self.new_terms(weight, hard)
        unique = len(np.unique(indices)) == len(indices)
        if unique and combinations(self, indices.tolist()) <= DENSE_LIMIT:
            grid = np.meshgrid(*values, indexing="ij")
            truth = np.asarray(function(*(axis.reshape(-1) for axis in grid)), dtype=np.bool_)
            self.add_block(TableBlock.of_truth(indices, truth.reshape([len(v) for v in values]), terms))
        elif unique:
            self.add_block(ExternalBlock.one(indices, function, terms))
        else:
            raise ProblemError("a rule over a repeated variable: list each variable once")

    def add_short_table(
        self,
        scope: Sequence[VariableLike],
        tuples: Sequence[Sequence[Any]],
        *,
        allowed: bool = True,
        weight: float = 1.0,
        hard: bool = False,
    ) -> None:
        """A table whose cells may be `"*"` (any value), a range or a set of values."""
        self.add_block(short_table(self._domain_of, self._scope(scope), tuples, allowed, self.new_terms(weight, hard)))

    def minimize(self, expression: Operand) -> None:
        """Among assignments that violate nothing, prefer a small value of the expression."""
        self.objective = Objective("minimize", expression=expression)

    def maximize(self, expression: Operand) -> None:
        """Among assignments that violate nothing, prefer a large value of the expression."""
        self.objective = Objective("maximize", expression=expression)

    def add_table(
        self,
        scope: Sequence[VariableLike],
        tuples: Sequence[Sequence[Value]] | npt.NDArray[np.integer[Any]],
        *,
        allowed: bool = True,
        weight: float = 1.0,
        hard: bool = False,
    ) -> None:
        """The scope must take (or with `allowed=False` must not take) one of the tuples."""
        self.add_block(
            TableBlock.one(self._domain_of, self._scope(scope), tuples, allowed, self.new_terms(weight, hard))
        )

    def add_tables(
        self,
        scopes: npt.NDArray[np.integer[Any]],
        tuples: Sequence[Sequence[Value]] | npt.NDArray[np.integer[Any]],
        *,
        allowed: bool = True,
        weight: float | npt.NDArray[np.floating[Any]] = 1.0,
        hard: bool | npt.NDArray[np.bool_] = False,
    ) -> None:
        """One relation over many scopes at once: `scopes` is [constraints, arity], no variable twice in a row."""
        rows = np.asarray(scopes, dtype=np.int64)
        self._check_indices(rows)
        self.add_block(TableBlock.many(self._domain_of, rows, tuples, allowed, self.new_terms(weight, hard, len(rows))))

    def add_not_equal(
        self, scopes: npt.NDArray[np.integer[Any]] | Sequence[tuple[VariableLike, VariableLike]], weight: Any = 1.0
    ) -> None:
        """X ≠ Y for every pair; the bulk form of colouring and MaxCut. All the variables share one domain."""
        if not isinstance(scopes, np.ndarray):
            scopes = np.array([[self.index(x), self.index(y)] for x, y in scopes], dtype=np.int64).reshape(-1, 2)
        if len(scopes) == 0:
            return
        values = self._domain_of[int(scopes[0, 0])].values
        self.add_tables(scopes, np.stack([values, values], axis=1), allowed=False, weight=weight)

    def add_clause(
        self, literals: Sequence[tuple[VariableLike, Value]], *, weight: float = 1.0, hard: bool = False
    ) -> None:
        """At least one literal `(variable, value)` holds, a literal being X = value, over two-valued domains."""
        scope = self._scope(v for v, _ in literals)
        for x in scope:
            if len(self._domain_of[x]) != 2:
                raise ProblemError(f"clause literal on {self._names[x]!r}: its domain has not exactly two values")
        true = [self._domain_of[x].position(value) for x, (_, value) in zip(scope, literals, strict=True)]
        self.add_nogood(scope, 1 - np.array(true, dtype=np.int64), weight=weight, hard=hard)

    def add_nogood(
        self,
        scope: Sequence[VariableLike] | IntArray,
        positions: IntArray,
        *,
        weight: float = 1.0,
        hard: bool = False,
    ) -> None:
        """Not all variables at these domain positions at once: a clause, over domains of any size."""
        scope = scope if isinstance(scope, np.ndarray) else self._scope(scope)
        offsets = np.array([0, len(scope)], dtype=np.int64)
        self.add_block(ClauseBlock.of(offsets, scope, positions, self.new_terms(weight, hard)))

    def add_clauses(
        self,
        offsets: npt.NDArray[np.integer[Any]],
        literals: npt.NDArray[np.integer[Any]],
        *,
        weight: float | npt.NDArray[np.floating[Any]] = 1.0,
        hard: bool | npt.NDArray[np.bool_] = False,
    ) -> None:
        """DIMACS clauses in bulk: clause i is `literals[offsets[i]:offsets[i+1]]`, literal ±(index + 1)
        of two-valued variables, a positive literal meaning the second value."""
        scope = np.abs(literals).astype(np.int64) - 1
        self._check_indices(scope)
        terms = self.new_terms(weight, hard, len(offsets) - 1)
        self.add_block(ClauseBlock.of(np.asarray(offsets, np.int64), scope, literals < 0, terms))

    def add_linear(
        self,
        scope: Sequence[VariableLike],
        coefficients: Sequence[int],
        operator: str,
        bound: int,
        *,
        weight: float = 1.0,
        hard: bool = False,
    ) -> None:
        """Σ coefficient·variable `operator` bound, the operator one of <=, >=, ==, !=, <, >."""
        terms = self.new_terms(weight, hard)
        self.add_block(LinearBlock.one(self._domain_of, self._scope(scope), coefficients, operator, bound, terms))

    def add_all_different(
        self,
        scope: Sequence[VariableLike | Expression],
        *,
        except_values: Sequence[int] = (),
        weight: float = 1.0,
        hard: bool = False,
    ) -> None:
        """No two of the scope take the same value (values in `except_values` may repeat). Expressions such as x + 1
        may stand in the scope; then every pair is a constraint of its own, most of them matchings."""
        if any(isinstance(x, Operation) for x in scope):
            if except_values:
                raise ProblemError("all-different with excepted values: over variables only")
            for a, b in combinations_of(scope, 2):
                self.add(operation("ne", *(self._operand(x) for x in (a, b))), weight=weight, hard=hard)
            return
        self.add_block(all_different(self._domain_of, self._scope(scope), except_values, self.new_terms(weight, hard)))

    def add_block(self, block: Block) -> None:
        """Add constraints in the bulk form of their family; what every `add_*` method ends in."""
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
        return other

    def renumber(self, place: IntArray) -> None:
        """Change the order of the constraints: the i-th one added becomes number `place[i]`."""
        if len(place) != self._constraints or (np.sort(place) != np.arange(self._constraints)).any():
            raise ProblemError(f"an order of the constraints names each of 0..{self._constraints - 1} once")
        self._blocks = [replace(b, terms=replace(b.terms, index=place[b.terms.index])) for b in self._blocks]
        self._scoring = None

    def require_all(self) -> None:
        """Make every constraint hard: what an optimisation problem means by its constraints."""
        hard = [replace(b, terms=replace(b.terms, hard=np.ones(len(b), dtype=np.bool_))) for b in self._blocks]
        self._blocks = hard
        self._scoring = None

    def _check_indices(self, variables: npt.NDArray[np.integer[Any]]) -> None:
        if variables.size and not (variables.min() >= 0 and variables.max() < len(self._names)):
            bad = variables.max() if variables.max() >= len(self._names) else variables.min()
            raise ProblemError(f"unknown variable {int(bad)}: there are {len(self._names)}")

    def new_terms(self, weight: Any = 1.0, hard: Any = False, count: int = 1) -> Terms:
        return Terms.of(self._constraints, weight, hard, count)

    @property
    def scoring(self) -> Scoring:
        """What violated constraints cost; refused where their weights cannot be added up exactly."""
        if self._scoring is None:
            weights, hard = np.ones(self._constraints), np.zeros(self._constraints, dtype=np.bool_)
            for block in self._blocks:
                weights[block.terms.index], hard[block.terms.index] = block.terms.weight, block.terms.hard
            self._scoring = scoring(weights, hard)
        return self._scoring

    @property
    def blocks(self) -> list[Block]:
        """The constraints, one block for each family."""
        by_family: dict[type[Block], list[Block]] = {}
        for block in self._blocks:
            by_family.setdefault(type(block), []).append(block)
        self._blocks = [family.concat(parts) if len(parts) > 1 else parts[0] for family, parts in by_family.items()]
        return self._blocks

    def describe_constraints(self) -> Iterator[dict[str, Any]]:
        """Every constraint in the order it was added, as plain data in domain values (the JSON form)."""
        located = [(int(index), block, row) for block in self.blocks for row, index in enumerate(block.terms.index)]
        for _, block, row in sorted(located, key=lambda item: item[0]):
            yield block.describe(row, self._domain_of)

    # ── assignments ──────────────────────────────────────────────────────────────────────────────

    def positions(self, assignment: Assignment) -> npt.NDArray[np.int32]:
        """Domain positions of an assignment given by name or in variable order; auxiliary variables may be left
        out and are then computed."""
        asked = [x for x in range(len(self._names)) if x not in self.definitions]
        if isinstance(assignment, Mapping):
            missing = [self._names[x] for x in asked if self._names[x] not in assignment]
            if missing:
                raise ProblemError(f"the assignment lacks variable {missing[0]!r}")
            given = {x: assignment[name] for x, name in enumerate(self._names) if name in assignment}
        else:
            values = list(assignment)
            if len(values) not in (len(asked), len(self._names)):
                raise ProblemError(f"the assignment has {len(values)} values for {len(asked)} variables")
            given = dict(zip(asked if len(values) == len(asked) else range(len(values)), values, strict=True))
        result = np.zeros(len(self._names), dtype=np.int32)
        for x, value in given.items():
            try:
                result[x] = self._domain_of[x].position(value)
            except ProblemError as error:
                raise ProblemError(f"variable {self._names[x]!r}: {error}") from None
        if len(given) < len(self._names):
            self.complete(result, [x for x in self.definitions if x not in given])
        return result

    def complete(self, positions: npt.NDArray[np.integer[Any]], auxiliaries: Iterable[int] | None = None) -> None:
        """Set auxiliary variables to what defines them; to their first value where that is undefined, which some
        constraint on them will then say."""
        for x in self.definitions if auxiliaries is None else auxiliaries:
            scope = scope_of(self.definitions[x])
            values = {y: int(self._domain_of[y].values[positions[y]]) for y in scope}
            value, undefined = evaluate(self.definitions[x], values)
            at = int(self._domain_of[x].positions_of(np.array([value], dtype=np.int64))[0])
            positions[x] = 0 if undefined or at < 0 else at

    def assignment(self, positions: npt.NDArray[np.integer[Any]]) -> dict[str, Value]:
        """The assignment by name, in labels where the domain has them; without auxiliary variables."""
        pairs = enumerate(zip(self._names, self._domain_of, positions, strict=True))
        return {name: domain.external(int(p)) for x, (name, domain, p) in pairs if x not in self.definitions}

    def values(self, positions: npt.NDArray[np.integer[Any]]) -> IntArray:
        """The integer each variable takes, in variable order."""
        return self.domains.values[self.domains.start[:-1] + positions]

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
