"""`anycsp plot`: learning curves of training runs, and what searches found as time went by."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from anycsp.errors import AnyCSPError
from anycsp.formats.files import write_whole

TRACE = ".jsonl"
"""What the names of traces end with."""
MARKERS = {"initial": "x", "network": "s", "exact": "^", "tree": "D"}
"""What found an improvement, by shape, as on the page of `anycsp serve`."""
STRATEGY = "o"
LINES = ("-", "--", ":", "-.")
"""Told apart by more than colour."""
KINDS = ("png", "svg", "svgz", "pdf", "eps", "ps", "jpg", "jpeg", "gif", "tif", "tiff", "webp")
"""What the name of a picture may end in."""
LARGEST = 1e300
"""Beyond it the scale of an axis overflows."""
MOST_PANELS = 100
"""As many depths as a training run may be validated at."""


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--log", "log_time", is_flag=True, help="Logarithmic time, for traces.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Image file; default RUN/curves.png, or TRACE.png."
)
def plot(runs: tuple[Path, ...], out: Path | None, log_time: bool) -> None:
    """Draw validation results over training time, one panel for each search depth, one line for each run; or the best
    objective (violated weight where there is none) of searches over their time, one line for each search, a mark where
    something better was found, whose shape says by what.

    RUNS are run folders, or validation.csv files kept from them; or the traces of `anycsp solve --trace FILE.jsonl`.
    """
    try:
        import matplotlib
    except ImportError:
        raise AnyCSPError("plotting needs matplotlib: pip install 'anycsp[plot]'") from None
    matplotlib.use("Agg")
    traces = [run.suffix == TRACE for run in runs]
    first = runs[0]
    beside = first.with_suffix(".png") if all(traces) else (first if first.is_dir() else first.parent) / "curves.png"
    target = out or beside
    kind = _kind(target)
    if any(traces) and not all(traces):
        raise AnyCSPError(f"traces (FILE{TRACE}) and training runs do not fit in one picture: plot them apart")
    figure = _traces(runs, log_time) if all(traces) else _curves(runs)
    figure.tight_layout()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=120, format=kind)
    write_whole(target, drawn.getvalue())
    click.echo(str(target))


def _kind(target: Path) -> str:
    """The kind of picture that a file's name asks for, before anything is drawn."""
    kind = target.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise AnyCSPError(f"{target}: the name of a picture ends in one of {', '.join(f'.{kind}' for kind in KINDS)}")
    return kind


def _curves(runs: Sequence[Path]) -> Any:
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
    return figure


def _depth(column: str) -> int:
    return int(column.removeprefix("depth_"))


def _columns(run: Path) -> dict[str, list[float]]:
    import csv

    path = run / "validation.csv" if run.is_dir() else run
    try:
        with open(path) as file:
            rows = list(csv.DictReader(file))
        columns = {key: [_drawable(row[key]) for row in rows] for key in rows[0]}
    except (OSError, IndexError, KeyError, ValueError, TypeError, csv.Error) as error:
        raise AnyCSPError(f"{path}: no learning curve ({error})") from None
    depths = [key for key in columns if key.startswith("depth_")]
    if "minutes" not in columns or not depths or not all(re.fullmatch(r"depth_[0-9]{1,9}", key) for key in depths):
        raise AnyCSPError(f"{path}: no learning curve (it has columns minutes and depth_N, N a number of steps)")
    if len(depths) > MOST_PANELS:
        raise AnyCSPError(f"{path}: {len(depths)} depths are more than the {MOST_PANELS} that can be drawn")
    return columns


def _drawable(number: Any) -> float:
    value = float(number)
    if abs(value) > LARGEST:
        raise ValueError(f"{value:g} is too large to be drawn")
    return value


def _traces(paths: Sequence[Path], log_time: bool) -> Any:
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    figure, axis = plt.subplots(figsize=(6, 3.6))
    found: dict[str, str] = {}
    for number, path in enumerate(paths):
        seconds, best, finders = best_by_time(path)
        axis.step(
            seconds, best, where="post", label=path.stem, color=f"C{number}", linestyle=LINES[number % len(LINES)]
        )
        for at, value, finder in zip(seconds, best, finders, strict=True):
            found[finder] = MARKERS.get(finder, STRATEGY)
            axis.plot(at, value, marker=found[finder], color=f"C{number}", markersize=5)
    axis.set(xlabel="seconds of search", ylabel="best found")
    if log_time:
        axis.set_xscale("log")
    axis.grid(alpha=0.3)
    marks = [Line2D([], [], color="gray", marker=mark, linestyle="", label=name) for name, mark in found.items()]
    axis.legend(handles=[*axis.get_legend_handles_labels()[0], *marks], fontsize="small")
    return figure


def best_by_time(path: Path) -> tuple[list[float], list[float], list[str]]:
    """Seconds, the objective from its first value on (the violated weight where there is no objective), and what found
    it."""
    try:
        points = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        valued = [point for point in points if point["objective"] is not None]
        key = "objective" if valued else "violated_weight"
        shown = valued or points
        return (
            [_drawable(p["seconds"]) for p in shown],
            [_drawable(p[key]) for p in shown],
            [str(p["found_by"]) for p in shown],
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise AnyCSPError(f"{path}: no trace of a search ({error})") from None
