"""Quadratic binary problems (QUBO) as text: qbsolv's .qubo and dimod's .coo.

    c a comment                               # vartype=BINARY
    p qubo 0 MAXNODES NODES COUPLERS          0 0 -1.5
    0 0 -1.5                                  0 1 2
    0 1 2

Both list coefficients `i j c` of x_i·x_j, and `i i c` of x_i alone; nodes count from 0, and node i is named `i`. The
value to be minimised is their sum. A .coo file may be of spins (−1 and +1): `# vartype=SPIN`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from anycsp.errors import ConversionError, ProblemError
from anycsp.formats.files import Source, shown
from anycsp.formats.rudy import plain_number, weight
from anycsp.model.builders import quadratic_problem
from anycsp.model.problem import Problem
from anycsp.model.score import as_written, written
from anycsp.model.structure import quadratic_form

Terms = dict[tuple[int, ...], Fraction]

_HEADER = re.compile(rb"^[ \t]*p[ \t]+qubo\b", re.MULTILINE)
_VARTYPE = re.compile(r"#\s*vartype\s*=\s*(\S+)")


def sniff(head: bytes) -> bool:
    return _HEADER.search(head) is not None


def sniff_coo(head: bytes) -> bool:
    return re.match(rb"\s*#[ \t]*vartype[ \t]*=", head) is not None


def read(source: Source) -> Problem:
    """qbsolv's form: a header that claims how many nodes there are, and of each kind of line."""
    claimed: list[int] | None = None
    terms: Terms = defaultdict(Fraction)
    counts = [0, 0]
    for number, line in source.lines():
        words = line.split()
        if words[0].startswith("c"):
            continue
        if words[0] == "p":
            if words[1:3] != ["qubo", "0"] or len(words) != 6 or claimed is not None:
                raise source.error(f"not a header of the form 'p qubo 0 MAX NODES COUPLERS': {shown(line)}", number)
            claimed = [source.integer(word, "a count of the header", number) for word in words[3:]]
            source.check_claim(claimed[0], "nodes", number)
            continue
        if claimed is None:
            raise source.error("a coefficient before the header 'p qubo 0 MAX NODES COUPLERS'", number)
        i, j = _coefficient(source, words, number, terms)
        if max(i, j) >= claimed[0]:
            raise source.error(f"unknown node {max(i, j)}: the header claims {claimed[0]}", number)
        counts[i != j] += 1
    if claimed is None:
        raise source.error("no header of the form 'p qubo 0 MAX NODES COUPLERS'")
    problem = problem_of_terms(source, _numbered(claimed[0]), terms)
    if counts != claimed[1:]:
        problem.comments.append(
            f"the header claims {claimed[1]} nodes and {claimed[2]} couplers, the file has {counts[0]} and {counts[1]}"
        )
    return problem


def read_coo(source: Source) -> Problem:
    """dimod's form: no header but, perhaps, the kind of variables in a comment."""
    kinds: set[str] = set()
    terms: Terms = defaultdict(Fraction)
    for number, line in source.lines():
        if line.startswith("#"):
            if kind := _VARTYPE.match(line):
                if kind[1].upper() not in ("SPIN", "BINARY"):
                    raise source.error(f"variables are SPIN or BINARY, not {shown(kind[1])}", number)
                kinds.add(kind[1].upper())
                if len(kinds) > 1:
                    raise source.error("variables are SPIN or BINARY, not both", number)
            continue
        _coefficient(source, line.split(), number, terms)
    variables = 1 + max((max(scope) for scope in terms), default=-1)
    source.check_claim(variables, "nodes", 1)
    if not variables:
        raise source.error("no coefficients")
    constant = Fraction(0)
    if "SPIN" in kinds:
        terms, constant = from_spins(terms)
    return problem_of_terms(source, _numbered(variables), terms, constant)


def from_spins(terms: Terms) -> tuple[Terms, Fraction]:
    """The same value by 0/1 variables: a spin is s = 2x − 1, so h·s = 2h·x − h and J·s·t = 4J·x·y − 2J·x − 2J·y + J."""
    result: Terms = defaultdict(Fraction)
    constant = Fraction(0)
    for scope, c in terms.items():
        constant += c if len(scope) == 2 else -c
        result[scope] += (4 if len(scope) == 2 else 2) * c
        for x in scope if len(scope) == 2 else ():
            result[x,] -= 2 * c
    return result, constant


def _numbered(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def _coefficient(source: Source, words: list[str], line: int, terms: Terms) -> tuple[int, int]:
    """Add what a line `i j c` says."""
    if len(words) != 3:
        raise source.error(f"not a coefficient of the form 'i j c': {shown(' '.join(words))}", line)
    i, j = (source.integer(word, "a node", line) for word in words[:2])
    if min(i, j) < 0:
        raise source.error(f"a negative node: {min(i, j)}", line)
    terms[(i,) if i == j else (min(i, j), max(i, j))] += as_written(weight(source, words[2], line))
    return i, j


def problem_of_terms(source: Source, names: Sequence[str], terms: Terms, constant: Fraction = Fraction(0)) -> Problem:
    """The problem of exact coefficients, refused where floats would round them."""
    try:
        coefficients = {
            scope: written(c, f"the coefficients of {' and '.join(names[x] for x in scope)}")
            for scope, c in terms.items()
        }
        return quadratic_problem(len(names), coefficients, written(constant), names=names)
    except ProblemError as error:
        raise source.error(str(error)) from None


def write(problem: Problem) -> str:
    variables, lines, counts = _lines(problem, "qubo")
    return "\n".join([f"p qubo 0 {variables} {counts[0]} {counts[1]}", *lines]) + "\n"


def write_coo(problem: Problem) -> str:
    """The last node has a line of its own even where its coefficient is 0: there is no header to count nodes."""
    variables, lines, _ = _lines(problem, "coo")
    last = str(variables - 1)
    if not any(last in line.split()[:2] for line in lines):
        lines.append(f"{last} {last} 0")
    return "\n".join(["# vartype=BINARY", *lines]) + "\n"


def _lines(problem: Problem, name: str) -> tuple[int, list[str], list[int]]:
    """How many variables, a line per coefficient, and how many of one variable and of two."""
    form = quadratic_form(problem)
    if form is None:
        raise ConversionError(f"{name} has soft constraints x = y = 1 of 0/1 variables, or their opposites, only")
    terms, constant = form
    if constant:
        raise ConversionError(f"{name} has no constant, the problem's value begins at {plain_number(float(constant))}")
    lines = [f"{scope[0]} {scope[-1]} {plain_number(float(c))}" for scope, c in sorted(terms.items())]
    return problem.num_variables, lines, [sum(len(scope) == k for scope in terms) for k in (1, 2)]
