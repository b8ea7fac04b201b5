"""One trial: post the problem, search it, and hold every claim against the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from anycsp.checker.check import recount
from anycsp.checker.problem import from_description
from anycsp.errors import AnyCSPError, ConversionError, ProblemError
from anycsp.formats import FORMATS, read_text, to_text
from anycsp.fuzz.outcome import expect, expect_one_line, template
from anycsp.fuzz.problems.draw import ENOUGH
from anycsp.fuzz.problems.oracle import Case, Count, Oracle
from anycsp.fuzz.problems.post import build
from anycsp.fuzz.problems.variants import varied
from anycsp.graph import compile_graph
from anycsp.model.description import describe
from anycsp.model.problem import Problem, Violation
from anycsp.model.structure import is_decision
from anycsp.neural.models import Model, load_model
from anycsp.presolve.network import required
from anycsp.presolve.reduce import Presolved, presolved
from anycsp.search.choose import choose_model, choose_schedule
from anycsp.search.driver import Limits, drive
from anycsp.search.engines import portfolio
from anycsp.search.exact.core import unsatisfiable_core
from anycsp.search.invariants import InvariantSearch, possible_values
from anycsp.search.local import LocalSearch
from anycsp.search.options import SearchOptions
from anycsp.search.prepare import Prepared, plan_for, starts
from anycsp.search.result import Result
from anycsp.search.several import several
from anycsp.search.solve import report, solve_with
from anycsp.search.tree import TreeSearch

MOST_DECISIONS = 2000
"""Of a tree alone: ten times as many as a case has assignments."""
SOLUTIONS = 3
"""How many are asked for at a time."""
CORE_SECONDS = 60.0
"""Far more than the core of so few constraints takes, on a busy machine too."""
NO_LIMIT = 3600.0
"""Seconds: searches that end by themselves are told of no limit that a busy machine could make them meet."""
SAMPLED = 3
"""Assignments of a case that are counted by the problem and by the checker too."""


def check(case: Case) -> str:
    """A word for the tally; raises `Wrong` (or whatever the program raised) where something is not as it should be."""
    tally = _checked(case)
    if case.get("variant"):
        _checked(varied(case))
    return tally


def _checked(case: Case) -> str:
    oracle = Oracle(case)
    try:
        problem = build(case)
        _count_some(problem, oracle)
        tally = _searched(case, problem, oracle, search_options(case, problem))
        if "several" in case.get("checks", ()) and case["options"].get("search") in ("local", "auto", "exact"):
            _several(problem, oracle, search_options(case, problem))
    except AnyCSPError as error:
        return _refused(error, oracle)
    checks = case.get("checks", ())
    if "files" in checks:
        _written_and_read(problem, oracle)
    if "checker" in checks:
        _recounted(problem, oracle)
    if "core" in checks and tally == "unsatisfiable":
        _explained(problem, oracle)
    return tally


def _refused(error: AnyCSPError, oracle: Oracle) -> str:
    expect_one_line(str(error))
    if str(error).startswith("no exact"):
        expect(oracle.refusable(len(oracle.entries) * 64), f"weights refused that fit: {error}")
    return f"refused: {template(str(error))}"


# ── counting ─────────────────────────────────────────────────────────────────────────────────────


def _samples(oracle: Oracle) -> Iterator[tuple[int, ...]]:
    """A few assignments, the same for every run of a case: the first, the last and one between."""
    for share in range(SAMPLED):
        yield tuple(
            domain[(len(domain) - 1) * share * (x + 1) // 2 % len(domain)] for x, domain in enumerate(oracle.domains)
        )


def _same(claimed: Violation, count: Count, what: str) -> None:
    """Equal numbers; where a loose post is violated, those of the oracle are lower bounds."""
    if count.loose:
        expect(
            claimed.violated >= count.violated, f"{what}: {claimed.violated} violated, at least {count.violated} are"
        )
        expect((claimed.hard > 0) >= (count.hard > 0), f"{what}: {claimed.hard} hard violated, {count.hard} are")
        return
    expect(claimed.violated == count.violated, f"{what}: {claimed.violated} violated, {count.violated} are")
    expect(claimed.hard == count.hard, f"{what}: {claimed.hard} hard violated, {count.hard} are")
    expect(claimed.weight == count.weight, f"{what}: weight {claimed.weight!r} violated, {count.weight!r} is")


def _count_some(problem: Problem, oracle: Oracle) -> None:
    for values in _samples(oracle):
        _same(problem.violation(values), oracle.count(values), "counting")


def _recounted(problem: Problem, oracle: Oracle) -> None:
    """The independent checker agrees; it knows no Python functions."""
    if any(entry["post"].startswith("function") for entry in oracle.entries):
        return
    for values in _samples(oracle):
        checked = from_description(describe(problem))  # its constraints can be gone through once
        count, expected = recount(checked, list(values)), oracle.count(values)
        if not expected.loose:
            agrees = (count.violated, count.hard_violated) == (expected.violated, expected.hard)
            expect(agrees, f"checker: {count.violated} violated, {expected.violated} are")
        if oracle.objective is not None:
            value = expected.objective
            agrees = (count.objective is None) == (value is None) and (
                not value or len(value) > 1 or count.objective == value[0]
            )
            expect(agrees, f"checker: objective {count.objective}")


def _written_and_read(problem: Problem, oracle: Oracle) -> None:
    """In every format that can hold it the problem means the same, position by position."""
    for name, form in FORMATS.items():
        if form.write is None:
            continue
        try:
            text = to_text(problem, name)
        except ConversionError as error:
            expect_one_line(str(error))
            continue
        colors = len(problem.domain(0)) if form.takes_colors else None
        again = read_text(text, format=name, colors=colors)
        expect(again.num_variables == problem.num_variables, f"{name}: another number of variables")
        for values in _samples(oracle):
            found, count = again.violation_of_positions(problem.positions(values)), oracle.count(values)
            if problem.scoring.all_required and not any(block.terms.hard.any() for block in again.blocks):
                found = found._replace(hard=found.violated)  # a file of clauses or pairs says that all shall hold
            _same(found, count, f"written as {name}")


def _explained(problem: Problem, oracle: Oracle) -> None:
    """No assignment keeps all constraints of the core, and some assignment keeps all but any one of a minimal one."""
    if not oracle.counts_all or oracle.assignments > ENOUGH:
        return
    try:
        core = unsatisfiable_core(problem, CORE_SECONDS)
    except ProblemError as error:  # numbers that local search can hold, and CP-SAT cannot
        expect_one_line(str(error))
        return
    kept = np.zeros(problem.num_constraints, dtype=np.bool_)
    single = set[int]()
    for values in oracle.enumerate():
        for block in problem.blocks:
            kept[block.terms.index] = block.satisfied(problem.domains, problem.positions(values))
        broken = [number for number in core.constraints if not kept[number]]
        expect(len(broken) > 0, f"{values} keeps all constraints of the core")
        single |= {broken[0]} if len(broken) == 1 else set()
    expect(not core.minimal or single == set(core.constraints), "the core is not minimal")


def _several(problem: Problem, oracle: Oracle, options: SearchOptions) -> None:
    """Answers that differ, each counted right, the best first."""
    result = several(problem, options, SOLUTIONS, None, 1, solve_with)
    asked = len(oracle.domains)
    found = [tuple(problem.values(answer.positions)[:asked].tolist()) for answer in result.solutions]
    expect(1 <= len(found) == len(set(found)) <= SOLUTIONS, f"{len(found)} solutions, {len(set(found))} different")
    for values, answer in zip(found, result.solutions, strict=True):
        counted = Violation(answer.violated, answer.violated_weight, answer.hard_violated)
        _same(counted, oracle.count(values), "one of several")


# ── searching ────────────────────────────────────────────────────────────────────────────────────


@cache
def _model(name: str) -> Model:
    return load_model(name)


def search_options(case: Case, problem: Problem) -> SearchOptions:
    asked: Mapping[str, Any] = case["options"]
    hint = asked.get("hint")
    search = asked.get("search", "local")
    most = {"neural": 20, "hybrid": 5}.get(search, 1000)  # a step of these costs as much as a thousand moves
    ends = case.get("objective") is None or search == "exact"  # by itself; others go on asking for something better
    steps = asked["steps"] if ends else asked["steps"] or 0
    return SearchOptions(
        model=_model(choose_model(problem)) if search in ("neural", "hybrid") else "auto",
        search=search,
        steps=None if steps is None else min(steps, most),
        time_limit=NO_LIMIT if steps is None else None,
        runs=asked["runs"],
        seed=asked["seed"],
        hint=None if hint is None else {problem.names[int(x)]: value for x, value in hint.items()},
        threads=asked["threads"],
        presolve=asked["presolve"],
    )


@dataclass(frozen=True)
class Answer:
    """What any way of searching claims."""

    values: tuple[int, ...]
    """Of the asked variables."""
    counted: Violation
    status: str
    objective: Any
    complete: bool = False
    """Whether every assignment was looked at, so that there is no better one."""


def _searched(case: Case, problem: Problem, oracle: Oracle, options: SearchOptions) -> str:
    engine = case["options"]["engine"]
    if engine == "tree":
        return _tree(problem, oracle, options)
    answer = _answer(case, problem, oracle, options)
    _judge(case, oracle, answer)
    if "again" in case.get("checks", ()):
        again = _answer(case, problem, oracle, options)
        expect(again == answer, f"the same seed, another answer: {answer.counted} and {again.counted}")
    return answer.status


def _answer(case: Case, problem: Problem, oracle: Oracle, options: SearchOptions) -> Answer:
    engine = case["options"]["engine"]
    if engine == "solve" or case.get("objective") is not None:
        result = solve_with(problem, options)
    else:
        result = _behind_solve(case, problem, options)
    asked = len(oracle.domains)
    values = problem.values(result.positions)[:asked].tolist()
    _labelled(problem, result, values)
    complete = engine == "solve" and options.search in ("local", "auto") and options.steps is None
    counted = Violation(result.violated, result.violated_weight, result.hard_violated)
    objective = None if result.objective is None else tuple(result.objective.get("values", [result.objective["value"]]))
    return Answer(tuple(values), counted, result.status, objective, complete and oracle.assignments <= ENOUGH)


def _labelled(problem: Problem, result: Result, values: list[int]) -> None:
    """The assignment by name says the same as the positions."""
    names = [name for x, name in enumerate(problem.names) if x not in problem.definitions]
    expect(list(result.assignment) == names, "the answer names other variables")
    for x, (name, value) in enumerate(zip(names, values, strict=True)):
        expect(problem.domain(x).integer(result.assignment[name]) == value, f"the answer's value of {name!r}")


def _behind_solve(case: Case, problem: Problem, options: SearchOptions) -> Result:
    """The searches that a problem this small does not get by itself, since it is enumerated."""
    plan = plan_for(problem, options)
    prepared = _prepared(problem, options)
    if case["options"]["engine"] == "portfolio":
        schedule = choose_schedule(prepared.problem, prepared.graph, is_decision(prepared.whole), plan.heuristic)
        engine: Any = portfolio(prepared, plan, options, schedule)
    elif case["options"]["engine"] == "invariants":
        engine = _invariants(prepared, plan.runs, options.seed)
    else:
        strategy = case["options"]["strategy"]
        engine = LocalSearch(prepared.graph, strategy, plan.runs, options.seed, plan.threads, steps=options.steps)
    engine.start(starts(prepared, options, plan))
    outcome = drive(engine, Limits(steps=options.steps))
    if isinstance(engine, (LocalSearch, InvariantSearch)):
        engine.verify()
    return report(prepared, plan, options, engine, outcome, None)


def _invariants(prepared: Prepared, runs: int, seed: int) -> InvariantSearch:
    """As in the portfolio, where it is one of several."""
    graph, defined = prepared.graph, prepared.problem.definitions
    return InvariantSearch(graph, required(graph), runs, seed, defined=defined, kept=possible_values(graph))


def _prepared(problem: Problem, options: SearchOptions) -> Prepared:
    """Presolved where asked for, though a problem this small would not be."""
    wanted = options.presolve and options.hint is None
    reduced = presolved(problem) if wanted else Presolved(problem)
    return Prepared(problem, reduced, compile_graph(reduced.problem))


def _judge(case: Case, oracle: Oracle, answer: Answer) -> None:
    """Every claim of an answer against the oracle."""
    for value, domain in zip(answer.values, oracle.domains, strict=True):
        expect(value in domain, f"{value} is outside its domain")
    count = oracle.count(answer.values)
    _same(answer.counted, count, f"{case['options']['engine']} answer")
    undefined = oracle.objective is not None and count.objective is None
    if oracle.objective is not None:
        expect(answer.objective == count.objective, f"objective {answer.objective}, {count.objective} is")
    nothing_violated = count.violated == 0 and not undefined
    claimed = answer.status == "satisfied" or (answer.status == "optimal" and nothing_violated)
    expect(claimed == nothing_violated, f"status {answer.status}, {count.violated} violated")
    if case["options"].get("search") == "exact" and case["options"]["steps"] is None and oracle.assignments <= ENOUGH:
        _judge_proof(oracle, answer.status)
    if answer.status == "optimal" and oracle.assignments <= ENOUGH:
        _judge_optimum(oracle, count)
    if answer.status == "unsatisfiable":
        _judge_refutation(case, oracle)
    if answer.complete and oracle.objective is None and oracle.counts_all:
        best = min(oracle.count(values).score for values in oracle.enumerate())
        expect(count.score == best, f"enumerated: score {_shown(count.score)}, the best is {_shown(best)}")


def _judge_optimum(oracle: Oracle, count: Count) -> None:
    """Nothing is better: of the objective among assignments that violate nothing, or else of the score."""
    counts = [oracle.count(values) for values in oracle.enumerate()]
    if oracle.objective is None:
        expect(
            not oracle.counts_all or count.score == min(c.score for c in counts), "optimal, but something violates less"
        )
        return
    values = [c.objective for c in counts if c.violated == 0 and c.objective is not None]
    best = min(values) if oracle.objective["sense"] == "minimize" else max(values)
    expect(count.objective == best, f"optimal {count.objective}, but {best} is better")


def _judge_proof(oracle: Oracle, status: str) -> None:
    """Exact search without a limit ends with a proof; where nothing keeps all constraints beside an objective, it may
    not be one that the objective allows to be told: see `status_of`."""
    if oracle.objective is None:
        expect(status in ("satisfied", "optimal", "unsatisfiable"), f"exact search proves nothing: {status}")
        return
    counts = map(oracle.count, oracle.enumerate())
    if any(count.violated == 0 and count.objective is not None for count in counts):
        expect(status == "optimal", f"exact search proves no optimum: {status}")


def _judge_refutation(case: Case, oracle: Oracle) -> None:
    expect("planted" not in case, "unsatisfiable, but a solution was planted")
    if oracle.assignments <= ENOUGH:
        for values in oracle.enumerate():
            holds = oracle.keeps_what_must_hold(oracle.count(values))
            expect(not holds, f"unsatisfiable, but {values} satisfies all that must hold")


def _shown(score: Any) -> str:
    return "/".join(f"{float(part):g}" for part in score)


def _tree(problem: Problem, oracle: Oracle, options: SearchOptions) -> str:
    """The constructive search alone: a solution keeps what must hold, and exhausted without one there is none."""
    if oracle.assignments > ENOUGH:
        return "too large for the tree alone"
    prepared = _prepared(problem, options)
    tree = TreeSearch(prepared.graph, options.seed, defined=prepared.problem.definitions)
    while not tree.over and tree.steps < MOST_DECISIONS:
        tree.advance(50, 1.0)
        positions = tree.take_solution()
        if positions is not None:
            counted = problem.violation_of_positions(prepared.extended(positions))
            beyond = counted.violated - int(prepared.graph.constant[0, 0])  # what presolve found to be lost anyway
            expect(not tree.satisfies_all or beyond == 0, f"a tree's solution violates {counted.violated}")
            expect(not oracle.has_hard or counted.hard == 0, f"a tree's solution violates {counted.hard} hard ones")
            return "tree: solution"
    if not tree.exhausted:
        return "tree: unfinished"
    if prepared.graph.terms.hard.any() or not oracle.has_hard:
        for values in oracle.enumerate():
            count = oracle.count(values)
            holds = count.hard == 0 if oracle.has_hard else count.violated == 0
            expect(not holds, f"the tree is exhausted, but {values} satisfies all that must hold")
    return "tree: exhausted"
