"""`anycsp tune`: settings of compiled search for a family of problems."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from anycsp.cli.generate import setting
from anycsp.cli.options import Number, Whole, on_option

EPILOG = """
\b
Examples:
  anycsp tune quasigroup --set order=30 --minutes 20 --out quasigroup.toml
  anycsp tune files:timetables --minutes 20 --seconds 5 --out timetables.toml
  anycsp solve monday.json --model timetables.toml
"""


@click.command(epilog=EPILOG)
@click.argument("distribution")
@click.option(
    "--minutes", type=Number(min=0, min_open=True), default=20, show_default=True, help="Minutes of processor time."
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File of settings to write."
)
@click.option("--seconds", type=Number(min=0.01), default=2, show_default=True, help="Time limit of a search.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter of the distribution.")
@click.option(
    "--solvable",
    is_flag=True,
    help="Only what the default solves in ten times --seconds: some distributions draw what has no solution.",
)
@click.option("--instances", type=Whole(min=2), default=32, show_default=True, help="Instances to tune on.")
@click.option("--judges", type=Whole(min=2), default=20, show_default=True, help="Held-out instances.")
@click.option("--seeds", type=Whole(min=1), default=3, show_default=True, help="Searches of each instance.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="Seed of all that is drawn.")
@click.option("--processes", type=Whole(min=1), help="Searches at a time; default all cores.")
@on_option
@click.option("--resume", is_flag=True, help="Go on from what an earlier run with the same --out tried.")
@click.option("--quiet", is_flag=True, help="Only the closing lines.")
def tune(
    distribution: str,
    minutes: float,
    out: Path,
    seconds: float,
    settings: tuple[str, ...],
    solvable: bool,
    instances: int,
    judges: int,
    seeds: int,
    seed: int,
    processes: int | None,
    on: str | None,
    resume: bool,
    quiet: bool,
) -> None:
    """Find settings of compiled search for DISTRIBUTION (quasigroup, sat, …, or files:FOLDER).

    Strategies, their parameters, restarts and presolving are tried on instances, and judged on others: what is not
    better there than the default is not kept. All times are processor time: on a machine that others use --minutes
    take longer, and find the same. Ctrl-C ends; --resume goes on.
    """
    from anycsp.cluster.workers import open_workers
    from anycsp.formats.files import check_writable
    from anycsp.tuning.instances import Family
    from anycsp.tuning.tune import Tuner, write

    check_writable(out)
    journal = out.with_suffix(".journal.jsonl")
    solvable_in = 10 * seconds if solvable else None
    family = Family(distribution, dict(map(setting, settings)), seed, instances, solvable_in=solvable_in)
    with open_workers(None if on is None and processes == 1 else on or "processes", processes) as workers:
        tuner = Tuner(
            family,
            limit=seconds,
            seeds=seeds,
            judges=judges,
            seed=seed,
            workers=workers,
            journal=journal,
            report=(lambda line: None) if quiet else lambda line: click.echo(line, err=True),
        )
        if not resume:  # only now is it sure that there is something to tune
            journal.unlink(missing_ok=True)
        tuned = tuner.run(minutes, ["anycsp", *sys.argv[1:]])
    write(tuned, out)
    click.echo(f"{tuned.tried} settings tried; on {tuned.gain.instances} held-out instances {tuned.gain} as fast")
    kept = (
        "settings" if tuned.heuristic.shares or tuned.heuristic.parameters else "nothing better was found: the default"
    )
    click.echo(f"{out}: {kept}; use it by anycsp solve FILE --model {out}")
