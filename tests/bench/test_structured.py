"""The comparison with other solvers: what counts as solved, what as wrong, and that it runs and resumes."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from repository import ROOT

from anycsp.bench.experiments import randcsp

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def structured(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("structured")


@pytest.fixture(scope="module")
def solvers(structured: ModuleType) -> ModuleType:
    return sys.modules["solvers"]


def record(system: str, claim: str = "none", instance: str = "a", **facts: Any) -> dict[str, Any]:
    known = {"instance": instance, "system": system, "seed": 0, "limit": 10.0, "kind": "csp", "sense": 0, "wall": 1.0}
    return known | {"cpu": 1.0, "claim": claim} | facts


def valid(system: str, cost: float, **facts: Any) -> dict[str, Any]:
    facts = {"kind": "cop", "sense": 1, "verdict": "valid", "cost": cost} | facts
    return record(system, facts.pop("claim", "solution"), **facts)


def test_only_confirmed_answers_in_time_count(structured: ModuleType) -> None:
    rows = [
        record("local", "solution", verdict="valid", wall=10.7),
        record("auto", "solution", verdict="valid", wall=10.9),
        record("ace", "solution", verdict="invalid: 2 errors"),
        record("cp-sat"),
    ]
    table = structured.satisfaction(structured.Results(rows))
    assert "someone solves 1" in table
    assert "| local | 1 | 1 | 1 / 1 (100%)" in table
    for system in ("auto", "ace", "cp-sat"):
        assert f"| {system} | 1 | 0 | 0 / 1 (0%)" in table
        assert f"- {system} misses 1: a" in table
    assert "| auto | 1 | 1 | 1 / 1 (100%)" in structured.satisfaction(structured.Results(rows, count_late=True))


@pytest.mark.parametrize(("sense", "best"), [(1, 3.0), (-1, 5.0)])
def test_the_best_objective_follows_the_sense(structured: ModuleType, sense: int, best: float) -> None:
    rows = {name: valid(name, cost, sense=sense) for name, cost in {"local": 3.0, "ace": 5.0, "cp-sat": 4.0}.items()}
    assert structured.best_cost(list(rows.values())) == best
    table = structured.optimisation(structured.Results(list(rows.values())), "cop")
    assert f"**{best:g}**" in table
    assert table.count("1 / 1 (100%)") == 1


def test_proofs_that_an_assignment_disproves_are_wrong(structured: ModuleType) -> None:
    rows = [
        record("local", "solution", verdict="valid", wall=99.0),  # late, and a solution all the same
        record("ace", "unsatisfiable"),
        valid("local", 3.0, instance="b"),
        valid("ace", 4.0, instance="b", claim="optimum"),
        valid("cp-sat", 3.0, instance="b", claim="optimum"),
        record("ace", "solution", instance="c", verdict="invalid: claims 7, is 8"),
    ]
    wrong = {(name, system) for name, system, _ in structured.Results(rows).wrong()}
    assert wrong == {("a", "ace"), ("b", "ace"), ("c", "ace")}


def test_the_last_line_of_a_run_counts_and_torn_lines_do_not(structured: ModuleType, tmp_path: Path) -> None:
    lines = [
        json.dumps(record("local")),
        json.dumps(record("local", "solution", verdict="valid")),
        '{"instance": "a", "sy',
    ]
    (tmp_path / structured.JOURNAL).write_text("\n".join(lines))
    (only,) = structured.load_records(tmp_path).values()
    assert only["claim"] == "solution"


def test_only_runs_that_could_have_done_better_are_repeated(structured: ModuleType) -> None:
    starved = {"wall": 10.0, "cpu": 5.0}
    assert structured.repeated(record("local", **starved), "starved")
    assert structured.repeated(valid("local", 3.0, **starved), "starved")
    assert not structured.repeated(record("local", wall=10.0, cpu=9.0), "starved")
    assert not structured.repeated(record("local", "solution", verdict="valid", **starved), "starved")
    assert not structured.repeated(valid("local", 3.0, claim="optimum", **starved), "starved")


def test_competition_lines_are_read(solvers: ModuleType) -> None:
    problem = solvers.Instance("a", Path("a.xml"), "cop", 1)
    text = "o 7\ns SATISFIABLE\n\nv <instantiation cost='5'>\nv <list> x </list>\nv </instantiation>\nd BOUND 5\n"
    answer = solvers._from_lines(text, problem)
    assert (answer.claim, answer.objective) == ("solution", 5)
    assert answer.text.split() == ["<instantiation", "cost='5'>", "<list>", "x", "</list>", "</instantiation>"]
    assert solvers._from_lines("s UNSATISFIABLE\n", problem).claim == "unsatisfiable"
    assert solvers._from_lines("c Time's up\ns UNKNOWN\n", problem).facts == {"note": "Time's up"}
    assert solvers._from_lines("s SATISFIABLE\nv <instantiation>\n", problem).claim == "none"  # cut off


def test_our_objects_are_read(solvers: ModuleType) -> None:
    said: dict[str, Any] = {"status": "best-effort", "violated": 1, "hard_violated": 0, "assignment": {"x": 1}}
    said["objective"] = {"kind": "cost", "value": 2.5}
    hard = solvers.Instance("a", Path("a.xml"), "csp")
    soft = solvers.Instance("a", Path("a.wcsp"), "wcsp", 1)
    assert solvers._from_json(json.dumps(said), hard).claim == "none"
    assert solvers._from_json(json.dumps(said), soft).objective == 2.5
    assert solvers._from_json(json.dumps(said | {"status": "unsatisfiable"}), hard).claim == "unsatisfiable"
    solution = solvers._from_json(json.dumps(said | {"status": "satisfied", "violated": 0}), hard)
    assert solution.text.split()[1:4] == ["<list>", "x", "</list>"]
    assert solvers._from_json("", hard).claim == "none"


def run(script: str, *arguments: str) -> str:
    if shutil.which("taskset") is None:
        pytest.skip("runs are pinned by taskset")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(BENCHMARKS / script), "--smoke", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.slow
def test_structured_runs_every_solver_and_resumes(structured: ModuleType, tmp_path: Path) -> None:
    if importlib.util.find_spec("pycsp3") is None:  # importing it would make it read the command line
        pytest.skip("XCSP3 needs pycsp3")
    systems = [name for name in ("local", "ace", "cp-sat", "toulbar2") if not structured.SYSTEMS[name].absent()]
    arguments = ["--out", str(tmp_path), "--systems", *systems]
    first = run("structured.py", *arguments)
    journal = tmp_path / structured.JOURNAL
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    kinds = {"csp": None, "cop": 13, "wcsp": 1}
    expected = {(kind, s) for s in systems for kind in kinds if kind in structured.SYSTEMS[s].kinds}
    assert {(r["kind"], r["system"]) for r in records} == expected
    for r in records:
        assert r["claim"] in ("solution", "optimum"), r
        if shutil.which("java") or r["kind"] == "wcsp":
            assert (r["verdict"], r["cost"]) == ("valid", kinds[r["kind"]]), r
    assert "## Wrong answers: 0" in first
    run("structured.py", *arguments)
    assert len(journal.read_text().splitlines()) == len(records)


@pytest.mark.slow
def test_randcsp_solves_an_easy_graph() -> None:
    assert "| 3.32 | 1 / 1 | 100.0% |" in run("randcsp.py")


# Edges of the benchmark's graphs, from its published result tables, by colours and vertices; a column per mean degree.
EDGES = {
    (3, 16): (27, 28, 29, 31, 32, 34, 35, 37, 38, 40),
    (3, 32): (53, 56, 59, 62, 65, 68, 70, 73, 76, 79),
    (3, 64): (106, 112, 118, 124, 129, 135, 141, 147, 152, 158),
    (3, 128): (212, 224, 236, 247, 259, 270, 282, 293, 305, 316),
    (3, 256): (425, 448, 471, 494, 517, 540, 563, 586, 609, 632),
    (3, 1024): (1700, 1792, 1884, 1976, 2068, 2161, 2253, 2345, 2437, 2529),
    (5, 16): (79, 82, 86, 89, 92, 95, 98, 102, 105, 108),
    (5, 32): (158, 165, 171, 178, 184, 190, 197, 203, 210, 216),
    (5, 64): (317, 330, 342, 355, 368, 381, 394, 406, 419, 432),
    (5, 128): (634, 659, 685, 710, 736, 762, 787, 813, 838, 864),
    (5, 256): (1267, 1318, 1370, 1421, 1472, 1523, 1574, 1626, 1677, 1728),
    (5, 1024): (5069, 5274, 5478, 5683, 5888, 6093, 6298, 6502, 6707, 6912),
}


def test_randcsp_draws_the_published_graphs(script: Callable[[str], ModuleType]) -> None:
    """M = round(cN/2) for every N and c that is generated; the draws follow one another after one seed."""
    pytest.importorskip("networkx")
    published = script("randcsp").PUBLISHED
    assert {vertices for _, vertices in EDGES} == {*randcsp.SMALL, randcsp.LARGE}
    for (colors, vertices), sizes in EDGES.items():
        degrees = randcsp.SMALL_DEGREES[colors]
        assert degrees == tuple(published[colors])
        assert set(randcsp.DEGREES[colors]) <= set(degrees)
        assert sizes == tuple(round(Fraction(str(degree)) * vertices / 2) for degree in degrees)
        for degree, size in zip(degrees, sizes, strict=True):
            assert len(next(randcsp.graphs(vertices, degree, 1))) == size, (colors, vertices, degree)
    first, second = (edges.tolist() for edges in randcsp.graphs(64, 3.32, 2))
    assert first != second
    assert first == next(randcsp.graphs(64, 3.32, 1)).tolist()


@pytest.mark.parametrize(("degree", "energy", "colourable"), [(3.5, 82, 319), (4.22, 364, 92)])
def test_randcsp_graphs_have_the_published_energies(degree: float, energy: int, colourable: int) -> None:
    """All 400 graphs of 16 vertices in three colours: the sum of their least numbers of edges in conflict, and how many
    have none, are those of annealing in the benchmark's 3COL-summary.csv (E_mean and ProbSolv, times 400)."""
    pytest.importorskip("networkx")
    energies = [least_conflicts(16, edges.tolist(), 3) for edges in randcsp.graphs(16, degree, 400)]
    assert (sum(energies), energies.count(0)) == (energy, colourable)


def least_conflicts(vertices: int, edges: list[list[int]], colors: int) -> int:
    """By branch and bound, the vertices with most neighbours first."""
    neighbours: list[list[int]] = [[] for _ in range(vertices)]
    for u, v in edges:
        neighbours[u].append(v)
        neighbours[v].append(u)
    order = sorted(range(vertices), key=lambda v: -len(neighbours[v]))
    color = [-1] * vertices
    best = len(edges)

    def extend(placed: int, conflicts: int, used: int) -> None:
        nonlocal best
        if conflicts >= best:
            return
        if placed == vertices:
            best = conflicts
            return
        v = order[placed]
        more = {c: sum(color[u] == c for u in neighbours[v]) for c in range(min(colors, used + 1))}
        for c in sorted(more, key=more.__getitem__):
            color[v] = c
            extend(placed + 1, conflicts + more[c], max(used, c + 1))
        color[v] = -1

    extend(0, 0, 0)
    return best
