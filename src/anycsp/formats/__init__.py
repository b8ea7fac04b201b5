"""File formats: `read` a problem from a file, `write` one, both with the format found from name and content.

A format is one entry of FORMATS and one module of pure functions; a new one adds its entry here and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.errors import ConversionError, FormatError, ProblemError
from anycsp.formats import bqm, cfn, cnf, col, flatzinc, json_format, mtx, opb, qubo, rudy, wcnf, wcsp, xcsp3
from anycsp.formats.answers import Values, read_literals, read_values, value_lines
from anycsp.formats.budget import allow_depth
from anycsp.formats.files import COMPRESSIONS, Source, load, text_source, write_whole
from anycsp.model.problem import Problem

_HEAD = 1 << 16
"""Content is recognised by its first bytes."""

Positions = npt.NDArray[np.integer[Any]]


def _values_in_order(problem: Problem, positions: Positions) -> list[str]:
    return value_lines(problem.external(positions))


@dataclass(frozen=True)
class Format:
    """How one kind of file is recognised, read and written, and how answers to it look."""

    name: str
    title: str
    extensions: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    """Whether a file that begins like this is surely of this format."""
    read: Callable[..., Problem]
    """`read(source)`; `read(source, colors)` where `takes_colors`."""
    write: Callable[[Problem], str] | None
    """None where the format is only read. Raises ConversionError for what it cannot express."""
    takes_colors: bool = False
    answer: Callable[[Problem, Positions], list[str]] = _values_in_order
    """The `v` lines of an answer, in the file's own form."""
    read_answer: Callable[[str], Values] = read_values
    """The inverse of `answer`, given what stands behind the `v`s."""


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("cnf", "DIMACS CNF (SAT, MaxSAT)", (".cnf", ".dimacs"), cnf.sniff, cnf.read, cnf.write,
               answer=cnf.answer, read_answer=read_literals),
        Format("col", "DIMACS graph (colouring)", (".col",), col.sniff, col.read, col.write, takes_colors=True),
        Format("mtx", "MatrixMarket (MaxCut)", (".mtx",), mtx.sniff, mtx.read, mtx.write),
        Format("json", "anycsp JSON (anything)", (".json",), json_format.sniff, json_format.read, json_format.write),
        Format("wcnf", "weighted DIMACS CNF (partial MaxSAT)", (".wcnf",), wcnf.sniff, wcnf.read, wcnf.write,
               answer=wcnf.answer, read_answer=wcnf.read_answer),
        Format("opb", "pseudo-Boolean problem", (".opb", ".wbo", ".pb"), opb.sniff, opb.read, opb.write,
               answer=opb.answer, read_answer=opb.read_answer),
        Format("qubo", "quadratic binary problem of qbsolv", (".qubo",), qubo.sniff, qubo.read, qubo.write),
        Format("coo", "quadratic binary problem of dimod", (".coo",), qubo.sniff_coo, qubo.read_coo, qubo.write_coo),
        Format("bqm", "binary quadratic model of dimod", (".bqm",), bqm.sniff, bqm.read, None),
        Format("wcsp", "toulbar2 WCSP", (".wcsp",), wcsp.sniff, wcsp.read, None),
        Format("cfn", "toulbar2 cost function network", (".cfn",), cfn.sniff, cfn.read, None),
        Format("xcsp3", "XCSP3 (constraint models)", (".xml",), xcsp3.sniff, xcsp3.read, None,
               answer=xcsp3.answer, read_answer=xcsp3.read_answer),
        Format("flatzinc", "FlatZinc (MiniZinc models)", (".fzn",), flatzinc.sniff, flatzinc.read, None),
        Format("rudy", "rudy, Gset (MaxCut)", (".rud", ".rudy", ".mc", ".gset"), rudy.sniff, rudy.read, rudy.write),
    )
}  # fmt: skip
"""In the order content is tried: formats with a banner of their own first."""


def read(path: str | os.PathLike[str], *, format: str | None = None, colors: int | None = None) -> Problem:
    """The problem in a file (`-`: standard input), decompressed where needed; its format is recognised or given.

    Warnings of the reader are in `problem.comments`. `colors` is the number of colours for graphs to colour.
    """
    return parse(load(path), format=format, colors=colors)


def read_text(
    text: str | bytes, *, format: str | None = None, colors: int | None = None, name: str = "<text>"
) -> Problem:
    """The problem in a text at hand."""
    return parse(text_source(text.encode() if isinstance(text, str) else text, name), format=format, colors=colors)


def parse(source: Source, *, format: str | None = None, colors: int | None = None) -> Problem:
    """The problem in a loaded source."""
    chosen = detect(source, format)
    allow_depth()
    if colors is not None and not chosen.takes_colors:
        raise FormatError(source.path, f"a number of colours is for graphs to colour, not for {chosen.name} files")
    try:
        problem: Problem = chosen.read(source, colors) if chosen.takes_colors else chosen.read(source)
    except ProblemError as error:
        raise FormatError(source.path, str(error)) from None
    problem.name = problem.name or _stem(source.path)
    return problem


def detect(source: Source, format: str | None = None) -> Format:
    """The format of a source: as told, else by content, else by its name."""
    if format is not None:
        return by_name(format)
    if _suffixes(source.path)[-1:] == [".mzn"]:
        model = PurePath(source.path).name
        raise FormatError(
            source.path, f"a MiniZinc model: `anycsp minizinc install`, then `minizinc --solver anycsp {model}`"
        )
    by_extension = _by_extension(source.path)
    head = source.data[:_HEAD]
    fitting = [f for f in FORMATS.values() if f.sniff(head)]
    if by_extension is not None and (by_extension in fitting or not fitting):
        return by_extension
    if fitting:
        return fitting[0]
    if not source.data.strip():
        raise FormatError(source.path, "an empty file")
    raise FormatError(source.path, f"of unknown format; say which with --format: {', '.join(FORMATS)}")


def by_name(name: str) -> Format:
    if name not in FORMATS:
        raise ProblemError(f"unknown format {name!r}: known are {', '.join(FORMATS)}")
    return FORMATS[name]


def _suffixes(path: str) -> Sequence[str]:
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    return suffixes[:-1] if suffixes and suffixes[-1] in COMPRESSIONS else suffixes


def _by_extension(path: str) -> Format | None:
    suffixes = _suffixes(path)
    last = suffixes[-1] if suffixes else ""
    return next((f for f in FORMATS.values() if last in f.extensions), None)


def _stem(path: str) -> str:
    name = PurePath(path).name
    for suffix in reversed(PurePath(path).suffixes):
        if suffix.lower() in COMPRESSIONS or _by_extension(name) is not None or suffix.lower() == ".txt":
            name = name.removesuffix(suffix)
        else:
            break
    return "" if name in ("-", "<text>") else name


def write(problem: Problem, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a problem, whole or not at all. Refuses what the format cannot express."""
    write_whole(Path(path), to_text(problem, format, os.fspath(path)))


def to_text(problem: Problem, format: str | None = None, path: str = "") -> str:
    """The problem as text of a format, given by its name or by that of a file."""
    chosen = by_name(format) if format is not None else _by_extension(path)
    if chosen is None:
        writable = ", ".join(name for name, known in FORMATS.items() if known.write is not None)
        raise ConversionError(f"{path}: its name tells no format; say which with --to: {writable}")
    if chosen.write is None:
        raise ConversionError(f"{chosen.name} files are only read, not written")
    if problem.definitions and chosen.name != "json":
        raise ConversionError(
            f"{chosen.name} cannot hold auxiliary variables such as {problem.names[min(problem.definitions)]!r}"
        )
    try:
        return chosen.write(problem)
    except RecursionError:
        raise ConversionError(f"{path}: an expression nests too deeply to be written") from None
