"""A SAT solver with the face of PySAT's: `LocalSearch` is used as `pysat.solvers.Cadical153` would be.

It answers True with a model, False where it is proved that there is none, and None where the time was up first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anycsp.deadline import DEFAULT_SECONDS
from anycsp.errors import ProblemError
from anycsp.integrations.pysat.deleted import Deleted
from anycsp.integrations.pysat.formula import AtMost, at_most_of, clause_of, required_problem
from anycsp.search import solve
from anycsp.search.options import SEARCHES


class LocalSearch(Deleted):
    """Clauses are added, and the formula is searched anew by every call of `solve`.

    Args:
        bootstrap_with: A `CNF`, `CNFPlus` or any iterable of clauses to begin with.
        use_timer: Whether `time()` and `time_accum()` count.
        time_limit: Seconds of one call of `solve`; after them the answer is None.
        search: As for `anycsp.solve`. With "auto" local search runs beside a tree, and beside CP-SAT where OR-Tools is
            installed and the formula does not look random; "exact" asks CP-SAT alone, which always proves its answer
            in the end.
        seed: Of all random numbers.
        threads: Of one search.
    """

    def __init__(
        self,
        bootstrap_with: Any = None,
        use_timer: bool = False,
        *,
        time_limit: float = DEFAULT_SECONDS,
        search: str = "auto",
        seed: int = 0,
        threads: int | None = 1,
    ) -> None:
        if search not in SEARCHES:
            raise ProblemError(f"unknown search {search!r}: use one of {', '.join(SEARCHES)}")
        self.time_limit, self.search, self.seed, self.threads = time_limit, search, seed, threads
        self._use_timer = use_timer
        self._seconds = self._all_seconds = 0.0
        self._stop = threading.Event()
        self._phases: dict[int, bool] = {}
        self._new()
        if bootstrap_with is not None:
            self.append_formula(bootstrap_with)

    def _new(self) -> None:
        self._clauses: list[list[int]] = []
        self._at_most: list[AtMost] = []
        self._variables = 0
        self._status: bool | None = None
        self._model: list[int] | None = None
        self._core: list[int] | None = None

    def delete(self) -> None:
        """Forget everything."""
        self._new()

    # ── the formula ──────────────────────────────────────────────────────────────────────────────────

    def add_clause(self, clause: Iterable[int], no_return: bool = True) -> bool | None:
        """Add a clause. It is not propagated: with `no_return=False` the answer is whether it is not empty."""
        literals = clause_of(clause)
        self._clauses.append(literals)
        self._variables = max([self._variables, *map(abs, literals)])
        return None if no_return else bool(literals)

    def add_atmost(
        self, lits: Iterable[int], k: int, weights: Sequence[int] = (), no_return: bool = True
    ) -> bool | None:
        """At most `k` of the literals are true; with weights, the weights of the true ones sum to at most `k`."""
        bound = at_most_of([lits, k, list(weights)])
        self._at_most.append(bound)
        self._variables = max([self._variables, *map(abs, bound[0])])
        return None if no_return else True

    def append_formula(self, formula: Any, no_return: bool = True) -> bool | None:
        """Add every clause of a formula, and every cardinality constraint where it has some."""
        for clause in getattr(formula, "clauses", formula):
            if len(clause) == 2 and isinstance(clause[0], (list, tuple, set)):
                self.add_atmost(*clause)
            else:
                self.add_clause(clause)
        for bound in getattr(formula, "atmosts", ()):
            self.add_atmost(*bound)
        return None if no_return else all(self._clauses)

    def supports_atmost(self) -> bool:
        """Cardinality constraints are kept whole."""
        return True

    def nof_vars(self) -> int:
        """The largest variable that was seen."""
        return self._variables

    def nof_clauses(self) -> int:
        """How many clauses were added."""
        return len(self._clauses)

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────

    def solve(self, assumptions: Iterable[int] = ()) -> bool | None:
        """Search for a model in which the assumptions are true: True, False (proved), or None (not settled in time)."""
        self._stop.clear()
        return self._solve(assumptions)

    def solve_limited(self, assumptions: Iterable[int] = (), expect_interrupt: bool = False) -> bool | None:
        """The same; `interrupt` of another thread ends it, also where it came just before."""
        return self._solve(assumptions)

    def _solve(self, assumptions: Iterable[int]) -> bool | None:
        began = time.process_time()
        assumed = clause_of(assumptions)
        self._status, self._model, self._core = self._search(assumed), self._model, None
        if self._status is False:
            self._core = assumed
        if self._status is not True:
            self._model = None
        self._seconds = time.process_time() - began
        self._all_seconds += self._seconds
        return self._status

    def _search(self, assumed: Sequence[int]) -> bool | None:
        if not all(self._clauses):
            return False  # an empty clause
        variables = max([self._variables, *map(abs, assumed)])
        if not variables:
            self._model = []
            return all(bound >= 0 for _, bound, _ in self._at_most)
        problem = required_problem(variables, [*self._clauses, *([l] for l in assumed)], self._at_most)
        hint = {str(x): int(p) for x, p in self._phases.items() if x <= variables}
        result = solve(
            problem,
            search=self.search,
            time_limit=self.time_limit,
            seed=self.seed,
            threads=self.threads,
            stop=self._stop,
            hint=hint or None,
        )
        if result.violated:
            return False if result.status == "unsatisfiable" else None
        self._model = [x + 1 if p else -x - 1 for x, p in enumerate(result.positions.tolist())]
        return True

    def get_status(self) -> bool | None:
        """What the last call of `solve` answered."""
        return self._status

    def get_model(self) -> list[int] | None:
        """The literals that are true, in order of variables; None unless the last answer was True."""
        return None if self._model is None else list(self._model)

    def get_core(self) -> list[int] | None:
        """After a proof that there is no model: assumptions under which there is none. They are all that were made, not
        the fewest; None unless the last answer was False."""
        return self._core or None

    def enum_models(self, assumptions: Iterable[int] = ()) -> Iterator[list[int]]:
        """Models, each other than those before; the formula then forbids them. `get_status` is False at the end where
        it is proved that there are no more, None where the time was up."""
        assumed = list(assumptions)
        while self.solve(assumed):
            model = self.get_model()
            assert model is not None
            yield model
            self.add_clause([-l for l in model])

    # ── control ──────────────────────────────────────────────────────────────────────────────────────

    def interrupt(self) -> None:
        """End a search that another thread waits for."""
        self._stop.set()

    def clear_interrupt(self) -> None:
        """Let `solve_limited` search again."""
        self._stop.clear()

    def set_phases(self, literals: Iterable[int] = ()) -> None:
        """Begin the search with these literals true; the other variables begin at random."""
        self._phases = {abs(l): l > 0 for l in clause_of(literals)}

    def time(self) -> float | None:
        """Processor seconds of the last call of `solve`; None without `use_timer`."""
        return self._seconds if self._use_timer else None

    def time_accum(self) -> float | None:
        """Processor seconds of all calls."""
        return self._all_seconds if self._use_timer else None
