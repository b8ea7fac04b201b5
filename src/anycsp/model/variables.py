"""The variables of a problem: their names and domains, the handles a user gets, and what an assignment says of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError
from anycsp.memory import check_bytes
from anycsp.model.domains import Domain, Domains, sizes_of
from anycsp.model.expressions import (
    Array,
    Expression,
    Operand,
    Variable,
    flat,
    postorder,
    scope_of,
    shown,
)
from anycsp.model.program import evaluate

IntArray = npt.NDArray[np.int64]
Value = int | str
VariableLike = Variable | int | str
Assignment = Mapping[str, Value] | Mapping[Variable, Value] | Sequence[Value] | npt.NDArray[np.integer[Any]]
DomainLike = Domain | Iterable[Value] | Mapping[str, int]
Scope = Iterable[VariableLike | Expression]
"""Variables by handle, name or index, and expressions; arrays of any shape too."""


WIDEST_DOMAIN = 10_000_000
"""Values of one variable: 80 MB of integers, before any search has kept a cost for each."""
BYTES_PER_VARIABLE = 400
"""Of a variable that a user holds: its name, its handle, and where they are found."""


class Variables:
    """Variables with finite domains, in the order in which they were added.

    An assignment is kept as *positions*, the places of the values within their domains. Values and labels appear only
    where a user gives or gets them.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._index: dict[str, int] = {}
        """Positions of the first names; of all names once one is looked up: `_by_name`."""
        self._domain_of: list[Domain] = []
        self._origin = object()
        """Copies have the same one: their variables are each other's."""
        self._handles: dict[int, Variable] = {}
        """The handles given out: a variable has one, so that handles can be looked up in sets and dictionaries."""
        self._interned: dict[Hashable, Domain] = {}
        self._domains: Domains | None = None
        self._sizes: IntArray | None = None
        self.definitions: dict[int, Operand] = {}
        """Auxiliary variables: each is determined by variables before it, and no part of an answer."""

    # ── variables ────────────────────────────────────────────────────────────────────────────────

    @overload
    def add_variable(self, domain: DomainLike, name: str | None = None) -> Variable: ...
    @overload
    def add_variable(self, low: int, high: int, name: str | None = None) -> Variable: ...
    @overload
    def add_variable(self, name: str, domain: DomainLike) -> Variable: ...
    @overload
    def add_variable(self, name: str, low: int, high: int) -> Variable: ...
    def add_variable(self, *spec: Any, **named: Any) -> Variable:
        """Add a variable: `add_variable(0, 9, "x")` has the values 0 … 9, both included. A domain in place of the two
        bounds holds integers, as a list or range, or labels (a list of strings, or label → integer). The name may
        come first."""
        parts = list(spec)
        name = named.pop("name", None)
        if parts and isinstance(parts[0], str) and (len(parts) > 1 or named):
            name = parts.pop(0)
        elif len(parts) > 1 and isinstance(parts[-1], str):
            name = parts.pop()
        elif len(parts) > 1 and parts[-1] is None:  # no name, said
            parts.pop()
        parts += [named.pop(key) for key in ("domain", "low", "high") if key in named]
        if named:
            raise ProblemError(f"add_variable has no argument {next(iter(named))!r}: domain, low, high, name")
        domain = _domain(parts, "add_variable", name)
        return self._add([self._new_name("x") if name is None else str(name)], domain)[0]

    @overload
    def add_variables(
        self, count: int, domain: DomainLike, prefix: str = "x", names: Sequence[str] | None = None
    ) -> list[Variable]: ...
    @overload
    def add_variables(
        self, count: int, low: int, high: int, prefix: str = "x", names: Sequence[str] | None = None
    ) -> list[Variable]: ...
    @overload
    def add_variables(self, shape: tuple[int, ...], /, domain: DomainLike, prefix: str = "x") -> Array: ...
    @overload
    def add_variables(self, shape: tuple[int, ...], /, low: int, high: int, prefix: str = "x") -> Array: ...
    def add_variables(
        self, count: Any, *spec: Any, prefix: str | None = None, names: Sequence[str] | None = None, **named: Any
    ) -> Any:
        """Add `count` variables of one domain, given as for `add_variable`: a list, named by `names` or `prefix0,
        prefix1, …`. A shape such as `(9, 9)` in place of the count gives an array with rows, columns and slices, its
        variables named `prefix[0,0], prefix[0,1], …`."""
        parts = list(spec)
        if len(parts) > 1 and isinstance(parts[-1], (list, tuple)) and names is None:
            names = parts.pop()
        if len(parts) > 1 and isinstance(parts[-1], str):
            prefix = parts.pop()
        parts += [named.pop(key) for key in ("domain", "low", "high") if key in named]
        if named:
            raise ProblemError(f"add_variables has no argument {next(iter(named))!r}: domain, low, high, prefix, names")
        domain = _domain(parts, "add_variables", prefix)
        shape = tuple(count) if isinstance(count, (tuple, list)) else (count,)
        if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in shape):
            raise ProblemError(f"add_variables: a count or a shape comes first, not {count!r}")
        total, first = math.prod(shape), len(self._names)
        check_bytes(BYTES_PER_VARIABLE * total, f"{total:,} variables")
        if names is not None:
            new_names = [str(name) for name in flat(names)]
        elif isinstance(count, (tuple, list)):
            stem = "x" if prefix is None else prefix
            if prefix is None and any(name.startswith("x[") for name in self._names):
                stem = f"x{first}"
            new_names = [f"{stem}[{','.join(map(str, at))}]" for at in np.ndindex(*shape)]
        else:
            new_names = [f"{'x' if prefix is None else prefix}{first + i}" for i in range(total)]
        if len(new_names) != total:
            raise ProblemError(f"{total} variables but {len(new_names)} names")
        handles = self._add(new_names, domain)
        if not isinstance(count, (tuple, list)):
            return handles
        array = np.empty(total, dtype=object)
        array[:] = handles
        return array.reshape(shape).view(Array)

    def _new_name(self, prefix: str) -> str:
        number = len(self._names)
        while f"{prefix}{number}" in self._by_name():  # a name that a user has taken
            number += 1
        return f"{prefix}{number}"

    def _add(self, names: list[str], domain: Domain) -> list[Variable]:
        shared, first = self._intern(domain), len(self._names)
        index = dict(zip(names, range(first, first + len(names)), strict=True))
        known = self._by_name()
        if len(index) < len(names) or not known.keys().isdisjoint(index):
            twice = next(name for i, name in enumerate(names) if name in known or index[name] != first + i)
            raise ProblemError(f"duplicate variable name {twice!r}: give another name, prefix or names")
        known.update(index)
        self._append(names, shared)
        handles = [Variable(first + i, name, shared, self._origin) for i, name in enumerate(names)]
        self._handles.update(zip(range(first, first + len(names)), handles, strict=True))
        return handles

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
    def names(self) -> Sequence[str]:
        return self._names

    @property
    def variables(self) -> list[Variable]:
        return [self._handle(x) for x in range(len(self._names))]

    def _handle(self, index: int) -> Variable:
        handle = self._handles.get(index)
        if handle is None:
            handle = self._handles[index] = Variable(index, self._names[index], self._domain_of[index], self._origin)
        return handle

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
            self._sizes = sizes_of(self._domain_of)
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
            if variable.origin is not self._origin:
                self.check_own(variable)
            index = variable.index
        elif isinstance(variable, Expression):
            raise ProblemError(f"{shown(variable)} is an expression: only a variable can stand here, or define(…) one")
        elif isinstance(variable, str):
            named = self.index_of_name(variable)
            if named is None:
                raise ProblemError(f"unknown variable {variable!r}")
            return named
        elif isinstance(variable, (bool, np.bool_)) or not isinstance(variable, (int, np.integer)):
            raise ProblemError(f"a variable is given by handle, name or index, not as {variable!r}")
        else:
            index = int(variable)
        if not 0 <= index < len(self._names):
            raise ProblemError(f"unknown variable {index}: there are {len(self._names)}")
        return index

    def index_of_name(self, name: str) -> int | None:
        return self._by_name().get(name)

    def _operand(self, item: VariableLike | Expression) -> Expression:
        """An expression as it is, a variable given by name or index as its handle."""
        return item if isinstance(item, Expression) else self._handle(self.index(item))

    def _scope(self, scope: Scope) -> IntArray:
        return np.array([self.index(v) for v in flat(scope)], dtype=np.int64)

    def check_own(self, expression: Operand) -> None:
        """Refuse the variables of another problem: here they would mean whatever has their index."""
        for node in postorder(expression):
            if isinstance(node, Variable) and node.origin is not self._origin and node.origin is not None:
                raise ProblemError(
                    f"variable {node.name!r} belongs to another problem: use what this problem's add_variable returned"
                )

    # ── assignments ──────────────────────────────────────────────────────────────────────────────

    def positions(self, assignment: Assignment) -> npt.NDArray[np.int32]:
        """Domain positions of an assignment given by name or in variable order; auxiliary variables may be left
        out and are then computed."""
        if isinstance(assignment, np.ndarray) and len(self._interned) == 1 and len(assignment) == len(self._names):
            at = self._domain_of[0].positions_of(assignment.astype(np.int64))  # all at once
            if assignment.dtype.kind in "iu" and (at >= 0).all():
                return at.astype(np.int32)
        asked = [x for x in range(len(self._names)) if x not in self.definitions]
        if isinstance(assignment, Mapping):
            assignment = self.by_name(assignment)
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

    def by_name(self, assignment: Mapping[Any, Value]) -> dict[str, Value]:
        """An assignment whose keys are names or handles, by names."""
        return {key if isinstance(key, str) else self._names[self.index(key)]: v for key, v in assignment.items()}

    def complete(self, positions: npt.NDArray[np.integer[Any]], auxiliaries: Iterable[int] | None = None) -> None:
        """Set auxiliary variables to what defines them; to their first value where that is undefined, which some
        constraint on them will then say."""
        for x in self.definitions if auxiliaries is None else auxiliaries:
            scope = scope_of(self.definitions[x])
            values = {y: int(self._domain_of[y].values[positions[y]]) for y in scope}
            value, undefined = evaluate(self.definitions[x], values)
            at = int(self._domain_of[x].positions_of(np.array([value], dtype=np.int64))[0])
            positions[x] = 0 if undefined or at < 0 else at

    def completed(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """These positions, without variables that are not of this problem, its auxiliary ones set."""
        result = np.array(positions[: len(self._names)], dtype=np.int32)
        if self.definitions:
            self.complete(result)
        return result

    def assignment(self, positions: npt.NDArray[np.integer[Any]]) -> dict[str, Value]:
        """The assignment by name, in labels where the domain has them; without auxiliary variables."""
        names: Iterable[str] = self._names
        if self.definitions:
            names = (name for x, name in enumerate(self._names) if x not in self.definitions)
        return dict(zip(names, self.external(positions), strict=True))

    def external(self, positions: npt.NDArray[np.integer[Any]]) -> list[Value]:
        """What `assignment` has, in variable order."""
        values: list[Value] = self.values(positions).tolist()
        if any(domain.labels is not None for domain in self._interned.values()):
            values = [d.external(p) for d, p in zip(self._domain_of, np.asarray(positions).tolist(), strict=True)]
        if not self.definitions:
            return values
        return [value for x, value in enumerate(values) if x not in self.definitions]

    def values(self, positions: npt.NDArray[np.integer[Any]]) -> IntArray:
        """The integer each variable takes, in variable order."""
        return self.domains.values[self.domains.start[:-1] + positions]


def _domain(parts: list[Any], method: str, name: str | None) -> Domain:
    """The domain that arguments say: two bounds, both included, or one domain."""
    who = f"{method}: " if name is None else f"variable {name!r}: "
    try:
        if len(parts) == 2 and all(_is_integer(part) for part in parts):
            low, high = map(int, parts)
            if low > high:
                raise ProblemError(f"the bounds {low} and {high} leave no value: the lower one comes first")
            parts = [range(low, high + 1)]
        if len(parts) != 1 or isinstance(parts[0], str) or _is_integer(parts[0]):
            given = ", ".join(map(repr, parts))
            raise ProblemError(f"two bounds or a domain, as in (0, 9), ([1, 2, 5]) or (range(10)), not ({given})"[:200])
        domain = parts[0]
        if (
            isinstance(domain, tuple)
            and len(domain) == 2
            and all(map(_is_integer, domain))
            and domain[1] - domain[0] > 1
        ):
            low, high = domain
            raise ProblemError(
                f"({low}, {high}) as a domain: write the bounds {low}, {high} without brackets, or [{low}, {high}] for "
                "these two values"
            )
        # The length of a range, which `len` does not say of one with more than 2^63 values.
        if isinstance(domain, range) and (size := -(-(domain.stop - domain.start) // domain.step)) > WIDEST_DOMAIN:
            raise ProblemError(f"{size:,} values, more than {WIDEST_DOMAIN:,}: count in a larger unit")
        return Domain.of(domain)
    except ProblemError as error:
        raise ProblemError(f"{who}{error}") from None
    except TypeError:
        raise ProblemError(f"{who}a domain is a list of values or two bounds, not {parts[0]!r}"[:250]) from None


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
