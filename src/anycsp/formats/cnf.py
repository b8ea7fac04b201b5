"""DIMACS .cnf: clauses over Boolean variables, the format of SAT and unweighted MaxSAT.

Tolerated with a warning: a missing header, wrong counts, a last clause without its 0. Tolerated without: SATLIB's
trailer (a line `%`, then `0`), CRLF, comments anywhere. Variable i is named `i` and takes 0 (false) or 1 (true).
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import numpy.typing as npt

from anycsp.constraints.clause import ClauseBlock
from anycsp.errors import ConversionError
from anycsp.formats.answers import lines_of
from anycsp.formats.files import Source, ascii_text, shown
from anycsp.model.builders import formula_problem
from anycsp.model.problem import Problem

_HEADER = re.compile(rb"^[ \t]*p(?!\S)[^\n]*", re.MULTILINE)
_TRAILER = re.compile(rb"^[ \t]*%", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*c[^\n]*", re.MULTILINE)


def sniff(head: bytes) -> bool:
    return re.search(rb"^[ \t]*p[ \t]+cnf\b", head, re.MULTILINE) is not None


def read(source: Source) -> Problem:
    comments: list[str] = []
    header = _HEADER.search(source.data)
    variables, clauses = _counts(source, header)
    if header and _COMMENT.sub(b"", source.data[: header.start()]).strip():
        raise _first_error(source, variables)
    body = source.data[header.end() :] if header else source.data
    if b"%" in body and (trailer := _TRAILER.search(body)):
        body = body[: trailer.start()]
    if b"c" in body:
        body = _COMMENT.sub(b"", body)
    numbers = integers(body)
    if numbers is None:
        raise _first_error(source, variables)
    if len(numbers) and numbers[-1] != 0:
        comments.append("the last clause lacks its closing 0")
        numbers = np.append(numbers, 0)
    ends = np.flatnonzero(numbers == 0)
    literals = numbers[numbers != 0]
    offsets = np.concatenate([[0], ends - np.arange(len(ends))])
    largest = int(max(literals.max(initial=0), -literals.min(initial=0)))
    if variables is None:
        comments.append(f"no header: taking {largest} variables and {len(ends)} clauses")
        variables = largest
        source.check_claim(variables, "variables", 1)
    elif largest > variables:
        raise _first_error(source, variables)
    if clauses is not None and clauses != len(ends):
        comments.append(f"the header claims {clauses} clauses, the file has {len(ends)}")
    problem = formula_problem(variables, offsets, literals)
    problem.comments = comments
    return problem


def _counts(source: Source, header: re.Match[bytes] | None) -> tuple[int | None, int | None]:
    """Variables and clauses as the header claims them; None where it says nothing."""
    if header is None:
        return None, None
    line = source.data.count(b"\n", 0, header.start()) + 1
    words = ascii_text(header.group()).split()
    if words[1:2] != ["cnf"] or len(words) > 4:
        raise source.error(f"not a header of the form 'p cnf VARIABLES CLAUSES': {shown(' '.join(words))}", line)
    counts = [source.integer(word, "a count of the header", line) for word in words[2:]]
    for count, what in zip(counts, ("variables", "clauses"), strict=False):
        source.check_claim(count, what, line)
    return (counts[0] if counts else None), (counts[1] if len(counts) > 1 else None)


def integers(body: bytes) -> npt.NDArray[np.int64] | None:
    """All integers of the text, or None where something else is in it."""
    if body.translate(None, b"0123456789- \t\r\n"):
        return None
    if not body.strip():
        return np.zeros(0, np.int64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # older numpy only warns where newer raises
            numbers = np.fromstring(body, dtype=np.int64, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    characters = np.frombuffer(body, np.uint8)
    minus = np.flatnonzero(characters == ord("-"))
    if len(minus) and (minus[-1] == len(body) - 1 or (characters[minus + 1] < ord("0")).any()):
        return None  # numpy reads a lone minus as 0
    ink = characters > ord(" ")
    tokens = int(ink[0]) + int(np.count_nonzero(ink[1:] > ink[:-1]))
    return numbers if len(numbers) == tokens else None


def _first_error(source: Source, variables: int | None) -> Exception:
    """Where and what the first wrong token is; only ever called when there is one."""
    header_seen = False
    for number, line in source.lines():
        if line.startswith("c"):
            continue
        if line.startswith("%"):
            break
        if line.startswith("p") and not header_seen:
            header_seen = True
            continue
        if not header_seen and _HEADER.search(source.data):
            return source.error(f"text before the header: {shown(line)}", number)
        for token in line.split():
            if not re.fullmatch(r"-?[0-9]+", token):
                return source.error(f"unknown literal {shown(token)}", number)
            digits = token.lstrip("-0") or "0"
            if variables is not None and (len(digits) > 18 or int(digits) > variables):
                return source.error(f"unknown literal {shown(token)}: the header claims {variables} variables", number)
    return source.error("not a list of clauses")


def write(problem: Problem) -> str:
    for name, domain in zip(problem.names, map(problem.domain, range(problem.num_variables)), strict=True):
        if domain.labels is not None or domain.values.tolist() != [0, 1]:
            raise ConversionError(f"cnf has values 0 and 1 only, variable {name!r} has {domain.summary()}")
    if problem.objective is not None:
        raise ConversionError(f"cnf has no objective, the problem has {problem.objective.kind!r}")
    rows: list[tuple[int, str]] = []
    for block in problem.blocks:
        if not isinstance(block, ClauseBlock):
            raise ConversionError(f"cnf has clauses only, constraint {int(block.terms.index[0]) + 1} is a {block.kind}")
        if (block.terms.weight != 1).any() or (block.terms.hard.any() and not problem.scoring.all_required):
            raise ConversionError("cnf has no weights and no hard constraints beside soft ones")
        literals = block.literals
        for row, index in enumerate(block.terms.index.tolist()):
            clause = literals[block.scope_start[row] : block.scope_start[row + 1]].tolist()
            if block.tautology[row]:
                if not clause:
                    raise ConversionError(f"cnf cannot say that constraint {index + 1}, on no variables, always holds")
                clause.append(-clause[0])  # the block keeps one literal of x ∨ ¬x
            rows.append((index, " ".join(map(str, [*clause, 0]))))
    names = [f"c variable {i} is {n}" for i, n in enumerate(problem.names, start=1) if n != str(i)]
    header = f"p cnf {problem.num_variables} {problem.num_constraints}"
    return "\n".join([*names, header, *(line for _, line in sorted(rows))]) + "\n"


def answer(problem: Problem, positions: npt.NDArray[np.integer]) -> list[str]:
    """`v` lines of literals, closed by 0."""
    literals = np.where(positions == 1, 1, -1) * np.arange(1, problem.num_variables + 1)
    return lines_of([*map(str, literals.tolist()), "0"])
