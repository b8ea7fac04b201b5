"""The text of a FlatZinc file as items: variables, constraints, the goal. Names are resolved as they are read, since
FlatZinc declares before it uses; what they mean is for `flatzinc`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anycsp.errors import FormatError, UnsupportedError
from anycsp.formats.budget import DEPTH, too_deep
from anycsp.formats.files import Source, ascii_text, shown

_TOKEN = re.compile(
    r'%[^\n]*|"(?:[^"\\\n]|\\.)*"|-?\d+\.\d+(?:[eE][-+]?\d+)?|-?\d+[eE][-+]?\d+|-?0[xo][0-9a-fA-F]+|-?\d+|\.\.|::|[A-Za-z_]\w*|\S'
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_DIGITS = 18
"""The most digits of a number: 64 bits hold all such numbers."""
ITEMS_PER_LOOK = 4096
"""Items between two looks at the clock: a few hundredths of a second."""

ConstantSet = range | frozenset[int]


class Name(str):
    """A word of an annotation that is no value, such as `first_fail`."""

    __slots__ = ()


class Call(NamedTuple):
    """An annotation with arguments."""

    name: str
    arguments: list[Any]


@dataclass(eq=False, slots=True)
class Declared:
    """A variable as it is declared."""

    name: str
    kind: str
    """"bool", "int" or "set"."""
    domain: ConstantSet | None
    """Its values, for a set those it may hold; None where the file does not say."""
    annotations: list[Any] = field(default_factory=list)
    value: Any = None
    """What it is declared to be equal to, if anything."""


class Posted(NamedTuple):
    """A constraint: `predicate(arguments) :: annotations`."""

    predicate: str
    arguments: list[Any]
    annotations: list[Any]


class Listed(NamedTuple):
    """An array of variables, which may be output."""

    name: str
    kind: str
    items: list[Any]
    annotations: list[Any]


@dataclass
class Items:
    """All that a file says, in its order."""

    variables: list[Declared] = field(default_factory=list)
    arrays: list[Listed] = field(default_factory=list)
    constraints: list[Posted] = field(default_factory=list)
    goal: str = ""
    """"satisfy", "minimize" or "maximize"."""
    objective: Any = None
    search: list[Any] = field(default_factory=list)
    """The annotations of the solve item."""


def parse(source: Source) -> Items:
    """The items of a file."""
    text = ascii_text(source.data)
    tokens = _TOKEN.findall(text)
    if "%" in text:
        tokens = [token for token in tokens if token[0] != "%"]
    tokens.append("")  # so that the end needs no special care
    parser = _Parser(source, tokens)
    try:
        parser.items()
    except _Unexpected as error:
        raise FormatError(source.path, str(error), _line(text, parser.at)) from None
    except UnsupportedError as error:
        raise UnsupportedError(source.path, error.reason, _line(text, parser.at)) from None
    return parser.found


def _line(text: str, token: int) -> int:
    """The line on which a token stands, looked for when an error needs it."""
    at = 0
    for match in _TOKEN.finditer(text):
        if match.group()[0] != "%":
            if at == token:
                return text.count("\n", 0, match.start()) + 1
            at += 1
    return text.count("\n") + 1


class _Unexpected(Exception):
    """What is not FlatZinc."""


class _Parser:
    def __init__(self, source: Source, tokens: list[str]) -> None:
        self._source, self._tokens, self.at = source, tokens, 0
        self.found = Items()
        self._known: dict[str, Any] = {}
        """Parameters and variables by their names."""
        self._depth, self._deepest = 0, DEPTH.value
        """How many brackets are open, and how many may be."""

    def items(self) -> None:
        readers = {"constraint": self._constraint, "var": self._variable, "array": self._array, "solve": self._solve}
        count = 0
        while word := self._tokens[self.at]:
            if word == "predicate":
                self.at = self._tokens.index(";", self.at) if ";" in self._tokens[self.at :] else len(self._tokens) - 1
            elif word in readers:
                self.at += 1
                readers[word]()
            else:
                self._parameter()
            self._take(";")
            count += 1
            if count % ITEMS_PER_LOOK == 0 and self._source.deadline.passed:
                raise self._source.late()
        if not self.found.goal:
            raise _Unexpected("no solve item")

    def _take(self, *expected: str) -> None:
        for token in expected:
            if self._tokens[self.at] != token:
                raise _Unexpected(f"{shown(token)} expected, not {shown(self._tokens[self.at] or 'the end')}")
            self.at += 1

    def _name(self) -> str:
        name = self._tokens[self.at]
        if not _WORD.fullmatch(name):
            raise _Unexpected(f"a name expected, not {shown(name or 'the end')}")
        self.at += 1
        return name

    # ── items ────────────────────────────────────────────────────────────────────────────────────────

    def _variable(self) -> None:
        kind, domain = self._type()
        self._take(":")
        name = self._name()
        if kind == "float":
            raise UnsupportedError("", f"variable {name} is a float: only bool, int and set of int are supported")
        declared = Declared(name, kind, domain, self._annotations())
        if self._tokens[self.at] == "=":
            self.at += 1
            declared.value = self._value()
        self._declare(name, declared)
        self.found.variables.append(declared)

    def _array(self) -> None:
        self._take("[")
        indices = self._value()
        self._take("]", "of")
        variable = self._tokens[self.at] == "var"
        self.at += variable
        kind, _ = self._type()
        self._take(":")
        name = self._name()
        annotations = self._annotations()
        if variable and kind == "float":
            raise UnsupportedError("", f"array {name} is of floats: only bool, int and set of int are supported")
        self._take("=")
        items = self._value()
        if isinstance(items, list) and isinstance(indices, range) and len(items) != len(indices):
            raise _Unexpected(f"array {name} has {len(indices)} indices and {len(items)} items")
        self._declare(name, items)
        if annotations:
            self.found.arrays.append(Listed(name, kind, items, annotations))

    def _parameter(self) -> None:
        self._type()
        self._take(":")
        name = self._name()
        self._annotations()
        self._take("=")
        self._declare(name, self._value())

    def _declare(self, name: str, value: Any) -> None:
        if name in self._known:
            raise _Unexpected(f"{shown(name)} is declared twice")
        self._known[name] = value

    def _constraint(self) -> None:
        predicate = self._name()
        self._take("(")
        self.found.constraints.append(Posted(predicate, self._values(")"), self._annotations()))

    def _solve(self) -> None:
        if self.found.goal:
            raise _Unexpected("a second solve item")
        self.found.search = self._annotations()
        self.found.goal = self._name()
        if self.found.goal in ("minimize", "maximize"):
            self.found.objective = self._value()
        elif self.found.goal != "satisfy":
            raise _Unexpected(f"satisfy, minimize or maximize expected, not {shown(self.found.goal)}")

    # ── types and values ─────────────────────────────────────────────────────────────────────────────

    def _type(self) -> tuple[str, ConstantSet | None]:
        word = self._tokens[self.at]
        if word == "set":
            self.at += 1
            self._take("of")
            return "set", self._type()[1]
        if word in ("bool", "int", "float"):
            self.at += 1
            return word, range(2) if word == "bool" else None
        values = self._value()
        if not isinstance(values, (range, frozenset)):
            if isinstance(values, tuple):
                return "float", None
            raise _Unexpected(f"a type expected, not {shown(word)}")
        return "int", values

    def _annotations(self) -> list[Any]:
        found = []
        while self._tokens[self.at] == "::":
            self.at += 1
            found.append(self._value(annotation=True))
        return found

    def _values(self, end: str, annotation: bool = False) -> list[Any]:
        """What stands up to a closing bracket, with commas between."""
        found: list[Any] = []
        tokens = self._tokens
        self._open()
        while tokens[self.at] != end:
            found.append(self._value(annotation))
            if tokens[self.at] != ",":
                break
            self.at += 1
        self._take(end)
        self._depth -= 1
        return found

    def _open(self) -> None:
        self._depth += 1
        if self._depth > self._deepest:
            raise _Unexpected(too_deep())

    def _value(self, annotation: bool = False) -> Any:
        token = self._tokens[self.at]
        self.at += 1
        known = self._known.get(token)
        if known is not None:
            return known if self._tokens[self.at] != "[" else self._item(known)
        first = token[:1]
        if first.isdigit() or (first == "-" and len(token) > 1):
            return self._number(token)
        if first == "[":
            return self._values("]", annotation)
        if first == "{":
            return self._set()
        if token in ("true", "false"):
            return token == "true"
        if annotation and first == '"':
            return token
        if annotation and _WORD.fullmatch(token):
            if self._tokens[self.at] != "(":
                return Name(token)
            self.at += 1
            return Call(token, self._values(")", annotation=True))
        self.at -= 1
        what = "is not declared" if _WORD.fullmatch(token) else "is no value"
        raise _Unexpected(f"{shown(token or 'the end')} {what}")

    def _number(self, token: str) -> Any:
        """A number, or a range of them."""
        first = self._end(token)
        if self._tokens[self.at] != "..":
            return first
        self.at += 2
        last = self._end(self._tokens[self.at - 1])
        if isinstance(first, float) or isinstance(last, float):
            return (first, last)
        return range(first, last + 1)

    def _end(self, token: str) -> int | float:
        """A number alone."""
        number: int | float
        try:
            number = int(token, 0) if not token.lstrip("-").startswith("0") or "x" in token else int(token)
        except ValueError:
            try:
                number = float(token)
            except ValueError:
                raise _Unexpected(f"{shown(token)} is no number") from None
        if isinstance(number, int) and len(token.lstrip("-")) > _DIGITS:
            raise _Unexpected(f"a number of more than {_DIGITS} digits: {shown(token)}")
        return number

    def _set(self) -> ConstantSet | tuple[float, ...]:
        members = self._values("}")
        if any(isinstance(member, float) for member in members):
            return tuple(members)
        if not all(isinstance(member, int) for member in members):
            raise _Unexpected("a set of something else than numbers")
        return frozenset(members)

    def _item(self, items: Any) -> Any:
        """`array[3]`."""
        self.at += 1
        self._open()
        index = self._value()
        self._take("]")
        self._depth -= 1
        if not isinstance(items, list) or not isinstance(index, int) or not 1 <= index <= len(items):
            raise _Unexpected("an index outside of its array")
        return items[index - 1]
