"""anycsp as a solver of MiniZinc: the command's output, the configuration, and round trips through MiniZinc itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path

import pytest

from anycsp.formats.flatzinc_constraints import truth_of
from anycsp.formats.flatzinc_globals import POSTS, TRUTHS
from anycsp.integrations.minizinc import LIBRARY, configuration, executable, install
from anycsp.integrations.minizinc.output import COMPLETE, ERROR, SOLUTION, UNKNOWN, UNSATISFIABLE
from anycsp.integrations.minizinc.solver import run

needs_minizinc = pytest.mark.skipif(shutil.which("minizinc") is None, reason="MiniZinc is not installed")

KNAPSACK = """var 0..3: x :: output_var; var 0..3: y :: output_var; var 0..99: v :: output_var;
array [1..2] of var int: both :: output_array([1..2]) = [x, y];
constraint int_lin_le([2, 3], both, 10);
constraint int_lin_eq([3, 5, -1], [x, y, v], 0) :: defines_var(v);
solve maximize v;
"""
HARD = "".join(f"var 1..9: x{k} :: output_var;\n" for k in range(10)) + (
    f"constraint fzn_all_different_int([{', '.join(f'x{k}' for k in range(10))}]);\nsolve satisfy;\n"
)
FERMAT = """var 1..80: x; var 1..80: y; var 1..80: z; var 1..512000: p; var 1..512000: q; var 1..512000: r;
constraint int_pow(x, 3, p); constraint int_pow(y, 3, q); constraint int_pow(z, 3, r);
constraint int_plus(p, q, r); solve satisfy;
"""
OPEN = (
    """array [1..1] of int: none = [0];
"""
    + "".join(f"var 0..50: x{k} :: output_var;\n" for k in range(60))
    + "".join(f"constraint int_times(x{k}, x{(7 * k + 3) % 60}, x{(11 * k + 5) % 60});\n" for k in range(0, 60, 5))
    + "var 0..3000: s;\nconstraint int_lin_eq(["
    + "1," * 60
    + "-1], ["
    + "".join(f"x{k}," for k in range(60))
    + ("s], 0) :: defines_var(s);\nsolve maximize s;\n")
)


@pytest.fixture
def solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Run fzn-anycsp on a text: exit code, standard output, standard error."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def solve(text: str, *flags: str) -> tuple[int, str, str]:
        file = tmp_path / "model.fzn"
        file.write_text(text)
        code = run(["-p", "1", *flags, str(file)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield solve
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_the_best_solution_and_its_proof(solved) -> None:
    pytest.importorskip("ortools")
    code, output, _ = solved(KNAPSACK, "-t", "20000")
    assert code == 0
    assert output == f"x = 2;\ny = 2;\nv = 16;\nboth = array1d(1..2, [2, 2]);\n{SOLUTION}\n{COMPLETE}\n"


def test_every_improvement_is_printed_where_asked_for(solved) -> None:
    _, output, _ = solved(KNAPSACK, "-i", "-s", "-t", "20000")
    values = [int(v) for v in re.findall(r"^v = (\d+);$", output, re.MULTILINE)]
    assert values[-1] == 16
    assert values == sorted(set(values))
    assert output.count(SOLUTION) == len(values)
    assert "%%%mzn-stat: objective=16\n" in output


def test_all_solutions_end_with_a_proof(solved) -> None:
    pytest.importorskip("ortools")
    text = "var 1..3: x :: output_var; var set of 1..2: s :: output_var; constraint int_ne(x, 2); solve satisfy;"
    _, output, _ = solved(text, "-a", "-t", "60000")
    found = output.split(f"{SOLUTION}\n")
    assert found[-1] == f"{COMPLETE}\n"
    assert len(found) == len(set(found)) == 9
    assert solved(text, "-n", "3")[1].count(SOLUTION) == 3
    assert COMPLETE not in solved(text)[1]


def test_what_is_proved_unsatisfiable_and_what_is_not(solved) -> None:
    pytest.importorskip("ortools")
    assert solved(HARD, "-t", "20000")[1] == f"{UNSATISFIABLE}\n"
    impossible = "var 0..3: x :: output_var; constraint fzn_increasing_int([1, 3, -1]); solve satisfy;"
    for flags in ([], ["-a"]):
        assert solved(impossible, "-t", "20000", *flags)[1] == f"{UNSATISFIABLE}\n"
    assert solved(FERMAT, "-t", "300", "--search", "local")[1] == f"{UNKNOWN}\n"


ODD_CIRCLES = {
    "tiny": 3,
    "large": 29,
}
DENSE = "".join(f"var bool: b{k};\n" for k in range(15)) + "".join(
    f"constraint bool_clause([{x}, {y}], [{z}]);\nconstraint bool_clause([], [{x}, {y}, {z}]);\n"
    f"constraint bool_clause([{z}], [{x}, {y}]);\nconstraint bool_clause([{x}, {y}, {z}], []);\n"
    for x, y, z in ((f"b{k}", f"b{(k + s) % 15}", f"b{(k + t) % 15}") for k in range(15) for s, t in ((1, 2), (3, 7)))
)
"""Neighbours in a circle of 15 differ, in so many clauses that a formula from a file would be one of MaxSAT."""


@pytest.mark.parametrize("size", ODD_CIRCLES.values(), ids=ODD_CIRCLES)
@pytest.mark.parametrize("search", ["auto", "local"])
def test_all_of_a_model_must_hold_though_it_looks_like_a_cut(solved, size: int, search: str) -> None:
    """Two colours for an odd circle are a MaxCut to whoever does not know that everything is required."""
    text = "".join(f"var 1..2: x{k} :: output_var;\n" for k in range(size))
    text += "".join(f"constraint int_ne(x{k}, x{(k + 1) % size});\n" for k in range(size))
    assert solved(text + "solve satisfy;", "-t", "20000", "--search", search)[1] == f"{UNSATISFIABLE}\n"


def test_all_of_a_model_must_hold_though_it_looks_like_maxsat(solved) -> None:
    assert solved(DENSE + "solve satisfy;", "-t", "20000", "--search", "local")[1] == f"{UNSATISFIABLE}\n"


def test_solutions_without_output_are_one(solved) -> None:
    assert solved("solve satisfy;", "-a", "-t", "20000")[1] == f"{SOLUTION}\n{COMPLETE}\n"
    assert solved("var 1..3: x; solve satisfy;", "-n", "2", "-t", "20000")[1] == f"{SOLUTION}\n{COMPLETE}\n"


@pytest.mark.parametrize(
    ("constraints", "count"),
    [
        ("set_union({1}, a, r)", 8),
        ("set_intersect(a, {2, 9}, r)", 8),
        ("set_diff({5}, a, r)", 8),
        ("set_symdiff(a, {3, 4}, r)", 8),
        ("array_var_set_element(2, [{7}, a], r)", 8),
        ("set_subset(r, {1})", 16),
        ("set_union(r, {1, 2}, a)", 8),
    ],
)
def test_sets_without_bounds_hold_what_they_are_made_of(solved, constraints: str, count: int) -> None:
    text = (
        f"var set of 1..3: a :: output_var; var set of int: r :: output_var; constraint {constraints}; solve satisfy;"
    )
    _, output, _ = solved(text, "-a", "-t", "60000")
    assert output.count(SOLUTION) == count
    assert COMPLETE in output


def test_a_knapsack_bounds_its_weight_and_profit(solved) -> None:
    text = """var 0..2: x; var 0..2: y; var int: w; var int: p :: output_var;
constraint fzn_knapsack([4, 3], [5, 3], [x, y], w, p); constraint int_le(w, 9); solve maximize p;"""
    assert solved(text, "-t", "20000")[1].startswith("p = 10;")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("var float: f; solve satisfy;", "variable f is a float"),
        ("var 1..2: x; constraint nonsense(x); solve satisfy;", "nonsense"),
        ("var int: x; solve satisfy;", "variable x"),
        ("var set of int: s; solve satisfy;", "variable s"),
        ("var 1..2: x; constraint float_eq(x, 1.5); solve satisfy;", "float"),
        ("var 1..2: x; constraint int_le(x, 1.5); solve satisfy;", "float"),
        ("var 1..2: x; constraint int_le(x; solve satisfy;", "model.fzn:1: "),
    ],
)
def test_a_refusal_is_one_line(solved, text: str, named: str) -> None:
    code, output, errors = solved(text)
    assert (code, output) == (2, f"{ERROR}\n")
    assert named in errors
    assert errors.count("\n") == 1


def test_a_missing_file_is_a_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(tmp_path / "nothing.fzn")]) == 2
    assert capsys.readouterr().out == f"{ERROR}\n"


@pytest.mark.parametrize("arguments", ["", "-n x model.fzn", "-t nan model.fzn", "--nonsense model.fzn"])
def test_wrong_usage_is_one_line_too(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments.split()) == 2
    written = capsys.readouterr()
    assert (written.out, written.err.count("\n")) == (f"{ERROR}\n", 1)


def test_a_signal_prints_the_best_so_far(tmp_path: Path) -> None:
    file = tmp_path / "model.fzn"
    file.write_text(OPEN)
    command = [sys.executable, "-m", "anycsp.integrations.minizinc.solver", "-v", "-p", "1", "--search", "local"]
    process = subprocess.Popen([*command, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "Problem" in process.stderr.readline()  # it has been read, however long a busy machine takes
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert SOLUTION in output or UNKNOWN in output
    assert COMPLETE not in output


def test_annotations_may_hold_any_text(solved) -> None:
    text = r"""var 1..2: x :: output_var; constraint int_le(2, x) :: mzn_constraint_name("at \"least\" 2; \\");
solve :: mzn_path("a;b|c") satisfy;"""
    assert solved(text, "-t", "20000")[1].startswith("x = 2;")


def test_warm_starts_begin_the_search(solved) -> None:
    text = "var 0..1000: x :: output_var; constraint int_ne(x, 0); solve :: warm_start([x], [777]) satisfy;"
    assert solved(text, "--search", "local")[1].startswith("x = 777;")


# ── configuration and library ────────────────────────────────────────────────────────────────────────


def test_the_configuration_names_this_installation(tmp_path: Path) -> None:
    written = json.loads(install(tmp_path / "solvers").read_text())
    assert written == configuration()
    assert Path(written["executable"]).is_absolute()
    assert os.access(written["executable"], os.X_OK)
    assert Path(written["mznlib"]).is_dir()


def test_the_library_leaves_whole_what_is_read_and_nothing_else() -> None:
    """Every predicate without a body is one that the reader knows; every global that it knows is left whole."""
    known = {*TRUTHS, *POSTS}
    builtin = {"bool_clause_reif", "array_int_maximum", "array_int_minimum"}
    declared = set()
    for file in LIBRARY.glob("*.mzn"):
        declared |= set(re.findall(r"predicate (\w+)\([^;=]*\);", file.read_text()))
    assert {name.removesuffix("_reif") for name in declared - builtin} == known
    unread = {
        name for name in declared if name not in POSTS and truth_of(name) is None and truth_of(name, TRUTHS) is None
    }
    assert not unread


# ── through MiniZinc ─────────────────────────────────────────────────────────────────────────────────

MODELS = {
    "queens": """include "globals.mzn"; int: n = 6; array[1..n] of var 1..n: q;
constraint alldifferent(q) /\\ alldifferent([q[i] + i | i in 1..n]) /\\ alldifferent([q[i] - i | i in 1..n]);
solve satisfy;""",
    "tour": """include "globals.mzn"; array[0..4] of var 0..4: next; array[0..4] of var 0..40: cost;
array[0..4, 0..4] of int: d = array2d(0..4, 0..4, [(7 * i + 3 * j) mod 11 | i, j in 0..4]);
constraint circuit(next); constraint forall(i in 0..4)(cost[i] = d[i, next[i]]); solve minimize sum(cost);""",
    "schedule": """include "globals.mzn"; array[1..4] of var 0..12: s; array[1..4] of int: d = [3, 4, 2, 5];
var 0..20: end; constraint cumulative(s, d, [1, 2, 2, 1], 3); constraint forall(i in 1..4)(s[i] + d[i] <= end);
constraint s[1] >= s[2] + 1 \\/ s[3] > s[4]; solve minimize end;""",
    "sets": """include "globals.mzn"; array[1..3] of var set of 1..6: s; constraint forall(i, j in 1..3 where i < j)
(card(s[i] intersect s[j]) <= 1 /\\ s[i] < s[j]); constraint forall(i in 1..3)(card(s[i]) = 3); solve satisfy;""",
    "words": """include "globals.mzn"; array[1..5] of var 1..3: x;
constraint regular(x, 2, 3, [|1, 2, 0|2, 1, 2|], 1, {2});
constraint count(x, 2) >= 2; constraint global_cardinality_low_up(x, [1, 3], [1, 0], [3, 2]);
constraint table([x[1], x[5]], [|1, 2|2, 3|3, 3|]); constraint nvalue(3, x) \\/ x[2] = 3; solve satisfy;""",
    "packing": """include "globals.mzn"; array[1..5] of var 1..3: bin; array[1..3] of var 0..9: load;
constraint bin_packing_load(load, bin, [4, 3, 5, 2, 2]); constraint lex_lesseq(bin, [2, 1, 1, 1, 1]);
constraint value_precede_chain([1, 2, 3], bin); solve minimize max(load);""",
    "reified": """include "globals.mzn"; array[1..4] of var 1..4: x; var bool: b; var bool: c;
constraint b <-> alldifferent(x);
constraint c -> increasing(x); constraint not (b /\\ c) \\/ x[1] = 1; constraint x[x[2]] != x[3] div 2 + x[4] mod 3;
constraint count(x, 4) = x[1]; solve maximize sum(i in 1..4)(i * x[i]) + 3 * b + c;""",
    "optional": """enum Colour = {red, green, blue}; array[1..4] of var Colour: c; var opt 1..3: t;
constraint forall(i in 1..3)(c[i] != c[i + 1]); constraint occurs(t) -> c[1] = blue; constraint absent(t) -> c[1] = red;
solve maximize sum(i in 1..4)(c[i] = green) + (if c[4] = red then 2 elseif c[4] = blue then 1 else 0 endif);""",
}  # fmt: skip


def minizinc(environment: dict[str, str], *arguments: str) -> str:
    process = subprocess.run(["minizinc", *arguments], capture_output=True, text=True, env=environment, timeout=120)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where MiniZinc finds anycsp, and Gecode with the standard library's decompositions."""
    folder = install(tmp_path_factory.mktemp("solvers")).parent
    gecode = {
        "id": "test.gecode",
        "name": "test-gecode",
        "version": "1",
        "executable": "fzn-gecode",
        "supportsFzn": True,
    }
    (folder / "gecode.msc").write_text(json.dumps(gecode | {"mznlib": "", "stdFlags": ["-a", "-t"]}))
    return {**os.environ, "MZN_SOLVER_PATH": str(folder)}


@needs_minizinc
@pytest.mark.parametrize("name", MODELS)
def test_minizinc_confirms_the_solution(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The solution as data of the same model satisfies it, by the standard library and Gecode; the objective is its
    best."""
    if shutil.which("fzn-gecode") is None:
        pytest.skip("Gecode is not installed")
    model, data = tmp_path / "model.mzn", tmp_path / "solution.dzn"
    model.write_text(MODELS[name])
    flags = ("--output-mode", "dzn", "--output-objective", "--time-limit", "20000")
    output = minizinc(environment, "--solver", "anycsp", "-p", "1", *flags, str(model))
    assert SOLUTION in output
    solution = output.split(SOLUTION)[-2]
    objective = re.search(r"_objective = (-?\d+);", solution)
    data.write_text(re.sub(r"_objective = .*\n", "", solution))
    assert SOLUTION in minizinc(environment, "--solver", "test.gecode", str(model), str(data))
    if objective is not None:
        assert COMPLETE in output
        best = minizinc(environment, "--solver", "test.gecode", *flags, str(model)).split(SOLUTION)[-2]
        assert re.search(r"_objective = (-?\d+);", best)[1] == objective[1]


CONDITIONS = {
    "sliding_sum(1, 3, 2, x)": lambda x: all(1 <= a + b <= 3 for a, b in pairwise(x)),
    "all_different_except_0(x)": lambda x: len({v for v in x if v}) == sum(v > 0 for v in x),
    "table(x, [|0, 1, 2, 2|2, 1, 0, 0|1, 1, 1, 1|])": lambda x: x in ((0, 1, 2, 2), (2, 1, 0, 0), (1, 1, 1, 1)),
    "lex_less([x[1], x[2]], [x[3], x[4]])": lambda x: x[:2] < x[2:],
    "x[x[1] + 1] = 2 div x[2]": lambda x: x[1] != 0 and x[x[0]] == 2 // x[1],
}
"""What is true of four numbers from 0 to 2, in MiniZinc and in Python."""


@needs_minizinc
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_has_all_its_solutions(condition: str, environment: dict[str, str], tmp_path: Path) -> None:
    """Required, negated and as a truth value: the standard library's forms of a global may differ in all three."""
    model, holds = tmp_path / "model.mzn", CONDITIONS[condition]
    every = list(product(range(3), repeat=4))
    expected = {condition: sum(map(holds, every)), f"not ({condition})": sum(not holds(x) for x in every)}
    for form, count in {**expected, f"b <-> ({condition})": len(every)}.items():
        model.write_text(
            f'include "globals.mzn"; array[1..4] of var 0..2: x; var bool: b; constraint {form};'
            f"{'' if 'b <->' in form else 'constraint b;'} solve satisfy;"
        )
        output = minizinc(environment, "--solver", "anycsp", "-a", "-p", "1", str(model))
        assert (form, output.count(SOLUTION), COMPLETE in output) == (form, count, True)


@needs_minizinc
def test_minizinc_lists_the_solver_and_passes_its_flags(environment: dict[str, str], tmp_path: Path) -> None:
    assert "org.anycsp.anycsp" in minizinc(environment, "--solvers")
    model = tmp_path / "model.mzn"
    model.write_text("var 1..4: x; var 1..4: y; constraint x < y; solve satisfy;")
    output = minizinc(environment, "--solver", "anycsp", "-a", "-s", "-r", "3", "-f", "-p", "1", str(model))
    assert output.count(SOLUTION) == 6
    assert "%%%mzn-stat: solutions=6" in output


@needs_minizinc
def test_minizincs_python_driver_solves_with_it(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    driver = pytest.importorskip("minizinc", reason="the Python driver is not installed")
    monkeypatch.setenv("MZN_SOLVER_PATH", environment["MZN_SOLVER_PATH"])
    solver, limit = driver.Solver.lookup("anycsp"), timedelta(seconds=30)

    def solved(model: str, **options: object):
        instance = driver.Instance(solver)
        instance.add_string(model)
        return instance.solve(timeout=limit, processes=1, **options)

    best = solved("var 1..9: x; var set of 1..3: s; constraint x + card(s) = 7; solve maximize x;", random_seed=3)
    assert (best.status, best.objective, best["s"]) == (driver.Status.OPTIMAL_SOLUTION, 7, set())
    every = solved("var 1..3: x; constraint x != 2; solve satisfy;", all_solutions=True, free_search=True)
    assert every.status == driver.Status.ALL_SOLUTIONS
    assert sorted(one.x for one in every.solution) == [1, 3]
    assert every.statistics["solutions"] == 2
    none = solved(
        "array[1..3] of var bool: b; constraint forall(i, j in 1..3 where i < j)(b[i] != b[j]); solve satisfy;"
    )
    assert none.status == driver.Status.UNSATISFIABLE
    with pytest.raises(driver.error.MiniZincError, match="f is a float"):
        solved("var float: f; constraint f > 1.5; solve satisfy;")


def test_the_command_is_installed() -> None:
    output = subprocess.run([str(executable()), "--help"], capture_output=True, text=True, timeout=60).stdout
    assert all(f" {flag}" in output for flag in configuration()["stdFlags"])
