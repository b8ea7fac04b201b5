"""Exact search: what CP-SAT answers is what brute force finds, and it says so as every search does."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import FAMILIES, draw_expression

from anycsp import AnyCSPError, Problem, ProblemError, Progress, distributions, solve
from anycsp.cli import run
from anycsp.deadline import Deadline
from anycsp.model.expressions import circuit, if_else
from anycsp.search.choose import exact_helps
from anycsp.search.exact import beside
from anycsp.search.exact.beside import Partner
from anycsp.search.exact.core import unsatisfiable_core
from anycsp.search.exact.cp_sat import CpSat
from anycsp.search.exact.engine import ExactSearch, scored
from anycsp.search.exact.model import LARGEST_WRAPPING, WRAPPING, release
from anycsp.search.exact.neighbourhoods import Neighbourhoods, restricted
from anycsp.search.exact.pace import OTHER, PROVER, REPAIRS, Pace, lower_priority
from anycsp.search.exact.translation import must_hold, translated

pytest.importorskip("ortools")

# ── answers ──────────────────────────────────────────────────────────────────────────────────────


def drawn(seed: int) -> Problem:
    """A few constraints of any families; half of the problems have weights, a third an objective."""
    rng = np.random.default_rng(seed)
    problem = Problem()
    for _ in range(rng.integers(3, 6)):
        problem.add_variable(rng.choice(np.arange(-3, 5), rng.integers(1, 4), replace=False).tolist())
    weighted = bool(rng.integers(2))
    for _ in range(rng.integers(1, 6)):
        terms = {"weight": float(rng.integers(1, 6)) / 2, "hard": bool(rng.integers(2))} if weighted else {}
        FAMILIES[rng.integers(len(FAMILIES))](problem, rng, terms)
    if rng.integers(3) == 0:
        (problem.minimize if rng.integers(2) else problem.maximize)(draw_expression(problem.variables, rng, 2))
    return problem


def least_score(problem: Problem) -> int | None:
    """By looking at every assignment: the best score of those that keep what must hold, None where none does."""
    must, best = must_hold(problem), None
    for positions in itertools.product(*map(range, problem.domain_sizes.tolist())):
        at = np.array(positions, dtype=np.int32)
        kept = not any(must[b.terms.index[~b.satisfied(problem.domains, at)]].any() for b in problem.blocks)
        score, value, _ = scored(problem, at)
        if kept and (problem.objective is None or value is not None):
            best = score if best is None else min(best, score)
    return best


def agrees(problem: Problem, seed: int) -> bool:
    engine = ExactSearch(problem, seed)
    try:
        engine.start()
        engine.advance(10**9, 60.0)
    finally:
        engine.close()
    least = least_score(problem)
    if least is None:
        return engine.refuted
    return int(engine.best_score()[0, 0]) == least and not engine.refuted and (engine.proved or least == 0)


@pytest.mark.parametrize("seed", range(80))
def test_its_answer_is_that_of_brute_force(seed: int) -> None:
    assert agrees(drawn(seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_its_answers_are_those_of_brute_force(block: int) -> None:
    assert [seed for seed in range(1000 + 100 * block, 1100 + 100 * block) if not agrees(drawn(seed), seed)] == []


def no_overlap(problem: Problem, xs: list[Any]) -> None:
    problem.add_no_overlap(xs, [1, 2, 1, 2])


def boxes(problem: Problem, xs: list[Any]) -> None:
    problem.add_no_overlap([[xs[0], xs[1]], [xs[2], xs[3]]], [[2, 1], [1, 3]])


def cumulative(problem: Problem, xs: list[Any]) -> None:
    problem.add_cumulative(xs, [2, 1, 2, 3], [1, 2, 2, 1], "<=", 3)


def cumulative_variable(problem: Problem, xs: list[Any]) -> None:
    problem.add_cumulative(xs[:2], [2, xs[2]], [1, 2], "<", xs[3] + 1)


def inverse(problem: Problem, xs: list[Any]) -> None:
    problem.add_channel(xs[:2], xs[2:])


def shifted(problem: Problem, xs: list[Any]) -> None:
    problem.add_all_different([x + i for i, x in enumerate(xs)])


def empty_tasks(problem: Problem, xs: list[Any]) -> None:
    problem.add_no_overlap(xs[:3], [0, xs[3], 2], zero_ignored=False)


@pytest.mark.parametrize("post", [no_overlap, boxes, cumulative, cumulative_variable, inverse, shifted, empty_tasks])
def test_a_global_constraint_posted_whole_means_what_its_parts_do(post: Callable[[Problem, list[Any]], None]) -> None:
    for low, high in ((0, 3), (-1, 2)):
        problem = Problem()
        xs = problem.add_variables(4, range(low, high))
        post(problem, xs)
        assert problem.whole
        for pick in (1, -1):
            problem.minimize(pick * (xs[0] + 3 * xs[1] - 2 * xs[2] + xs[3] * xs[0]))
            assert agrees(problem, 0)


def test_weights_are_exact_and_hard_constraints_come_first() -> None:
    problem = Problem()
    a, b = problem.add_variables(2, (0, 1))
    problem.add(a == 1, weight=0.1)
    problem.add(b == 1, weight=0.2)
    problem.add(a + b <= 1, weight=0.001, hard=True)
    problem.add(a != b, weight=0.3)
    result = solve(problem, search="exact", threads=1)
    assert (result.status, result.violated_weight, result.hard_violated) == ("optimal", 0.1, 0)
    assert result.assignment == {"x0": 0, "x1": 1}


# ── statuses, bounds, limits ─────────────────────────────────────────────────────────────────────


def golomb(marks: int, length: int) -> Problem:
    problem = Problem()
    xs = problem.add_variables(marks, range(length))
    for x, y in itertools.pairwise(xs):
        problem.add(x < y)
    problem.add_all_different([y - x for x, y in itertools.combinations(xs, 2)])
    problem.minimize(xs[-1] - xs[0])
    return problem


def pigeons(count: int) -> Problem:
    problem = Problem()
    problem.add_all_different(problem.add_variables(count, range(count - 1)))
    return problem


def hard_cut() -> Problem:
    return distributions.get("maxcut", n=200).draw(np.random.default_rng(0))


def test_an_optimum_is_proved_and_bounds_are_told() -> None:
    seen: list[Progress] = []
    result = solve(golomb(6, 30), search="exact", threads=1, time_limit=30, callback=seen.append)
    assert (result.status, result.objective, result.found_by) == ("optimal", {"kind": "minimize", "value": 17}, "exact")
    assert seen[-1].objective == seen[-1].bound == 17
    told = [p.bound for p in seen if p.bound is not None]
    assert all(bound <= 17 for bound in told)
    assert all(point.bound is None or point.bound <= 17 for point in result.trace)
    assert result.satisfied


@pytest.mark.parametrize("search", ["exact", "auto"])
def test_what_cannot_be_is_unsatisfiable(search: str) -> None:
    result = solve(pigeons(9), search=search, threads=1, time_limit=30)
    assert result.status == "unsatisfiable"
    assert result.violated > 0


@pytest.mark.parametrize("search", ["exact", "auto"])
def test_wishes_of_one_weight_are_violated_as_little_as_can_be(search: str) -> None:
    """That they cannot all hold is no answer to them."""
    problem = Problem()
    x = problem.add_variables(30, 0, 9)
    problem.add_linear(x, [1] * 30, ">=", 271, weight=2)  # more than there can be
    for k in range(30):
        problem.add_linear([x[k], x[(k + 1) % 30], x[(k + 2) % 30]], [1, 1, 1], "<=", 6, weight=2)
    result = solve(problem, search=search, threads=1, time_limit=30)
    assert (result.status, result.violated, result.violated_weight) == ("optimal", 1, 2.0)


def test_a_search_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    for search in ("exact", "auto"):
        solve(golomb(9, 70), search=search, threads=1, time_limit=2.0)
        assert threading.active_count() == before
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.perf_counter()
    result = solve(hard_cut(), search="exact", threads=1, time_limit=60, stop=stop)
    assert result.status == "interrupted"
    assert time.perf_counter() - began < 5
    assert [t.name for t in threading.enumerate() if t.name == "cp-sat"] == []


def test_a_step_is_a_solution() -> None:
    result = solve(hard_cut(), search="exact", steps=3)
    assert result.steps == 3
    assert result.status == "best-effort"


# ── beside the portfolio ─────────────────────────────────────────────────────────────────────────


def test_auto_ends_at_a_proof() -> None:
    result = solve(golomb(6, 30), threads=1, time_limit=60)
    assert (result.status, result.search, result.objective) == ("optimal", "auto", {"kind": "minimize", "value": 17})
    assert result.seconds < 50


def test_auto_ends_at_a_proof_of_violated_weight() -> None:
    rng = np.random.default_rng(4)
    problem = Problem()
    xs = problem.add_variables(10, range(4))
    for _ in range(24):
        some = rng.choice(10, 3, replace=False)
        problem.add(sum(xs[i] for i in some) == int(rng.integers(3, 8)), weight=float(rng.integers(1, 9)))
    answers = {search: solve(problem, search=search, threads=1, time_limit=60) for search in ("auto", "exact")}
    assert {a.status for a in answers.values()} == {"optimal"}
    assert answers["auto"].violated_weight == answers["exact"].violated_weight


def test_random_problems_are_left_to_local_search() -> None:
    rng = np.random.default_rng(0)
    for name in ("rb", "forced-rb", "coloring", "colorable", "maxcut", "sat", "maxsat"):
        assert not exact_helps(distributions.get(name).draw(rng)), name
    assert exact_helps(golomb(5, 12))
    assert exact_helps(pigeons(5))


@pytest.mark.parametrize("search", ["local", "hybrid", "neural"])
def test_other_searches_never_use_it(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anycsp.search.exact.model.cp_model", lambda: pytest.fail("CP-SAT was used"))
    result = solve(golomb(5, 14), search=search, threads=1, time_limit=1.5)
    assert result.found_by != "exact"
    assert result.status in ("satisfied", "best-effort")


# ── large neighbourhoods ─────────────────────────────────────────────────────────────────────────


def test_a_neighbourhood_holds_the_rest_and_asks_for_better() -> None:
    problem = Problem()
    xs = problem.add_variables(6, range(5))
    problem.add_all_different(xs[:5])
    problem.maximize(sum((i + 1) * x for i, x in enumerate(xs)))
    positions = np.array([0, 1, 2, 3, 4, 2], dtype=np.int32)
    translation = translated(problem)
    translation.hint(positions)
    for free, least in (([5], 64), ([0, 1], None), ([0, 1, 5], 64)):
        flags = np.isin(np.arange(6), free)
        found: list[Any] = []
        model = restricted(translation, positions, flags, scored(problem, positions)[1])
        solver = CpSat(translation, found.append, model=model)
        solver.solve()
        assert solver.infeasible == (least is None)
        if least is not None:
            assert scored(problem, found[-1])[1] == least
            assert (found[-1] == positions)[~flags].all()


def test_every_neighbourhood_frees_some_and_the_bandit_prefers_what_pays() -> None:
    problem = golomb(8, 60)
    neighbourhoods = Neighbourhoods(problem, np.random.default_rng(0))
    positions = np.arange(8, dtype=np.int32)
    chosen: list[str] = []
    for number in range(300):
        free = neighbourhoods.draw(positions)
        assert 0 < free.sum() < 8
        chosen.append(neighbourhoods._chosen)
        neighbourhoods.book(improved=number >= 100 and chosen[-1] == "value", settled=False)
    assert set(chosen[:100]) == {"random", "constraint", "value", "values", "conflict"}
    assert chosen[200:].count("value") > 80


def test_some_values_are_freed_whole() -> None:
    """Six items in three bins: a neighbourhood of four empties two bins, half of the time the last one among them."""
    problem = Problem()
    items = problem.add_variables(6, range(3))
    used = problem.add_variable(range(4))
    for x in items:
        problem.add(x < used)
    problem.minimize(used)
    neighbourhoods = Neighbourhoods(problem, np.random.default_rng(0))
    positions = np.array([0, 1, 2, 0, 1, 2, 3], dtype=np.int32)
    last = 0
    for _ in range(100):
        free = neighbourhoods._of_some_values(positions, 4)
        assert set(np.bincount(positions[:6][free[:6]], minlength=3).tolist()) == {0, 2}
        last += bool(free[2])
    assert last > 75  # 5 of 6, against 2 of 3 where it is drawn like any other


def test_a_way_is_freed_where_nodes_are_near() -> None:
    """On a ring whose nodes may be followed by the two on either side, nine freed ones lie within a stretch."""
    problem = Problem()
    after = [problem.add_variable(sorted({(i + d) % 30 for d in (-2, -1, 1, 2)})) for i in range(30)]
    problem.add_circuit(after, size=30)
    neighbourhoods = Neighbourhoods(problem, np.random.default_rng(0))
    positions = np.array([sorted({(i + d) % 30 for d in (-2, -1, 1, 2)}).index((i + 1) % 30) for i in range(30)])
    for _ in range(20):
        free = np.flatnonzero(neighbourhoods._of_a_way(positions.astype(np.int32), 9))
        gaps = np.diff([*free, free[0] + 30])
        assert len(free) == 9
        assert gaps.max() >= 12


# ── why not ──────────────────────────────────────────────────────────────────────────────────────


def test_a_core_is_minimal() -> None:
    problem = Problem()
    x, y, z = problem.add_variables(3, range(10))
    problem.add(x + y >= 3)  # 0: has nothing to do with it
    problem.add(x < y)  # 1
    problem.add(z != 4)
    problem.add(y < z)  # 3
    problem.add(z < x)  # 4
    problem.add(z <= x)
    core = unsatisfiable_core(problem)
    assert core.minimal
    assert core.constraints in ([1, 3, 4], [1, 3, 5])
    for left_out in core.constraints:
        rest = Problem()
        rest.add_variables(3, range(10))
        x, y, z = rest.variables
        for number, constraint in enumerate((x + y >= 3, x < y, z != 4, y < z, z < x, z <= x)):
            if number in core.constraints and number != left_out:
                rest.add(constraint)
        assert solve(rest, search="exact", threads=1).satisfied
    possible = Problem()
    possible.add(possible.add_variable(range(3)) > 0)
    with pytest.raises(AnyCSPError, match="nothing to explain"):
        unsatisfiable_core(possible)


def test_the_command_line_names_what_cannot_hold_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "no.cnf"
    path.write_text("p cnf 4 5\n3 4 0\n1 2 0\n-1 0\n-2 0\n-3 4 0\n")
    assert run(["solve", str(path), "--search", "exact", "--threads", "1", "--explain", "--quiet"]) == 20
    first, *rest = capsys.readouterr().err.strip().splitlines()
    assert first == "explain: 3 of 5 constraints cannot hold together and none of them can be left out:"
    assert sorted(rest) == [
        "explain: constraint 2: clause over 1, 2",
        "explain: constraint 3: clause over 1",
        "explain: constraint 4: clause over 2",
    ]


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


def test_numbers_beyond_its_reach_are_refused_by_name() -> None:
    problem = Problem()
    x, y = problem.add_variables(2, range(3))
    problem.add(x != y)
    z = problem.add_variable([0, 2**29], "z")
    problem.add(z * (2**32) + x >= y, hard=True)
    with pytest.raises(ProblemError, match="constraint 2: numbers beyond"):
        solve(problem, search="exact", threads=1)


def least_product(rng: np.random.Generator, most_bits: int) -> Problem:
    problem = Problem()
    for bits in rng.choice([most_bits // 2, most_bits - 1, most_bits], 2).tolist():
        problem.add_variable(np.unique(rng.integers(-(2**bits), 2**bits, 4)).tolist())
    x, y = problem.variables
    problem.minimize(x * y)
    return problem


@pytest.mark.parametrize("most_bits", [14, 30])
def test_products_are_right_or_refused(most_bits: int) -> None:
    """A release of OR-Tools lost solutions where products reach 2^31."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        problem = least_product(rng, most_bits)
        products = np.outer(*(domain.values for domain in problem.domain_list))
        if release().startswith(WRAPPING) and np.abs(products).max() >= LARGEST_WRAPPING:
            with pytest.raises(ProblemError, match="is wrong with variables beyond 30 bits"):
                solve(problem, search="exact", threads=1)
            continue
        result = solve(problem, search="exact", threads=1)
        assert result.status == "optimal"
        assert result.objective is not None
        assert result.objective["value"] == products.min()


def test_a_release_that_wraps_around_gets_no_wide_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anycsp.search.exact.model.release", lambda: "9.15.6755")
    problem = least_product(np.random.default_rng(0), 30)
    with pytest.raises(ProblemError, match=r"objective: OR-Tools 9\.15\.6755 is wrong with variables beyond 30 bits"):
        solve(problem, search="exact", threads=1)
    assert solve(problem, threads=1, time_limit=1).status in ("optimal", "satisfied", "best-effort")
    problem.add_variable([0, 2**40, 2**41])
    with pytest.raises(ProblemError, match="variable 3: OR-Tools"):
        solve(problem, search="exact", threads=1)


def test_a_release_that_calls_a_wrong_minimum_optimal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """9.14 did so with x ≠ y said three times."""
    problem = Problem()
    x, y = problem.add_variables(2, [-3, 2, 3, 4])
    problem.add([x != y, y != x, x != y])
    problem.minimize(x)
    result = solve(problem, search="exact", threads=1)
    assert result.objective is not None
    assert result.objective["value"] == -3
    monkeypatch.setattr("anycsp.search.exact.model.release", lambda: "9.14.6206")
    with pytest.raises(AnyCSPError, match=r"needs OR-Tools 9\.15 or newer, not 9\.14\.6206: pip install"):
        solve(problem, search="exact", threads=1)
    assert solve(problem, threads=1, time_limit=1).found_by != "exact"


def test_what_has_no_translation_is_refused_in_one_line() -> None:
    problem = Problem()
    xs = problem.add_variables(7, range(8))
    problem.add_rule(xs, lambda *values: sorted(values)[3] == 4)
    with pytest.raises(ProblemError, match="constraint 1: a Python function of 2,097,152") as error:
        solve(problem, search="exact", threads=1)
    assert "\n" not in str(error.value)
    problem = Problem()
    xs = problem.add_variables(8, range(8))
    problem.add(if_else(xs[0] > xs[1], circuit(xs), xs[2] > 3))
    with pytest.raises(ProblemError, match="circuit within a condition"):
        solve(problem, search="exact", threads=1)


def test_without_or_tools_one_line_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert run(["solve", "examples/cube.rud", "--search", "exact"]) == 2
    errors = capsys.readouterr().err.strip()
    assert errors.count("\n") == 0
    assert "pip install 'anycsp[exact]'" in errors


def test_without_or_tools_explaining_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    problem = Problem()
    x = problem.add_variable([0, 1], "x")
    problem.add([x == 0, x == 1])
    missing, *lines = solve(problem, search="local", time_limit=5).explain()
    assert "needs OR-Tools" in missing
    assert lines[0] == "1 required and 0 soft constraints violated, of weight 0"


def test_or_tools_is_imported_only_when_it_is_used() -> None:
    program = "import sys, anycsp.search.solve, anycsp.search.engines; print('ortools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ── the command line ─────────────────────────────────────────────────────────────────────────────


def test_exit_codes_and_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "examples/cube.rud", "--search", "exact", "--threads", "1"]) == 30
    assert "s OPTIMUM FOUND" in capsys.readouterr().out
    unsatisfiable = tmp_path / "no.cnf"
    unsatisfiable.write_text("p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n")
    assert run(["solve", str(unsatisfiable), "--search", "exact", "--threads", "1"]) == 20
    assert "s UNSATISFIABLE" in capsys.readouterr().out
    trace = tmp_path / "trace.jsonl"
    assert run(["solve", "examples/magic-square.xml", "--search", "exact", "--json", "--trace", str(trace)]) == 10
    said = json.loads(capsys.readouterr().out)
    assert (said["status"], said["search"], said["found_by"]) == ("satisfied", "exact", "exact")
    assert all("bound" in json.loads(line) for line in trace.read_text().splitlines())


def test_turns_follow_what_was_brought_lately() -> None:
    """Turns of 0.1 s: a search that improves has nearly all of them, one that has stopped shares them with the rest."""

    def turns(improving: str | None, *, decides: bool = False) -> dict[str, int]:
        pace, counts = Pace(decides=decides), dict.fromkeys((OTHER, REPAIRS, PROVER), 0)
        for turn in range(1000):
            party = pace.next(counts, turn / 10)
            counts[party] += 1
            pace.book(party, 0.1, turn / 10)
            if improving is not None:
                pace.improved(improving, turn / 10)
        return counts

    for improving in (OTHER, REPAIRS, PROVER):
        assert turns(improving)[improving] > 700
    assert 450 < turns(None)[OTHER] < 550
    assert turns(None, decides=True)[OTHER] > 800


@pytest.mark.skipif(sys.platform != "linux", reason="priorities are those of processes")
def test_a_thread_in_the_background_has_little_beside_one_that_works() -> None:
    said: list[float] = []
    before = os.getpriority(os.PRIO_PROCESS, 0)
    thread = threading.Thread(target=lambda: said.append(lower_priority()))
    thread.start()
    thread.join()
    assert said[0] < 0.5 or before == 19
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_neighbourhoods_wait_for_the_first_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other search may take longer to count its first one than CP-SAT takes to begin."""
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    for pause in ("ALONE", "TRIAL"):
        monkeypatch.setattr(beside, pause, 0.001)
    problem = pigeons_with_a_price(12)
    partner = Partner(problem, seed=0, workers=1, deadline=Deadline.after(3.0), decision=False, alone=False)
    partner.begin()
    try:
        partner.take(3.0)
    finally:
        partner.close()
    assert not died


def pigeons_with_a_price(count: int) -> Problem:
    """Neither solved nor refuted at once, so that neighbourhoods have time to begin."""
    problem = Problem()
    at = [problem.add_variables(count - 1, 0, 1) for _ in range(count)]
    for holes in at:
        problem.add_linear(holes, [1] * (count - 1), ">=", 1)
    for hole in range(count - 1):
        for first, second in itertools.combinations(at, 2):
            problem.add_linear([first[hole], second[hole]], [1, 1], "<=", 1)
    problem.minimize(at[0][0] + at[1][0])
    return problem
