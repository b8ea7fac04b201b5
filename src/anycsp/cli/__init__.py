"""The command line: thin, each command parses, calls the library and prints.

A command NAME is the function NAME of the module `anycsp.cli.NAME` and one line of COMMANDS; modules are imported
when their command runs, so `anycsp --help` and the commands without a search start fast.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import time
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import click

from anycsp import __version__
from anycsp.deadline import process_began
from anycsp.ending import leave
from anycsp.errors import AnyCSPError

COMMANDS = {
    "solve": "Search for an assignment that violates as little as possible.",
    "check": "Recount an answer independently of the search.",
    "info": "Sizes, domains, constraint kinds and memory of a problem; --system: of this machine.",
    "convert": "Rewrite a problem in another format, where that loses nothing.",
    "generate": "Draw instances of a distribution to files.",
    "train": "Train a network on a distribution, or on a folder of your files.",
    "tune": "Find settings of compiled search for a family of problems.",
    "learn": "Learn from a folder of instances how to search others like them.",
    "evaluate": "Measure models on files.",
    "serve": "Open a local page to watch searches and training runs.",
    "animate": "Draw a search as a moving picture.",
    "plot": "Draw the curves of a training run, or what a search found over time.",
    "bench": "Run the paper's experiments against real baselines, resumable.",
    "report": "Tables and figures from the results of bench.",
    "minizinc": "Make anycsp a solver of MiniZinc.",
    "models": "List the shipped models, or show the card of one.",
    "version": "Print the version.",
}

LINE_LENGTH = 300
"""The most characters of an error; paths and tokens of a file can be of any length."""

EPILOG = """
\b
Examples:
  anycsp solve formula.cnf --time-limit 30
  anycsp solve graph.col --colors 5 --json > answer.json
  anycsp check graph.col answer.json
  anycsp info problem.json
\b
Exit codes: 10 satisfied, 20 proved unsatisfiable, 30 proved optimal, 0 best effort, 2 bad input or usage, 1 internal
error.
"""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        if name not in COMMANDS:
            alike = get_close_matches(name, COMMANDS, 1)
            meant = f" Did you mean '{alike[0]}'?" if alike else ""
            ctx.fail(f"No such command '{name}'.{meant}")
        command: click.Command = getattr(importlib.import_module(f"anycsp.cli.{name}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: nothing more to say
            return 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True
)
@click.version_option(__version__, prog_name="anycsp", message="%(prog)s %(version)s")
@click.pass_context
def anycsp(ctx: click.Context) -> None:
    """anycsp: good answers to any constraint problem, by compiled search, exact search or a learned network.

    Reads SAT (.cnf), MaxSAT (.wcnf), graph colouring (.col), MaxCut (Gset/rudy, .mtx), QUBO (.qubo, .coo),
    pseudo-Boolean problems (.opb, .wbo), weighted CSPs (.wcsp, .cfn), constraint models (XCSP3, FlatZinc) and anything
    else as JSON, compressed or not, and searches for an assignment that satisfies all constraints, or as many as
    possible.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None, began: float | None = None) -> int:
    """Run one command; its exit code. Every error a user can cause is one line on stderr and exit code 2. A limit of
    time counts from `began`, by default from this call."""
    try:
        began = time.perf_counter() if began is None else began
        code = anycsp.main(args=arguments, prog_name="anycsp", standalone_mode=False, obj=began)
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        return _fail(error.format_message() + where, 2)
    except (AnyCSPError, click.ClickException) as error:
        return _fail(error.format_message() if isinstance(error, click.ClickException) else str(error), 2)
    except OSError as error:
        return _fail(f"{error.filename or 'input/output'}: {(error.strerror or str(error)).lower()}", 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", 130)
    except MemoryError:
        return _fail("out of memory", 2)
    except Exception as error:
        if os.environ.get("ANYCSP_DEBUG"):
            raise
        return _fail(f"internal: {type(error).__name__}: {error} (ANYCSP_DEBUG=1 shows where)", 1)


def _fail(message: str, code: int) -> int:
    print(_shortened("error: " + " ".join(message.split())), file=sys.stderr)
    return code


def _shortened(line: str) -> str:
    """A line of bounded length: it begins with what happened and ends with what to do, so the middle goes."""
    return line if len(line) <= LINE_LENGTH else line[: LINE_LENGTH - 121] + "…" + line[-120:]


def main() -> NoReturn:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold any bytes
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"  # not the line of code that warns
    leave(run(began=process_began()))
