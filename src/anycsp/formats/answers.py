"""Answers as text: `v` lines for every format, and what reads them, or a JSON result, back. Plain Python."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anycsp.formats.budget import too_deep
from anycsp.formats.files import Source, load, shown

Values = Mapping[str, int | str] | Sequence[int | str]
"""An assignment by variable name, or in the order of the variables."""
_WIDTH = 100
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\S+)')


@dataclass(frozen=True)
class Answer:
    """An assignment, and what its author says of it: keys of the JSON contract, or `o` and `s` of the text form."""

    values: Values
    claims: dict[str, Any] = field(default_factory=dict)


def lines_of(tokens: Sequence[str], width: int = _WIDTH) -> list[str]:
    """Tokens as `v` lines of bounded length, as many on each as fit whichever they are: there may be a million."""
    longest = max(map(len, tokens), default=0)
    each = max(1, (width - 1) // (longest + 1))
    return ["v " + " ".join(tokens[at : at + each]) for at in range(0, len(tokens), each)] or ["v"]


def value_lines(values: Sequence[int | str]) -> list[str]:
    """`v` lines of values in variable order; labels are quoted as JSON strings, so they may hold anything."""
    if set(map(type, values)) <= {int}:  # there may be a million
        return lines_of(list(map(str, values)))
    return lines_of([json.dumps(v, ensure_ascii=False) if isinstance(v, str) else str(v) for v in values])


def read_values(text: str) -> Values:
    """The inverse of `value_lines`, given what stands behind the `v`s."""
    result: list[int | str] = []
    for token in _TOKEN.findall(text):
        if token.startswith('"'):
            result.append(str(json.loads(token)))
        elif re.fullmatch(r"[+-]?\d+", token):
            result.append(int(token))
        else:
            raise ValueError(f"not a value: {shown(token)}")
    return result


def read_literals(text: str) -> Values:
    """DIMACS literals: variable i takes 1 or 0; the closing 0 may be missing."""
    result: dict[str, int | str] = {}
    for token in text.split():
        if not re.fullmatch(r"[+-]?\d+", token):
            raise ValueError(f"not a literal: {shown(token)}")
        literal = int(token)
        if literal and result.setdefault(str(abs(literal)), int(literal > 0)) != int(literal > 0):
            raise ValueError(f"both literals of variable {abs(literal)}")
    return result


def read_answer(path: str | os.PathLike[str], read_text: Callable[[str], Values] = read_values) -> Answer:
    """An answer file: the JSON of `anycsp solve --json`, or `v` lines, which `read_text` interprets."""
    source = load(path)
    text = source.data.decode("utf-8", errors="replace")
    return _json(source, text) if text.lstrip()[:1] in ("{", "[") else _lines(source, text, read_text)


def _json(source: Source, text: str) -> Answer:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise source.error(f"not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise source.error(too_deep()) from None
    except ValueError as error:
        raise source.error(f"not JSON: {error}") from None
    claims: dict[str, Any] = document if isinstance(document, dict) and "assignment" in document else {}
    values = claims.get("assignment", document)
    listed = values.values() if isinstance(values, dict) else values
    if not isinstance(listed, Iterable) or not all(isinstance(v, (int, str)) for v in listed):
        raise source.error("an assignment is an object (variable: value) or a list of values")
    return Answer(values, claims)


def _lines(source: Source, text: str, read_text: Callable[[str], Values]) -> Answer:
    claims: dict[str, Any] = {}
    parts: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        key, _, rest = line.strip().partition(" ")
        if key == "v":
            parts.append(rest)
        elif key == "s":
            claims["s"] = rest.strip()
        elif key == "o":
            try:
                claims["o"] = float(rest)
            except ValueError:
                raise source.error(f"not a number: {shown(rest)}", number) from None
    if not parts:
        raise source.error("no answer in it: neither JSON nor 'v' lines")
    try:
        return Answer(read_text("\n".join(parts)), claims)
    except ValueError as error:
        raise source.error(str(error)) from None
