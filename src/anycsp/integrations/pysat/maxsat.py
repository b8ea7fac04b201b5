"""MaxSAT with the face of PySAT's RC2: `compute`, `cost`, `enumerate`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anycsp.deadline import DEFAULT_SECONDS, NEVER
from anycsp.errors import AnyCSPError
from anycsp.integrations.pysat.deleted import Deleted
from anycsp.integrations.pysat.formula import AtMost, at_most_of, clause_of, weighted_problem
from anycsp.model.expressions import all_of, any_of, operation
from anycsp.search import solve
from anycsp.search.exact.model import installed


class MaxSAT(Deleted):
    """Models of a `WCNF` that satisfy its hard clauses and leave as little weight of soft clauses unsatisfied as
    possible.

    With OR-Tools and without a limit every answer is proved, as RC2's is. Otherwise it is the best that was found, and
    `optimal` says whether it is proved to be the best there is.

    Args:
        formula: A `WCNF` or `WCNFPlus`; a `CNF` has hard clauses only.
        time_limit: Seconds of one call of `compute`. None: until the answer is proved where OR-Tools is installed, and
            10 seconds otherwise.
        search: As for `anycsp.solve`. None: "exact" without a limit, "auto" with one.
        seed: Of all random numbers.
        threads: Of one search.
    """

    def __init__(
        self,
        formula: Any = None,
        *,
        time_limit: float | None = None,
        search: str | None = None,
        seed: int = 0,
        threads: int | None = 1,
    ) -> None:
        self.time_limit, self.seed, self.threads = time_limit, seed, threads
        self.search = search or ("exact" if time_limit is None and installed() else "auto")
        if time_limit is None and self.search != "exact":
            self.time_limit = DEFAULT_SECONDS
        self._stop = threading.Event()
        self._new()
        self._variables = int(getattr(formula, "nv", 0))
        for clause in [*getattr(formula, "hard", ()), *getattr(formula, "clauses", ())]:
            self.add_clause(clause)
        for clause, weight in zip(getattr(formula, "soft", ()), getattr(formula, "wght", ()), strict=True):
            self.add_clause(clause, weight)
        self._at_most += [at_most_of(bound) for name in ("atmosts", "atms") for bound in getattr(formula, name, ())]

    def _new(self) -> None:
        self.cost: Any = None
        """The weight of the soft clauses that the last model leaves unsatisfied."""
        self.model: list[int] | None = None
        """The last model."""
        self.optimal = False
        """Whether the last answer is proved: that no model costs less, or, where it was None, that there is none."""
        self._hard: list[list[int]] = []
        self._soft: list[list[int]] = []
        self._weights: list[Any] = []
        self._at_most: list[AtMost] = []
        self._satisfied_before: list[list[list[int]]] = []
        """Soft clauses of which one must be unsatisfied from now on, in every entry."""
        self._variables = 0
        self._seconds = 0.0

    def delete(self) -> None:
        """Forget everything."""
        self._new()

    def add_clause(self, clause: Iterable[int], weight: Any = None) -> None:
        """A hard clause, or a soft one with its weight."""
        literals = clause_of(clause)
        self._variables = max([self._variables, *map(abs, literals)])
        if weight is None:
            self._hard.append(literals)
        elif weight:
            self._soft.append(literals)
            self._weights.append(weight)

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────

    def compute(self, expect_interrupt: bool = False) -> list[int] | None:
        """The literals that are true in the best model found, in order of variables; `cost` is what it costs. None
        where no model was found: `optimal` says whether that is proved."""
        if not expect_interrupt:
            self._stop.clear()
        began = time.process_time()
        self.model, self.cost, self.optimal = None, None, False
        if not all(self._hard):
            self.optimal = True  # an empty clause
        elif not self._variables:
            self.model, self.optimal = [], True
        else:
            self._search()
        if self.model is not None:
            self.cost = sum(w for c, w in zip(self._soft, self._weights, strict=True) if not self._holds(c))
        self._seconds += time.process_time() - began
        return None if self.model is None else list(self.model)

    def _search(self) -> None:
        # An empty soft clause costs its weight whatever is chosen.
        real = [(c, w) for c, w in zip(self._soft, self._weights, strict=True) if c]
        clauses, weights = [c for c, _ in real], [w for _, w in real]
        problem = weighted_problem(self._variables, self._hard, clauses, weights, self._at_most)
        x = problem.variables
        for satisfied in self._satisfied_before:
            unsatisfied = [all_of([operation("eq", x[abs(l) - 1], int(l < 0)) for l in clause]) for clause in satisfied]
            problem.add(any_of(unsatisfied) if unsatisfied else 0, hard=True)
        result = solve(
            problem,
            search=self.search,
            time_limit=NEVER if self.time_limit is None else self.time_limit,
            seed=self.seed,
            threads=self.threads,
            stop=self._stop,
        )
        self.optimal = result.status in ("optimal", "unsatisfiable") or not result.violated
        if not result.hard_violated:
            self.model = [i + 1 if p else -i - 1 for i, p in enumerate(result.positions[: self._variables].tolist())]
        elif result.status == "optimal":
            self.optimal = not problem.scoring.all_required

    def _holds(self, clause: Sequence[int]) -> bool:
        assert self.model is not None
        return any(self.model[abs(l) - 1] == l for l in clause)

    def enumerate(self, block: int = 0, expect_interrupt: bool = False) -> Iterator[list[int]]:
        """Models from the best on, each other than those before (`block=0`); with 1 they satisfy other sets of soft
        clauses, none of which is within one before, and with −1 they leave other sets unsatisfied, none of which holds
        one before. At the end `optimal` says whether it is proved that there are no more; where answers are not proved
        the order is that in which they were found."""
        if block not in (0, 1, -1):
            raise AnyCSPError(f"block = {block}: 0 blocks models, 1 satisfied and -1 unsatisfied soft clauses")
        while (model := self.compute(expect_interrupt)) is not None:
            self._block(model, block)
            yield model

    def _block(self, model: Sequence[int], block: int) -> None:
        if block == 0:
            self._hard.append([-l for l in model])
        elif block == 1:
            self._satisfied_before.append([c for c in self._soft if self._holds(c)])
        else:
            self._hard.append(sorted({l for c in self._soft if not self._holds(c) for l in c}, key=abs))

    # ── control ──────────────────────────────────────────────────────────────────────────────────────

    def interrupt(self) -> None:
        """End a `compute(expect_interrupt=True)` that another thread waits for."""
        self._stop.set()

    def clear_interrupt(self) -> None:
        """Let `compute` search again."""
        self._stop.clear()

    def oracle_time(self) -> float:
        """Processor seconds of all calls of `compute`."""
        return self._seconds
