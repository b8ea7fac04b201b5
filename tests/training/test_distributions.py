"""Distributions: Appendix B's parameters, and the same draw from the same seed."""

from __future__ import annotations

import gzip
import lzma
import math
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from anycsp import FormatError, Problem, ProblemError, distributions, solve
from anycsp.distributions.colorable import hidden_coloring, intervals
from anycsp.distributions.graphs import barabasi_albert, erdos_renyi, geometric, greedy_colors
from anycsp.distributions.magic import constructed_square
from anycsp.distributions.permutations import placed_queens, zigzag
from anycsp.distributions.quasigroup import latin_square
from anycsp.distributions.sudoku import filled_square
from anycsp.formats import write
from anycsp.graph import compile_graph
from anycsp.model.builders import coloring_problem

STRUCTURED: dict[str, dict[str, object]] = {
    "quasigroup": {"order": [5, 9]},
    "sudoku": {},
    "magic-square": {"order": [3, 5]},
    "magic-sequence": {"n": [8, 16]},
    "equations": {"n": [6, 15]},
    "knapsack": {"items": [10, 18], "dimensions": 2},
    "timetable": {"classes": [2, 4], "hours": [8, 12]},
    "jobshop": {"jobs": [3, 4], "machines": 3},
    "queens": {"n": [6, 16]},
    "all-interval": {"n": [6, 12]},
}
"""Distributions of draws that have a solution, with parameters that make them small."""
NAMES = ("rb", "forced-rb", "coloring", "colorable", "maxcut", "sat", "maxsat", "parity", *STRUCTURED)


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


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_draws_have_a_solution(name: str) -> None:
    for problem in draws(name, 5, **STRUCTURED[name]):
        assert solve(problem, search="local", time_limit=60, threads=1).status == "satisfied"


def test_structured_draws_ask_for_no_more_than_their_own_solution() -> None:
    """Seven of a kind, larger than the search above can be trusted with."""
    rng = np.random.default_rng(5)
    for _ in range(7):
        square = latin_square(rng, 12)
        assert (np.sort(square, axis=0) == np.arange(12)[:, None]).all()
        assert (np.sort(square, axis=1) == np.arange(12)).all()
        boxes = filled_square(rng, 3).reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
        assert (np.sort(boxes, axis=1) == np.arange(1, 10)).all()
    for n in range(4, 40):
        queens, rows = placed_queens(rng, n), np.arange(n)
        assert len(set(queens)) == len(set(queens + rows)) == len(set(queens - rows)) == n
        assert len(set(np.abs(np.diff(zigzag(rng, n))))) == n - 1
    for n in range(3, 20):
        square = constructed_square(n)
        lines = [*square, *square.T, np.diag(square), np.diag(square[::-1])]
        assert {int(line.sum()) for line in lines} == {n * (n * n + 1) // 2}
        assert sorted(square.flat) == list(range(1, n * n + 1))


@pytest.mark.parametrize("name", ["knapsack", "jobshop"])
def test_what_is_asked_for_may_be_an_objective(name: str) -> None:
    wanted = {"knapsack": {"maximize": True}, "jobshop": {"minimize": True}}[name]
    (problem,) = draws(name, 1, **STRUCTURED[name], **wanted)
    result = solve(problem, steps=20_000, threads=1)
    assert result.status in ("satisfied", "optimal")
    assert result.objective is not None


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
    name = f"python:{hooked.__module__}:hooked"
    assert hooked.__module__ in sys.modules
    assert distributions.draw(distributions.get(name, n=7), 0, 0).num_variables == 7


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a console script: not on the path of modules, which a hook may change."""
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(Path.cwd()))])
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.endswith(("_hook", "_of_user", ".py"))]:
        del sys.modules[name]


HOOK = """
from anycsp import Problem
from sizes_of_hook import SIZE

def draw(rng, n=SIZE):
    problem = Problem()
    problem.add_variables(n, range(2))
    return problem

def nothing(rng):
    pass

def divides(rng):
    return 1 // 0

def unheard_of(rng):
    Problem().add_variables(3, [])

number = 3
"""


@pytest.mark.parametrize("place", ["hook_of_user", "folder/hook_of_user.py", "{tmp}/folder/hook_of_user.py"])
def test_a_hook_is_found_in_the_current_folder_and_by_its_path(user_folder: Path, place: str) -> None:
    folder = user_folder / "folder" if place.endswith(".py") else user_folder
    folder.mkdir(exist_ok=True)
    (folder / "hook_of_user.py").write_text(HOOK)
    (folder / "sizes_of_hook.py").write_text("SIZE = 4")
    place = place.format(tmp=user_folder)
    assert distributions.draw(distributions.get(f"python:{place}:draw"), 0, 0).num_variables == 4
    assert distributions.draw(distributions.get(f"python:{place}:draw", n=2), 0, 0).num_variables == 2


@pytest.mark.parametrize(
    ("target", "parameters", "said"),
    [
        ("wrong_hook", {}, ["names no function", "python:wrong_hook:FUNCTION"]),
        ("wrong_hook:", {}, ["names no function", "python:wrong_hook:FUNCTION"]),
        ("wrong_hook:drwa", {}, ["no function 'drwa'"]),
        ("wrong_hook:number", {}, ["no function 'number'"]),
        ("wrong_hook:draw", {"m": 2}, [r"draw\(rng, m\)", "'m'"]),
        ("no_such_module:draw", {}, ["'no_such_module'", "current folder"]),
        ("no_such_file.py:draw", {}, ["no_such_file.py does not exist"]),
        ("broken_hook:draw", {}, ["broken_hook raised ModuleNotFoundError", "'no_such_module'", r"broken_hook.py:2\)"]),
        ("broken_hook.py:draw", {}, ["ModuleNotFoundError", "'no_such_module'", r"broken_hook.py:2\)"]),
        ("misspelt_hook:draw", {}, ["SyntaxError", "misspelt_hook.py, line 1"]),
        ("wrong_hook:nothing", {}, ["wrong_hook:nothing returned NoneType, not a Problem"]),
        ("wrong_hook:divides", {}, ["wrong_hook:divides raised ZeroDivisionError", r"wrong_hook.py:14\)"]),
        ("wrong_hook:unheard_of", {}, ["wrong_hook:unheard_of raised ProblemError", r"wrong_hook.py:17\)"]),
    ],
)
def test_a_wrong_hook_is_told_what_is_wrong_and_where(
    user_folder: Path, target: str, parameters: dict[str, int], said: list[str]
) -> None:
    (user_folder / "wrong_hook.py").write_text(HOOK)
    (user_folder / "sizes_of_hook.py").write_text("SIZE = 4")
    (user_folder / "broken_hook.py").write_text("\nimport no_such_module\n")
    (user_folder / "misspelt_hook.py").write_text("def draw(rng:\n")
    with pytest.raises(ProblemError) as raised:
        distributions.draw(distributions.get(f"python:{target}", **parameters), 0, 0)
    for pattern in said:
        assert re.search(pattern, str(raised.value)), raised.value


@pytest.mark.parametrize(
    ("name", "parameters"), [("nonsense", {}), ("sat", {"sides": 3}), ("python:no.such:thing", {}), ("files:", {})]
)
def test_what_cannot_be_is_a_problem_error(name: str, parameters: dict[str, int]) -> None:
    with pytest.raises(ProblemError, match=name.split(":", maxsplit=1)[0]):
        distributions.get(name, **parameters)


WRONG = {
    "sat": [
        {"n": 1}, {"n": 0}, {"n": -5}, {"n": "abc"}, {"n": 50.0}, {"n": True}, {"n": None}, {"n": [50, 2]},
        {"n": [2, 50]}, {"n": [50]}, {"n": [3, "x"]}, {"validation_n": 2}, {"arity": "3"}, {"arity": []},
        {"arity": [0]},
        {"density": "4.2"}, {"density": -1}, {"density": [4, 5]}, {"density": [[5, 4]]}, {"density": [[-1, 4]]},
        {"density": [[4, math.inf]]}, {"density": [[4, math.nan]]},
    ],
    "maxsat": [{"n": 3}, {"density": [[5, 8]]}],
    "maxsat-10k": [{"arity": 6}, {"arity": [3]}],
    "maxcut": [{"n": 1}, {"p": "0.1"}, {"p": 1.1},
               {"p": [0.1, 1.1]}, {"p": [0.3, 0.1]}, {"degree": [-1, 4]}, {"validation_n": 1}],
    "coloring": [{"n": 10}, {"validation_n": 10}, {"attachment": [0, 3]}, {"colors": 0}, {"colors": [0, 3]},
                 {"radius": [-0.1, 0.2]}, {"p": "abc"}],
    "colorable": [{"n": 1}, {"validation_n": 0}, {"colors": [0, 4]}, {"tightness": -1.0}, {"lasting": 2}],
    "rb": [{"n": 1}, {"n": [1, 30]}, {"tightness": -0.5}, {"tightness": "abc"}],
    "forced-rb": [{"n": 1}, {"n": [20, 30]}, {"domain": 1}, {"constraints": 0}, {"forbidden": 529}],
    "mixture": [{"parts": "sat"}, {"parts": []}, {"parts": [3]}, {"parts": [{"n": 20}]}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), [(name, wrong) for name, all in WRONG.items() for wrong in all])
def test_a_wrong_parameter_is_named_with_what_is_allowed(name: str, parameters: dict[str, object]) -> None:
    ((parameter, value),) = parameters.items()
    value = value[0] if isinstance(value, list) and parameter in ("arity", "density") and value else value
    pattern = f"distribution '{name}': {parameter} = .*{re.escape(repr(value))}.*: expected .*"
    with pytest.raises(ProblemError, match=pattern) as raised:
        distributions.get(name, **parameters)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sat", {"n": 3}), ("sat", {"n": [3, 4], "density": [[0, 0]]}), ("maxsat", {"n": 4}), ("maxcut", {"n": 2}),
        ("maxcut", {"n": 2, "degree": [0, 9]}), ("coloring", {"n": 11}), ("coloring", {"n": 2, "attachment": [1, 1]}),
        ("colorable", {"n": 2, "colors": [1, 1]}), ("rb", {"n": 2}), ("rb", {"n": 2, "tightness": 3}),
        ("forced-rb", {"n": 2, "domain": 2, "constraints": 1, "forbidden": 3}),
        ("forced-rb", {"n": 2, "domain": 2, "constraints": 1, "forbidden": 0}),
    ],
)  # fmt: skip
def test_the_smallest_parameters_allowed_can_be_drawn(name: str, parameters: dict[str, object]) -> None:
    assert all(compile_graph(problem).num_values > 0 for problem in draws(name, 20, **parameters))


def test_an_unknown_parameter_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    for name in ("sat", "maxsat"):
        with pytest.raises(
            ProblemError, match=f"'{name}': unknown .* 'foo'; known are n, arity, density, validation_n"
        ):
            distributions.get(name, foo=1)
    with pytest.raises(ProblemError, match="unknown parameter 'name'"):
        distributions.get("sat", **{"name": "mine"})
    with pytest.raises(ProblemError, match="known are held_out, split, pattern, colors"):
        distributions.get(f"files:{tmp_path}", foo=1)
    with pytest.raises(ProblemError, match=r"'mixture': parts = .*: expected a list of names or of tables"):
        distributions.get("mixture")
    with pytest.raises(ProblemError, match="'mixture': distribution 'sat': n = 1: expected"):
        distributions.get("mixture", parts=["maxcut", {"name": "sat", "n": 1}])
    for weights in ([1], [0, 0], [1, -1], "ab"):
        with pytest.raises(ProblemError, match="'mixture': weights = "):
            distributions.get("mixture", parts=["maxcut", "sat"], weights=weights)


CNF = "p cnf 1 1\n1 0\n"


def test_files_splits_are_disjoint_and_fixed(tmp_path: Path) -> None:
    for i in range(20):
        (tmp_path / f"{i}.cnf").write_text(CNF)
    train = distributions.get(f"files:{tmp_path}")
    held_out = train.validation()
    trained, kept = set(train.paths), set(held_out.paths)  # type: ignore[attr-defined]
    assert {path.stem for path in kept} == {"0", "1", "8", "16"}
    assert not trained & kept
    assert len(trained | kept) == 20
    with pytest.raises(ProblemError, match="at least two"):
        distributions.get(f"files:{tmp_path}", pattern="*.xml")


def test_files_of_unknown_format_are_left_out_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.cnf").write_text(CNF)
    (tmp_path / "b").write_text(CNF)  # known by content
    (tmp_path / "c.cnf.gz").write_bytes(gzip.compress(CNF.encode()))
    (tmp_path / "d").write_bytes(lzma.compress(CNF.encode()))
    (tmp_path / "subfolder").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distributions.get(f"files:{tmp_path}")
    (tmp_path / "README").write_text("Instances of mine.\n")
    (tmp_path / "table.csv").write_text("name,size\na,1\n")
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)))
    (tmp_path / "damaged").write_bytes(lzma.compress(CNF.encode())[:8])
    (tmp_path / "empty").touch()
    with pytest.warns(UserWarning, match="5 of 9 files left out .* first README$") as said:
        distribution = distributions.get(f"files:{tmp_path}", split="all")
    assert len(said) == 1
    assert [path.name for path in distribution.paths] == ["a.cnf", "b", "c.cnf.gz", "d"]  # type: ignore[attr-defined]
    assert {problem.num_constraints for problem in distribution.sample(0, 9)} == {1}
    (tmp_path / "b").unlink()
    (tmp_path / "c.cnf.gz").unlink()
    (tmp_path / "d").unlink()
    with (
        pytest.warns(UserWarning, match="5 of 6"),
        pytest.raises(ProblemError, match=r"'\*': 1; training needs at least two"),
    ):
        distributions.get(f"files:{tmp_path}")


def test_a_folder_that_cannot_be_used_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    for name in ("a.cnf", "b.cnf"):
        (tmp_path / "deep" / "deeper" / name).write_text(CNF)
    with pytest.raises(ProblemError, match="missing does not exist"):
        distributions.get(f"files:{tmp_path}/missing")
    with pytest.raises(ProblemError, match="is a file, not a folder"):
        distributions.get(f"files:{tmp_path}/deep/deeper/a.cnf")
    with pytest.raises(ProblemError, match="only subfolders, which are not descended into"):
        distributions.get(f"files:{tmp_path}/deep")
    assert distributions.draw(distributions.get(f"files:{tmp_path}/deep", pattern="**/*"), 0, 0).num_variables == 1
    for parameters in ({"held_out": 2}, {"split": "test"}, {"colors": 0}, {"pattern": ""}, {"pattern": 3}):
        with pytest.raises(ProblemError, match=f"{next(iter(parameters))} = "):
            distributions.get(f"files:{tmp_path}/deep/deeper", **parameters)


def test_an_unreadable_file_is_named_when_it_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "a.cnf").write_text("p cnf 1 1\n1 x 0\n")
    distribution = distributions.get(f"files:{tmp_path}", split="all")
    with pytest.raises(FormatError, match=r"a\.cnf:2: ") as raised:
        distributions.draw(distribution, 0, 0)
    assert raised.value.line == 2
    (tmp_path / "b").write_text(CNF)
    distribution = distributions.get(f"files:{tmp_path}", split="all", pattern="b")
    (tmp_path / "b").write_text("something else by now\n")
    with pytest.raises(FormatError, match="b: of unknown format") as raised:
        distributions.draw(distribution, 0, 0)
    assert "--format" not in str(raised.value)


def test_graphs_in_files_get_a_number_of_colors_worth_asking_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dense, clique = erdos_renyi(rng, 40, 0.7), np.argwhere(np.triu(np.ones((12, 12)), 1))
    cycle = np.array([[i, (i + 1) % 9] for i in range(9)])
    wanted = {"dense": greedy_colors(40, dense) - 1, "clique": 12, "cycle": 3}
    assert wanted["dense"] > 10
    for name, n, edges in (("dense", 40, dense), ("clique", 12, clique), ("cycle", 9, cycle)):
        write(coloring_problem(n, edges, 2), tmp_path / f"{name}.col")
    problems = distributions.get(f"files:{tmp_path}", split="all").sample(0, 3)
    assert {problem.name: int(problem.domains.sizes[0]) for problem in problems} == wanted
    problems = distributions.get(f"files:{tmp_path}", split="all", colors=5).sample(0, 3)
    assert {int(problem.domains.sizes[0]) for problem in problems} == {5}
