"""Baselines: the paper's deterministic columns are reproduced, and every system's claim survives the recount."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from anycsp import Problem, read
from anycsp.bench.baseline import Baseline, Limit
from anycsp.bench.baselines import BASELINES, run_csp, solver
from anycsp.bench.baselines.xcsp3 import to_xcsp3
from anycsp.bench.report.quoted import paper_instances
from anycsp.checker.check import recount
from anycsp.checker.problem import from_description
from anycsp.distributions import draw, get
from anycsp.distributions.graphs import erdos_renyi
from anycsp.distributions.sat import random_formula
from anycsp.errors import AnyCSPError
from anycsp.model.builders import cut_problem
from anycsp.model.description import describe
from anycsp.model.structure import coloring_graph, cut_graph, formula, is_decision


def small_cut() -> Problem:
    return cut_problem(12, erdos_renyi(np.random.default_rng(3), 12, 0.5))


def signed_cut() -> Problem:
    """Edges of both signs and several weights, as the Gset files with ±1 are read."""
    rng = np.random.default_rng(5)
    edges = erdos_renyi(rng, 10, 0.6)
    weights = rng.integers(1, 4, len(edges)).astype(float)
    problem = Problem("signed")
    problem.add_variables(10, (0, 1))
    apart = rng.random(len(edges)) < 0.6
    problem.add_not_equal(edges[apart], weight=weights[apart])
    problem.add_tables(edges[~apart], np.array([[0, 0], [1, 1]]), weight=weights[~apart])
    return problem


def wheel() -> Problem:
    """Nine rim vertices and a hub: four colours are needed, and offered."""
    problem = Problem("wheel")
    problem.add_variables(10, range(1, 5))
    rim = np.arange(9)
    problem.add_not_equal(np.concatenate([np.stack([rim, (rim + 1) % 9], 1), np.stack([rim, np.full(9, 9)], 1)]))
    return problem


PROBLEMS = {
    "cut": small_cut(),
    "signed cut": signed_cut(),
    "colouring": wheel(),
    "3-SAT": random_formula(np.random.default_rng(1), 20, 70, 3),
    "Max-2-SAT": random_formula(np.random.default_rng(2), 10, 60, 2),
    "Model RB": draw(get("forced-rb", n=8, domain=4, constraints=12, forbidden=5), 0, 0),
}


def optimum(problem: Problem) -> float:
    """By enumeration."""
    sizes = problem.domains.sizes.tolist()
    return min(problem.violation_of_positions(np.array(p)).weight for p in product(*(range(s) for s in sizes)))


@pytest.fixture(autouse=True)
def _quick_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_csp, "training_seconds", lambda limit: 1.0)
    monkeypatch.setenv("ANYCSP_CACHE", str(tmp_path))


# A JVM takes seconds to start: one problem is enough for ACE.
PAIRS = [
    (baseline, kind)
    for baseline in BASELINES.values()
    for kind, problem in PROBLEMS.items()
    if baseline.supports(problem) and (baseline.name != "ace" or kind == "colouring")
]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize(("baseline", "kind"), PAIRS, ids=[f"{b.name}, {kind}" for b, kind in PAIRS])
def test_a_claim_is_what_the_checker_recounts(baseline: Baseline, kind: str) -> None:
    problem = PROBLEMS[kind]
    if baseline.unavailable() is not None:
        pytest.skip(f"{baseline.name} {baseline.unavailable()}")
    result = baseline.run(problem, Limit(1.0 if baseline.name != "ace" else 20.0, steps=2000), seed=1)
    assert result.assignment is not None
    count = recount(from_description(describe(problem)), problem.values(result.assignment).tolist())
    assert result.trace[-1].violated_weight == count.violated_weight
    weights = [point.violated_weight for point in result.trace]
    assert weights == sorted(weights, reverse=True)
    if is_decision(problem) and baseline.name in ("ace", "cosoco", "cp-sat", "cadical", "toulbar2", "hybrid-ea"):
        assert count.violated == 0
    if baseline.name in ("rc2", "toulbar2", "cp-sat") and problem.num_variables <= 12 and not is_decision(problem):
        assert count.violated_weight == optimum(problem)


def test_greedy_cut_reproduces_the_papers_column_on_every_unweighted_file(data: Path) -> None:
    with open(data / "gset" / "best_known.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["weights"] == "+1"]
    assert len(rows) == 18
    quoted = paper_instances("gset")
    for row in rows:
        problem = read(data / "gset" / f"{row['graph']}.txt")
        result = solver("greedy-cut").run(problem, Limit(10.0), 0)
        assert problem.objective is not None
        cut = problem.objective.constant - problem.violation_of_positions(result.assignment).weight
        assert int(row["best_known"]) - cut == int(row["paper_greedy_deviation"]) == int(quoted[row["graph"]]["greedy"])


def test_dsatur_and_greedy_colours_are_within_one_of_the_papers_on_nine_tenths_of_the_graphs(data: Path) -> None:
    quoted = paper_instances("coloring")
    with open(data / "col" / "chromatic.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    near = {"dsatur": 0, "greedy-coloring": 0}
    for row in rows:
        problem = read(data / "col" / f"{row['graph']}.col", colors=int(row["chi"]))
        for name, column, seeds in (("dsatur", "dsatur_colors", 1), ("greedy-coloring", "greedy_colors", 9)):
            # Greedy takes a random order, as the paper's program does: its median is what can be compared.
            notes = [solver(name).run(problem, Limit(10.0), seed).note for seed in range(seeds)]
            used = median(int(note.split()[0]) for note in notes)
            near[name] += abs(used - int(quoted[row["graph"]][column])) <= 1
    assert min(near.values()) >= 0.9 * len(rows), near


def test_the_relaxation_bounds_the_cut_and_its_rounding_keeps_the_guarantee() -> None:
    problem = cut_problem(60, erdos_renyi(np.random.default_rng(0), 60, 0.2))
    result = solver("goemans-williamson").run(problem, Limit(5.0), 0)
    assert problem.objective is not None
    bound = float(result.note.split()[-1])
    cut = problem.objective.constant - result.trace[-1].violated_weight
    assert 0.878 * bound <= cut <= bound + 0.1


def test_xcsp3_text_forbids_exactly_what_the_problem_forbids() -> None:
    problem = Problem()
    problem.add_variables(2, (5, 7, 9))
    problem.add_table([0, 1], [[5, 9], [9, 7]], allowed=False)
    text = to_xcsp3(problem)
    assert '<var id="x1"> 0..2 </var>' in text  # positions, not values
    assert "<list> x0 x1 </list> <conflicts> (0,2)(2,1) </conflicts>" in text
    assert "<args> x0 x9 </args>" in to_xcsp3(wheel())


def test_structure_is_recognised_and_nothing_else_is() -> None:
    assert [name for name, p in PROBLEMS.items() if cut_graph(p) is not None] == ["cut", "signed cut"]
    assert [name for name, p in PROBLEMS.items() if formula(p) is not None] == ["3-SAT", "Max-2-SAT"]
    assert [name for name, p in PROBLEMS.items() if coloring_graph(p) is not None] == ["cut", "colouring"]
    graph = cut_graph(PROBLEMS["signed cut"])
    assert graph is not None
    assert (graph.weights < 0).any()


def test_an_unknown_solver_is_named_in_the_error() -> None:
    with pytest.raises(AnyCSPError, match="minisat"):
        solver("minisat")
