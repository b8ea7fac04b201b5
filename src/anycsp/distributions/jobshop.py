"""Job-shops: tasks of each job in their order, one task at a time on each machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution, IntArray, Size, draw_size
from anycsp.distributions.parameters import Kind, check
from anycsp.model.expressions import maximum
from anycsp.model.problem import Problem

TRIES = 50
"""Random orders of dispatching that the bound is the best of: more are soon hardly better."""


@dataclass(frozen=True)
class JobShop(Distribution):
    """Every job visits every machine once, in a random order (Taillard, 1993). Is there a schedule that ends by the
    time that the best of some random dispatching orders needs?"""

    jobs: Size = (4, 7)
    machines: Size = (3, 5)
    longest: int = 9
    """Tasks last 1 … this."""
    slack: float = 1.0
    """The bound, over that of dispatching; below 1 there may be no schedule."""
    minimize: bool = False
    """The end is an objective instead, below twice that bound."""

    def __post_init__(self) -> None:
        check(Kind.SIZE, 1, 100, jobs=self.jobs, machines=self.machines)
        check(Kind.WHOLE, 1, 1000, longest=self.longest)
        check(Kind.NUMBER, 0, 100, slack=self.slack)

    def draw(self, rng: np.random.Generator) -> Problem:
        jobs, machines = draw_size(rng, self.jobs), draw_size(rng, self.machines)
        duration = rng.integers(1, self.longest, size=(jobs, machines), endpoint=True)
        machine = rng.permuted(np.tile(np.arange(machines), (jobs, 1)), axis=1)
        dispatched = min(dispatch(rng, duration, machine) for _ in range(TRIES))
        shortest = int(max(duration.sum(axis=1).max(), np.bincount(machine.flat, weights=duration.flat).max()))
        end = 2 * dispatched if self.minimize else max(shortest, round(self.slack * dispatched))
        problem = Problem(f"job-shop of {jobs} jobs on {machines} machines, {end} units of time")
        before = np.cumsum(duration, axis=1) - duration
        after = duration.sum(axis=1, keepdims=True) - before
        starts = [
            [problem.add_variable(range(int(before[j, k]), int(end - after[j, k]) + 1)) for k in range(machines)]
            for j in range(jobs)
        ]
        for j in range(jobs):
            for k in range(machines - 1):
                problem.add(starts[j][k] + int(duration[j, k]) <= starts[j][k + 1], hard=self.minimize)
        for m in range(machines):
            tasks = [(starts[j][k], int(duration[j, k])) for j, k in np.argwhere(machine == m)]
            problem.add_no_overlap([start for start, _ in tasks], [length for _, length in tasks], hard=self.minimize)
        if self.minimize:
            problem.minimize(maximum([row[-1] + int(d[-1]) for row, d in zip(starts, duration, strict=True)]))
        return problem


def dispatch(rng: np.random.Generator, duration: IntArray, machine: IntArray) -> int:
    """When all is done if tasks start as early as they can, in a random order that keeps those of the jobs."""
    jobs, machines = duration.shape
    job_free, machine_free, done = [0] * jobs, [0] * machines, [0] * jobs
    for j in rng.permutation(np.repeat(np.arange(jobs), machines)).tolist():
        k = done[j]
        m = int(machine[j, k])
        job_free[j] = machine_free[m] = max(job_free[j], machine_free[m]) + int(duration[j, k])
        done[j] += 1
    return max(job_free)
