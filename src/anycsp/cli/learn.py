"""`anycsp learn`: a heuristic for your own instances."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from anycsp.cli.options import Number, Whole

EPILOG = """
\b
Examples:
  anycsp learn timetables --minutes 15 --out learnt
  anycsp solve monday.json --model learnt
"""


@click.command(epilog=EPILOG)
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--minutes", type=Number(min=0, min_open=True), default=15, show_default=True, help="Minutes of processor time."
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for what was learnt."
)
@click.option("--seconds", type=Number(min=0.01), default=2, show_default=True, help="Time limit of a search.")
@click.option("--seeds", type=Whole(min=1), default=3, show_default=True, help="Searches of each instance.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="Seed of all that is drawn.")
@click.option("--processes", type=Whole(min=1), help="Searches at a time; default all cores.")
@click.option("--quiet", is_flag=True, help="Only the closing table.")
def learn(
    folder: str, minutes: float, out: Path, seconds: float, seeds: int, seed: int, processes: int | None, quiet: bool
) -> None:
    """Learn from the instances of FOLDER how to search others like them.

    Settings of the compiled search are tuned. The network for this kind of problem is tried on a few instances, and
    trained where it is not far behind. What is surely best on instances held out is kept in OUT, and a table says by
    how much. Searches of --seconds are measured: give what you will have.
    """
    from anycsp.cluster.workers import open_workers
    from anycsp.tuning.learn import Learner, table

    with open_workers(None if processes == 1 else "processes", processes) as workers:
        learner = Learner(
            folder,
            limit=seconds,
            seeds=seeds,
            seed=seed,
            workers=workers,
            report=(lambda line: None) if quiet else lambda line: click.echo(line, err=True),
        )
        lesson = learner.run(minutes, out, ["anycsp", *sys.argv[1:]])
    table(lesson, click.echo)
    click.echo(lesson.remark)
    click.echo(f"kept: {lesson.best.name}; use it by anycsp solve FILE --model {out}")
