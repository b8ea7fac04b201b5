"""WCSP and CFN: the violated weight is the cost toulbar2 computes."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from anycsp import FormatError, Problem
from anycsp.errors import UnsupportedError
from anycsp.formats import detect, load, read, read_text

ONE_VARIABLE = '{problem: {mustbe: "<5"}, variables: {x: 2}, functions: '
SMALL = """small 2 3 3 10
2 3
1 0 0 1
1 4
2 0 1 2 3
0 0 0
1 2 10
1 1 7
0 3 0
"""


def cost(problem: Problem, positions: list[int]) -> tuple[float, bool]:
    """The cost, and whether something forbidden is taken."""
    row = np.array(positions)
    violation = problem.violation_of_positions(row)
    assert problem.objective is not None
    return problem.objective.value(violation.weight, problem.values(row)), violation.hard > 0


def test_costs_are_violated_weights() -> None:
    problem = read_text(SMALL.replace("0 3 0", "0 3 0"), format="wcsp")
    expected = {(0, 0): 0, (0, 1): 2, (0, 2): 2, (1, 0): 6, (1, 1): 11}
    for positions, value in expected.items():
        assert cost(problem, list(positions)) == (value + 3, False)
    assert cost(problem, [1, 2])[1], "a cost of at least the bound is forbidden"


def test_a_cost_without_variables_may_be_forbidden_too() -> None:
    forbidden = {
        "wcsp": "s 1 2 1 9\n2\n0 9 0\n",
        "cfn": "{ problem: {name: p mustbe: <9} variables: {x: 2} functions: { {scope: [] costs: [9]} } }",
    }
    for format, text in forbidden.items():
        assert cost(read_text(text, format=format), [0])[1]
        assert cost(read_text(text.replace("<9", "<10").replace(" 1 9", " 1 10"), format=format), [0]) == (9, False)


def test_the_empty_tuple_has_the_cost_that_is_listed() -> None:
    """As for toulbar2: not the default besides."""
    assert cost(read_text("s 1 2 1 100\n2\n0 5 1\n3\n", format="wcsp"), [0]) == (3, False)


def test_shared_functions_bring_their_default() -> None:
    problem = read_text("s 2 2 2 100\n2 2\n-1 0 7 1\n0 1\n1 1 1 -1\n", format="wcsp")
    assert [cost(problem, p)[0] for p in ([0, 0], [1, 0], [1, 1])] == [2, 8, 14]


def test_soft_all_different_costs_every_variable_to_change() -> None:
    problem = read_text("s 3 3 1 100\n3 3 3\n3 0 1 2 -1 salldiff var 5\n", format="wcsp")
    assert [cost(problem, p)[0] for p in ([0, 1, 2], [0, 0, 2], [1, 1, 1])] == [0, 5, 10]


def test_cfn_is_lenient_like_toulbar2() -> None:
    text = """{ problem: {name: p mustbe: <10.0}
      variables: {x: [a b] y: 3}
      functions: { {scope: [x y] costs: [0 1.5 2, 3 4 5]} f: {scope [y], defaultcost: 1 costs: [0 0.04 2 7]} } }"""
    problem = read_text(text, format="cfn")
    assert problem.name == "p"
    # 0.04 has more decimals than the bound: rounded to 0.0, as toulbar2 does
    assert cost(problem, [0, 1]) == (2.5, False)
    assert cost(problem, [1, 0]) == (3, False)
    assert cost(problem, [1, 2]) == (12, False)


def test_cfn_maximises_where_it_must_be_above() -> None:
    text = '{problem: {name: m, mustbe: ">0"}, variables: {x: 2}, functions: {f: {scope: [x], costs: [3, 8]}}}'
    problem = read_text(text, format="cfn")
    assert problem.objective is not None
    assert problem.objective.kind == "gain"
    assert [cost(problem, [p])[0] for p in (0, 1)] == [3, 8]


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("s 1 2 1 9\n2\n1 0 -1 wregular lin 3\n", "wcsp", "wregular is not supported"),
        ("s 1 2 1 9\n2\n1 0 0 1\n5 1\n", "wcsp", "outside the domain"),
        ("s 1 2 1 9\n2\n1 4 0 0\n", "wcsp", "unknown variable 4"),
        ("s 1 2 1 9\n2\n1 0 0 3\n0 1\n", "wcsp", "ends before"),
        ("s 9999999999 2 1 9\n2\n", "wcsp", "claims"),
        (ONE_VARIABLE + "{f: {scope: [z], costs: [0 0]}}}", "cfn", "unknown variable"),
        (ONE_VARIABLE + "{f: {scope: [x], costs: [0]}}}", "cfn", "lists 1 costs"),
        ('{problem: {mustbe: "five"}, variables: {x: 2}}', "cfn", "mustbe"),
        ("{" * 300, "cfn", "levels of nesting"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(text: str, format: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_text(text, format=format)
    assert "\n" not in str(caught.value)


READABLE = [
    "EXAMPLES-GEOM40_6.wcsp", "TUTORIALS-latin4.cfn", "bilevel-bilevel1.cfn", "bilevel-bilevel2b.cfn",
    "bilevel-randomnegfollower.cfn", "cover-pedigree1.wcsp", "default-4queens-salldiff.wcsp", "default-example.wcsp",
    "default-golomb4.wcsp", "default-oconnell_bayesnet.wcsp", "default-samong.cfn",
]  # fmt: skip
EVALUATE = """
import json, sys
import pytoulbar2
costs = []
for positions in json.loads(sys.argv[2]):
    network = pytoulbar2.CFN()
    network.Read(sys.argv[1])
    try:
        for x, value in enumerate(positions):
            network.Assign(x, value)
        solved = network.Solve()
        costs.append(None if solved is None else solved[1])
    except Exception:
        costs.append(None)
print("COSTS", json.dumps(costs))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pytoulbar2") is None, reason="needs pytoulbar2, of the extra anycsp[bench]")
@pytest.mark.parametrize("name", READABLE)
def test_toulbar2_computes_the_same_costs(name: str, data: Path) -> None:
    path = data / "wcsp" / name
    problem = read(path)
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, problem.domains.sizes).tolist() for _ in range(3)]
    rows += [_descended(problem, np.array(row)).tolist() for row in rows]
    done = subprocess.run(
        [sys.executable, "-c", EVALUATE, str(path), json.dumps(rows)], capture_output=True, text=True, check=False
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("COSTS")]
    assert answers, done.stderr
    for row, theirs in zip(rows, json.loads(answers[0][6:]), strict=True):
        ours, forbidden = cost(problem, row)
        # toulbar2 gives no cost where its bound is reached, by one function or by all together
        assert theirs == pytest.approx(ours) if theirs is not None else forbidden or ours >= _bound(path)


def _bound(path: Path) -> float:
    text = path.read_text()
    if path.suffix == ".wcsp":
        return float(text.split()[4])
    return float(text.split("mustbe")[1].split("<")[1].split('"')[0].split()[0].rstrip("},"))


def _descended(problem: Problem, positions: np.ndarray) -> np.ndarray:
    """Two rounds of moving each variable to its best value."""
    for _ in range(2):
        for x, size in enumerate(problem.domains.sizes.tolist()[:60]):
            scores = []
            for value in range(min(size, 6)):
                positions[x] = value
                violation = problem.violation_of_positions(positions)
                scores.append((violation.hard, violation.weight, value))
            positions[x] = min(scores)[2]
    return positions


def test_every_file_is_read_or_refused_by_name(data: Path) -> None:
    read_files, reasons = 0, []
    for path in sorted((data / "wcsp").glob("*.[wc][cf]*")):
        if path.suffix not in (".wcsp", ".cfn") or path.stat().st_size > 50_000:
            continue
        assert detect(load(path)).name == path.suffix[1:]
        try:
            read(path)
            read_files += 1
        except UnsupportedError as error:
            reasons.append(error.reason)
    assert read_files >= 10
    assert all("not supported" in reason for reason in reasons)
