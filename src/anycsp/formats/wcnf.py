"""DIMACS .wcnf: weighted partial MaxSAT, in the old form (`p wcnf VARIABLES CLAUSES TOP`) and that of 2022 (`h` lines).

A clause of weight TOP, or one that begins with `h`, is hard. A soft clause of weight 0 costs nothing and is dropped.
The cost of an assignment that satisfies the hard clauses is the weight of the soft ones it violates.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.clause import ClauseBlock
from anycsp.errors import ConversionError
from anycsp.formats.answers import Values, read_literals
from anycsp.formats.cnf import integers
from anycsp.formats.files import Source, ascii_text, shown
from anycsp.model.builders import formula_problem
from anycsp.model.objective import Objective
from anycsp.model.problem import Problem

_HEADER = re.compile(rb"^[ \t]*p(?!\S)[^\n]*", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*c[^\n]*", re.MULTILINE)
_HARD = re.compile(rb"^[ \t]*h(?=[ \t])", re.MULTILINE)

_BEYOND = re.compile(rb"\d{19,}")
"""Numbers that may not fit into 64 bits."""
_HARD_WEIGHT = -(10**18)
"""Stands for `h` among the numbers: no number of the file has as many digits."""


def sniff(head: bytes) -> bool:
    if re.search(rb"^[ \t]*p[ \t]+wcnf\b", head, re.MULTILINE):
        return True
    body = _COMMENT.sub(b"", head).lstrip()
    return re.match(rb"h[ \t]+-?\d", body) is not None


def read(source: Source) -> Problem:
    comments: list[str] = []
    header = _HEADER.search(source.data)
    variables, clauses, top = _counts(source, header)
    if header and (before := _COMMENT.sub(b"", source.data[: header.start()]).strip()):
        raise source.error(f"text before the header: {shown(ascii_text(before))}")
    body = source.data[header.end() :] if header else source.data
    body = _COMMENT.sub(b"", body)
    if long := _BEYOND.search(body):
        raise source.error(f"a number of more than 18 digits: {shown(long.group().decode())}")
    if header is None:
        body = _HARD.sub(str(_HARD_WEIGHT).encode(), body)
    numbers = integers(body)
    if numbers is None or (len(numbers) and numbers[-1] != 0):
        raise _first_error(source, header is not None)
    ends = np.flatnonzero(numbers == 0)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else np.zeros(0, np.int64)
    # A weight of 0 looks like an end: such a clause is dropped, and where its literals begin is the next number.
    weights, starts, ends = _weighted(source, numbers, starts, ends)
    lengths = ends - starts - 1
    literals = numbers[np.repeat(starts + 1, lengths) + _within(lengths)] if len(lengths) else np.zeros(0, np.int64)
    if (literals == _HARD_WEIGHT).any():
        raise source.error("an 'h' within a clause: the one before it lacks its closing 0")
    hard = weights == _HARD_WEIGHT if header is None else weights >= top
    if (weights[~hard] < 0).any():
        raise source.error(f"a negative weight: {int(weights[~hard].min())}")
    largest = int(max(literals.max(initial=0), -literals.min(initial=0)))
    if variables is None:
        variables = largest
        source.check_claim(variables, "variables", 1)
    elif largest > variables:
        raise source.error(f"unknown literal {largest}: the header claims {variables} variables")
    if clauses is not None and clauses != len(weights):
        comments.append(f"the header claims {clauses} clauses, the file has {len(weights)}")
    kept = hard | (weights > 0)
    if not kept.all():
        comments.append(f"{int((~kept).sum())} soft clauses of weight 0 dropped")
        literals = literals[np.repeat(kept, lengths)]
        weights, hard, lengths = weights[kept], hard[kept], lengths[kept]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    problem = formula_problem(variables, offsets, literals, weight=np.where(hard, 1, weights), hard=hard)
    problem.comments = comments
    problem.objective = Objective("cost")
    return problem


def _within(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _weighted(
    source: Source, numbers: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Weights, and where each clause's weight and closing 0 stand."""
    if not (starts == ends).any():
        return numbers[starts], starts, ends
    clauses, at = [], 0
    stops = ends.tolist()
    k = 0
    while k < len(stops):
        end = stops[k]
        if end == at:  # the weight itself is 0; the clause ends at the next one
            k += 1
            if k == len(stops):
                raise source.error("the last clause lacks its closing 0")
            end = stops[k]
        clauses.append((at, end))
        at = end + 1
        k += 1
    pairs = np.array(clauses, dtype=np.int64).reshape(-1, 2)
    return numbers[pairs[:, 0]], pairs[:, 0], pairs[:, 1]


def _counts(source: Source, header: re.Match[bytes] | None) -> tuple[int | None, int | None, float]:
    """Variables, clauses and top as the header claims them."""
    if header is None:
        return None, None, np.inf
    line = source.data.count(b"\n", 0, header.start()) + 1
    words = ascii_text(header.group()).split()
    if words[1:2] != ["wcnf"] or len(words) not in (4, 5):
        raise source.error(f"not a header of the form 'p wcnf VARIABLES CLAUSES TOP': {shown(' '.join(words))}", line)
    variables, clauses = (source.integer(word, "a count of the header", line) for word in words[2:4])
    source.check_claim(variables, "variables", line)
    source.check_claim(clauses, "clauses", line)
    top = source.integer(words[4], "the top weight", line) if len(words) == 5 else np.inf
    return variables, clauses, top


def _first_error(source: Source, has_header: bool) -> Exception:
    for number, line in source.lines():
        if line.startswith(("c", "p")):
            continue
        words = line.split()
        for place, token in enumerate(words):
            if not re.fullmatch(r"-?[0-9]+", token) and (has_header or place or token != "h"):
                return source.error(f"neither weight nor literal: {shown(token)}", number)
    return source.error("the last clause lacks its closing 0")


def write(problem: Problem) -> str:
    """The old form: its header keeps variables that occur in no clause, and is recognised whatever the clauses."""
    for name, domain in zip(problem.names, problem.domain_list, strict=True):
        if domain.labels is not None or domain.values.tolist() != [0, 1]:
            raise ConversionError(f"wcnf has values 0 and 1 only, variable {name!r} has {domain.summary()}")
    if problem.objective is not None and problem.objective.kind != "cost":
        raise ConversionError(f"wcnf has costs only, the problem has the objective {problem.objective.kind!r}")
    if problem.objective is not None and problem.objective.constant:
        raise ConversionError(f"wcnf has no constant cost, the problem has one of {problem.objective.constant:g}")
    soft = [float(w) for block in problem.blocks for w in block.terms.weight[~block.terms.hard]]
    if any(not weight.is_integer() for weight in soft):
        raise ConversionError("wcnf has integer weights")
    if any((block.terms.weight[block.terms.hard] != 1).any() for block in problem.blocks):
        raise ConversionError("wcnf has hard clauses without a weight: give them weight 1")
    top = int(sum(soft)) + 1
    rows: list[tuple[int, str]] = []
    for block in problem.blocks:
        if not isinstance(block, ClauseBlock):
            raise ConversionError(
                f"wcnf has clauses only, constraint {int(block.terms.index[0]) + 1} is a {block.kind}"
            )
        literals = block.literals
        for row, index in enumerate(block.terms.index.tolist()):
            clause = literals[block.scope_start[row] : block.scope_start[row + 1]].tolist()
            if block.tautology[row]:
                if not clause:
                    raise ConversionError(f"wcnf cannot say that constraint {index + 1}, on no variables, always holds")
                clause.append(-clause[0])
            weight = top if block.terms.hard[row] else int(block.terms.weight[row])
            rows.append((index, " ".join(map(str, [weight, *clause, 0]))))
    header = f"p wcnf {problem.num_variables} {problem.num_constraints} {top}"
    return "\n".join([header, *(line for _, line in sorted(rows))]) + "\n"


def answer(problem: Problem, positions: npt.NDArray[np.integer[Any]]) -> list[str]:
    """One `v` line: a binary digit for every variable, as the MaxSAT evaluations want it."""
    return ["v " + "".join(map(str, positions.tolist()))]


def read_answer(text: str) -> Values:
    """A binary string, or literals as in the old form."""
    words = text.split()
    if len(words) == 1 and re.fullmatch(r"[01]+", words[0]):
        return [int(digit) for digit in words[0]]
    return read_literals(text)
