"""Distributions: Appendix B's parameters, and the same draw from the same seed."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from anycsp import Problem, ProblemError, distributions
from anycsp.distributions.colorable import hidden_coloring, intervals
from anycsp.distributions.graphs import barabasi_albert, erdos_renyi, geometric, greedy_colors

NAMES = ("rb", "forced-rb", "coloring", "colorable", "maxcut", "sat", "maxsat")


def draws(name: str, count: int, **parameters: object) -> list[Problem]:
    distribution = distributions.get(name, **parameters)
    return [distributions.draw(distribution, 7, i) for i in range(count)]


def content(problem: Problem) -> list[dict[str, object]]:
    return [{"domains": problem.domains.sizes.tolist()}, *problem.describe_constraints()]


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_depends_on_seed_and_index_only(name: str) -> None:
    distribution = distributions.get(name)
    third = distributions.draw(distribution, 1, 3)
    distributions.draw(distribution, 1, 4)
    assert content(distributions.draw(distributions.get(name), 1, 3)) == content(third)
    assert content(distributions.draw(distribution, 1, 4)) != content(third)
    assert content(distributions.draw(distribution, 2, 3)) != content(third)


def test_sat_is_uniform_3sat_at_density_4_to_5() -> None:
    problems = draws("sat", 200)
    density = np.array([p.num_constraints / p.num_variables for p in problems])
    assert {p.num_variables for p in problems} == {100}
    assert density.min() >= 4
    assert density.max() <= 5
    assert density.mean() == pytest.approx(4.5, abs=0.1)
    block = problems[0].blocks[0]
    assert (block.arity == 3).all()  # no variable twice in a clause
    signs = np.concatenate([p.blocks[0].forbidden for p in problems])  # type: ignore[attr-defined]
    assert signs.mean() == pytest.approx(0.5, abs=0.01)
    variables = np.bincount(np.concatenate([p.blocks[0].scope for p in problems]), minlength=100)
    assert variables.std() < 3 * math.sqrt(variables.mean())
    assert distributions.get("sat").validation().draw(np.random.default_rng(0)).num_variables == 200


def test_maxsat_mixes_arities_each_at_its_own_density() -> None:
    by_arity: dict[int, list[float]] = {3: [], 4: []}
    for problem in draws("maxsat", 200):
        (arity,) = set(problem.blocks[0].arity.tolist())
        by_arity[arity].append(problem.num_constraints / 100)
    assert 70 < len(by_arity[3]) < 130
    assert min(by_arity[3]) >= 5
    assert max(by_arity[3]) <= 8
    assert min(by_arity[4]) >= 10
    assert max(by_arity[4]) <= 16


def test_large_max_5_sat() -> None:
    (problem,) = draws("maxsat-10k", 1, arity=5)
    assert (problem.num_variables, problem.num_constraints) == (10_000, 300_000)


def test_maxcut_counts_edges_of_erdos_renyi_graphs() -> None:
    problems = draws("maxcut", 200)
    share = np.array([p.num_constraints / math.comb(100, 2) for p in problems])
    assert share.mean() == pytest.approx(0.175, abs=0.02)
    assert 0.04 < share.min() < 0.1
    assert 0.25 < share.max() < 0.32
    assert all(p.objective is not None and p.objective.constant == p.num_constraints for p in problems)
    assert distributions.get("maxcut").validation().draw(np.random.default_rng(0)).num_variables == 500


def test_coloring_asks_for_one_color_less_than_greedy() -> None:
    for problem in draws("coloring", 60):
        graph = nx.empty_graph(50)
        graph.add_edges_from(problem.blocks[0].scope.reshape(-1, 2).tolist())
        greedy = max(nx.greedy_color(graph).values()) + 1
        assert set(problem.domains.sizes) == {min(max(greedy - 1, 3), 10)}
        assert graph.number_of_edges() == problem.num_constraints
    assert distributions.get("coloring").validation().draw(np.random.default_rng(0)).num_variables == 200


def test_a_hidden_coloring_is_one() -> None:
    for seed in range(20):
        color = np.random.default_rng(seed).permutation(60) % 7  # the first thing drawn
        edges = hidden_coloring(np.random.default_rng(seed), 60, 7, 0.5)
        assert (color[edges[:, 0]] != color[edges[:, 1]]).all()
        assert 0.4 < len(edges) / ((60 * 60 - np.bincount(color) @ np.bincount(color)) / 2) < 0.6


def test_intervals_need_as_many_colors_as_overlap() -> None:
    for seed in range(20):
        edges, overlap = intervals(np.random.default_rng(seed), 60, 0.1, lasting=0.05)
        graph = nx.empty_graph(60)
        graph.add_edges_from(edges.tolist())
        assert nx.is_chordal(graph)  # so colours needed = the largest clique
        assert max(map(len, nx.find_cliques(graph))) == overlap


@pytest.mark.parametrize("kind", ["erdos-renyi", "barabasi-albert", "geometric"])
def test_greedy_coloring_equals_networkx(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(12, 120))
        if kind == "erdos-renyi":
            edges = erdos_renyi(rng, n, rng.uniform(0, 0.5))
        elif kind == "barabasi-albert":
            edges = barabasi_albert(rng, n, int(rng.integers(1, 11)))
        else:
            edges = geometric(rng, n, rng.uniform(0.1, 0.4))
        graph = nx.empty_graph(n)
        graph.add_edges_from(edges.tolist())
        assert graph.number_of_edges() == len(edges)
        assert greedy_colors(n, edges) == max(nx.greedy_color(graph).values()) + 1


def test_barabasi_albert_degrees_match_networkx() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = [], []
    for seed in range(60):
        edges = barabasi_albert(rng, 60, 3)
        assert len(edges) == 3 + 3 * 56
        ours.append(np.sort(np.bincount(edges.reshape(-1), minlength=60)))
        graph = nx.barabasi_albert_graph(60, 3, seed=seed)
        theirs.append(np.sort([degree for _, degree in graph.degree]))
    ours_mean, theirs_mean = np.mean(ours, axis=0), np.mean(theirs, axis=0)
    np.testing.assert_allclose(ours_mean, theirs_mean, rtol=0.15, atol=0.3)


def test_model_rb_follows_its_definition() -> None:
    domains = set()
    for problem in draws("rb", 60):
        d, m = int(problem.domains.sizes[0]), problem.num_constraints
        domains.add(d)
        assert problem.num_variables == 30
        assert 30 * math.log2(d) <= m <= 60 * math.log2(d)
        critical = 1 - math.exp(-30 * math.log(d) / m)
        pairs = {len(c["forbidden"]) for c in problem.describe_constraints()}
        assert pairs == {math.floor(0.9 * critical * d * d)}
        assert all(len(set(c["scope"])) == 2 for c in problem.describe_constraints())
    assert domains == {6, 7, 8, 9, 10}


def test_forced_rb_is_satisfiable_and_merged() -> None:
    distribution = distributions.get("forced-rb")
    problem = distributions.draw(distribution, 0, 0)
    scopes = [tuple(c["scope"]) for c in problem.describe_constraints()]
    assert len(set(scopes)) == len(scopes) <= 587
    sizes = [len(c["forbidden"]) for c in problem.describe_constraints()]
    assert min(sizes) == 121
    solution = np.random.default_rng([0, 0]).integers(23, size=50)  # the first thing the distribution draws
    assert problem.violation_of_positions(solution) == (0, 0.0, 0)


def test_mixture_keeps_proportions_and_takes_parameters() -> None:
    parts = [{"name": "maxcut", "n": 20}, {"name": "sat", "n": 30}]
    sizes = [p.num_variables for p in draws("mixture", 200, parts=parts, weights=[3, 1])]
    assert set(sizes) == {20, 30}
    assert 120 < sizes.count(20) < 180


def hooked(rng: np.random.Generator, n: int = 5) -> Problem:
    problem = Problem()
    problem.add_variables(n, range(int(rng.integers(2, 5))))
    return problem


def test_a_users_own_generator() -> None:
    import sys

    name = f"python:{hooked.__module__}:hooked"
    assert hooked.__module__ in sys.modules
    assert distributions.draw(distributions.get(name, n=7), 0, 0).num_variables == 7


@pytest.mark.parametrize(
    ("name", "parameters"), [("nonsense", {}), ("sat", {"sides": 3}), ("python:no.such:thing", {}), ("files:", {})]
)
def test_what_cannot_be_is_a_problem_error(name: str, parameters: dict[str, int]) -> None:
    with pytest.raises(ProblemError, match=name.split(":", maxsplit=1)[0]):
        distributions.get(name, **parameters)


def test_files_splits_are_disjoint_and_fixed(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for i in range(20):
        (tmp_path / f"{i}.cnf").write_text("p cnf 1 1\n1 0\n")
    train = distributions.get(f"files:{tmp_path}")
    held_out = train.validation()
    trained, kept = set(train.paths), set(held_out.paths)  # type: ignore[attr-defined]
    assert len(kept) == 4
    assert not trained & kept
    assert len(trained | kept) == 20
    with pytest.raises(ProblemError, match="at least two"):
        distributions.draw(distributions.get(f"files:{tmp_path}", pattern="*.xml"), 0, 0)
