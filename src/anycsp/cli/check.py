"""`anycsp check`: the independent verifier."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from anycsp.checker.check import WrongAnswer, first_difference, recount
from anycsp.checker.problem import from_description
from anycsp.checker.readers import READERS
from anycsp.cli.options import colors_option, file_argument, format_option
from anycsp.formats import detect, parse
from anycsp.formats.answers import read_answer
from anycsp.formats.files import load
from anycsp.model.description import describe

EPILOG = """
\b
Examples:
  anycsp solve formula.cnf --json > answer.json; anycsp check formula.cnf answer.json
  anycsp solve formula.cnf | anycsp check formula.cnf -
"""


@click.command(epilog=EPILOG)
@file_argument
@click.argument("answer", type=click.Path(allow_dash=True))
@format_option
@colors_option
@click.option("--json", "as_json", is_flag=True, help="Print the recount as a JSON object.")
def check(file: str, answer: str, format_name: str | None, colors: int | None, as_json: bool) -> int:
    """Recount ANSWER, the JSON or the `v` lines of a solver, against FILE and compare with what it claims.

    Exit code 0 and the recounted violation, or 1 and the first difference.
    """
    source = load(file)
    chosen = detect(source, format_name)
    # The strict reader first: it names what is malformed. Answers bring their own colours, so any number will do.
    parsed = parse(source, format=format_name, colors=(colors or 1) if chosen.takes_colors else colors)
    read = READERS.get(chosen.name)
    problem = from_description(describe(parsed)) if read is None else read(source.data)
    given = read_answer(answer, chosen.read_answer)
    try:
        count = recount(problem, given.values)
    except WrongAnswer as error:
        click.echo(f"{answer}: {error}")
        return 1
    difference = first_difference(problem, given.claims, count)
    if colors is not None and count.objective is not None and count.objective > colors:
        difference = difference or f"uses {count.objective:.0f} colours, {colors} are allowed"
    if as_json:
        click.echo(json.dumps({**asdict(count), "difference": difference}))
    elif difference:
        click.echo(f"{answer}: {difference}")
    else:
        objective = f", {problem.objective_kind} {count.objective:g}" if count.objective is not None else ""
        click.echo(
            f"{count.violated} of {count.constraints} constraints violated "
            f"(weight {count.violated_weight:g}, hard {count.hard_violated}){objective}"
        )
        if count.first_violated:
            click.echo(f"the first: {count.first_violated}")
    return 1 if difference else 0
