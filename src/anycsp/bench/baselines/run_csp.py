"""RUN-CSP (Tönshoff, Ritzert, Wolf & Grohe 2021): a recurrent message network trained, unsupervised, on a relaxation.

Every variable has a state; states of neighbours pass through one linear map and are averaged, normalised and
fed to an LSTM cell, whose output gives the variable's soft value φ. The loss of a step is the mean over ≠-edges
of −log(1 − ⟨φ_u, φ_v⟩), discounted towards the last step. A network serves one number of values, so one is
trained for each: here, on the machine that runs the benchmark, for as long as `training_seconds` says (the
published models took hours on a GPU), and kept in the user's cache.
"""

from __future__ import annotations

from anycsp.bench.baseline import Baseline, BaselineResult, Limit
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph

MOST_VALUES = 9
"""The paper trains a network for every number of colours below ten and leaves out the rest."""
RUNS = 16
"""Where the limit does not say how many."""


class RunCsp(Baseline):
    name = "run-csp"
    requires = ("torch",)

    def supports(self, problem: Problem) -> bool:
        found = coloring_graph(problem)
        return found is not None and found[1] <= MOST_VALUES

    def preparation_seconds(self, limit: Limit) -> float:
        return 4 * training_seconds(limit)  # of the clock, where cores are shared

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        from anycsp.bench.baselines.run_csp_network import search

        found = coloring_graph(problem)
        assert found is not None
        return search(*found, limit, limit.runs or RUNS, seed, training_seconds(limit))


def training_seconds(limit: Limit) -> float:
    """Seconds of the processor: half a minute for short runs, twenty minutes where a run itself may take minutes."""
    return 30.0 if limit.seconds <= 60 else 1200.0
