"""dimod's .bqm: a binary quadratic model in its own binary form, read by dimod itself (extra `anycsp[dimod]`)."""

from __future__ import annotations

import io
from collections import defaultdict
from fractions import Fraction

from anycsp.errors import AnyCSPError
from anycsp.formats.files import BQM_MAGIC, Source
from anycsp.formats.qubo import Terms, from_spins, problem_of_terms
from anycsp.model.problem import Problem
from anycsp.model.score import as_written


def sniff(head: bytes) -> bool:
    return head.startswith(BQM_MAGIC)


def read(source: Source) -> Problem:
    """Variables are named by their labels. Spins (−1 and +1) become 0 and 1."""
    try:
        import dimod
    except ImportError:
        raise AnyCSPError(".bqm files need the extra: pip install 'anycsp[dimod]'") from None
    try:
        model = dimod.BinaryQuadraticModel.from_file(io.BytesIO(source.data))
    except Exception as error:  # whatever dimod's reader trips over in a damaged file
        raise source.error(f"not a model that dimod can read ({type(error).__name__})") from None
    index = {v: i for i, v in enumerate(model.variables)}
    if not index:
        raise source.error("no variables")
    terms: Terms = defaultdict(Fraction)
    try:
        for v, bias in model.linear.items():
            terms[index[v],] += as_written(bias)
        for (u, v), bias in model.quadratic.items():
            terms[min(index[u], index[v]), max(index[u], index[v])] += as_written(bias)
        constant = as_written(model.offset)
    except ValueError:
        raise source.error("a bias that is not finite") from None
    if model.vartype is dimod.SPIN:
        terms, moved = from_spins(terms)
        constant += moved
    return problem_of_terms(source, [str(v) for v in index], terms, constant)
