"""`anycsp bench`: run experiments of the paper into a folder, resumable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anycsp.cli.options import Whole, on_option
from anycsp.errors import AnyCSPError

if TYPE_CHECKING:
    from anycsp.bench.experiment import BudgetName

NAMES = ("rb50", "coloring", "gset", "satlib", "max-k-sat", "randcsp", "cross", "ablation", "regular", "grid")


@click.command()
@click.argument("experiments", nargs=-1, required=True, type=click.Choice([*NAMES, "all"]))
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of benchmark instances (gset/, col/, satlib/, rb50/); default: $ANYCSP_DATA.",
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder for the results.")
@click.option("--budget", type=click.Choice(["quick", "standard", "paper"]), default="quick", show_default=True)
@click.option("--solvers", help="Only these, comma-separated; `--plan` lists them.")
@click.option(
    "--models",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with NAME.safetensors files that come before the shipped models.",
)
@click.option("--jobs", type=Whole(min=1), help="Runs side by side, one thread each; default: all cores.")
@on_option
@click.option("--plan", "only_plan", is_flag=True, help="Say what would run, and how long at most; run nothing.")
@click.option("--quiet", is_flag=True, help="No progress.")
def bench(
    experiments: tuple[str, ...],
    data: Path | None,
    out: Path,
    budget: BudgetName,
    solvers: str | None,
    models: Path | None,
    jobs: int | None,
    on: str | None,
    only_plan: bool,
    quiet: bool,
) -> None:
    """Run EXPERIMENTS of the paper (or `all`), one JSON line a run into OUT/runs.jsonl.

    Started again with the same folder it goes on where it was stopped. `anycsp report OUT` makes the report.
    """
    from anycsp.bench.experiments import experiment
    from anycsp.bench.journal import FILE, read_records

    try:
        from anycsp.bench.progress import Progress
    except ImportError:
        raise AnyCSPError("benchmarks need the extra: pip install 'anycsp[bench]'") from None
    from anycsp.bench.runner import plan, run

    chosen = [experiment(name) for name in (NAMES if "all" in experiments else dict.fromkeys(experiments))]
    folder = data or Path(os.environ.get("ANYCSP_DATA", "."))
    only = _chosen_solvers(solvers, [name for one in chosen for name in one.solvers])
    jobs = jobs or os.cpu_count() or 1
    if only_plan:
        records = read_records(out) if (out / FILE).exists() else []
        for one in chosen:
            todo = plan([one], folder, budget, records, only, models)
            click.echo(
                f"{one.name}: {len(todo.to_run)} runs, at most {todo.worst_seconds / jobs / 60:.1f} min with {jobs} "
                f"side by side; {todo.done} done; {len(todo.absent)} cannot run here"
            )
            for name in (name for name in one.solvers if not only or name in only):
                reasons = {reason for task, _, reason in todo.absent if task.solver == name}
                click.echo(f"  {name}" + (f": {', '.join(sorted(reasons))}" if reasons else ""))
        return
    with Progress(quiet) as progress:
        records = run(
            chosen,
            folder,
            out,
            budget,
            solvers=only,
            models=models,
            jobs=jobs,
            on=on or "processes",
            planned=progress.planned,
            finished=progress.finished,
        )
    wrong = sum(record["status"] == "wrong answer" for record in records)
    click.echo(f"{len(records)} records in {out / FILE}" + (f"; {wrong} WRONG ANSWERS" if wrong else ""))


def _chosen_solvers(given: str | None, known: list[str]) -> tuple[str, ...]:
    """All, where none is given."""
    if given is None:
        return ()
    names = tuple(name.strip() for name in given.split(","))
    for name in names:
        if name not in known:
            raise AnyCSPError(f"no solver {name!r} in these experiments: {', '.join(dict.fromkeys(known))}")
    return names
