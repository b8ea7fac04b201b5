"""Readers and writers: every benchmark file with its published counts, tolerated oddities, lossless round trips."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_problems import random_problem

from anycsp import Problem
from anycsp.constraints.table import TableBlock
from anycsp.errors import ConversionError
from anycsp.formats import FORMATS, detect, read, read_text, to_text, write
from anycsp.formats.files import text_source
from anycsp.model.coloring import dsatur, large_clique
from anycsp.model.objective import Objective


def same(a: Problem, b: Problem) -> bool:
    """Equal in all that a file keeps: names, domains, constraints in order, objective."""
    domains = [[(p.domain(x).values.tolist(), p.domain(x).labels) for x in range(p.num_variables)] for p in (a, b)]
    return (
        list(a.names) == list(b.names)
        and domains[0] == domains[1]
        and a.objective == b.objective
        and list(a.describe_constraints()) == list(b.describe_constraints())
    )


# ── the benchmark files ──────────────────────────────────────────────────────────────────────────


def test_every_cnf_file_has_the_counts_of_its_header(data: Path) -> None:
    files = sorted(data.glob("**/*.cnf"))
    assert len(files) >= 200
    for path in files:
        header = next(line for line in path.read_text("latin-1").splitlines() if line.startswith("p")).split()
        problem = read(path)
        assert (problem.num_variables, problem.num_constraints) == (int(header[2]), int(header[3])), path
        assert problem.comments == [], path


@pytest.mark.parametrize(
    ("folder", "variables", "clauses"), [("uf50", 50, 218), ("uf100", 100, 430), ("uf250", 250, 1065)]
)
def test_satlib_sets_have_their_published_sizes(data: Path, folder: str, variables: int, clauses: int) -> None:
    files = sorted((data / "satlib" / folder).glob("*.cnf"))
    assert len(files) == 30
    for path in files:
        problem = read(path)
        assert (problem.num_variables, problem.num_constraints) == (variables, clauses)
        assert all((block.arity == 3).all() for block in problem.blocks)


LISTED_TWICE_IN_THE_PAPER = {"queen10_10", "queen12_12", "queen16_16"}
"""The paper prints the distinct edges of every graph but these, whose header, and table, count each edge twice."""


def test_every_col_file_has_the_counts_of_the_paper(data: Path) -> None:
    with open(data / "col" / "chromatic.csv") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 50
    for row in rows:
        problem = read(data / "col" / f"{row['graph']}.col", colors=int(row["chi"]))
        printed = int(row["edges"]) // (2 if row["graph"] in LISTED_TWICE_IN_THE_PAPER else 1)
        assert (problem.num_variables, problem.num_constraints) == (int(row["vertices"]), printed), row["graph"]
        scopes = np.sort(np.concatenate([block.scope.reshape(-1, 2) for block in problem.blocks]), axis=1)
        assert len(np.unique(scopes, axis=0)) == printed
        assert (scopes[:, 0] < scopes[:, 1]).all()


def test_every_gset_file_has_the_counts_and_signs_of_its_table(data: Path) -> None:
    with open(data / "gset" / "best_known.csv") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 25
    for row in rows:
        problem = read(data / "gset" / f"{row['graph']}.txt")
        assert (problem.num_variables, problem.num_constraints) == (int(row["vertices"]), int(row["edges"])), row[
            "graph"
        ]
        (block,) = problem.blocks
        assert isinstance(block, TableBlock)
        negative = int(np.array([relation.allowed for relation in block.relations])[block.relation].sum())
        assert (negative > 0) == (row["weights"] == "+-1")
        assert (block.terms.weight == 1).all()
        assert problem.objective == Objective("cut", float(len(block) - negative))


def test_clique_bounds_and_greedy_colourings_enclose_the_chromatic_number(data: Path) -> None:
    with open(data / "col" / "chromatic.csv") as table:
        rows = list(csv.DictReader(table))[::5]
    for row in rows:
        problem = read(data / "col" / f"{row['graph']}.col", colors=1)
        edges = problem.blocks[0].scope.reshape(-1, 2).tolist()
        clique = large_clique(problem.num_variables, edges)
        present = {frozenset(edge) for edge in edges}
        assert all(frozenset((u, v)) in present for u in clique for v in clique if u < v)
        colors = dsatur(problem.num_variables, edges)
        assert all(colors[u] != colors[v] for u, v in edges)
        assert len(clique) <= int(row["chi"]) <= max(colors) + 1


# ── DIMACS cnf ───────────────────────────────────────────────────────────────────────────────────

CLAUSES = "1 -2 0\n2 3\n-1 0\n-3 0\n"


def clauses(problem: Problem) -> list[list[int]]:
    """Clauses as sets of literals, from the plain descriptions."""
    return [
        sorted((x + 1) * (-1 if value else 1) for x, value in zip(c["scope"], c["forbidden"], strict=True))
        for c in problem.describe_constraints()
    ]


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("p cnf 3 3\n" + CLAUSES, 0),
        ("c hello\nc p cnf 9 9\n\np cnf 3 3 \n" + CLAUSES, 0),
        ("p cnf 3 3\n" + CLAUSES + "%\n0\n\n", 0),
        (("p cnf 3 3\n" + CLAUSES + "%\n0\n").replace("\n", "\r\n"), 0),
        ("p cnf 3 3\n1 -2 0\nc in between\n2 3 -1 0 -3 0", 0),
        ("\ufeffp cnf 3 3\n" + CLAUSES, 0),
        ("p cnf 3 4\n" + CLAUSES, 1),
        ("p cnf 3 3\n" + CLAUSES.rstrip().removesuffix("0"), 1),
        ("p cnf\n" + CLAUSES, 1),
        (CLAUSES, 1),
    ],
)
def test_cnf_oddities_are_tolerated_and_wrong_counts_warned_of(text: str, warnings: int) -> None:
    problem = read_text(text, format="cnf")
    assert clauses(problem) == [[-2, 1], [-1, 2, 3], [-3]]
    assert list(problem.names) == ["1", "2", "3"]
    assert len(problem.comments) == warnings


def test_cnf_empty_tautological_and_repeated_literals() -> None:
    problem = read_text("p cnf 2 4\n0\n1 -1 2 0\n2 2 0\n2 0\n")
    assert problem.num_constraints == 4
    assert problem.violation({"1": 0, "2": 0}).violated == 3
    assert problem.violation({"1": 0, "2": 1}).violated == 1


def test_unused_variables_stay() -> None:
    assert read_text("p cnf 5 1\n1 0\n").num_variables == 5
    assert read_text("p edge 5 1\ne 1 2\n", colors=2).num_variables == 5
    assert read_text("5 1\n1 2 3\n").num_variables == 5


def test_a_formula_of_300000_clauses_is_read_in_well_under_a_second() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 10_001, (300_000, 5)) * rng.choice([-1, 1], (300_000, 5))
    text = "p cnf 10000 300000\n" + "\n".join(" ".join(map(str, row)) + " 0" for row in rows.tolist())
    began = time.process_time()
    problem = read_text(text)
    assert problem.num_constraints == 300_000
    assert time.process_time() - began < 1.5  # measured 0.4 s; the slack is for busy machines


# ── graphs ───────────────────────────────────────────────────────────────────────────────────────


def test_col_edges_are_made_distinct_and_loops_dropped() -> None:
    problem = read_text("c x\np edge 4 5\nn 1 2\ne 1 2\ne 2 1\ne 3 3\ne 2 3\ne 1 2\n", colors=3)
    assert [c["scope"] for c in problem.describe_constraints()] == [[0, 1], [1, 2]]
    assert problem.comments == ["dropped 1 self-loops", "dropped 2 repeated edges"]
    assert problem.domain("4").values.tolist() == [1, 2, 3]


def test_col_without_colours_starts_from_a_clique_and_says_so() -> None:
    problem = read_text("p edge 4 4\ne 1 2\ne 2 3\ne 1 3\ne 3 4\n")
    assert len(problem.domain("1")) == 3
    assert "largest clique" in problem.comments[0]


@given(st.integers(0, 10_000))
def test_the_cut_is_the_constant_minus_the_violated_weight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 8)), int(rng.integers(0, 12))
    rows = [
        (int(u), int(v), int(w))
        for u, v, w in zip(*rng.integers(1, n + 1, (2, m)), rng.integers(-3, 4, m), strict=True)
    ]
    problem = read_text(f"{n} {m}\n" + "".join(f"{u} {v} {w}\n" for u, v, w in rows), format="rudy")
    side = rng.integers(0, 2, n)
    cut = sum(w for u, v, w in rows if side[u - 1] != side[v - 1])
    assert problem.objective is not None
    assert problem.objective.value(problem.violation(side).weight, side) == cut
    assert problem.num_constraints == sum(u != v and w != 0 for u, v, w in rows)


def test_matrix_market_symmetric_general_and_pattern_agree() -> None:
    banner = "%%MatrixMarket matrix coordinate"
    symmetric = read_text(f"{banner} integer symmetric\n% x\n3 3 3\n2 1 -2\n3 2 5\n1 1 9\n")
    general = read_text(f"{banner} real general\n3 3 4\n2 1 -2\n1 2 -2\n3 2 5.0\n2 3 5\n")
    assert same(symmetric, general)
    assert symmetric.comments == ["dropped 1 self-loops: they are never cut"]
    pattern = read_text(f"{banner} pattern symmetric\n3 3 2\n2 1\n3 2\n")
    assert pattern.objective == Objective("cut", 2.0)


def test_rudy_weights_need_not_be_integers_or_given() -> None:
    problem = read_text("3 2\n1 2 0.5\n2 3\n", format="rudy")
    assert [c.get("weight", 1) for c in problem.describe_constraints()] == [0.5, 1]


# ── recognising formats, compression ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "p cnf 1 1\n1 0\n", "cnf"),
        ("a.cnf", "1 0\n", "cnf"),
        ("a.col", "p cnf 1 1\n1 0\n", "cnf"),
        ("a", "c x\np col 2 1\ne 1 2\n", "col"),
        ("a.txt", "2 1\n1 2 1\n", "rudy"),
        ("a.txt", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n", "mtx"),
        ("a.txt", '{"format": "anycsp", "variables": []}', "json"),
        ("a.json.gz", '{"variables": []}', "json"),
        ("a.CNF.XZ", "1 0\n", "cnf"),
    ],
)
def test_formats_are_recognised(name: str, text: str, expected: str) -> None:
    assert detect(text_source(text.encode(), name)).name == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize(("name", "text"), [
    ("a.cnf", "c a comment\np cnf 2 2\n1 2 0\n-1 2 0\n"),
    ("a.wcnf", "c a comment\nh 1 2 0\n3 -1 0\n"),
    ("a.col", "c a comment\np edge 3 2\ne 1 2\ne 2 3\n"),
    ("a.opb", "* a comment\n+1 x1 +1 x2 >= 1 ;\n"),
])  # fmt: skip
def test_lines_may_end_as_on_any_system(tmp_path: Path, name: str, text: str, end: str) -> None:
    """Where a lone carriage return is no end, a comment at the top is all of a file, and nothing is left of it."""
    (tmp_path / name).write_bytes(text.replace("\n", end).encode())
    options = {"colors": 2} if name == "a.col" else {}
    assert read(tmp_path / name, **options).num_constraints == (1 if name == "a.opb" else 2)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".lzma", lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE)),
    ],
)
def test_compressed_files_read_and_write_transparently(tmp_path: Path, suffix: str, compress: object) -> None:
    path = tmp_path / f"x.cnf{suffix}"
    path.write_bytes(compress(b"p cnf 3 3\n" + CLAUSES.encode()))  # type: ignore[operator]
    problem = read(path)
    assert problem.name == "x"
    assert clauses(problem) == [[-2, 1], [-1, 2, 3], [-3]]
    write(problem, tmp_path / f"y.json{suffix}")
    assert same(read(tmp_path / f"y.json{suffix}"), problem)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


# ── round trips ──────────────────────────────────────────────────────────────────────────────────


def decorated(seed: int) -> Problem:
    """A random problem of every family with labels, odd names, fractional weights, hard flags and an objective."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, weighted=bool(rng.integers(2)))
    labelled = Problem()
    names = [f"{'né w' if rng.integers(2) else 'x'}{i}" for i in range(3)]
    labelled.add_variables(3, ["red", "two words", 'quo"te'], names=names)
    labelled.add_variable({"low": -5, "high": 5}, "level")
    labelled.add_table(["level", names[0]], [["low", "red"], [5, 1]], allowed=False, weight=0.1 + rng.random())
    labelled.add_not_equal([(names[0], names[1]), (names[1], names[2])])
    labelled.add_linear(["level", names[2]], [2, -1], ">", 1, hard=True)
    labelled.add_not_equal([(names[0], names[2])], weight=2.5)
    labelled.objective = Objective("cut", 1.25)
    return labelled if rng.integers(4) == 0 else problem


@given(st.integers(0, 100_000))
def test_json_round_trips_without_loss(seed: int) -> None:
    problem = decorated(seed)
    text = to_text(problem, "json")
    again = read_text(text)
    assert same(problem, again)
    assert to_text(again, "json") == text


def test_json_keeps_the_order_of_constraints_and_shares_relations() -> None:
    problem = Problem()
    x = problem.add_variables(40, range(10))
    for i in range(39):
        problem.add_not_equal([(x[i], x[i + 1])])
        problem.add_all_different(x[i : i + 2])
    text = to_text(problem, "json")
    assert text.count('"forbidden"') == 1
    assert same(problem, read_text(text))


@given(st.lists(st.lists(st.integers(-6, 6).filter(bool), max_size=4), max_size=8))
def test_cnf_round_trips(rows: list[list[int]]) -> None:
    text = f"p cnf 6 {len(rows)}\n" + "".join(" ".join(map(str, [*row, 0])) + "\n" for row in rows)
    problem = read_text(text)
    assert same(problem, read_text(to_text(problem, "cnf")))
    assert same(problem, read_text(to_text(read_text(to_text(problem, "json")), "cnf")))


@given(
    st.dictionaries(st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda e: e[0] > e[1]), st.integers(-4, 4))
)
def test_maxcut_round_trips_through_all_its_formats(weight: dict[tuple[int, int], int]) -> None:
    text = f"6 {len(weight)}\n" + "".join(f"{u} {v} {w}\n" for (u, v), w in weight.items())
    problem = read_text(text, format="rudy")
    for name in ("rudy", "mtx", "json"):
        assert same(problem, read_text(to_text(problem, name), format=name))


def test_colouring_round_trips() -> None:
    problem = read_text("p edge 4 2\ne 2 1\ne 3 4\n", colors=3)
    assert same(problem, read_text(to_text(problem, "col"), colors=3))
    assert "--colors 3" in to_text(problem, "col")


def linear_problem() -> Problem:
    problem = Problem()
    problem.add_linear(problem.add_variables(2, (0, 1)), [1, 1], "<=", 1)
    return problem


def weighted_clause() -> Problem:
    problem = Problem()
    x = problem.add_variables(2, (0, 1))
    problem.add_clause([(x[0], 1), (x[1], 0)], weight=2)
    return problem


def wide_domain() -> Problem:
    problem = Problem()
    problem.add_variable(range(3), "wide")
    return problem


@pytest.mark.parametrize(
    ("problem", "to", "reason"),
    [
        (linear_problem(), "cnf", "constraint 1 is a linear"),
        (weighted_clause(), "cnf", "weights"),
        (wide_domain(), "cnf", "'wide'"),
        (linear_problem(), "rudy", "cut"),
        (linear_problem(), "col", "constraint 1 is a linear"),
        (read_text("3 1\n1 2 5\n", format="rudy"), "cnf", "objective"),
        (read_text("3 1\n1 2 -5\n", format="rudy"), "col", "1..K"),
        (read_text("3 2\n1 2 1\n2 1 1\n", format="rudy"), "mtx", "parallel"),
    ],
)
def test_conversions_that_would_lose_something_are_refused(problem: Problem, to: str, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason):
        to_text(problem, to)


def test_every_format_is_recognised_by_its_own_output() -> None:
    for problem in (read_text("p cnf 2 1\n1 2 0\n"), read_text("3 1\n1 2 5\n", format="rudy")):
        for name in FORMATS:
            try:
                text = to_text(problem, name)
            except ConversionError:
                continue
            path = "x.wcnf" if name == "wcnf" else "unnamed"  # its form of 2022 is recognised by hard clauses or name
            assert detect(text_source(text.encode(), path)).name == name


def test_wcnf_does_not_drop_a_constant_cost() -> None:
    problem = read_text("p wcnf 1 1 9\n2 1 0\n", format="wcnf")
    problem.objective = Objective("cost", 4.25)
    with pytest.raises(ConversionError, match="constant cost"):
        to_text(problem, "wcnf")


def test_a_long_sum_is_written_flat() -> None:
    """Python's `sum` nests as many sums as it has terms."""
    problem = Problem()
    x = problem.add_variables(40, range(3))
    products = [x[i] * x[j] for i in range(40) for j in range(i)] * 4
    problem.add(sum(products) >= 5)
    problem.minimize(sum(products))
    again = read_text(to_text(problem, "json"), format="json")
    at = np.random.default_rng(0).integers(0, 3, 40).astype(np.int32)
    assert again.violation_of_positions(at) == problem.violation_of_positions(at)
    assert again.objective is not None
    assert problem.objective is not None
    assert again.objective.value(0.0, again.values(at)) == problem.objective.value(0.0, problem.values(at))


def test_what_nests_too_deeply_is_not_written() -> None:
    problem = Problem()
    x = problem.add_variables(2, range(2))
    expression = x[0] - x[1]
    for _ in range(3000):
        expression = x[0] - expression
    problem.minimize(expression)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # readers that were allowed to go deeper have raised it
    try:
        with pytest.raises(ConversionError, match="nests too deeply"):
            to_text(problem, "json")
    finally:
        sys.setrecursionlimit(limit)
