"""CPMpy's interface to a solver: its life, its searches, and how their results are told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from cpmpy.expressions.core import BoolVal, Comparison, Operator
from cpmpy.expressions.core import Expression as CPMExpression
from cpmpy.expressions.utils import is_int
from cpmpy.expressions.variables import NegBoolView, _NumVarImpl
from cpmpy.solvers.solver_interface import ExitStatus, SolverInterface, SolverStatus
from cpmpy.transformations.decompose_global import decompose_in_tree, decompose_objective
from cpmpy.transformations.get_variables import get_variables
from cpmpy.transformations.negation import push_down_negation, push_down_negation_objective
from cpmpy.transformations.normalize import toplevel_list
from cpmpy.transformations.safening import no_partial_functions, safen_objective

import anycsp
from anycsp.deadline import NEVER, Deadline
from anycsp.integrations.cpmpy.names import BUILD, CONDITIONS, CONSTRAINTS, FUNCTIONS, POST
from anycsp.model.expressions import (
    COMPARISON,
    Operand,
    Variable,
    operation,
    total,
)
from anycsp.model.lowering import conjuncts
from anycsp.model.problem import Problem
from anycsp.search.choose import exact_helps
from anycsp.search.exact.model import installed
from anycsp.search.solutions import Solutions

FIRST_SECONDS = 1.0
"""Local search goes first for so long, where there is no limit and both together do not pay (search/choose.py)."""


class CPM_anycsp(SolverInterface):  # type: ignore[misc]
    """CPMpy's interface to anycsp; `native_model` is the anycsp Problem."""

    supported_global_constraints = FUNCTIONS | CONDITIONS | CONSTRAINTS
    supported_reified_global_constraints = CONDITIONS

    @staticmethod
    def supported() -> bool:
        return True

    @classmethod
    def version(cls) -> str:
        return anycsp.__version__

    def __init__(self, cpm_model: Any = None, subsolver: str | None = None) -> None:
        if subsolver is not None:
            raise ValueError("anycsp has no subsolvers: pass model= and search= to solve()")
        self.problem: Problem = Problem()
        self.result: Any = None
        """The `anycsp.Result` of the last solve()."""
        self._hint: dict[str, int] = {}
        self._assumed: list[Any] | None = None
        super().__init__(name="anycsp", cpm_model=cpm_model)

    @property
    def native_model(self) -> Problem:
        return self.problem

    # ── solving ──────────────────────────────────────────────────────────────────────────────────────

    def solve(
        self,
        time_limit: float | None = None,
        assumptions: Any = None,
        display: Any = None,
        solution_hint: Any = None,
        **options: Any,
    ) -> bool:
        """Search; without a limit until the answer is proved where OR-Tools is installed, otherwise for 10 seconds.

        `assumptions` are Boolean variables or their negations that hold in this search only. `display` is shown or
        called at every solution, each better than the last. `options` (seed, runs, search, …) go to `anycsp.solve`.
        """
        if time_limit is not None and time_limit <= 0:
            raise ValueError(f"time_limit = {time_limit}: must be positive")
        self._complete_problem()
        if solution_hint is not None:
            self.solution_hint(*solution_hint)
        self._assumed = None if assumptions is None else list(assumptions)
        problem = self.problem
        if self._assumed:
            problem = problem.copy()
            problem.add([self._as_condition(literal) for literal in self._assumed])
        return self._solved(problem, time_limit, display, options)

    def solveAll(
        self,
        display: Any = None,
        time_limit: float | None = None,
        solution_limit: int | None = None,
        call_from_model: bool = False,
        **options: Any,
    ) -> int:
        """How many solutions were found, each other than those before in some variable of the model; with an objective
        those that are as good as the best, which has to be proved. The status is OPTIMAL where there are no more."""
        self._complete_problem()
        until, began = Deadline.after(time_limit), time.perf_counter()
        problem, found = self.problem.copy(), 0
        if self.has_objective():
            self._solved(problem, until.seconds, None, options)
            if self.cpm_status.exitstatus != ExitStatus.OPTIMAL:
                return 0
            objective = self.problem.objective
            assert objective is not None
            assert objective.expression is not None
            assert self.objective_value_ is not None
            problem.objective = None
            problem.add(operation("eq", objective.expression, self.objective_value_))

        def searched(asked: Problem) -> Any:
            self._solved(asked, until.seconds, None, options)
            return self.result

        solutions = Solutions(problem, [self._varmap[x.name] for x in self.user_vars], searched, until)
        for positions in solutions:
            found += 1
            self._take_values(problem, positions)
            self.print_display(display)
            if found == solution_limit:
                break
        if found:
            self.cpm_status.exitstatus = ExitStatus.OPTIMAL if solutions.proved else ExitStatus.FEASIBLE
        self.cpm_status.solve_time = time.perf_counter() - began
        return found

    def _complete_problem(self) -> None:
        """Every variable that the user knows is searched, constraints or not."""
        self.solver_vars(list(self.user_vars))
        if not self.problem.num_variables:
            self.problem.add_variable([0], "_nothing")  # a model of constants only

    def _solved(self, problem: Problem, time_limit: float | None, display: Any, options: dict[str, Any]) -> bool:
        """Search a problem that has the variables of our own first, and give CPMpy's variables their values."""
        began = time.perf_counter()
        told: list[float] = []

        def improved(progress: Any) -> bool:
            if display is not None and progress.improved and progress.violated == 0:
                if problem.objective is not None and (progress.objective is None or progress.objective in told):
                    return False
                told.append(progress.objective or 0.0)
                self._take_values(problem, progress.positions)
                self.print_display(display)
            return False

        result = self._search(problem, time_limit, {"callback": improved if display is not None else None, **options})
        self.result = result
        found = result.violated == 0 and (problem.objective is None or result.objective is not None)
        proofs = {"optimal": ExitStatus.OPTIMAL, "unsatisfiable": ExitStatus.UNSATISFIABLE}
        self.cpm_status = SolverStatus(self.name)
        self.cpm_status.exitstatus = proofs.get(result.status, ExitStatus.FEASIBLE if found else ExitStatus.UNKNOWN)
        if problem.objective is None and found:
            self.cpm_status.exitstatus = ExitStatus.FEASIBLE
        self.objective_value_ = None
        if found:
            self._take_values(problem, result.positions)
            if result.objective is not None:
                self.objective_value_ = int(result.objective["value"])
                if display is not None and float(self.objective_value_) not in told:
                    self.print_display(display)
            elif display is not None and not told:
                self.print_display(display)
        else:
            for x in self.user_vars:
                x._value = None
        self.cpm_status.solve_time = time.perf_counter() - began
        return bool(self._solve_return(self.cpm_status))

    def _search(self, problem: Problem, time_limit: float | None, options: dict[str, Any]) -> Any:
        """Without a limit, and where nothing else was asked for: a short search, then CP-SAT until it is settled."""
        from anycsp.search import solve

        options = {"hint": self._hint or None, **options}
        if time_limit is not None or "search" in options or "steps" in options or not installed():
            return solve(problem, time_limit=time_limit, **options)
        if exact_helps(problem):
            return solve(problem, time_limit=NEVER, **options)
        result = solve(problem, time_limit=FIRST_SECONDS, **options)
        settled = result.status in ("optimal", "unsatisfiable") or (problem.objective is None and not result.violated)
        return result if settled else solve(problem, time_limit=NEVER, **{**options, "search": "exact"})

    def _take_values(self, problem: Problem, positions: Any) -> None:
        values = problem.values(positions)
        for x in self.user_vars:
            value = int(values[self._varmap[x.name].index])
            x._value = bool(value) if x.is_bool() else value

    def _as_condition(self, literal: Any) -> Operand:
        return operation("eq", self.operand(literal), 1)

    def get_core(self) -> list[Any]:
        """After an answer of no under assumptions: assumptions that cannot hold together, none of which could be left
        out."""
        if self._assumed is None or self.cpm_status.exitstatus != ExitStatus.UNSATISFIABLE:
            raise ValueError("get_core() follows a solve(assumptions=[…]) that was proved unsatisfiable")
        core = list(dict.fromkeys(self._assumed))
        for literal in list(core):
            without = self.problem.copy()
            without.objective = None
            without.add([self._as_condition(other) for other in core if other is not literal])
            if self._search(without, None if installed() else 1.0, {}).status == "unsatisfiable":
                core = [other for other in core if other is not literal]
        return core

    def has_objective(self) -> bool:
        return self.problem.objective is not None

    def solution_hint(self, cpm_vars: Sequence[Any], vals: Sequence[int]) -> None:
        """Start the search from these values (the other variables start at random)."""
        if len(cpm_vars) != len(vals):
            raise ValueError("as many values as variables, please")
        self._hint = {self.solver_var(x).name: int(v) for x, v in zip(cpm_vars, vals, strict=True)}

    def solver_var(self, cpm_var: Any) -> Any:
        if isinstance(cpm_var, NegBoolView):
            return operation("sub", 1, self.solver_var(cpm_var._bv))
        if isinstance(cpm_var, _NumVarImpl):
            if cpm_var.name not in self._varmap:
                values = range(int(cpm_var.lb), int(cpm_var.ub) + 1)
                self._varmap[cpm_var.name] = self.problem.add_variable(values, cpm_var.name)
            return self._varmap[cpm_var.name]
        if is_int(cpm_var):
            return int(cpm_var)
        raise NotImplementedError(f"anycsp: not a variable: {cpm_var}")

    # ── posting ──────────────────────────────────────────────────────────────────────────────────────

    def transform(self, cpm_expr: Any) -> list[Any]:
        constraints = no_partial_functions(toplevel_list(cpm_expr))
        constraints = push_down_negation(constraints)
        return list(
            decompose_in_tree(
                constraints,
                supported=self.supported_global_constraints,
                supported_reified=self.supported_reified_global_constraints,
                csemap=self._csemap,
            )
        )

    def add(self, cpm_expr: Any) -> CPM_anycsp:
        get_variables(cpm_expr, collect=self.user_vars)
        for constraint in self.transform(cpm_expr):
            post = POST.get(getattr(constraint, "name", ""))
            if post is not None:
                post(self, constraint.args, constraint)
            else:
                for part in conjuncts(self.operand(constraint)):
                    self.problem.add(part)
        return self

    __add__ = add

    def objective(self, expr: Any, minimize: bool) -> None:
        get_variables(expr, self.user_vars)
        objective, safe = safen_objective(expr)
        objective, defining = decompose_objective(
            push_down_negation_objective(objective),
            supported=self.supported_global_constraints,
            supported_reified=self.supported_reified_global_constraints,
            csemap=self._csemap,
        )
        self.add(safe + defining)
        (self.problem.minimize if minimize else self.problem.maximize)(self.operand(objective))

    def operands(self, items: Any) -> list[Operand]:
        """Several of CPMpy's expressions as ours."""
        return [self.operand(item) for item in items]

    def scope(self, items: Any) -> list[Variable]:
        """Several as plain variables; a nested expression gets an auxiliary one."""
        operands = self.operands(items)
        return [o if isinstance(o, Variable) else self.problem.define(o) for o in operands]

    def operand(self, expr: Any) -> Operand:
        """One of CPMpy's expressions as ours."""
        if isinstance(expr, BoolVal) or is_int(expr) or isinstance(expr, bool):
            return int(expr)
        if isinstance(expr, _NumVarImpl):
            operand: Operand = self.solver_var(expr)
            return operand
        if isinstance(expr, Comparison):
            return operation(COMPARISON[expr.name], *self.operands(expr.args))
        if isinstance(expr, Operator) and expr.name == "wsum":
            weights, items = expr.args
            return total([operation("mul", x, int(w)) for w, x in zip(weights, self.operands(items), strict=True)])
        build = BUILD.get(getattr(expr, "name", ""))
        if build is None or not isinstance(expr, CPMExpression):
            raise NotImplementedError(f"anycsp: cannot take {expr}")
        return build(self, expr.args)
