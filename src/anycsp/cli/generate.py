"""`anycsp generate`: instances of a distribution as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from anycsp.cli.options import Whole
from anycsp.formats import FORMATS, write
from anycsp.model.problem import Problem
from anycsp.model.structure import formula

_WRITABLE = [f.name for f in FORMATS.values() if f.write is not None]

EPILOG = """
\b
Examples:
  anycsp generate sat --count 10 --seed 1 --out instances
  anycsp generate maxcut --count 5 --out instances --set n=200 --set p=0.1
"""


class ListsDistributions(click.Command):
    """Its help says what can be drawn, and what can be set."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from anycsp.distributions import NAMES, parameters_of

        with formatter.section("Distributions and their parameters (a number will do for a range [low, high])"):
            formatter.write_dl([(name, parameters_of(name)) for name in NAMES])
            formatter.write_dl([("files:DIR", "the files of a folder"), ("python:MODULE:FUNCTION", "your own")])
        super().format_epilog(ctx, formatter)


@click.command(cls=ListsDistributions, epilog=EPILOG)
@click.argument("distribution")
@click.option("--count", type=Whole(min=1), default=1, show_default=True, help="How many instances.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="Seed of all that is drawn.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder to write to.")
@click.option("--format", "format_name", type=click.Choice(_WRITABLE), help="Otherwise the usual one of the kind.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter of the distribution.")
def generate(
    distribution: str, count: int, seed: int, out: Path, format_name: str | None, settings: tuple[str, ...]
) -> None:
    """Draw instances of DISTRIBUTION (sat, maxsat, rb, forced-rb, coloring, maxcut, …) to files.

    The same seed draws the same files; instance i does not depend on how many are drawn.
    """
    from anycsp.distributions import draw, get

    source = get(distribution, **dict(setting(text) for text in settings))
    out.mkdir(parents=True, exist_ok=True)
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in distribution)
    for index in range(count):
        problem = draw(source, seed, index)
        chosen = FORMATS[format_name or _usual_format(problem)]
        path = out / f"{stem}-{seed}-{index:05d}{chosen.extensions[0]}"
        write(problem, path, chosen.name)
        click.echo(path)


def _usual_format(problem: Problem) -> str:
    """The format of a problem's community where it loses nothing, otherwise JSON."""
    if problem.objective is not None and problem.objective.kind == "cut":
        return "rudy"
    clauses = formula(problem)
    hard = clauses is not None and clauses.terms.hard.any() and not problem.scoring.all_required
    unweighted = clauses is not None and (clauses.terms.weight == 1).all() and not hard
    return "cnf" if unweighted and problem.objective is None else "json"


def setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE of a --set option, the value as JSON where it is that."""
    key, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE", param_hint="--set")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
