"""D-Wave's dimod: anycsp as a sampler of binary quadratic models, and a solver of constrained ones.

    from anycsp.integrations.dimod import AnyCSPSampler
    AnyCSPSampler().sample(bqm, num_reads=10, time_limit=5)

Biases are floats, and searches count in whole numbers. So biases are scaled to whole numbers whose sum is at most 2^52:
as long as they have 15 significant digits together this changes nothing, otherwise it rounds the last ones. The
energies of the samples are dimod's own, computed from the biases as they were given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import dimod
import numpy as np
import numpy.typing as npt

from anycsp.errors import ProblemError
from anycsp.model.builders import quadratic_problem
from anycsp.model.expressions import Operand, operation
from anycsp.model.problem import Problem
from anycsp.search import solve

LARGEST_SUM = 2.0**52
"""The largest sum of all scaled biases: a float holds it, and twice as much, exactly."""
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
        time_limit: float = 5.0,
        seed: int = 0,
        threads: int | None = None,
    ) -> dimod.SampleSet:
        """The best assignment found, with dimod's own account of what it violates. Variables are binary, spins or
        integers within bounds; coefficients are whole numbers, or become so when scaled by a power of ten."""
        problem, spins = problem_of_constrained(cqm)
        result = solve(problem, search="local", time_limit=time_limit, seed=seed, threads=threads)
        values = problem.values(result.positions)[: len(cqm.variables)]
        sample = {v: int(x) for v, x in zip(cqm.variables, values, strict=True)}
        sample |= {v: 2 * sample[v] - 1 for v in spins}
        return dimod.SampleSet.from_samples_cqm(sample, cqm)


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
    scale = _scale(list(biases.values()))
    terms = {scope: float(round(bias * scale)) for scope, bias in biases.items()}
    return quadratic_problem(len(index), terms, names=[str(i) for i in range(len(index))])


def _scale(biases: Sequence[float]) -> float:
    """A factor that makes all of them whole: a power of ten where one does, otherwise the largest power of two that
    their sum allows."""
    values = np.array(biases, dtype=np.float64)
    total = float(np.abs(values).sum())
    if not total:
        return 1.0
    for decimals in range(16):
        scaled = values * 10.0**decimals
        if total * 10.0**decimals > LARGEST_SUM:
            break
        if (np.rint(scaled) / 10.0**decimals == values).all():
            return 10.0**decimals
    return 2.0 ** math.floor(math.log2(LARGEST_SUM / total))


def _starts(states: Any, variables: Sequence[Any], reads: int) -> list[list[int]] | None:
    """[reads][variables]: 0 or 1."""
    if states is None:
        return None
    samples, labels = dimod.as_samples(states)
    column = {label: i for i, label in enumerate(labels)}
    missing = [v for v in variables if v not in column]
    if missing:
        raise ProblemError(f"initial_states lack variable {missing[0]!r}")
    if len(samples) not in (1, reads):
        raise ProblemError(f"{len(samples)} initial_states for {reads} reads: give one, or as many")
    rows: npt.NDArray[np.integer[Any]] = (np.asarray(samples)[:, [column[v] for v in variables]] > 0).astype(np.int64)
    return [rows[read % len(rows)].tolist() for read in range(reads)]


# ── constrained models ───────────────────────────────────────────────────────────────────────────────


def problem_of_constrained(cqm: dimod.ConstrainedQuadraticModel) -> tuple[Problem, set[Any]]:
    """The problem, and which variables are spins: those are 0 and 1 in it."""
    problem, spins = Problem(), set()
    handles: dict[Any, Operand] = {}
    for v in cqm.variables:
        vartype = cqm.vartype(v)
        if vartype is dimod.REAL:
            raise ProblemError(f"variable {v!r} is real: only binary variables, spins and integers are searched")
        if vartype is dimod.INTEGER:
            handles[v] = problem.add_variable(range(int(cqm.lower_bound(v)), int(cqm.upper_bound(v)) + 1), str(v))
        else:
            bit = problem.add_variable((0, 1), str(v))
            handles[v] = bit if vartype is dimod.BINARY else 2 * bit - 1
            spins |= {v} if vartype is dimod.SPIN else set()
    for label, comparison in cqm.constraints.items():
        left, scale = _expression(comparison.lhs, handles, f"constraint {label!r}")
        bound = comparison.rhs * scale
        if bound != round(bound):
            raise ProblemError(f"constraint {label!r}: the bound {comparison.rhs} has more decimals than its biases")
        operator = {"<=": "le", ">=": "ge", "==": "eq"}[comparison.sense.value]
        weight = cqm._soft[label].weight if label in cqm._soft else None
        terms: Mapping[str, Any] = {"hard": True} if weight is None else {"weight": float(weight)}
        problem.add(operation(operator, left, round(bound)), **terms)
    if cqm.objective.num_variables:
        problem.minimize(_expression(cqm.objective, handles, "the objective")[0])
    return problem, spins


def _expression(model: Any, handles: Mapping[Any, Operand], what: str) -> tuple[Operand, float]:
    """A quadratic model with whole coefficients, and the power of ten it was multiplied by."""
    linear = {v: float(b) for v, b in model.linear.items() if b}
    quadratic = {(u, v): float(b) for (u, v), b in model.quadratic.items() if b}
    numbers = [*linear.values(), *quadratic.values(), float(model.offset)]
    scale = next((10.0**d for d in range(10) if all((n * 10.0**d).is_integer() for n in numbers)), None)
    if scale is None or sum(map(abs, numbers)) * scale > LARGEST_SUM:
        raise ProblemError(f"{what}: biases with so many digits could only be rounded; round or scale them")
    terms: list[Operand] = [operation("mul", round(b * scale), handles[v]) for v, b in linear.items()]
    terms += [operation("mul", round(b * scale), handles[u], handles[v]) for (u, v), b in quadratic.items()]
    return operation("add", round(float(model.offset) * scale), *terms), scale
