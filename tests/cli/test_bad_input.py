"""What bad input gets: a typed exception from the API; from the command line the same text in one line on stderr,
exit code 2, no traceback, nothing on stdout that could be taken for an answer, nothing half-written."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycsp import AnyCSPError, FormatError, Problem, ProblemError, TooLargeError
from anycsp.cli import run
from anycsp.footprint import check_memory
from anycsp.formats import files, read, read_text

GZ = gzip.compress(b"p cnf 3 2\n1 2 0\n-3 0\n" * 500)
XZ = lzma.compress(b"p cnf 3 2\n1 2 0\n-3 0\n" * 500)
EASY = "p cnf 1 1\n1 0\n"

GARBAGE = bytes(np.random.default_rng(0).integers(0, 256, 4096, dtype=np.uint8))


def problem_json(variables: str = '[{"names": ["a", "b"], "domain": "1..3"}]', constraint: str = "") -> str:
    return f'{{\n "variables": {variables},\n "constraints": [\n  {constraint}\n ]\n}}'


FILES: dict[str, tuple[str, str | bytes, int | None, str]] = {
    # name: file, content, line, reason
    "unknown literal": ("x.cnf", "p cnf 3 2\n1 2 0\n1 x 0\n", 3, "unknown literal 'x'"),
    "literal beyond the header": ("x.cnf", "p cnf 3 1\nc\n1 -4 0\n", 3, "unknown literal '-4'"),
    "literal of two signs": ("x.cnf", "p cnf 3 1\n1 --2 0\n", 2, "unknown literal"),
    "literal glued": ("x.cnf", "p cnf 3 1\n1-2 0\n", 2, "unknown literal"),
    "lone sign": ("x.cnf", "p cnf 3 1\n1 - 2 0\n", 2, "unknown literal"),
    "huge literal": ("x.cnf", "p cnf 3 1\n99999999999999999999 0\n", 2, "unknown literal"),
    "huge literal, no header": ("x.cnf", "99999999999999999999 0\n", 1, "variables"),
    "text before the header": ("x.cnf", "1 2 0\np cnf 3 1\n", 1, "before the header"),
    "second header": ("x.cnf", "p cnf 3 1\np cnf 3 1\n1 0\n", 2, "unknown literal 'p'"),
    "header without numbers": ("x.cnf", "p cnf many few\n1 0\n", 1, "not an integer"),
    "header glued to a sign": ("x.cnf", "p- cnf 3 1\n1 0\n", None, "not a list of clauses"),
    "header of weights glued to a sign": ("x.wcnf", "p- wcnf 3 1\n1 0\n", None, "clause"),
    "negative counts": ("x.cnf", "p cnf -3 2\n1 0\n", 1, "negative"),
    "10 GB of clauses in 1 kB": ("x.cnf", "p cnf 100 2000000000\n1 2 0\n" + "c\n" * 500, 1, "2,000,000,000 clauses"),
    "a billion variables in 1 kB": ("x.cnf", "p cnf 1000000000 1\n1 2 0\n", 1, "1,000,000,000 variables"),
    "unknown line in col": ("x.col", "p edge 3 1\nq 1 2\n", 2, "unknown line"),
    "unknown vertex": ("x.col", "p edge 3 1\ne 1 4\n", 2, "unknown vertex 4"),
    "edge before header": ("x.col", "e 1 2\np edge 3 1\n", 1, "before the header"),
    "edge with three ends": ("x.col", "p edge 3 1\ne 1 2 3\n", 2, "not an edge"),
    "no header in col": ("x.col", "c nothing\n", None, "no header"),
    "a billion vertices": ("x.col", "p edge 1000000000 1\ne 1 2\n", 1, "1,000,000,000 vertices"),
    "rudy vertex 0": ("x.rud", "3 1\n0 1 1\n", 2, "unknown vertex 0"),
    "rudy nan weight": ("x.rud", "3 1\n1 2 nan\n", 2, "finite number, not nan"),
    "rudy infinite weight": ("x.rud", "3 2\n1 2 1\n1 3 -inf\n", 3, "finite number, not -inf"),
    "rudy word": ("x.rud", "3 1\n1 2 heavy\n", 2, "not a number: 'heavy'"),
    "opb without a semicolon": ("x.opb", "* #variable= 1 #constraint= 1\n+1 x1 >= 1\n", 2, "semicolon"),
    "opb that is no sum": ("x.opb", "+1 y1 >= 1 ;\n", 1, "not a term"),
    "opb of big integers": ("x.opb", "+1 x1 >= 1 ;\n+99999999999999999999 x1 >= 1 ;\n", 2, "rounded"),
    "wbo with a limit": ("x.wbo", "soft: 3 ;\n[2] +1 x1 >= 1 ;\n[2] -1 x1 >= 0 ;\n", None, "limit"),
    "qubo nan bias": ("x.qubo", "p qubo 0 2 1 0\n0 0 nan\n", 2, "finite"),
    "coo infinite bias": ("x.coo", "0 0 1\n0 1 inf\n", 2, "finite"),
    "bqm of nothing": ("x.bqm", b"DIMODBQM\x02\x00", None, "dimod"),
    "fzn with a float": ("x.fzn", "var 0.0..1.0: f;\nsolve satisfy;\n", 1, "float"),
    "fzn with an unknown predicate": ("x.fzn", "var 1..2: x;\nconstraint odd(x);\nsolve satisfy;\n", None, "odd"),
    "fzn with an open integer": ("x.fzn", "var int: x;\nsolve satisfy;\n", None, "variable x"),
    "rudy header": ("x.rud", "3\n1 2 1\n", 1, "header"),
    "mtx dense": ("x.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n1\n1\n1\n", 1, "array real"),
    "mtx not square": ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 0\n", 2, "square"),
    "mtx not symmetric": ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n", None, "differ"),
    "not JSON": ("x.json", '{\n "variables": [\n', 3, "not JSON"),
    "not UTF-8": ("x.json", b'{\n "name": "\xff"}', 2, "UTF-8"),
    "JSON nested deeply": ("x.json", "[" * 100_000, None, "nested"),
    "no variables": ("x.json", "{}", 1, "lacks 'variables'"),
    "unknown key": ("x.json", '{"variables": [],\n "constrains": []}', 1, "unknown key 'constrains'"),
    "repeated key": ("x.json", '{"variables": [], "variables": []}', None, "twice"),
    "empty domain": ("x.json", '{\n"variables": [\n{"name": "a", "domain": []}]}', 3, "variable 1: empty domain"),
    "empty range": ("x.json", problem_json('[{"name": "a", "domain": "3..1"}]'), 2, "empty domain"),
    "value twice": ("x.json", problem_json('[{"name": "a", "domain": [1, 1]}]'), 2, "twice"),
    "fractional value": ("x.json", problem_json('[{"name": "a", "domain": [1.5]}]'), 2, "64-bit integers"),
    "huge value": ("x.json", problem_json('[{"name": "a", "domain": [1e30]}]'), 2, "64-bit integers"),
    "huge range": ("x.json", problem_json('[{"name": "a", "domain": "0..99999999999999"}]'), 2, "ANYCSP_MAX_DOMAIN"),
    "unknown domain": ("x.json", problem_json('[{"name": "a", "domain": "colour"}]'), 2, "unknown domain 'colour'"),
    "duplicate name": ("x.json", problem_json('[{"names": ["a", "a"], "domain": [1]}]'), 2, "duplicate variable name"),
    "name of a number": ("x.json", problem_json('[{"name": 7, "domain": [1]}]'), 2, "a name is a string"),
    "truncated gzip": ("x.cnf.gz", GZ[: len(GZ) // 2], None, "truncated or damaged gzip"),
    "truncated xz": ("x.cnf.xz", XZ[: len(XZ) // 2], None, "truncated or damaged xz"),
    "not gzip at all": ("x.cnf.gz", b"p cnf 1 1\n1 0\n", None, "truncated or damaged gzip"),
    "a literal of 5,000 digits": ("x.cnf", f"p cnf 1 1\n{'9' * 5000} 0\n", None, "unknown literal"),
    "a variable of 5,000 digits": ("x.opb", f"+1 x{'9' * 5000} >= 1 ;\n", None, "a variable's number"),
    "binary garbage": ("x.cnf", GARBAGE, None, "binary data"),
    "binary garbage as JSON": ("x.json", GARBAGE, None, "binary data"),
    "empty file": ("x.txt", "", None, "an empty file"),
    "prose": ("x.txt", "Dear solver,\nplease solve.\n", None, "unknown format"),
    "a MiniZinc model": ("x.mzn", "var 1..2: x;\nsolve satisfy;\n", None, "minizinc --solver anycsp x.mzn"),
}  # fmt: skip


CONSTRAINTS = {
    # name: the constraint, reason
    "unknown variable": ('{"kind": "all_different", "scope": ["z"]}', "unknown variable 'z'"),
    "index too large": ('{"kind": "all_different", "scope": [2]}', "unknown variable 2"),
    "negative index": ('{"kind": "all_different", "scope": [-1]}', "unknown variable"),
    "unknown kind": ('{"kind": "magic", "scope": [0]}', "'magic'"),
    "misspelt key": ('{"kind": "all_different", "scope": [0], "wieght": 2}', "wieght"),
    "scope of words": ('{"kind": "all_different", "scope": "ab"}', "a scope is a list"),
    "tuple of wrong arity": ('{"kind": "table", "scope": [0, 1], "allowed": [[1]]}', "1 values for 2 variables"),
    "tuple outside the domain": ('{"kind": "table", "scope": [0, 1], "allowed": [[1, 4]]}', "outside the domain 1..3"),
    "tuples of words": ('{"kind": "table", "scope": [0], "allowed": "words"}', "tuple"),
    "no tuples": ('{"kind": "table", "scope": [0]}', "either its allowed or its forbidden"),
    "clause outside the domain": ('{"kind": "clause", "scope": [0], "forbidden": [9]}', "outside the domain"),
    "clause of wrong arity": ('{"kind": "clause", "scope": [0], "forbidden": [1, 2]}', "2 forbidden values"),
    "no operator": ('{"kind": "linear", "scope": [0], "coefficients": [1], "bound": 1}', "lacks 'operator'"),
    "half a coefficient": (
        '{"kind": "linear", "scope": [0], "coefficients": [0.5], "operator": "<", "bound": 1}',
        "a coefficient is an integer",
    ),
    "NaN weight": ('{"kind": "all_different", "scope": [0], "weight": NaN}', "not nan"),
    "infinite weight": ('{"kind": "all_different", "scope": [0], "weight": Infinity}', "not inf"),
    "weight 1e999": ('{"kind": "all_different", "scope": [0], "weight": 1e999}', "not inf"),
    "weight zero": ('{"kind": "all_different", "scope": [0], "weight": 0}', "positive"),
    "weight of words": ('{"kind": "all_different", "scope": [0], "weight": "2"}', "a weight is"),
}
ALL_DIFFERENT = '{"kind": "all_different", "scope": ["a"]}'
FILES |= {
    name: ("x.json", problem_json(constraint=f"{ALL_DIFFERENT},\n{constraint}"), 5, reason)
    for name, (constraint, reason) in CONSTRAINTS.items()
}
TWICE = '{"kind": "all_different", "scopes": [[0], [1]], "order": [0, 0]}'
FILES["order twice"] = ("x.json", problem_json(constraint=TWICE), 3, "order")


def write_file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("case", FILES)
def test_the_reader_names_file_line_and_reason(tmp_path: Path, case: str) -> None:
    name, content, line, reason = FILES[case]
    path = write_file(tmp_path, name, content)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("command", ["solve", "info", "check", "convert"])
@pytest.mark.parametrize("case", FILES)
def test_every_command_says_it_in_one_line_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str, command: str
) -> None:
    name, content, _, reason = FILES[case]
    path = write_file(tmp_path, name, content)
    more = {"check": [str(write_file(tmp_path, "answer", "v 1\n"))], "convert": [str(tmp_path / "out.json")]}
    assert run([command, str(path), *more.get(command, [])]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"error: {path}")
    assert reason in printed.err
    assert not any(line[:1] in "sv" for line in printed.out.splitlines())
    assert not (tmp_path / "out.json").exists()


def test_as_a_program_there_is_no_traceback(tmp_path: Path) -> None:
    path = write_file(tmp_path, *FILES["unknown literal"][:2])
    done = subprocess.run(
        [sys.executable, "-m", "anycsp", "solve", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"error: {path}:3: unknown literal 'x'\n"


# ── what is not a file ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", ["solve", "info"])
def test_directories_and_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run([command, str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}: is a directory\n"
    assert run([command, str(tmp_path / "none.cnf")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_file(tmp_path, "x.cnf", "p cnf 1 1\n1 0\n")
    path.chmod(0)
    if os.geteuid() == 0:  # root reads anything: refuse in its place

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(files, "_read", refuse)
    assert run(["solve", str(path)]) == 2
    assert capsys.readouterr().err == f"error: {path}: permission denied\n"


def test_decompression_bombs_are_capped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANYCSP_MAX_BYTES", str(1 << 20))
    path = write_file(tmp_path, "bomb.cnf.gz", gzip.compress(b"0\n" * (1 << 20)))
    with pytest.raises(FormatError, match="ANYCSP_MAX_BYTES"):
        read(path)
    assert run(["info", str(path)]) == 2
    assert "bomb.cnf.gz: 2,097,152 bytes or more" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(tmp_path, "x.cnf", "p cnf 1 1\n1 0\n")
    assert run(["convert", str(path), str(tmp_path / "no" / "y.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    (tmp_path / "folder.json").mkdir()
    assert run(["convert", str(path), str(tmp_path / "folder.json")]) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.json", "x.cnf"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """Nor is a device: as root, `--trace /dev/null` must not put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    problem, link = write_file(tmp_path, "x.cnf", EASY), tmp_path / "link"
    link.symlink_to(pipe)
    received: list[str] = []
    for name in (pipe, link):
        reader = threading.Thread(target=lambda name=name: received.append(name.read_text()))
        reader.start()
        assert run(["solve", str(problem), "--trace", str(name), "--quiet"]) == 10
        reader.join(10)
    assert [text.startswith('{"step": 0') for text in received] == [True, True]
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_a_file_that_is_replaced_keeps_its_permissions_and_the_links_to_it(tmp_path: Path) -> None:
    problem, secret, link = write_file(tmp_path, "x.cnf", EASY), tmp_path / "secret", tmp_path / "link.json"
    secret.write_text("")
    secret.chmod(0o600)
    link.symlink_to(secret)
    assert run(["convert", str(problem), str(link)]) == 0
    assert link.is_symlink()
    assert secret.stat().st_mode & 0o777 == 0o600
    assert "anycsp" in secret.read_text()


# ── more than memory holds ───────────────────────────────────────────────────────────────────────


def test_more_edges_than_memory_allows_are_refused_with_estimate_and_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: Path
) -> None:
    rows = "".join(f"e {u} {v}\n" for u in range(1, 301) for v in range(u + 1, 301))
    path = write_file(tmp_path, "x.col", f"p edge 300 {300 * 299 // 2}\n{rows}")
    assert run(["solve", str(path), "--colors", "100000", "--model", str(model), "--quiet"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {path}: the constraint value graph has 8,970,000,000 edges")
    assert "more than the limit of" in printed.err
    assert run(["info", str(path), "--colors", "100000"]) == 0
    with pytest.raises(TooLargeError, match="MiB of memory for 1 run, more than the limit of 0 MiB"):
        check_memory([read(path, colors=10)], limit=1000)


# ── the API ──────────────────────────────────────────────────────────────────────────────────────


def small() -> Problem:
    problem = Problem()
    problem.add_variables(2, (1, 2, 3), names=["a", "b"])
    return problem


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (lambda p: p.add_variable([]), "empty domain"),
        (lambda p: p.add_variable([1, 1]), "twice"),
        (lambda p: p.add_variable([0], "a"), "duplicate variable name 'a'"),
        (lambda p: p.add_table(["a", "b"], [[1]]), "tuple 1 has 1 values for 2 variables"),
        (lambda p: p.add_table(["a", "b"], [[1, 2], [1, 7]]), "tuple 2: value 7 is outside the domain 1..3"),
        (lambda p: p.add_table(["a"], np.array([[2**63 + 1]], dtype=np.uint64)), "tuple"),
        (lambda p: p.add_all_different(["a", "z"]), "unknown variable 'z'"),
        (lambda p: p.add_all_different([0, 5]), "unknown variable 5"),
        (lambda p: p.add_all_different(["a"], weight=float("nan")), "not nan"),
        (lambda p: p.add_all_different(["a"], weight=float("inf")), "not inf"),
        (lambda p: p.add_all_different(["a"], weight=-1), "positive"),
        (lambda p: p.add_linear(["a"], [1], "=<", 1), "unknown operator '=<'"),
        (lambda p: p.add_linear(["a"], [1, 2], "<=", 1), "2 coefficients for 1 variables"),
        (lambda p: p.positions({"a": 1}), "lacks variable 'b'"),
        (lambda p: p.positions({"a": 1, "b": 9}), "variable 'b': value 9 is outside the domain"),
        (lambda p: p.renumber(np.array([1])), "order"),
    ],
)
def test_the_api_raises_typed_errors(action: object, reason: str) -> None:
    with pytest.raises(ProblemError, match=reason) as caught:
        action(small())  # type: ignore[operator]
    assert isinstance(caught.value, AnyCSPError)


def test_a_problem_without_variables_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_file(tmp_path, "x.cnf", "p cnf 0 0\n")
    assert run(["solve", str(path), "--quiet"]) == 2
    assert capsys.readouterr().err == f"error: {path}: a problem without variables\n"


def test_colours_are_for_graphs(tmp_path: Path) -> None:
    path = write_file(tmp_path, "x.cnf", "p cnf 1 1\n1 0\n")
    with pytest.raises(FormatError, match="colours"):
        read(path, colors=3)


USAGE = """solve
solve --nonsense x
nonsense
solve x --runs 0
solve x --time-limit -1
solve x --time-limit nan
solve x --colors 0
solve x --seed many
info
generate nonsense --out x"""


@pytest.mark.parametrize("arguments", USAGE.splitlines())
def test_wrong_usage_is_one_line_and_2(
    arguments: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


# ── anything at all ──────────────────────────────────────────────────────────────────────────────

PIECES = [
    b"-",
    b"0",
    b"-1",
    b"9" * 25,
    b"[]",
    b"{}",
    b'""',
    b"null",
    b"true",
    b"1.5",
    b"1e400",
    b"NaN",
    b"\n",
    b" ",
    b"a",
]
VALID = {
    "cnf": "c x\np cnf 3 2\n1 -2 0\n2 3 0\n%\n0\n",
    "wcnf": "p wcnf 3 2 9\n9 1 -2 0\n3 2 3 0\n",
    "col": "p edge 3 2\ne 1 2\ne 2 3\n",
    "rudy": "3 2\n1 2 1\n2 3 -1\n",
    "mtx": "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 1\n3 2 -1\n",
    "json": problem_json(
        constraint='{"kind": "table", "scopes": [["a", 1]], "allowed": [[1, 2]], "weight": [2]},'
        '{"kind": "linear", "scope": [0, 1], "coefficients": [1, -1], "operator": "<=", "bound": 0, "hard": true},'
        '{"kind": "rule", "scope": [0, 1], "expression": ["lt", {"slot": 0}, ["mul", 2, {"slot": 1}]]}'
    ),
}


@pytest.mark.parametrize("name", VALID)
@given(st.data())
def test_damaged_files_are_read_or_refused_but_never_crash(name: str, data: st.DataObject) -> None:
    text = VALID[name].encode()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 8))
        piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=4))
        text = text[:at] + piece + text[at + length :]
    try:
        problem = read_text(text, format=name, colors=2 if name == "col" else None)
        problem.violation_of_positions(np.zeros(problem.num_variables, dtype=np.int64))
        reason = ""
    except AnyCSPError as error:
        reason = str(error)
    assert "\n" not in reason
