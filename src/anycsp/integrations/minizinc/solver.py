"""`fzn-anycsp model.fzn`: what MiniZinc starts.

Solutions go to standard output as soon as they count: the first one of a satisfaction problem, every improvement with
-a or -i, otherwise the best at the end. `==========` and `=====UNSATISFIABLE=====` are printed on a proof only.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from anycsp.deadline import NEVER, Deadline, process_began
from anycsp.ending import leave
from anycsp.errors import AnyCSPError, FormatError
from anycsp.integrations.minizinc.output import COMPLETE, ERROR, UNKNOWN, UNSATISFIABLE, solution
from anycsp.interrupts import signals

if TYPE_CHECKING:
    from anycsp.formats.flatzinc import FlatZinc, SearchOrder
    from anycsp.search import Progress, Result
    from anycsp.search.branching import Branching

WRITING_SECONDS = 0.1
"""The part of the time limit that is kept for writing the last solution."""
LEAST_SECONDS = 0.5
"""The least time to search after reading, or what was asked for where that is less: a busy machine may be slow to
start."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with its arguments as the rest of the program does, not with the usage before it."""

    def error(self, message: str) -> NoReturn:
        raise AnyCSPError(f"{message} (see {self.prog} --help)")


def milliseconds(text: str) -> float:
    number = float(text)
    if not number >= 0:  # NaN is refused too
        raise ValueError
    return number


def arguments_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The flags that MiniZinc knows of every solver, and the search."""
    parser = _Parser(prog="fzn-anycsp", description="Solve a FlatZinc file.")
    parser.add_argument("file", help="model.fzn")
    parser.add_argument("-a", dest="all", action="store_true", help="all solutions; with an objective all improvements")
    parser.add_argument("-i", dest="intermediate", action="store_true", help="print every improvement")
    parser.add_argument("-n", dest="solutions", type=int, default=1, help="stop after so many solutions")
    parser.add_argument("-s", dest="statistics", action="store_true", help="print statistics")
    parser.add_argument("-v", dest="verbose", action="store_true", help="say on standard error what is done")
    parser.add_argument("-p", dest="threads", type=int, help="threads; default all cores")
    parser.add_argument("-r", dest="seed", type=int, default=0, help="seed of all random numbers")
    parser.add_argument("-f", dest="free", action="store_true", help="free search: ignore search annotations")
    parser.add_argument("-t", dest="milliseconds", type=milliseconds, metavar="MS", help="time limit; default none")
    parser.add_argument("--search", default="auto", help="auto, local, exact, hybrid or neural")
    return parser.parse_args(arguments)


class Session:
    """One run: what was asked, what was printed, and the statistics."""

    def __init__(self, asked: argparse.Namespace, began: float) -> None:
        self.asked, self.began = asked, began
        self.stop = threading.Event()
        self._printed = 0
        self._last: str | None = None
        self._seconds = None if asked.milliseconds is None else asked.milliseconds / 1000
        self.read_until = Deadline.after(self._seconds)

    def run(self) -> int:
        from anycsp.formats.files import load
        from anycsp.formats.flatzinc import read_flatzinc

        read = read_flatzinc(load(self.asked.file, self.read_until))
        self._statistics("init", initTime=time.perf_counter() - self.began, variables=read.problem.num_variables,
                         propagators=read.problem.num_constraints)  # fmt: skip
        self._say(f"{read.problem}")
        for number in signals():
            signal.signal(number, self._end)
        self._until = self._search_until()
        result = self._satisfy(read) if read.problem.objective is None else self._optimise(read)
        self._statistics("solve", solveTime=result.seconds, nodes=result.steps, solutions=self._printed)
        return 0

    def _search_until(self) -> Deadline:
        """The limit, which counts from when the program began, less the time to print."""
        import anycsp.search  # noqa: F401 — importing it belongs to starting

        if self._seconds is None:
            return NEVER
        end = Deadline.after(self._seconds, self.began).earlier(WRITING_SECONDS)
        return Deadline(max(end.at, Deadline.after(min(LEAST_SECONDS, self._seconds)).at))

    def _end(self, number: int, frame: FrameType | None) -> None:
        """The first signal ends the search, so that the best is printed; the next one ends the program."""
        self.stop.set()
        signal.signal(number, signal.SIG_DFL)

    def _search(self, read: FlatZinc, **options: Any) -> Result:
        from anycsp.search import solve

        return solve(
            read.problem,
            search=self.asked.search,
            time_limit=self._until,
            seed=self.asked.seed,
            threads=self.asked.threads,
            hint=read.hint or None,
            branching=() if self.asked.free else branching(read.order),
            stop=self.stop,
            **options,
        )

    def _satisfy(self, read: FlatZinc) -> Result:
        """Solutions until there are enough of them, each other than those before, or proof that there are no more."""
        from anycsp.formats.flatzinc import FlatZinc, operands
        from anycsp.model.expressions import Variable, postorder
        from anycsp.search.solutions import Solutions

        wanted = math.inf if self.asked.all else max(self.asked.solutions, 1)
        if wanted == 1:
            result = self._search(read)
            if result.satisfied:
                self._print(solution(read.outputs, read.problem.values(result.positions)))
            proved = result.status == "unsatisfiable"
        else:
            scope = [x for operand in operands(read.outputs) for x in postorder(operand) if isinstance(x, Variable)]
            found = Solutions(
                read.problem,
                scope,
                lambda problem: self._search(FlatZinc(problem, read.outputs, read.hint, read.order)),
                self._until,
                self.stop,
            )
            # Different values of variables may be one of an expression of them.
            told: set[str] | None = None if all(isinstance(x, Variable) for x in operands(read.outputs)) else set()
            for positions in found:
                text = solution(read.outputs, read.problem.values(positions))
                if told is not None:
                    if text in told:
                        continue
                    told.add(text)
                self._print(text)
                if self._printed == wanted:
                    break
            proved = found.proved
            assert found.result is not None
            result = found.result
        if proved:
            self._write(COMPLETE if self._printed else UNSATISFIABLE)
        elif not self._printed:
            self._write(UNKNOWN)
        return result

    def _optimise(self, read: FlatZinc) -> Result:
        every = self.asked.all or self.asked.intermediate
        best: list[float | None] = [None]

        def improved(progress: Progress) -> bool:
            if every and progress.improved and progress.violated == 0 and progress.objective not in (None, best[0]):
                best[0] = progress.objective
                self._print(solution(read.outputs, read.problem.values(progress.positions)))
            return False

        result = self._search(read, callback=improved)
        found = result.violated == 0 and result.objective is not None
        if found:
            self._print(solution(read.outputs, read.problem.values(result.positions)))
            if result.status == "optimal":
                self._write(COMPLETE)
        else:
            self._write(UNSATISFIABLE if result.status == "unsatisfiable" else UNKNOWN)
        if result.objective is not None and found:
            self._statistics("best", objective=result.objective["value"])
        return result

    def _print(self, text: str) -> None:
        """A solution, unless it is the one that was printed last."""
        if text != self._last:
            self._last = text
            self._printed += 1
            self._write(text)

    @staticmethod
    def _write(text: str) -> None:
        print(text, flush=True)

    def _statistics(self, when: str, **values: float) -> None:
        if self.asked.statistics:
            lines = [
                f"%%%mzn-stat: {k}={v:.3f}" if isinstance(v, float) else f"%%%mzn-stat: {k}={v}"
                for k, v in values.items()
            ]
            self._write("\n".join([*lines, "%%%mzn-stat-end"]))

    def _say(self, text: str) -> None:
        if self.asked.verbose:
            print(f"% {text}", file=sys.stderr, flush=True)


_CHOOSE = {
    "first_fail": "fewest values",
    "anti_first_fail": "most values",
    "dom_w_deg": "fewest values",
    "most_constrained": "fewest values",
    "smallest": "lowest",
    "largest": "highest",
}
_VALUE = {
    "indomain_max": "highest",
    "outdomain_min": "highest",
    "indomain_median": "median",
    "indomain_middle": "median",
    "indomain_split": "lower half",
    "indomain_reverse_split": "upper half",
}


def branching(order: Sequence[SearchOrder]) -> list[Branching]:
    """Search annotations in our words; what has no counterpart is taken in order, from the lowest value up."""
    from anycsp.search.branching import Branching

    return [Branching(o.variables, _CHOOSE.get(o.choose, "first"), _VALUE.get(o.value, "lowest")) for o in order]


def _unknown(number: int, frame: FrameType | None) -> None:
    """A signal before there is a search: no exception, which an import could swallow."""
    os.write(1, UNKNOWN.encode() + b"\n")
    os._exit(128 + number)


def run(arguments: Sequence[str] | None = None, began: float | None = None) -> int:
    """Solve; the exit code. Whatever a user can cause is one line on standard error, and 2."""
    for number in signals():
        signal.signal(number, _unknown)
    try:
        session = Session(arguments_of(arguments), time.perf_counter() if began is None else began)
        return session.run()
    except BrokenPipeError:
        return 0
    except (AnyCSPError, OSError, MemoryError) as error:
        if isinstance(error, FormatError) and session.read_until.passed:
            print(UNKNOWN, flush=True)  # reading took all the time
            return 0
        message = " ".join(str(error).split()) or type(error).__name__
        print(f"error: {message[:290]}", file=sys.stderr)
        print(ERROR, flush=True)
        return 2


def main() -> NoReturn:
    code = run(began=process_began())
    sys.stdout.flush()
    leave(code)


if __name__ == "__main__":
    main()
