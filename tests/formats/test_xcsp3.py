"""XCSP3: hostile files are refused, files mean what the official checker says, every answer is confirmed by it."""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

# Looked for, not imported: importing pycsp3 has effects that only the reader takes care of.
if find_spec("pycsp3") is None or find_spec("defusedxml") is None:
    pytest.skip("needs the extra anycsp[xcsp]", allow_module_level=True)

from anycsp import FormatError, Problem, solve
from anycsp.errors import UnsupportedError
from anycsp.formats import FORMATS, read, read_text
from anycsp.formats.xcsp3 import answer, read_answer


def instance(variables: str, constraints: str, objectives: str = "", kind: str = "CSP") -> str:
    tail = f"<objectives>{objectives}</objectives>" if objectives else ""
    return (
        f'<instance format="XCSP3" type="{kind}"><variables>{variables}</variables>'
        f"<constraints>{constraints}</constraints>{tail}</instance>"
    )


def solutions(problem: Problem) -> set[tuple[int | str, ...]]:
    """Every assignment of the user's variables that violates nothing."""
    import itertools

    asked = [x for x in range(problem.num_variables) if x not in problem.definitions]
    domains = [[problem.domain(x).external(p) for p in range(len(problem.domain(x)))] for x in asked]
    return {values for values in itertools.product(*domains) if problem.violation(values).violated == 0}


THREE = '<array id="x" size="[3]"> 0..2 </array>'
EXPECTED = [
    ("<intension> eq(add(x[0],x[1]),x[2]) </intension>", lambda a, b, c: a + b == c),
    ("<intension> imp(in(x[0],set(1,2)),ne(x[1],x[2])) </intension>", lambda a, b, c: a not in (1, 2) or b != c),
    ("<intension> eq(div(x[0],add(x[1],1)),mod(x[2],2)) </intension>", lambda a, b, c: a // (b + 1) == c % 2),
    ("<extension><list> x[] </list><supports> (0,*,1)(2,2,*) </supports></extension>",
     lambda a, b, c: (a, c) == (0, 1) or (a, b) == (2, 2)),
    ("<extension><list> x[0] x[1] </list><conflicts> (0,0)(1,2)(7,7) </conflicts></extension>",
     lambda a, b, c: (a, b) not in ((0, 0), (1, 2))),
    ("<extension><list> x[1] </list><supports> 0 2..3 </supports></extension>", lambda a, b, c: b in (0, 2)),
    ("<allDifferent> x[] </allDifferent>", lambda a, b, c: len({a, b, c}) == 3),
    ("<allDifferent><list> x[] </list><except> 0 </except></allDifferent>",
     lambda a, b, c: len([v for v in (a, b, c) if v]) == len({v for v in (a, b, c) if v})),
    ("<allEqual> x[] </allEqual>", lambda a, b, c: a == b == c),
    ("<ordered><list> x[] </list><operator> lt </operator></ordered>", lambda a, b, c: a < b < c),
    ("<lex><list> x[0] x[1] </list><list> x[1] x[2] </list><operator> le </operator></lex>",
     lambda a, b, c: (a, b) <= (b, c)),
    ("<sum><list> x[] </list><coeffs> 1 2 -1 </coeffs><condition> (in,1..2) </condition></sum>",
     lambda a, b, c: 1 <= a + 2 * b - c <= 2),
    ("<sum><list> x[0] x[1] </list><condition> (gt,x[2]) </condition></sum>", lambda a, b, c: a + b > c),
    ("<count><list> x[0] x[1] </list><values> 1 2 </values><condition> (eq,x[2]) </condition></count>",
     lambda a, b, c: (a > 0) + (b > 0) == c),
    ("<nValues><list> x[] </list><condition> (le,2) </condition></nValues>", lambda a, b, c: len({a, b, c}) <= 2),
    ('<cardinality><list> x[] </list><values closed="true"> 0 1 </values><occurs> 1..2 1 </occurs></cardinality>',
     lambda a, b, c: 2 not in (a, b, c) and 1 <= [a, b, c].count(0) <= 2 and [a, b, c].count(1) == 1),
    ("<maximum><list> x[0] x[1] </list><condition> (eq,x[2]) </condition></maximum>", lambda a, b, c: max(a, b) == c),
    ("<minimum><list> x[] </list><condition> (ge,1) </condition></minimum>", lambda a, b, c: min(a, b, c) >= 1),
    ("<element><list> x[0] x[1] </list><index> x[2] </index><value> 2 </value></element>",
     lambda a, b, c: c < 2 and (a, b)[c] == 2),
    ("<element><list> 2 0 1 </list><index> x[0] </index><value> x[1] </value></element>",
     lambda a, b, c: (2, 0, 1)[a] == b),
    ("<element><matrix> (0,1,2)(1,2,0)(2,0,1) </matrix><index> x[0] x[1] </index><value> x[2] </value></element>",
     lambda a, b, c: ((0, 1, 2), (1, 2, 0), (2, 0, 1))[a][b] == c),
    ("<allDifferent><list> x[0] x[1] x[1] </list><except> 0 </except></allDifferent>", lambda a, b, c: b == 0),
    ("<sum><list> x[0] x[1] </list><condition> (in,2..2) </condition></sum>", lambda a, b, c: a + b == 2),
    ("<group><sum><list> %... </list><condition> (notin, 2 .. 2) </condition></sum><args> x[0] x[1] </args></group>",
     lambda a, b, c: a + b != 2),
    ("<nValues><list> x[] </list><except> 0 </except><condition> (in,1..2) </condition></nValues>",
     lambda a, b, c: any((a, b, c))),
    ("<nValues><list> x[] </list><except> 2 0 2 </except><condition> (notin,{1}) </condition></nValues>",
     lambda a, b, c: 1 not in (a, b, c)),
    ("<extension><list> x[0] x[1] x[0] </list><supports> (0,1,*)(*,2,2)(0,*,1)(1,*,1) </supports></extension>",
     lambda a, b, c: (a, b) in ((0, 1), (2, 2)) or a == 1),
    ("<extension><list> x[0] x[0] x[2] </list><conflicts> (0,1,*)(*,2,2)(1,1,*) </conflicts></extension>",
     lambda a, b, c: (a, c) != (2, 2) and a != 1),
    ("<cumulative><origins> x[0] </origins><lengths> x[0] </lengths><heights> x[1] </heights>"
     "<condition> (lt,x[2]) </condition></cumulative>", lambda a, b, c: c > 0 and (a == 0 or b < c)),
    ("<channel><list> x[0] x[1] </list></channel>", lambda a, b, c: (a, b) in ((0, 1), (1, 0))),
    ("<channel><list> x[] </list></channel>", lambda a, b, c: all((a, b, c)[v] == i for i, v in enumerate((a, b, c)))),
    ("<circuit><list> x[] </list></circuit>",
     lambda a, b, c: (a, b, c) in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1))),
    ("<noOverlap><origins> x[] </origins><lengths> 1 1 1 </lengths></noOverlap>", lambda a, b, c: len({a, b, c}) == 3),
    ("<cumulative><origins> x[] </origins><lengths> 2 1 1 </lengths><heights> 1 2 1 </heights>"
     "<condition> (le,2) </condition></cumulative>",
     lambda a, b, c: all((a <= t < a + 2) + 2 * (b == t) + (c == t) <= 2 for t in range(5))),
    ("<binPacking><list> x[] </list><sizes> 2 1 1 </sizes><condition> (le,2) </condition></binPacking>",
     lambda a, b, c: all(2 * (a == k) + (b == k) + (c == k) <= 2 for k in range(3))),
    ("<knapsack><list> x[] </list><weights> 1 2 3 </weights><condition> (le,5) </condition>"
     "<profits> 1 1 1 </profits><condition> (ge,2) </condition></knapsack>",
     lambda a, b, c: a + 2 * b + 3 * c <= 5 and a + b + c >= 2),
    ("<instantiation><list> x[0] x[2] </list><values> 1 2 </values></instantiation>", lambda a, b, c: (a, c) == (1, 2)),
    ("<regular><list> x[] </list><transitions> (a,0,a)(a,1,b)(b,2,b) </transitions><start> a </start>"
     "<final> b </final></regular>", lambda a, b, c: re.fullmatch("0*12*", f"{a}{b}{c}") is not None),
    ("<mdd><list> x[] </list><transitions> (r,0,n)(r,1,m)(n,1,p)(m,2,p)(p,0,t)(p,2,t) </transitions></mdd>",
     lambda a, b, c: (a, b) in ((0, 1), (1, 2)) and c in (0, 2)),
    ("<precedence><list> x[] </list><values> 0 1 2 </values></precedence>",
     lambda a, b, c: (a, b, c) in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2))),
    ("<group><intension> lt(%0,%1) </intension><args> x[0] x[1] </args><args> x[1] x[2] </args></group>",
     lambda a, b, c: a < b < c),
    ('<slide circular="true"><list> x[] </list><intension> ne(%0,%1) </intension></slide>',
     lambda a, b, c: len({a, b, c}) == 3),
    ("<block><allDifferent> x[0] x[1] </allDifferent><block><allEqual> x[1] x[2] </allEqual></block></block>",
     lambda a, b, c: a != b == c),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "holds"), EXPECTED, ids=lambda v: str(v)[:30] if isinstance(v, str) else "")
def test_a_constraint_has_exactly_its_solutions(constraint: str, holds: object) -> None:
    problem = read_text(instance(THREE, constraint), format="xcsp3")
    everything = np.array(np.meshgrid(*[range(3)] * 3)).reshape(3, -1).T.tolist()
    assert solutions(problem) == {tuple(v) for v in everything if holds(*v)}  # type: ignore[operator]


def test_symbolic_variables_compare_by_symbol() -> None:
    variables = '<var id="x" type="symbolic"> a b </var><var id="y" type="symbolic"> b c </var>'
    problem = read_text(instance(variables, "<intension> eq(x,y) </intension>"), format="xcsp3")
    assert solutions(problem) == {("b", "b")}


def test_objectives_are_values_of_expressions() -> None:
    special = '<maximize type="sum"><list> x[] </list><coeffs> 1 2 3 </coeffs></maximize>'
    problem = read_text(instance(THREE, "<allDifferent> x[] </allDifferent>", special, "COP"), format="xcsp3")
    assert problem.objective is not None
    assert problem.objective.kind == "maximize"
    assert problem.objective.value(0, np.array([1, 0, 2])) == 7
    assert all(block.terms.hard.all() for block in problem.blocks)


def test_an_objective_may_list_its_terms_without_coefficients() -> None:
    largest = '<minimize type="maximum"><list> x[0] add(x[1],1) </list></minimize>'
    problem = read_text(instance(THREE, "<allDifferent> x[] </allDifferent>", largest, "COP"), format="xcsp3")
    assert problem.objective is not None
    assert problem.objective.value(0, np.array([1, 2, 0])) == 3


STRETCH = "<stretch><list> x[] </list><values> 0 </values><widths> 1..2 </widths></stretch>"
SHORT_SUM = "<sum><list> x[] </list><coeffs> 1 </coeffs><condition> (le,1) </condition></sum>"
BOMB = """<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<instance format="XCSP3" type="CSP"><variables><var id="x"> 0..1 </var></variables>
<constraints><intension> eq(x,&b;) </intension></constraints></instance>"""
EXTERNAL = """<!DOCTYPE z [<!ENTITY f SYSTEM "file:///etc/hostname">]>
<instance format="XCSP3" type="CSP"><variables><var id="x"> &f; </var></variables></instance>"""


@pytest.mark.parametrize("text", [BOMB, EXTERNAL, '<!DOCTYPE z SYSTEM "x.dtd"><instance><variables/></instance>'])
def test_entities_and_external_references_are_refused(text: str) -> None:
    with pytest.raises(FormatError, match="refused"):
        read_text(text, format="xcsp3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<instance><variables></instance>", "not well-formed"),
        ("<other/>", "not an XCSP3 file"),
        (instance(THREE, STRETCH), "<stretch>"),
        (instance(THREE, "<args> x[] </args>"), "not understood"),
        (instance(THREE, "<intension> eq(x[0],y) </intension>"), "intension"),
        (instance(THREE, SHORT_SUM), "1 coefficients for 3"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        read_text(text, format="xcsp3", name="file.xml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("file.xml:")


def test_unsupported_is_told_apart_from_malformed() -> None:
    with pytest.raises(UnsupportedError):
        read_text(instance(THREE, STRETCH), format="xcsp3")


def test_a_domain_out_of_order_keeps_its_order() -> None:
    """Free variables take the first value, the one of `1 -1` that the official checker knows."""
    text = instance('<var id="x"> 1 -1 </var> <var id="y"> 5 0 -7 </var>', "<intension> lt(add(x,y),-5) </intension>")
    assert solve(read_text(text, format="xcsp3"), time_limit=5).assignment["y"] == -7
    free = read_text(instance('<array id="x" size="[40]"> 1 -1 </array>', ""), format="xcsp3")
    assert [solve(free, steps=0, seed=seed).assignment["x[39]"] for seed in range(8)] == [1] * 8


def test_a_domain_too_wide_is_refused() -> None:
    wide = '<array id="x" size="[9]"> 0..1000000000 </array>'
    with pytest.raises(FormatError, match=r"variable x\[0\]: 1,000,000,001 values.*ANYCSP_MAX_DOMAIN"):
        read_text(instance(wide, "<allDifferent> x[] </allDifferent>"), format="xcsp3")


def test_wide_domains_are_labelled_without_the_product() -> None:
    variables = '<array id="x" size="[3]"> 0..20000 </array>'
    problem = read_text(instance(variables, "<intension> eq(mul(x[0],x[1]),x[2]) </intension>"), format="xcsp3")
    assert [block.kind for block in problem.blocks] == ["rule"]
    assert problem.violation([123, 45, 5535]).violated == 0
    assert problem.violation([123, 45, 5534]).violated == 1


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "small.xml.lzma"
    path.write_bytes(lzma.compress(instance(THREE, "<allEqual> x[] </allEqual>").encode(), format=lzma.FORMAT_ALONE))
    assert read(path).num_variables == 3


def test_answers_read_back() -> None:
    problem = read_text(instance(THREE, "<allDifferent> x[] </allDifferent>"), format="xcsp3")
    lines = answer(problem, np.array([2, 0, 1]))
    assert all(line.startswith("v ") for line in lines)
    assert read_answer("\n".join(line[2:] for line in lines)) == {"x[0]": 2, "x[1]": 0, "x[2]": 1}


# ── the official checker ─────────────────────────────────────────────────────────────────────────────


def checker() -> list[str]:
    if shutil.which("java") is None:
        pytest.skip("SolutionChecker needs Java")
    spec = find_spec("pycsp3")
    assert spec is not None
    assert spec.origin is not None
    jar = next((Path(spec.origin).parent / "solvers" / "ace").glob("ACE-*.jar"), None)
    if jar is None:
        pytest.skip("pycsp3 came without the ACE jar")
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", str(jar), "org.xcsp.parser.callbacks.SolutionChecker"]


SMALL = [
    "java-tools/Allergy.xml",
    "java-tools/Zebra.xml",
    "java-tools/MagicSequence-008-ca.xml",
    "java-tools/BusScheduling-cnt-t1.xml",
    "concrete/LabeledDice.xml",
    "concrete/CostasArray-10.xml",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_checker_counts_the_same_violations(name: str, data: Path, tmp_path: Path) -> None:
    """SolutionChecker names every violated constraint of an assignment: as many as we count (ours may be split)."""
    command = checker()
    path = data / "xcsp3" / name
    problem = read(path)
    rng = np.random.default_rng(0)
    for attempt in range(2):
        positions = rng.integers(0, problem.domains.sizes).astype(np.int32)
        problem.complete(positions)
        file = tmp_path / f"{attempt}.txt"
        file.write_text("\n".join(answer(problem, positions)))
        said = subprocess.run([*command, str(path), str(file)], capture_output=True, text=True, check=False)
        violated = len(re.findall(r"Violated Constraint", said.stdout + said.stderr))
        ours = problem.violation_of_positions(positions).violated
        assert (violated == 0) == (ours == 0)
        assert violated <= ours


@pytest.mark.slow
def test_every_file_is_read_or_refused_for_a_reason(data: Path) -> None:
    """At least 95 % of the CSP files and 90 % of the COP files are read; no file makes the reader fail otherwise."""
    counts, reasons = {"CSP": [0, 0], "COP": [0, 0]}, []
    for path in sorted((data / "xcsp3").rglob("*.xml")):
        if path.stat().st_size > 200_000:
            continue  # the large ones are in the table of research/xcsp3.md
        kind = "COP" if b'type="COP"' in path.read_bytes()[:2000] else "CSP"
        counts[kind][1] += 1
        try:
            read(path)
            counts[kind][0] += 1
        except FormatError as error:
            reasons.append(error.reason)
    assert all(reasons)
    assert counts["CSP"][0] >= 0.95 * counts["CSP"][1]
    assert counts["COP"][0] >= 0.90 * counts["COP"][1]


def test_the_format_is_recognised() -> None:
    assert FORMATS["xcsp3"].sniff(b'<?xml version="1.0"?>\n<instance format="XCSP3" type="CSP">')
    assert not FORMATS["xcsp3"].sniff(b"p cnf 3 2")
