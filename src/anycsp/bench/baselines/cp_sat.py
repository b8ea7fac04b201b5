"""OR-Tools CP-SAT: what a user of constraint programming would pick today."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.bench.tabular import dimacs_clauses, is_tabular, tables
from anycsp.model.problem import Problem
from anycsp.model.structure import coloring_graph, cut_graph, formula, is_decision


class CpSat(Baseline):
    name = "cp-sat"
    requires = ("ortools",)

    def supports(self, problem: Problem) -> bool:
        if is_decision(problem):
            return is_tabular(problem)
        return cut_graph(problem) is not None or formula(problem) is not None

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        from ortools.sat.python import cp_model

        began = time.perf_counter()
        model = cp_model.CpModel()
        variables = _decision(problem, model) if is_decision(problem) else _optimisation(problem, model)
        trace: list[Point] = []
        best: list[np.ndarray[Any, np.dtype[np.int32]]] = []

        class Anytime(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                positions = np.array([self.value(x) for x in variables], dtype=np.int32)
                violated = problem.violation_of_positions(positions).weight
                if not trace or violated < trace[-1].violated_weight:
                    trace.append(Point(0, time.perf_counter() - began, violated))
                    best[:] = [positions]

        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(limit.seconds - (time.perf_counter() - began), 0.1)
        solver.parameters.num_workers = limit.threads
        solver.parameters.random_seed = seed
        status = solver.solve(model, Anytime())
        steps = solver.num_branches
        return BaselineResult(
            trace, best[0] if best else None, time.perf_counter() - began, steps, solver.status_name(status).lower()
        )


def _decision(problem: Problem, model: Any) -> list[Any]:
    """All constraints required."""
    variables = [model.new_int_var(0, int(size) - 1, f"x{i}") for i, size in enumerate(problem.domains.sizes)]
    found, clauses = coloring_graph(problem), formula(problem)
    if found is not None:
        for u, v in found[0].edges.tolist():
            model.add(variables[u] != variables[v])
    elif clauses is not None:
        variables = [model.new_bool_var(f"x{i}") for i in range(problem.num_variables)]
        for literals in dimacs_clauses(clauses):
            model.add_bool_or([_literal(variables, literal) for literal in literals])
    else:
        for scope, tuples, allowed, _ in tables(problem):
            add = model.add_allowed_assignments if allowed else model.add_forbidden_assignments
            add([variables[x] for x in scope], tuples.tolist())
    return variables


def _optimisation(problem: Problem, model: Any) -> list[Any]:
    """The violated weight as objective: one Boolean a constraint says that it may be violated."""
    variables = [model.new_bool_var(f"x{i}") for i in range(problem.num_variables)]
    graph, clauses = cut_graph(problem), formula(problem)
    costs: list[Any] = []
    weights: list[float] = []
    if graph is not None:
        for (u, v), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
            violated = model.new_bool_var("")
            x, y = variables[u], variables[v] if weight > 0 else ~variables[v]
            model.add_bool_or([x, y, violated])
            model.add_bool_or([~x, ~y, violated])
            costs.append(violated)
            weights.append(abs(weight))
    elif clauses is not None:
        kept = clauses.terms.weight[~clauses.tautology]
        for literals, weight in zip(dimacs_clauses(clauses), kept.tolist(), strict=True):
            violated = model.new_bool_var("")
            model.add_bool_or([*(_literal(variables, literal) for literal in literals), violated])
            costs.append(violated)
            weights.append(weight)
    model.minimize(sum(int(w) * c for w, c in zip(weights, costs, strict=True)))
    return variables


def _literal(variables: list[Any], literal: int) -> Any:
    return variables[literal - 1] if literal > 0 else ~variables[-literal - 1]
