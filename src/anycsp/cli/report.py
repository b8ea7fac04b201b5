"""`anycsp report`: tables and figures from the results of `anycsp bench`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where to write; default: FOLDER.")
def report(folder: Path, out: Path | None) -> None:
    """Write report.md, report.html and figures/ from FOLDER/runs.jsonl."""
    from anycsp.bench.report import write_report

    for path in write_report(folder, out):
        click.echo(str(path))
