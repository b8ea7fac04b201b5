"""CPMpy back end: after `import anycsp.integrations.cpmpy`, `model.solve(solver="anycsp", time_limit=10)` works.

Our expressions nest, so CPMpy's models need little rewriting: partial functions are made total, negations pushed down,
global constraints we have no form for decomposed; everything else is posted as it is. That there is no solution, or
that one is optimal, is proved by exact search only (`search="exact"`, and by default beside local search).
CPMpy's own tests of solvers run against it (tests/integrations/test_cpmpy_suite.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from cpmpy.expressions.core import BoolVal, Comparison, Operator
from cpmpy.expressions.core import Expression as CPMExpression
from cpmpy.expressions.utils import is_any_list, is_int
from cpmpy.expressions.variables import NegBoolView, _NumVarImpl
from cpmpy.solvers.solver_interface import ExitStatus, SolverInterface, SolverStatus
from cpmpy.solvers.utils import SolverLookup
from cpmpy.transformations.decompose_global import decompose_in_tree, decompose_objective
from cpmpy.transformations.get_variables import get_variables
from cpmpy.transformations.negation import push_down_negation, push_down_negation_objective
from cpmpy.transformations.normalize import toplevel_list
from cpmpy.transformations.safening import no_partial_functions, safen_objective

import anycsp
from anycsp.deadline import NEVER, Deadline
from anycsp.model.expressions import (
    COMPARISON,
    Expression,
    Operand,
    Variable,
    distinct,
    element,
    if_else,
    maximum,
    minimum,
    operation,
    total,
)
from anycsp.model.globals import lexicographic
from anycsp.model.lowering import conjuncts
from anycsp.model.problem import Problem
from anycsp.search.choose import exact_helps
from anycsp.search.exact.model import installed
from anycsp.search.solutions import Solutions

FIRST_SECONDS = 1.0
"""Local search goes first for so long, where there is no limit and both together do not pay (search/choose.py)."""

_FUNCTIONS = frozenset({"min", "max", "abs", "mul", "div", "mod", "pow", "element", "count", "among", "nvalue"})
_CONDITIONS = frozenset({"alldifferent", "allequal", "xor", "ite", "indomain", "lex_less", "lex_lesseq"})
_CONSTRAINTS = frozenset(
    {
        "alldifferent_except_n", "allequal_except_n", "circuit", "inverse", "table", "short_table", "negative_table",
        "regular", "cumulative", "no_overlap", "precedence", "gcc", "increasing", "decreasing", "strictly_increasing",
        "strictly_decreasing", "lex_chain_less", "lex_chain_lesseq",
    }
)  # fmt: skip


class CPM_anycsp(SolverInterface):  # type: ignore[misc]
    """CPMpy's interface to anycsp; `native_model` is the anycsp Problem."""

    supported_global_constraints = _FUNCTIONS | _CONDITIONS | _CONSTRAINTS
    supported_reified_global_constraints = _CONDITIONS

    @staticmethod
    def supported() -> bool:
        return True

    @classmethod
    def version(cls) -> str:
        return anycsp.__version__

    def __init__(self, cpm_model: Any = None, subsolver: str | None = None) -> None:
        if subsolver is not None:
            raise ValueError("anycsp has no subsolvers: pass model= and search= to solve()")
        self.problem = Problem()
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
        return operation("eq", self._expression(literal), 1)

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
            post = _POST.get(getattr(constraint, "name", ""))
            if post is not None:
                post(self, constraint.args, constraint)
            else:
                for part in conjuncts(self._expression(constraint)):
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
        (self.problem.minimize if minimize else self.problem.maximize)(self._expression(objective))

    def _expressions(self, items: Any) -> list[Operand]:
        return [self._expression(item) for item in items]

    def _variables(self, items: Any) -> list[Variable]:
        """Plain variables; a nested expression gets an auxiliary one."""
        operands = self._expressions(items)
        return [o if isinstance(o, Variable) else self.problem.define(o) for o in operands]

    def _expression(self, expr: Any) -> Operand:
        if isinstance(expr, BoolVal) or is_int(expr) or isinstance(expr, bool):
            return int(expr)
        if isinstance(expr, _NumVarImpl):
            operand: Operand = self.solver_var(expr)
            return operand
        if isinstance(expr, Comparison):
            return operation(COMPARISON[expr.name], *self._expressions(expr.args))
        if isinstance(expr, Operator) and expr.name == "wsum":
            weights, items = expr.args
            return total([operation("mul", x, int(w)) for w, x in zip(weights, self._expressions(items), strict=True)])
        build = _BUILD.get(getattr(expr, "name", ""))
        if build is None or not isinstance(expr, CPMExpression):
            raise NotImplementedError(f"anycsp: cannot take {expr}")
        return build(self, expr.args)


# ── expressions by CPMpy's names ─────────────────────────────────────────────────────────────────────


def _of(operator: str) -> Callable[[CPM_anycsp, Any], Operand]:
    return lambda solver, args: operation(operator, *solver._expressions(args))


def _count(solver: CPM_anycsp, args: Any) -> Operand:
    items, value = solver._expressions(args[0]), solver._expression(args[1])
    return total([operation("eq", x, value) for x in items])


def _among(solver: CPM_anycsp, args: Any) -> Operand:
    values = [int(v) for v in args[1]]
    return total([operation("in", x, *values) for x in solver._expressions(args[0])])


def _all_different(solver: CPM_anycsp, args: Any) -> Operand:
    return operation("eq", distinct(solver._expressions(args)), len(args))


_BUILD: dict[str, Callable[[CPM_anycsp, Any], Operand]] = {
    "and": _of("and"),
    "or": _of("or"),
    "not": _of("not"),
    "->": _of("imp"),
    "xor": _of("xor"),
    "sum": lambda solver, args: total(solver._expressions(args)),
    "sub": _of("sub"),
    "mul": _of("mul"),
    "-": _of("neg"),
    "div": _of("div"),
    "mod": _of("mod"),
    "pow": _of("pow"),
    "abs": _of("abs"),
    "min": lambda solver, args: minimum(solver._expressions(args)),
    "max": lambda solver, args: maximum(solver._expressions(args)),
    "element": lambda solver, args: element(solver._expressions(args[0]), solver._expression(args[1])),
    "count": _count,
    "among": _among,
    "nvalue": lambda solver, args: distinct(solver._expressions(args)),
    "alldifferent": _all_different,
    "allequal": _of("eq"),
    "ite": lambda solver, args: if_else(*solver._expressions(args)),
    "indomain": lambda solver, args: operation("in", solver._expression(args[0]), *(int(v) for v in args[1])),
    "lex_less": lambda s, args: lexicographic(s._expressions(args[0]), s._expressions(args[1]), strict=True),
    "lex_lesseq": lambda s, args: lexicographic(s._expressions(args[0]), s._expressions(args[1]), strict=False),
}


# ── constraints that are posted whole ────────────────────────────────────────────────────────────────


def _excepted(value: Any) -> list[int]:
    return [int(v) for v in value] if is_any_list(value) else [int(value)]


def _all_different_whole(solver: CPM_anycsp, args: Any, _: Any) -> None:
    items = solver._expressions(args)
    if any(isinstance(x, int) for x in items):  # a constant among them
        solver.problem.add(operation("eq", distinct(items), len(items)))
    else:
        solver.problem.add_all_different(items)


def _circuit(solver: CPM_anycsp, args: Any, _: Any) -> None:
    # CPMpy's circuit visits every node.
    solver.problem.add_circuit(solver._expressions(args), size=len(args))


def _inverse(solver: CPM_anycsp, args: Any, _: Any) -> None:
    solver.problem.add_channel(solver._expressions(args[0]), solver._expressions(args[1]))


def _table(solver: CPM_anycsp, args: Any, _: Any, allowed: bool = True) -> None:
    scope = solver._variables(args[0])
    inside = [set(solver.problem.domain(x).values.tolist()) for x in scope]
    rows = [[int(v) for v in row] for row in args[1]]
    known = [row for row in rows if all(v in domain for v, domain in zip(row, inside, strict=True))]
    solver.problem.add_table(scope, known, allowed=allowed)


def _short_table(solver: CPM_anycsp, args: Any, _: Any) -> None:
    scope = solver._variables(args[0])
    inside = [set(solver.problem.domain(x).values.tolist()) for x in scope]
    rows = [["*" if cell == "*" else int(cell) for cell in row] for row in args[1]]
    known = [r for r in rows if all(v == "*" or v in domain for v, domain in zip(r, inside, strict=True))]
    solver.problem.add_short_table(scope, known)


def _regular(solver: CPM_anycsp, args: Any, _: Any) -> None:
    array, transitions, start, accepting = args
    solver.problem.add_regular(solver._variables(array), transitions, start, accepting)


def _with_ends(solver: CPM_anycsp, starts: Any, durations: Any, ends: Any) -> None:
    for s, d, e in zip(starts, durations, ends, strict=True):
        left = operation("add", solver._expression(s), solver._expression(d))
        solver.problem.add(operation("eq", left, solver._expression(e)))


def _cumulative(solver: CPM_anycsp, args: Any, _: Any) -> None:
    starts, durations, *ends, demands, capacity = args
    if ends:
        _with_ends(solver, starts, durations, ends[0])
    lengths = solver._expressions(durations)
    for length in lengths:
        if isinstance(length, Expression):
            solver.problem.add(length >= 0)
    solver.problem.add_cumulative(
        solver._expressions(starts), lengths, solver._expressions(demands), "<=", solver._expression(capacity)
    )


def _no_overlap(solver: CPM_anycsp, args: Any, _: Any) -> None:
    starts, durations, *ends = args
    if ends:
        _with_ends(solver, starts, durations, ends[0])
    lengths = solver._expressions(durations)
    for length in lengths:
        if isinstance(length, Expression):
            solver.problem.add(length >= 0)
    solver.problem.add_no_overlap(solver._expressions(starts), lengths)  # a task of no length is nowhere


def _gcc(solver: CPM_anycsp, args: Any, constraint: Any) -> None:
    items, values, occurs = args
    solver.problem.add_cardinality(
        solver._expressions(items), [int(v) for v in values], solver._expressions(occurs), closed=constraint.closed
    )


def _ordered(operator: str) -> Callable[[CPM_anycsp, Any, Any], None]:
    return lambda solver, args, _: solver.problem.add_ordered(solver._expressions(args), operator)


def _chain(operator: str) -> Callable[[CPM_anycsp, Any, Any], None]:
    return lambda s, args, _: s.problem.add_lexicographic([s._expressions(row) for row in args], operator)


_POST: dict[str, Callable[[CPM_anycsp, Any, Any], None]] = {
    "alldifferent": _all_different_whole,
    "alldifferent_except_n": lambda s, args, _: s.problem.add_all_different(
        s._variables(args[0]), except_values=_excepted(args[1])
    ),
    "allequal_except_n": lambda s, args, _: s.problem.add_all_equal(
        s._variables(args[0]), except_values=_excepted(args[1])
    ),
    "circuit": _circuit,
    "inverse": _inverse,
    "table": _table,
    "negative_table": lambda s, args, c: _table(s, args, c, allowed=False),
    "short_table": _short_table,
    "regular": _regular,
    "cumulative": _cumulative,
    "no_overlap": _no_overlap,
    "precedence": lambda s, args, _: s.problem.add_precedence(s._expressions(args[0]), [int(v) for v in args[1]]),
    "gcc": _gcc,
    "increasing": _ordered("<="),
    "decreasing": _ordered(">="),
    "strictly_increasing": _ordered("<"),
    "strictly_decreasing": _ordered(">"),
    "lex_chain_less": _chain("<"),
    "lex_chain_lesseq": _chain("<="),
}


# ── registration ─────────────────────────────────────────────────────────────────────────────────────


def _register() -> None:
    """CPMpy has no entry point for outside solvers: its list is extended here, and nowhere else."""
    listed = SolverLookup.base_solvers

    def base_solvers(cls: type) -> list[tuple[str, type]]:
        return [*listed(), ("anycsp", CPM_anycsp)]

    if all(name != "anycsp" for name, _ in listed()):
        SolverLookup.base_solvers = classmethod(base_solvers)


_register()
