"""One trial: write the model, read it, compare every assignment with the oracle, and search."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from anycsp.errors import AnyCSPError, UnsupportedError
from anycsp.formats import read_text
from anycsp.formats.files import text_source
from anycsp.formats.flatzinc import read_flatzinc
from anycsp.fuzz.kinds import Case
from anycsp.fuzz.languages import cpmpy_model, xcsp3_text
from anycsp.fuzz.languages.flatzinc import Flat
from anycsp.fuzz.outcome import expect, expect_one_line, template
from anycsp.fuzz.problems.oracle import COMPARE, Oracle, evaluate
from anycsp.model.problem import Problem
from anycsp.search.result import Result
from anycsp.search.solve import solve

NO_LIMIT = 3600.0
"""Seconds, of searches that end by themselves."""

Solutions = dict[tuple[Any, ...], int | None]
"""What satisfies all constraints, by values in the order of the case, with what the objective comes to."""


def check(case: Case) -> str:
    """A word for the tally."""
    try:
        return f"{case['language']}: {_CHECKS[case['language']](case)}"
    except UnsupportedError as error:
        expect_one_line(str(error))
        return f"{case['language']}: refused"
    except AnyCSPError as error:
        expect_one_line(str(error))
        known = ("64-bit", "count in a larger unit", "bits of exact search", "too wide", "beyond 30 bits", "no exact")
        expect(any(words in str(error) for words in known), f"{case['language']}: {template(str(error))}")
        return f"{case['language']}: refused: {template(str(error))}"


# ── XCSP3 ────────────────────────────────────────────────────────────────────────────────────────


def _xcsp3(case: Case) -> str:
    oracle = Oracle({**case, "constraints": [{"self_loops": True, **entry} for entry in case["constraints"]]})
    problem = read_text(xcsp3_text.text(case), format="xcsp3")
    names = [variable["name"] for variable in case["variables"]]
    loads = [entry for entry in case["constraints"] if entry["post"] == "cumulative"]
    solutions: Solutions = {}
    for values in oracle.enumerate():
        count = oracle.count(values)
        # XCSP3 compares the load of every moment, of those at which nothing runs too.
        holds = count.violated == 0 and all(COMPARE[e["operator"]](0, evaluate(e["bound"], values)) for e in loads)
        claimed = problem.violation(dict(zip(names, values, strict=True))).violated == 0
        expect(claimed == holds, f"xcsp3: {values} {'holds' if claimed else 'fails'} as read")
        if holds and (oracle.objective is None or count.objective is not None):
            solutions[values] = None if count.objective is None else count.objective[0]
    result = _searched(problem, case["options"])
    found = tuple(result.assignment[name] for name in names)
    sense = None if oracle.objective is None else oracle.objective["sense"]
    _judge(case, result, found, solutions, sense)
    return result.status


def _searched(problem: Problem, options: Mapping[str, Any], **more: Any) -> Result:
    ends = options["steps"] is None
    asked = {key: options[key] for key in ("search", "seed", "threads", "runs", "presolve")}
    if ends and options["search"] != "exact" and problem.objective is not None:
        return solve(problem, steps=50, **asked, **more)  # it would go on asking for something better
    return solve(problem, steps=options["steps"], time_limit=NO_LIMIT if ends else None, **asked, **more)


def _judge(case: Case, result: Result, values: tuple[Any, ...], solutions: Solutions, sense: str | None) -> None:
    """Every claim of an answer."""
    status, exact = result.status, case["options"]["search"] == "exact" and case["options"]["steps"] is None
    satisfied = status in ("satisfied", "optimal") and result.violated == 0
    expect(
        satisfied == (values in solutions), f"{status}, and the answer is {'one' if values in solutions else 'none'}"
    )
    if status == "unsatisfiable":
        expect(not solutions, f"unsatisfiable, but {len(solutions)} assignments are solutions")
    if satisfied and sense is not None:
        best = (min if sense == "minimize" else max)(v for v in solutions.values() if v is not None)
        expect(result.objective is not None and result.objective["value"] == solutions[values], "another objective")
        expect(status != "optimal" or solutions[values] == best, f"optimal {solutions[values]}, but {best} is better")
        expect(not exact or status == "optimal", "exact search proves no optimum")
    expect(not exact or satisfied or not solutions, "exact search finds none of the solutions")


# ── CPMpy ────────────────────────────────────────────────────────────────────────────────────────


def _cpmpy(case: Case) -> str:
    from anycsp.integrations.cpmpy import CPM_anycsp

    oracle = Oracle({**case, "constraints": [{"self_loops": False, **entry} for entry in case["constraints"]]})
    solutions: Solutions = {}
    for values in oracle.enumerate():
        if all(cpmpy_model.holds(entry, values) for entry in oracle.entries):
            goal = None if oracle.objective is None else evaluate(oracle.objective["goals"][0], values)
            solutions[values] = goal
    written = cpmpy_model.Written(case)
    solver = CPM_anycsp(written.model)
    options = dict(case["options"])
    exact = options["search"] == "exact" and options["steps"] is None
    limits = {"steps": 50 if options["steps"] is None and not exact else options["steps"]}
    if exact:
        limits = {"time_limit": NO_LIMIT}
    found = solver.solve(search=options["search"], seed=options["seed"], threads=options["threads"], **limits)
    status = solver.status().exitstatus.name
    if found:
        values = tuple(
            domain[0] if x.value() is None else int(x.value())  # what no constraint mentions
            for x, domain in zip(written.variables, oracle.domains, strict=True)
        )
        expect(values in solutions, f"cpmpy: {status}, and the answer is none")
        if oracle.objective is not None:
            best = (min if oracle.objective["sense"] == "minimize" else max)(
                v for v in solutions.values() if v is not None
            )
            value = solver.objective_value()
            expect(value == solutions[values], f"cpmpy: objective {value}, {solutions[values]} is")
            expect(status != "OPTIMAL" or value == best, f"cpmpy: optimal {value}, but {best} is better")
            expect(not exact or status == "OPTIMAL", f"cpmpy: exact search says {status}")
    if status == "UNSATISFIABLE":
        expect(not solutions, f"cpmpy: unsatisfiable, but {len(solutions)} assignments are solutions")
    expect(not exact or bool(found) == bool(solutions), "cpmpy: exact search finds none of the solutions")
    return str(status).lower()


# ── FlatZinc ─────────────────────────────────────────────────────────────────────────────────────


def _flatzinc(case: Case) -> str:
    from anycsp.integrations.minizinc.output import value_of

    flat = Flat.of(case)
    names = list(flat.variables)
    read = read_flatzinc(text_source(flat.text().encode(), "model.fzn"))
    goal = flat.goal[1]
    solutions: Solutions = {tuple(found[n] for n in names): found.get(goal) for found in flat.solutions()}
    items = {output.name: output.items[0] for output in read.outputs}

    def printed(values: Any) -> tuple[Any, ...]:
        return tuple(
            frozenset(v for v, bit in items[n].items() if value_of(bit, values))
            if isinstance(items[n], dict)
            else value_of(items[n], values)
            for n in names
        )

    problem = read.problem
    asked = [x for x in range(problem.num_variables) if x not in problem.definitions]
    claimed = set()
    for values in itertools.product(*(problem.domain_list[x].values.tolist() for x in asked)):
        positions = problem.positions({problem.names[x]: v for x, v in zip(asked, values, strict=True)})
        if problem.violation_of_positions(positions).violated == 0:
            claimed.add(printed(problem.values(positions)))
    expect(claimed == set(solutions), f"flatzinc: {len(claimed)} solutions as read, {len(solutions)} are")
    result = _searched(problem, case["options"])
    sense = flat.goal[0] if goal else None
    _judge(case, result, printed(problem.values(result.positions)), solutions, sense)
    return result.status


_CHECKS = {"xcsp3": _xcsp3, "cpmpy": _cpmpy, "flatzinc": _flatzinc}
