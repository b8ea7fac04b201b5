"""Simulated annealing of dwave-samplers on MaxCut: compiled, well known, one import away.

An anneal has a fixed number of sweeps. Within the time limit, anneals follow each other, each twice as long as
the one before while that fits, because one long anneal beats many short ones.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.model.problem import Problem
from anycsp.model.structure import cut_graph

FIRST_SWEEPS = 500


class Annealing(Baseline):
    name = "dwave-annealing"
    requires = ("dwave.samplers", "dimod")

    def supports(self, problem: Problem) -> bool:
        return cut_graph(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        import dimod
        from dwave.samplers import SimulatedAnnealingSampler

        began = time.perf_counter()
        graph = cut_graph(problem)
        assert graph is not None
        model = dimod.BinaryQuadraticModel(graph.vertices, dimod.SPIN)
        for (u, v), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
            model.add_quadratic(u, v, weight)
        sampler = SimulatedAnnealingSampler()
        trace: list[Point] = []
        best: npt.NDArray[np.int32] | None = None
        sweeps, total, anneal = FIRST_SWEEPS, 0, 0
        while sweeps > 0:
            attempt = time.perf_counter()
            samples = sampler.sample(model, num_reads=1, num_sweeps=sweeps, seed=seed + 1000 * anneal)
            total, anneal = total + sweeps, anneal + 1
            positions = (samples.record.sample[0][np.argsort(samples.variables)] > 0).astype(np.int32)
            violated = problem.violation_of_positions(positions).weight
            now = time.perf_counter()
            if not trace or violated < trace[-1].violated_weight:
                trace.append(Point(total, now - began, violated))
                best = positions
            fits = int(sweeps / (now - attempt) * (limit.seconds - (now - began)))
            sweeps = 2 * sweeps if fits >= 2 * sweeps else fits if fits >= FIRST_SWEEPS else 0
        return BaselineResult(trace, best, time.perf_counter() - began, total)
