"""`anycsp solve`: from a file to a printed answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import anycsp
from anycsp.alarm import raising_at
from anycsp.cli.options import (
    Number,
    Whole,
    colors_option,
    files_argument,
    format_option,
    guidance_option,
    on_option,
    temperature_option,
    warn,
)
from anycsp.cli.progress import ProgressLine
from anycsp.deadline import DEFAULT_SECONDS, NEVER, Deadline, OutOfTime, slowdown
from anycsp.errors import FormatError, ProblemError, TooLargeError, UnsupportedError
from anycsp.formats import Format, detect, parse
from anycsp.formats.answers import Values, read_answer
from anycsp.formats.col import ColoringGraph, read_graph
from anycsp.formats.files import Source, check_writable, load, write_whole
from anycsp.interrupts import stop_instead
from anycsp.model.problem import Problem

if TYPE_CHECKING:
    from anycsp.search import Progress, Result

Read = TypeVar("Read")

EXIT_CODES = {"satisfied": 10, "unsatisfiable": 20, "optimal": 30}
"""Those of the solver competitions; every other status ends with 0."""

LEAST_SECONDS = 0.1
"""The least time to search after reading, or what was asked for where that is less."""

LEAST_READING = 0.5
"""Seconds of reading, or as many as were asked for where that is less: files that are not enormous take less."""

WRITING_SECONDS = 1e-6
"""Per variable, for the answer to be written."""

EPILOG = """
\b
Examples:
  anycsp solve formula.cnf                          ten seconds, competition output
  anycsp solve formula.cnf.xz --time-limit 60 --runs 8
  anycsp solve graph.col --colors 5 --json > answer.json
  anycsp solve graph.col                            fewest colours: from a clique bound upward
  anycsp solve G22.txt --seed 7 --trace trace.jsonl
  anycsp solve problem.json --hint answer.json --steps 1000
  anycsp solve *.cnf --out answers                  many files, in processes of this machine
  anycsp solve *.cnf --out answers --on ray:HOST:6379
\b
Output: `c` comments, an `o` line for each improvement (violated weight, or the cut), `s SATISFIABLE`, `s OPTIMUM FOUND`
(proved), `s UNSATISFIABLE` (proved) or `s UNKNOWN`, `v` lines with the best assignment. Ctrl-C prints the best so far.
Exit codes: 10 satisfied, 20 proved unsatisfiable, 30 proved optimal, 0 best effort or interrupted, 2 bad input or
usage, 1 internal error.
"""


@click.command(epilog=EPILOG)
@files_argument
@format_option
@colors_option
@click.option("--model", default="auto", show_default=True, metavar="NAME|PATH", help="A shipped or your own policy.")
@click.option(
    "--search", type=click.Choice(["auto", "neural", "local", "hybrid", "exact"]), default="auto", show_default=True
)
@click.option(
    "--time-limit",
    type=Number(min=0),
    metavar="S",
    help="Seconds from the start of the program to the answer; default 10, or none with --steps.",
)
@click.option("--steps", type=Whole(min=0), metavar="N", help="Steps of search; default no limit.")
@click.option("--runs", type=Whole(min=1), metavar="R", help="Parallel runs; default the model's.")
@click.option(
    "--seed",
    type=Whole(min=0),
    default=0,
    show_default=True,
    help="Seed of all random numbers. With --steps and without --time-limit the same seed gives the same answer, on "
    "any number of threads.",
)
@click.option("--hint", type=click.Path(), metavar="FILE", help="Start from this answer (JSON or `v` lines).")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--threads", type=Whole(min=1), metavar="N", help="Default all cores.")
@temperature_option
@guidance_option
@click.option(
    "--presolve/--no-presolve",
    default=True,
    show_default=True,
    help="Set variables aside that can always take a fitting value last; fix the colours of a clique.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of c/o/s/v lines.")
@click.option("--trace", type=click.Path(dir_okay=False), metavar="FILE.jsonl", help="Write every improvement there.")
@click.option("--profile", is_flag=True, help="Time per phase of a neural search, on stderr.")
@click.option(
    "--solutions",
    type=Whole(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="The K best different assignments, as comments after the best, or `solutions` in JSON.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="On stderr: what the answer violates, by weight and with values; constraints that cannot hold together, where "
    "that is proved.",
)
@click.option("--quiet", is_flag=True, help="Only the `s` and `v` lines; no progress.")
@on_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Search many files: an answer of each as NAME.json there, and a line in summary.jsonl. Goes on where it was.",
)
@click.option(
    "--groups",
    type=Whole(min=1),
    default=1,
    show_default=True,
    help="With --out: searches of each file, with seeds of their own, which share the best assignment.",
)
@click.option("--processes", type=Whole(min=1), help="With --out: cores of this machine; default all.")
@click.pass_obj
def solve(
    began: float,
    /,
    files: tuple[str, ...],
    format_name: str | None,
    colors: int | None,
    hint: str | None,
    as_json: bool,
    trace: str | None,
    quiet: bool,
    time_limit: float | None,
    explain: bool,
    solutions: int,
    on: str | None,
    out: Path | None,
    groups: int,
    processes: int | None,
    **options: Any,
) -> int:
    """Search for an assignment of the problem in FILE (- for standard input) that violates as little as possible.

    With --out there may be many FILES. They are searched in processes of this machine or on a cluster (--on), each as
    by itself, with one thread unless --threads says otherwise.
    """
    if out is None and (len(files) > 1 or on is not None or groups > 1 or processes is not None):
        raise click.UsageError("several files, --on, --groups and --processes need --out", click.get_current_context())
    if out is None:
        return _solve_file(
            files[0], format_name, colors, hint, as_json, trace, quiet, Clock.of(time_limit, options["steps"], began),
            explain, solutions, options,
        )  # fmt: skip
    from anycsp.cli.many import solve_files

    single = {"--hint": hint, "--trace": trace, "--explain": explain, "--profile": options.pop("profile")}
    if refused := [name for name, given in single.items() if given]:
        raise click.UsageError(f"{refused[0]} is for one file, without --out", click.get_current_context())
    options |= {"time_limit": time_limit, "solutions": solutions}
    say = (lambda line: None) if quiet else _say_json if as_json else _say
    return solve_files(files, out, on or "processes", groups, processes, format_name, colors, options, say)


def _solve_file(
    file: str,
    format_name: str | None,
    colors: int | None,
    hint: str | None,
    as_json: bool,
    trace: str | None,
    quiet: bool,
    clock: Clock,
    explain: bool,
    solutions: int,
    options: dict[str, Any],
) -> int:
    """The exit code."""
    if trace:
        check_writable(Path(trace))
    until = clock.read_until()
    source = _in_time(until, file, lambda: load(file, until))
    chosen = detect(source, format_name)
    report = Report(chosen, as_json, quiet)
    try:
        if chosen.takes_colors and colors is None:
            if solutions > 1:
                raise click.UsageError("--solutions needs --colors", click.get_current_context())
            graph = _in_time(until, file, lambda: read_graph(source))
            limits = {"stop": report.stop, "time_limit": clock.search_until(graph.vertices)}
            problem, result = _fewest_colors(graph, file, report, hint, {**options, **limits})
        else:
            problem = _in_time(until, file, lambda: parse(source, format=format_name, colors=colors))
            report.problem(problem, file)
            start = _hint(hint, chosen, problem) if hint else None
            options["solutions"] = solutions
            limit = clock.search_until(problem.num_variables)
            result = report.search(problem, hint=start, stop=report.stop, time_limit=limit, **options)
    except UnsupportedError:
        report.unsupported()
        raise
    except ProblemError as error:
        raise FormatError(file, str(error)) from None
    except TooLargeError as error:
        raise TooLargeError(f"{file}: {error}") from None
    report.answer(problem, result)
    if trace:
        write_whole(Path(trace), "".join(json.dumps(point._asdict()) + "\n" for point in result.trace))
    if explain:
        click.echo("\n".join(f"explain: {line}" for line in result.explain()), err=True)
    if result.profile is not None:
        click.echo("\n".join(result.profile.lines()), err=True)
    return EXIT_CODES.get(result.status, 0)


def _in_time(until: Deadline, file: str, work: Callable[[], Read]) -> Read:
    """What reading a file gives, given up at the deadline: without all of it nothing can be said."""
    try:
        with raising_at(until):
            return work()
    except OutOfTime:
        raise Source(file, b"").late() from None


def _say(line: Mapping[str, Any]) -> None:
    found = line.get("error") or f"{line['violated']} violated after {line['seconds']:.2f} s"
    click.echo(f"{line['file']}: {line['status']}, {found}")


def _say_json(line: Mapping[str, Any]) -> None:
    click.echo(json.dumps(line))


@dataclass(frozen=True)
class Clock:
    """What a limit of time means for the parts of a call. It counts from when the program `began`, so that whoever
    waits for the answer knows when it is there; None is no limit."""

    time_limit: float | None
    began: float

    @staticmethod
    def of(time_limit: float | None, steps: int | None, began: float) -> Clock:
        """A limit of time is never missing where there is no other."""
        return Clock(DEFAULT_SECONDS if time_limit is None and steps is None else time_limit, began)

    def read_until(self) -> Deadline:
        """A file is given up at the limit; but where starting has used that up, as it does on a busy machine, a small
        file is still worth the moment that it takes."""
        if self.time_limit is None:
            return NEVER
        end = Deadline.after(self.time_limit, self.began)
        return Deadline(max(end.at, Deadline.after(slowdown(self.began) * min(LEAST_READING, self.time_limit)).at))

    def search_until(self, variables: int) -> Deadline:
        """The limit less the time to write the answer; but a small problem is solved in a moment, where starting and
        reading have used up the limit."""
        import anycsp.search  # noqa: F401 — importing it belongs to starting

        if self.time_limit is None:
            return NEVER
        end = Deadline.after(self.time_limit, self.began).earlier(WRITING_SECONDS * variables)
        return Deadline(max(end.at, Deadline.after(min(LEAST_SECONDS, self.time_limit)).at))


def _hint(path: str, chosen: Format, problem: Problem) -> Values:
    values = read_answer(path, chosen.read_answer).values
    try:
        if isinstance(values, Mapping):
            for name, value in values.items():
                problem.domain(name).position(value)
        else:
            problem.positions(values)
    except ProblemError as error:
        raise FormatError(path, str(error)) from None
    return values


def _fewest_colors(
    graph: ColoringGraph, path: str, report: Report, hint: str | None, options: dict[str, Any]
) -> tuple[Problem, Result]:
    if hint:
        raise click.UsageError("--hint needs --colors", click.get_current_context())
    from anycsp.search.fewest_colors import fewest_colors

    report.comment(f"{path}: {graph.vertices} vertices, {len(graph.edges)} edges")
    report.warnings(graph.comments, path)
    return fewest_colors(graph, report.search, report.comment, **options)


class Report:
    """What a search prints: c/o/s/v lines, or one JSON object, and a progress line on a terminal."""

    def __init__(self, chosen: Format, as_json: bool, quiet: bool) -> None:
        self._format, self._json, self._quiet = chosen, as_json, quiet
        self._printed = ""
        self.stop = threading.Event()
        self._answered = False
        self.comment(f"anycsp {anycsp.__version__}")

    def comment(self, text: str) -> None:
        if not (self._json or self._quiet):
            print(f"c {text}", flush=True)

    def problem(self, problem: Problem, path: str) -> None:
        self.comment(f"{path}: {problem.num_variables} variables, {problem.num_constraints} constraints")
        self.warnings(problem.comments, path)

    def warnings(self, texts: Iterable[str], path: str) -> None:
        """As comments, or on stderr where standard output is for the answer only."""
        if self._json or self._quiet:
            warn(texts, path)
        for text in texts:
            self.comment(f"warning: {text}")

    def unsupported(self) -> None:
        """What XCSP3 competitions want to hear, besides the error."""
        if self._format.name == "xcsp3" and not self._json:
            print("s UNSUPPORTED", flush=True)

    def search(self, problem: Problem, **options: Any) -> Result:
        """Run the search, printing improvements as they come."""
        from anycsp.search import solve as run_search

        with ProgressLine(not self._quiet, options["time_limit"], options["steps"]) as line:
            stream = not (self._json or self._quiet)

            def callback(progress: Progress) -> None:
                self._has_answer()
                best = objective_line(problem, progress.violated_weight, progress.hard_violated, progress.objective)
                if stream and progress.improved and best:
                    line.hide()
                    self._objective(best)
                hard = f" ({progress.hard_violated} hard violated)" if progress.hard_violated else ""
                line.show(progress, (best or _number(progress.violated_weight)) + hard)

            result = run_search(problem, callback=callback, **options)
            self._has_answer()
            return result

    def _has_answer(self) -> None:
        """From the first assignment on a signal is to print the best one."""
        if not self._answered:
            stop_instead(self.stop)
        self._answered = True

    def _objective(self, best: str) -> None:
        if best != self._printed:
            print(f"o {best}", flush=True)
        self._printed = best

    def answer(self, problem: Problem, result: Result) -> None:
        if self._json:
            print(json.dumps(result.to_json()))
            return
        self.comment(
            f"{result.violated} of {result.constraints} constraints violated; "
            f"{result.steps} steps in {result.seconds:.2f} s, best at step {result.best_step}; "
            f"model {result.model}, search {result.search}, runs {result.runs}, seed {result.seed}"
        )
        if result.refuted_by is not None and result.refuted_by >= 0:
            self.comment(f"constraint {result.refuted_by + 1} has no assignment left: found by propagation")
        if result.objective is not None:
            self.comment(f"{result.objective['kind']} {result.objective['value']}")
        value = result.objective["value"] if result.objective and result.violated == 0 else None
        best = objective_line(problem, result.violated_weight, result.hard_violated, value)
        if best and not self._quiet:
            self._objective(best)
        print(f"s {verdict(problem, result)}")
        print("\n".join(self._format.answer(problem, result.positions)))
        for number, other in enumerate(result.solutions[1:], start=2):
            value = "" if other.objective is None else f", {other.objective['kind']} {other.objective['value']}"
            self.comment(f"solution {number}: weight {_number(other.violated_weight)} violated{value}")
            for line in self._format.answer(problem, other.positions):
                self.comment(line)


def verdict(problem: Problem, result: Result) -> str:
    """SATISFIABLE when all that must hold does: the hard constraints where there are some, or where violated weight
    is what is optimised; otherwise all. UNSATISFIABLE where that is proved not to be possible, OPTIMUM FOUND where
    nothing is proved to be better."""
    if result.status == "unsatisfiable":
        return "UNSATISFIABLE"
    if result.status == "optimal":
        return "OPTIMUM FOUND"
    if problem.objective is not None and result.objective is None:
        return "UNKNOWN"  # an assignment that leaves the objective undefined is no answer
    weighed = problem.objective is not None and problem.objective.is_violated_weight
    soft = weighed or any(block.terms.hard.any() for block in problem.blocks)
    return "SATISFIABLE" if (result.hard_violated == 0 if soft else result.violated == 0) else "UNKNOWN"


def objective_line(problem: Problem, weight: float, hard_violated: int, value: float | None = None) -> str:
    """What an `o` line says while a search runs: the violated weight, or the cut, cost or gain it amounts to, or the
    value of an objective to minimize or maximize; nothing while a constraint that comes before others is violated."""
    if hard_violated and not problem.scoring.all_required:
        return ""
    if problem.objective is not None and problem.objective.expression is not None:
        return "" if value is None else _number(value)
    if problem.objective is not None and problem.objective.is_violated_weight:
        return _number(problem.objective.of_weight(weight))
    return _number(weight)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.10g}"
