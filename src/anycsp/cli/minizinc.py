"""`anycsp minizinc`: make MiniZinc know the solver."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("action", type=click.Choice(["install", "path", "show"]))
@click.option("--folder", type=click.Path(file_okay=False), metavar="DIR", help="Install there; default the user's.")
def minizinc(action: str, folder: str | None) -> None:
    """Make anycsp a solver of MiniZinc: `install` writes anycsp.msc into the user's solver folder, `path` prints a
    folder for MZN_SOLVER_PATH instead, `show` prints the configuration."""
    import json

    from anycsp.integrations import minizinc as solver

    if action == "install":
        click.echo(f"{solver.install(None if folder is None else Path(folder))}")
    elif action == "path":
        click.echo(f"{solver.solver_path()}")
    else:
        click.echo(json.dumps(solver.configuration(), indent=2))
