"""D-Wave's dimod: anycsp as a sampler of binary quadratic models, and a solver of constrained ones.

    from anycsp.integrations.dimod import AnyCSPSampler
    AnyCSPSampler().sample(bqm, num_reads=10, time_limit=5)

Biases are floats, and searches count in whole numbers. So biases are scaled to whole numbers whose sum is at most 2^52:
as long as they have 15 significant digits together this changes nothing, otherwise it rounds the last ones. A
constraint whose biases were rounded is held within what rounding may have changed, which is less than dimod's own
tolerance. The energies of the samples are dimod's own, computed from the biases as they were given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import dimod
import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError
from anycsp.model.bounds import bounds
from anycsp.model.builders import quadratic_problem
from anycsp.model.expressions import Operand, maximum, operation, total
from anycsp.model.problem import Problem
from anycsp.model.score import as_written
from anycsp.search import solve

LARGEST_SUM = 2**52
"""The largest sum of all scaled biases: a float holds it, and twice as much, exactly."""
LARGEST_EXCESS = {1: 2**26, 2: 2**17}
"""The same of a soft constraint, which is a part of the sum of the objective, by the power of its penalty: half of the
digits are left to the weights."""
READ_SECONDS = 1.0
"""Without a limit every read takes this long, or until nothing better can exist."""


class AnyCSPSampler(dimod.Sampler):  # type: ignore[misc]
    """Every read is a search of its own with its own seed; samples come in the order they were searched for."""

    @property
    def parameters(self) -> dict[str, list[str]]:
        """What `sample` takes, as dimod wants it said."""
        return {name: [] for name in ("num_reads", "time_limit", "seed", "initial_states", "threads")}

    @property
    def properties(self) -> dict[str, Any]:
        """There is no hardware to describe."""
        return {}

    def sample(
        self,
        bqm: dimod.BinaryQuadraticModel,
        *,
        num_reads: int = 1,
        time_limit: float | None = None,
        seed: int = 0,
        initial_states: Any = None,
        threads: int | None = None,
        **unknown: Any,
    ) -> dimod.SampleSet:
        """`time_limit` is for all reads together. `initial_states`: as many samples as reads, or one for all of them,
        in any form dimod takes. Arguments of other samplers are ignored with dimod's warning."""
        self.remove_unknown_kwargs(**unknown)
        _check_reads(num_reads)
        variables = list(bqm.variables)
        if not variables:
            return dimod.SampleSet.from_samples_bqm([{}] * num_reads, bqm)
        problem = problem_of(bqm)
        starts = _starts(initial_states, variables, num_reads)
        seconds = READ_SECONDS if time_limit is None else time_limit / num_reads
        rows = []
        for read in range(num_reads):
            hint = None if starts is None else starts[read]
            result = solve(problem, search="local", time_limit=seconds, seed=seed + read, hint=hint, threads=threads)
            rows.append(result.positions)
        samples = np.array(rows, dtype=np.int8)
        if bqm.vartype is dimod.SPIN:
            samples = (2 * samples - 1).astype(np.int8)
        return dimod.SampleSet.from_samples_bqm((samples, variables), bqm)

    def sample_cqm(
        self,
        cqm: dimod.ConstrainedQuadraticModel,
        *,
        num_reads: int = 1,
        time_limit: float = 5.0,
        seed: int = 0,
        initial_states: Any = None,
        threads: int | None = None,
    ) -> dimod.SampleSet:
        """The best assignment of every read, with dimod's own account of what it violates; arguments as for `sample`.
        Variables are binary, spins or integers within bounds."""
        _check_reads(num_reads)
        problem, spins = problem_of_constrained(cqm)
        variables = list(cqm.variables)
        spin = np.array([v in spins for v in variables])
        starts = _states(initial_states, variables, num_reads)
        rows = []
        for read in range(num_reads):
            hint = None
            if starts is not None:
                begin = np.where(spin, starts[read] > 0, starts[read])
                hint = dict(zip(problem.names, begin.tolist(), strict=False))
            result = solve(
                problem,
                search="local",
                time_limit=time_limit / num_reads,
                seed=seed + read,
                hint=hint,
                threads=threads,
            )
            values = problem.values(result.positions)[: len(variables)]
            rows.append(np.where(spin, 2 * values - 1, values))
        return dimod.SampleSet.from_samples_cqm((np.array(rows), variables), cqm)


def problem_of(bqm: dimod.BinaryQuadraticModel) -> Problem:
    """The same problem over 0/1 variables, in the order of the model's own; its violated weight is the scaled energy,
    but for a constant."""
    binary = bqm.change_vartype(dimod.BINARY, inplace=False)
    index = {v: i for i, v in enumerate(binary.variables)}
    biases: dict[tuple[int, ...], float] = {(index[v],): float(b) for v, b in binary.linear.items()}
    biases |= {tuple(sorted((index[u], index[v]))): float(b) for (u, v), b in binary.quadratic.items()}
    for scope, bias in biases.items():
        if not math.isfinite(bias):
            raise ProblemError(f"the bias of {' and '.join(str(list(index)[x]) for x in scope)} is {bias}: not finite")
    if not math.isfinite(binary.offset):
        raise ProblemError(f"the offset is {binary.offset}: not finite")
    whole = _whole(np.array(list(biases.values()), dtype=np.float64))
    terms = dict(zip(biases, whole.tolist(), strict=True))
    return quadratic_problem(len(index), terms, names=[str(i) for i in range(len(index))])


def _whole(biases: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Whole numbers in the proportions of the biases: these times a power of ten where that makes all of them whole,
    otherwise times the largest power of two that their sum allows, rounded."""
    largest = float(np.abs(biases).max(initial=0.0))
    if not largest:
        return biases
    exponent = math.frexp(largest)[1]
    sum_by_largest = float(np.abs(np.ldexp(biases, -exponent)).sum())  # the sum itself may be beyond a float
    room = math.floor(math.log2(LARGEST_SUM / sum_by_largest)) - exponent
    for decimals in range(16):
        if decimals * math.log2(10) > room:
            break
        scaled = np.rint(biases * 10.0**decimals)
        if (scaled / 10.0**decimals == biases).all():
            return scaled
    return np.rint(np.ldexp(biases, room))


def _check_reads(reads: int) -> None:
    if reads < 1:
        raise ProblemError(f"num_reads = {reads}: must be at least 1")


def _starts(states: Any, variables: Sequence[Any], reads: int) -> list[list[int]] | None:
    """[reads][variables]: 0 or 1."""
    given = _states(states, variables, reads)
    if given is None:
        return None
    if not np.isin(given, (-1, 0, 1)).all():
        raise ProblemError("initial_states have values that are neither 0 and 1 nor −1 and +1")
    rows: list[list[int]] = (given > 0).astype(np.int64).tolist()
    return rows


def _states(states: Any, variables: Sequence[Any], reads: int) -> npt.NDArray[Any] | None:
    """[reads, variables]: the values as they were given."""
    if states is None:
        return None
    samples, labels = dimod.as_samples(states)
    column = {label: i for i, label in enumerate(labels)}
    missing = [v for v in variables if v not in column]
    if missing:
        raise ProblemError(f"initial_states lack variable {missing[0]!r}")
    if len(samples) not in (1, reads):
        raise ProblemError(f"{len(samples)} initial_states for {reads} reads: give one, or as many")
    chosen = np.asarray(samples)[:, [column[v] for v in variables]]
    return np.broadcast_to(chosen, (reads, len(variables)))


# ── constrained models ───────────────────────────────────────────────────────────────────────────────

Term = tuple[Fraction, Operand, int]
"""A coefficient, what it is multiplied with, and the largest absolute value that this can have."""


def problem_of_constrained(cqm: dimod.ConstrainedQuadraticModel) -> tuple[Problem, set[Any]]:
    """The problem, and which variables are spins: those are 0 and 1 in it. As for dimod a soft constraint costs its
    weight times how far it is from holding, or the square of that."""
    problem, spins = Problem(), set()
    handles: dict[Any, Operand] = {}
    for i, v in enumerate(cqm.variables):
        vartype, name = cqm.vartype(v), str(i)  # labels may be of any kind: 1 and "1" are two
        if vartype is dimod.REAL:
            raise ProblemError(f"variable {v!r} is real: only binary variables, spins and integers are searched")
        if vartype is dimod.INTEGER:
            values = range(math.ceil(cqm.lower_bound(v)), math.floor(cqm.upper_bound(v)) + 1)
            handles[v] = problem.add_variable(values, name)
        else:
            bit = problem.add_variable((0, 1), name)
            handles[v] = bit if vartype is dimod.BINARY else 2 * bit - 1
            spins |= {v} if vartype is dimod.SPIN else set()
    goal = _terms(cqm.objective, handles, "the objective")[0]
    for label, comparison in cqm.constraints.items():
        terms, offset = _terms(comparison.lhs, handles, f"constraint {label!r}")
        bound = _exactly(comparison.rhs, f"constraint {label!r}: the bound") - offset
        sign = -1 if comparison.sense.value == ">=" else 1
        power = 2 if comparison.lhs.is_soft() and comparison.lhs.penalty() == "quadratic" else 1
        limit = LARGEST_EXCESS[power] if comparison.lhs.is_soft() else LARGEST_SUM
        whole, scale, slack = _scaled([*((sign * c, x, reach) for c, x, reach in terms), (-sign * bound, 1, 1)], limit)
        excess, equal = total(*whole), comparison.sense.value == "=="
        if comparison.lhs.is_soft():
            far = operation("abs", excess) if equal else maximum(0, excess)
            weight = _exactly(comparison.lhs.weight(), f"constraint {label!r}: the weight") / scale**power
            reach = bounds(far, problem.bounds)[1] ** power
            goal.append((weight, operation("mul", *[far] * power), reach))
        elif equal and not slack:
            problem.add(operation("eq", excess, 0))
        else:
            problem.add(operation("le", excess, slack))
            if equal:
                problem.add(operation("ge", excess, -slack))
    if goal:
        problem.minimize(total(*_scaled(goal, LARGEST_SUM)[0]))
    return problem, spins


def _exactly(number: float, what: str) -> Fraction:
    if not math.isfinite(number):
        raise ProblemError(f"{what} is {number}: not finite")
    return as_written(number)


def _terms(model: Any, handles: Mapping[Any, Operand], what: str) -> tuple[list[Term], Fraction]:
    """The terms of a quadratic model, and its offset."""
    reach = {v: math.ceil(max(abs(model.lower_bound(v)), abs(model.upper_bound(v)))) for v in model.variables}
    terms = [(_exactly(b, f"{what}: the bias of {v}"), handles[v], reach[v]) for v, b in model.linear.items() if b]
    for (u, v), b in model.quadratic.items():
        if b:
            bias = _exactly(b, f"{what}: the bias of {u} and {v}")
            terms.append((bias, operation("mul", handles[u], handles[v]), reach[u] * reach[v]))
    return terms, _exactly(model.offset, f"{what}: the offset")


def _scaled(terms: Sequence[Term], limit: int) -> tuple[list[Operand], Fraction, int]:
    """The terms with whole coefficients, the factor that made them so, and by how much rounding may have changed their
    sum: a power of ten where that does without, otherwise the largest power of two that keeps the sum below `limit`."""
    most = sum(abs(c) * reach for c, _, reach in terms)
    room = limit / most if most else Fraction(1)
    for decimals in range(16):
        scale = Fraction(10**decimals)
        if scale <= room and all((c * scale).denominator == 1 for c, _, _ in terms):
            return [operation("mul", int(c * scale), x) for c, x, _ in terms], scale, 0
    scale = Fraction(2) ** (room.numerator.bit_length() - room.denominator.bit_length() - 1)
    slack = sum(reach for _, _, reach in terms) // 2 + 1
    return [operation("mul", round(c * scale), x) for c, x, _ in terms], scale, slack
