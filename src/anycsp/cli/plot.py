"""`anycsp plot`: learning curves of training runs."""

from __future__ import annotations

from pathlib import Path

import click

from anycsp.errors import AnyCSPError


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Image file; default RUN/curves.png.")
def plot(runs: tuple[Path, ...], out: Path | None) -> None:
    """Draw validation results over training time, one panel for each search depth, one line for each run.

    RUNS are run folders, or validation.csv files kept from them.
    """
    try:
        import matplotlib
    except ImportError:
        raise AnyCSPError("plotting needs matplotlib: pip install 'anycsp[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from anycsp.training.references import load

    curves = [(run.name if run.is_dir() else run.stem, _columns(run)) for run in runs]
    references = [load(run) if run.is_dir() else [] for run in runs]
    depths = sorted({key for _, table in curves for key in table if key.startswith("depth_")}, key=_depth)
    figure, axes = plt.subplots(1, len(depths), figsize=(4 * len(depths), 3.2), squeeze=False)
    for axis, depth in zip(axes[0], depths, strict=True):
        for number, (name, table) in enumerate(curves):  # not every run was validated at every depth
            if depth in table:
                axis.plot(table["minutes"], table[depth], marker=".", label=name, color=f"C{number}")
            for reference, style in zip(references[number], ("--", ":"), strict=False):
                if (left := reference.unsatisfied.get(str(_depth(depth)))) is not None:
                    axis.axhline(left, linestyle=style, color=f"C{number}", label=f"{name}: {reference.name}")
        axis.set(title=f"after {_depth(depth)} steps", xlabel="minutes of training", ylabel="mean unsatisfied")
        axis.grid(alpha=0.3)
    max(axes[0], key=lambda axis: len(axis.lines)).legend()
    figure.tight_layout()
    target = out or (runs[0] if runs[0].is_dir() else runs[0].parent) / "curves.png"
    figure.savefig(target, dpi=120)
    click.echo(str(target))


def _depth(column: str) -> int:
    return int(column.removeprefix("depth_"))


def _columns(run: Path) -> dict[str, list[float]]:
    import csv

    path = run / "validation.csv" if run.is_dir() else run
    try:
        with open(path) as file:
            rows = list(csv.DictReader(file))
        return {key: [float(row[key]) for row in rows] for key in rows[0]}
    except (OSError, IndexError, KeyError, ValueError, TypeError) as error:
        raise AnyCSPError(f"{path}: no learning curve ({error})") from None
