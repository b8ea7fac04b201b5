"""dimod's .bqm: a binary quadratic model in its own binary form, read by dimod itself (extra `anycsp[dimod]`)."""

from __future__ import annotations

import io
import json
import operator
from collections import defaultdict
from fractions import Fraction

import numpy as np

from anycsp.errors import AnyCSPError
from anycsp.formats.files import BQM_MAGIC, Source
from anycsp.formats.qubo import Terms, from_spins, problem_of_terms
from anycsp.model.problem import Problem
from anycsp.model.score import as_written


def sniff(head: bytes) -> bool:
    return head.startswith(BQM_MAGIC)


def _check_indices(data: bytes) -> None:
    """Raise a ValueError, or whatever comes first, where indices are out of range: dimod believes them, and dies.

    After the header: an offset, per variable where its couplings begin and its bias, then every coupling twice."""
    header_length = int.from_bytes(data[10:14], "little")
    header = json.loads(data[14 : 14 + header_length])
    variables, couplings = map(operator.index, header["shape"])
    bias, variable, place = (np.dtype(header[key]) for key in ("dtype", "itype", "ntype"))
    if min(variables, couplings) < 0 or (bias.kind, variable.kind, place.kind) != ("f", "i", "i"):
        raise ValueError("shape or types")
    at = 14 + header_length + bias.itemsize
    linear = np.frombuffer(data, np.dtype([("begin", place), ("bias", bias)]), variables, at)
    coupled = np.frombuffer(data, np.dtype([("other", variable), ("bias", bias)]), 2 * couplings, at + linear.nbytes)
    begins = [0, *linear["begin"].tolist(), 2 * couplings]
    if begins != sorted(begins) or not ((coupled["other"] >= 0) & (coupled["other"] < variables)).all():
        raise ValueError("indices")


def read(source: Source) -> Problem:
    """Variables are named by their labels. Spins (−1 and +1) become 0 and 1."""
    try:
        import dimod
    except ImportError:
        raise AnyCSPError(".bqm files need the extra: pip install 'anycsp[dimod]'") from None
    try:
        _check_indices(source.data)
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
