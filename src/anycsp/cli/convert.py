"""`anycsp convert`: from one format to another."""

from __future__ import annotations

import click

from anycsp.cli.options import colors_option, file_argument, format_option, warn
from anycsp.formats import FORMATS, read, to_text, write

_WRITABLE = [f.name for f in FORMATS.values() if f.write is not None]

EPILOG = """
\b
Examples:
  anycsp convert formula.cnf formula.json
  anycsp convert graph.col graph.json.gz --colors 5
  anycsp convert G1.txt - --to mtx
"""


@click.command(epilog=EPILOG)
@file_argument
@click.argument("output", type=click.Path(allow_dash=True))
@format_option
@click.option("--to", type=click.Choice(_WRITABLE), help="Format of OUTPUT; otherwise its name tells.")
@colors_option
def convert(file: str, output: str, format_name: str | None, to: str | None, colors: int | None) -> None:
    """Rewrite the problem in FILE as OUTPUT (- for standard output).

    Refuses where the other format cannot say all that the problem says. OUTPUT appears whole or not at all.
    """
    problem = read(file, format=format_name, colors=colors)
    warn(problem.comments, file)
    if output == "-":
        click.echo(to_text(problem, to, output), nl=False)
    else:
        write(problem, output, to)
