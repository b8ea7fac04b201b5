"""The package's own JSON format: everything a Problem can say, without loss. Described in docs/guides/formats.md.

Families describe themselves (`Block.describe`) and read themselves back (`Block.from_description`); here is only what
they share: variables, domains, scopes, weights, and the grouping of constraints that differ in nothing else.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anycsp.constraints.base import FAMILIES
from anycsp.errors import AnyCSPError, ConversionError, ProblemError
from anycsp.formats.budget import DEPTH, VALUES, Budget, nesting, too_deep
from anycsp.formats.files import Source, shown
from anycsp.model.bounds import bounds
from anycsp.model.description import describe_objective
from anycsp.model.domains import Domain
from anycsp.model.expressions import Operand, expression_of, tree_of
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem

_TOP = ("format", "version", "name", "objective", "domains", "variables", "constraints")
_RANGE = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)")
_DIGITS = 19
"""Digits of the longest 64-bit integer."""

Path = tuple[str | int, ...]


def sniff(head: bytes) -> bool:
    return re.match(rb'\s*\{\s*"format"\s*:\s*"anycsp"', head) is not None


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def read(source: Source) -> Problem:
    try:
        text = source.data.decode("utf-8")
        document = json.loads(text, object_pairs_hook=_without_repeated_keys)
    except UnicodeDecodeError as error:
        raise source.error("not UTF-8 text", source.data.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise source.error(f"not JSON: {error.msg.lower()}", error.lineno) from None
    except RecursionError:
        raise source.error(too_deep()) from None
    except ValueError as error:
        raise source.error(str(error)) from None
    where: list[str | int] = []
    try:
        return _problem(document, where, source.budget)
    except RecursionError:
        raise source.error(_place(where) + too_deep(), _line(text, tuple(where))) from None
    except (AnyCSPError, KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, MemoryError):  # TooLargeError is no fault of a line
            raise
        raise source.error(_place(where) + _reason(error), _line(text, tuple(where))) from None


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} appears twice in one object")
    return result


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"lacks {error.args[0]!r}"
    return str(error)


def _place(where: Sequence[str | int]) -> str:
    """'constraints, 3' as 'constraint 3: ', counting from 1."""
    if len(where) == 2 and isinstance(where[1], int):
        return f"{str(where[0]).removesuffix('s')} {where[1] + 1}: "
    return f"{where[0]}: " if where else ""


def _problem(document: Any, where: list[str | int], budget: Budget) -> Problem:
    """Build the problem; `where` always names the element being read."""
    _expect(document, dict, "the file")
    _known_keys(document, _TOP)
    if document.get("format", "anycsp") != "anycsp" or document.get("version", 1) != 1:
        raise ProblemError(f"format {document.get('format')!r} version {document.get('version')!r} is not anycsp 1")
    problem = Problem(_expect(document.get("name", ""), str, "the name"))
    if "objective" in document:
        where[:] = ["objective"]
        _known_keys(_expect(document["objective"], dict, "the objective"), ("kind", "constant", "scope", "expression"))
    shared: dict[str, Domain] = {}
    for name, spec in _expect(document.get("domains", {}), dict, "'domains'").items():
        where[:] = ["domains", name]
        shared[name] = _domain(spec, {}, budget)
    for number, entry in enumerate(_expect(document["variables"], list, "'variables'")):
        where[:] = ["variables", number]
        _known_keys(_expect(entry, dict, "a variable"), ("name", "names", "domain", "definition"))
        names = _expect(entry["names"], list, "'names'") if "names" in entry else [entry["name"]]
        for name in names:
            _expect(name, str, "a name")
        if "definition" in entry:
            definition = _expression(problem, _expect(entry["definition"], dict, "a definition"))
        domain = _domain(entry["domain"], shared, budget)
        budget.spend(VALUES, len(domain) * len(names))
        problem.add_variables(len(names), domain, names=names)
        if "definition" in entry:
            problem.definitions[problem.num_variables - 1] = definition
    order: list[int] = []
    for number, entry in enumerate(_expect(document.get("constraints", []), list, "'constraints'")):
        where[:] = ["constraints", number]
        order += _add_constraint(problem, _expect(entry, dict, "a constraint"))
    if "objective" in document:
        where[:] = ["objective"]
        problem.objective = _objective(problem, document["objective"])
    if order:
        where[:] = ["constraints"]
        problem.renumber(np.array(order, dtype=np.int64))
    return problem


def _expect(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "true or false"}
        raise ProblemError(f"{what} is {names[kind]}, not {shown(json.dumps(value))}")
    return value


def _known_keys(entry: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in entry:
        if key not in known:
            raise ProblemError(f"unknown key {shown(key)}: known are {', '.join(known)}")


def _objective(problem: Problem, spec: Mapping[str, Any]) -> Objective:
    constant = spec.get("constant", 0.0)
    if isinstance(constant, bool) or not isinstance(constant, (int, float)) or not abs(constant) <= sys.float_info.max:
        raise ProblemError(f"the constant of an objective is a finite number, not {shown(json.dumps(constant))}")
    if float(constant) != constant:
        raise ProblemError(f"the constant of an objective has 53 bits, not {shown(json.dumps(constant))}")
    expression = _expression(problem, spec) if "expression" in spec else None
    return Objective(_expect(spec["kind"], str, "the kind of an objective"), float(constant), expression)


def _expression(problem: Problem, spec: Mapping[str, Any]) -> Operand:
    """From {"scope": …, "expression": …}, over variables known by now."""
    scope = [_index(problem, v) for v in _expect(spec["scope"], list, "a scope")]
    DEPTH.check(nesting(spec["expression"]))
    expression = expression_of(spec["expression"], [problem.variables[x] for x in scope])
    bounds(expression, problem.bounds)
    return expression


def _domain(spec: Any, shared: Mapping[str, Domain], budget: Budget) -> Domain:
    if isinstance(spec, str):
        if match := _RANGE.fullmatch(spec):
            if max(len(bound.removeprefix("-")) for bound in match.groups()) > _DIGITS:
                raise ProblemError("a domain holds 64-bit integers, or labels only")
            low, high = int(match[1]), int(match[2])
            budget.domain(max(0, high - low + 1))
            return Domain.of(range(low, high + 1))
        if spec not in shared:
            raise ProblemError(f"unknown domain {shown(spec)}: neither 'low..high' nor one of 'domains'")
        return shared[spec]
    if not isinstance(spec, (list, dict)):
        raise ProblemError(f"a domain is a list, a range 'low..high' or labels with integers, not {shown(repr(spec))}")
    if any(isinstance(v, bool) for v in (spec.values() if isinstance(spec, dict) else spec)):
        raise ProblemError("a domain holds 64-bit integers, or labels only")
    return Domain.of(spec)


def _add_constraint(problem: Problem, entry: dict[str, Any]) -> list[int]:
    """Add one entry, which is a constraint or several that share all but their scopes; their places in the order."""
    kind = _expect(entry["kind"], str, "a kind")
    if kind not in FAMILIES:
        raise ProblemError(f"unknown kind of constraint {shown(kind)}: known are {', '.join(FAMILIES)}")
    _known_keys(entry, ("kind", "scope", "scopes", "weight", "hard", "order", "name", *FAMILIES[kind].fields))
    DEPTH.check(nesting(entry.get("expression")))
    if ("scope" in entry) == ("scopes" in entry):
        raise ProblemError("needs one of 'scope' and 'scopes'")
    listed = _expect(entry["scopes"], list, "'scopes'") if "scopes" in entry else [entry["scope"]]
    scopes = [[_index(problem, v) for v in _expect(scope, list, "a scope")] for scope in listed]
    count, first = len(scopes), problem.num_constraints
    weight = _each(entry.get("weight", 1), count, "weight")
    hard = _each(entry.get("hard", "weight" not in entry), count, "hard")  # required unless weighted
    names = _each(entry.get("name"), count, "name")
    for w in weight:
        if isinstance(w, bool) or not isinstance(w, (int, float)):
            raise ProblemError(f"a weight is a positive finite number, not {shown(json.dumps(w))}")
    for h in hard:
        _expect(h, bool, "'hard'")
    if count:
        terms = problem.new_terms(np.array(weight, dtype=object), np.array(hard, dtype=np.bool_), count)
        for block in FAMILIES[kind].from_descriptions(problem.domain_list, scopes, entry, terms):
            problem.add_block(block)
    for place, name in enumerate(names, start=first):
        if name is not None:
            problem.constraint_names[place] = _expect(name, str, "the name of a constraint")
    places = _each(entry.get("order", list(range(first, first + count))), count, "order")
    return [_expect(place, int, "a place in the order") for place in places]


def _index(problem: Problem, variable: Any) -> int:
    if type(variable) is int and 0 <= variable < problem.num_variables:
        return variable
    if isinstance(variable, bool) or not isinstance(variable, (str, int)):
        raise ProblemError(f"a scope lists names or indices of variables, not {shown(json.dumps(variable))}")
    return problem.index(variable)


def _each(value: Any, count: int, what: str) -> list[Any]:
    """One entry per scope: a list as it is, a single value repeated."""
    if not isinstance(value, list):
        return [value] * count
    if len(value) != count:
        raise ProblemError(f"'{what}' lists {len(value)} entries for {count} scopes")
    return value


# ── lines of elements, for errors ────────────────────────────────────────────────────────────────

_SPACE = re.compile(r"[\s,:]*")


def _line(text: str, path: Path) -> int | None:
    """The line on which the element at a path begins, found by decoding what comes before it."""
    decoder = json.JSONDecoder()
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    try:
        for key in path:
            at = next(start for name, start in _children(decoder, text, at) if name == key)
    except StopIteration:
        return None
    return text.count("\n", 0, at) + 1


def _children(decoder: json.JSONDecoder, text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Key and start of every member of the object or list that begins at `at`."""
    is_object = text[at] == "{"
    at, index = at + 1, 0
    while text[at := _SPACE.match(text, at).end()] not in "}]":  # type: ignore[union-attr]
        key: str | int = index
        if is_object:
            key, at = decoder.raw_decode(text, at)
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        yield key, at
        _, at = decoder.raw_decode(text, at)
        index += 1


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def write(problem: Problem) -> str:
    domains, variables = _variables(problem)
    head: dict[str, Any] = {"format": "anycsp", "version": 1}
    if problem.name:
        head["name"] = problem.name
    if problem.objective is not None:
        head["objective"] = describe_objective(problem.objective)
    if domains:
        head["domains"] = domains
    lines = [f"  {_dumps(key)}: {_dumps(value)}" for key, value in head.items()]
    lines.append(_listing("variables", variables))
    lines.append(_listing("constraints", _constraints(problem)))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listing(key: str, entries: Sequence[Any]) -> str:
    """A list with one entry per line."""
    inner = ",\n".join("    " + _dumps(entry) for entry in entries)
    return f'  "{key}": [\n{inner}\n  ]' if entries else f'  "{key}": []'


def _variables(problem: Problem) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Variables in order, neighbours of one domain together; long domains that come back are named and shared."""
    runs: list[tuple[Domain, list[str]]] = []
    for index, name in enumerate(problem.names):
        domain = problem.domain(index)
        auxiliary = index in problem.definitions or index - 1 in problem.definitions
        if runs and runs[-1][0] is domain and not auxiliary:
            runs[-1][1].append(name)
        else:
            runs.append((domain, [name]))
    uses: dict[int, int] = {}
    for domain, _ in runs:
        uses[id(domain)] = uses.get(id(domain), 0) + 1
    shared: dict[str, Any] = {}
    spelled: dict[int, Any] = {}
    for domain, _ in runs:
        if id(domain) not in spelled:
            spelled[id(domain)] = spec = _spell(domain)
            if uses[id(domain)] > 1 and not isinstance(spec, str):
                spelled[id(domain)] = key = f"domain{len(shared) + 1}"
                shared[key] = spec
    entries: list[dict[str, Any]] = []
    first = 0
    for domain, names in runs:
        entry: dict[str, Any] = {"name": names[0]} if len(names) == 1 else {"names": names}
        entry["domain"] = spelled[id(domain)]
        if first in problem.definitions:
            scope, tree = tree_of(problem.definitions[first])
            entry["definition"] = {"scope": scope, "expression": tree}
        entries.append(entry)
        first += len(names)
    return shared, entries


def _spell(domain: Domain) -> Any:
    values = domain.values.tolist()
    if domain.labels is not None:
        in_order = values == list(range(len(values)))
        return list(domain.labels) if in_order else dict(zip(domain.labels, values, strict=True))
    if len(values) > 2 and values == list(range(values[0], values[0] + len(values))):
        return f"{values[0]}..{values[-1]}"
    return values


def _constraints(problem: Problem) -> list[dict[str, Any]]:
    """One entry for all the constraints of a shape, each with its scope; `order` where that changed the order."""
    domains = [problem.domain(x) for x in range(problem.num_variables)]
    groups: list[tuple[int, dict[str, Any], list[int], list[tuple[list[int], float, bool]]]] = []
    for block in problem.blocks:
        group_of: dict[Any, int] = {}
        weights, hards, indices = block.terms.weight.tolist(), block.terms.hard.tolist(), block.terms.index.tolist()
        for row in np.argsort(block.terms.index).tolist():
            shape = block.shape(row, domains)
            if shape not in group_of:
                plain = block.describe(row, domains)
                if "from_description" not in type(block).__dict__:
                    raise ConversionError(f"JSON cannot hold constraint {indices[row] + 1}: a {block.kind} one")
                kept = {key: plain[key] for key in ("kind", *block.fields) if key in plain}
                group_of[shape] = len(groups)
                groups.append((indices[row], kept, [], []))
            _, _, order, members = groups[group_of[shape]]
            order.append(indices[row])
            members.append((block.scope_of(row).tolist(), weights[row], hards[row]))
    groups.sort(key=lambda group: group[0])
    in_order = [i for group in groups for i in group[2]] == list(range(problem.num_constraints))
    entries = [_entry(kept, order, members, in_order) for _, kept, order, members in groups]
    for entry, (_, _, order, _) in zip(entries, groups, strict=True):
        names = [problem.constraint_names.get(number) for number in order]
        if any(names):
            entry["name"] = names[0] if len(set(names)) == 1 else names
    return entries


def _entry(
    kept: dict[str, Any], order: list[int], members: list[tuple[list[int], float, bool]], in_order: bool
) -> dict[str, Any]:
    scopes = [scope for scope, _, _ in members]
    weights = [int(w) if w.is_integer() else w for _, w, _ in members]
    hards = [h for _, _, h in members]
    entry = {**kept, "scope": scopes[0]} if len(scopes) == 1 else {**kept, "scopes": scopes}
    if set(weights) != {1} or not all(hards):
        entry["weight"] = weights[0] if len(set(weights)) == 1 else weights
        if any(hards):
            entry["hard"] = True if all(hards) else hards
    if not in_order:
        entry["order"] = order
    return entry
