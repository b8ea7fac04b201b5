"""The figures: each function draws one of a trial as NAME.png and NAME.svg, or says that there is nothing to draw."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from anycsp.bench.experiment import SOLVING
from anycsp.bench.journal import Record
from anycsp.bench.report.names import is_ours, title
from anycsp.bench.report.results import COUNTS, Trial, ran, solved

TARGETS = np.geomspace(0.1, 0.001, 21)
"""Relative gaps to the best answer anyone found, from 10% down to 0.1%: the targets of the anytime curves."""
SHORTEST = 1e-2
"""Seconds: where logarithmic time axes begin."""


def available() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")  # no display needed
    import matplotlib.pyplot as plt

    plt.rcParams.update({"figure.dpi": 110, "axes.grid": True, "grid.alpha": 0.3, "svg.fonttype": "none"})
    return plt


def _save(figure: Any, path: Path) -> bool:
    figure.tight_layout()
    figure.savefig(path.with_suffix(".png"))
    figure.savefig(path.with_suffix(".svg"))
    _pyplot().close(figure)
    return True


def _styles(solvers: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Ours in strong lines, the others thinner and dashed."""
    colors = cycle([f"C{i}" for i in range(10)])
    dashes = cycle(["--", "-.", ":"])
    return {
        s: {
            "color": next(colors),
            "linewidth": 2.4 if is_ours(s) else 1.4,
            "linestyle": "-" if is_ours(s) else next(dashes),
        }
        for s in solvers
    }


def survival(trial: Trial, path: Path) -> bool:
    """Cumulative number of instances solved by a time: the paper's survival plot."""
    groups = [g for g in trial.groups() if trial.experiment.measures[g] in SOLVING]
    times = {s: sorted(r["best_seconds"] for g in groups for r in trial.of(s, g) if solved(r)) for s in trial.solvers()}
    times = {s: t for s, t in times.items() if t}
    if not times:
        return False
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7, 4.2))
    end = max(r["limit"]["seconds"] for r in trial.records)
    for s, style in _styles(times).items():
        t = np.maximum(times[s], SHORTEST)
        axes.step([SHORTEST, *t, end], [0, *range(1, len(t) + 1), len(t)], where="post", label=title(s), **style)
    axes.set(xscale="log", xlabel="seconds", ylabel="instances solved", title=f"{trial.experiment.title}: survival")
    axes.legend(fontsize=7)
    return _save(figure, path)


def _best_by_instance(trial: Trial, groups: list[str]) -> dict[tuple[str, str], float]:
    best: dict[tuple[str, str], float] = {}
    for r in trial.records:
        if r["group"] in groups and r["status"] in COUNTS:
            key = (r["group"], r["instance"])
            best[key] = min(best.get(key, np.inf), r["violated_weight"])
    return best


def _scale(trial: Trial, r: Record, best: float) -> float:
    """What relative gaps are relative to: the size of the best cut, or the best violated weight."""
    if trial.experiment.measures[r["group"]] == "deviation":
        return abs(float(r["objective"]) + r["violated_weight"] - best) or 1.0
    return best or 1.0


def anytime(trial: Trial, path: Path) -> bool:
    """ECDF: the share of (instance, target) pairs reached by a time, over targets of 10% to 0.1% from the best."""
    groups = [g for g in trial.groups() if trial.experiment.measures[g] not in SOLVING]
    best = _best_by_instance(trial, groups)
    if not best:
        return False
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7, 4.2))
    end = max(r["limit"]["seconds"] for r in trial.records)
    solvers = [s for s in trial.solvers() if any(r["status"] in COUNTS for g in groups for r in trial.of(s, g))]
    for s, style in _styles(solvers).items():
        runs = ran(r for g in groups for r in trial.of(s, g))
        reached: list[float] = []
        for r in runs:
            if r["status"] in COUNTS:
                floor = best[r["group"], r["instance"]]
                gaps = [(t, (w - floor) / _scale(trial, r, floor)) for _, t, w in r["trace"]]
                reached += [min((t for t, gap in gaps if gap <= target), default=np.inf) for target in TARGETS]
        shown = np.maximum(sorted(t for t in reached if np.isfinite(t)), SHORTEST)
        share = np.arange(1, len(shown) + 1) / (len(runs) * len(TARGETS))
        last = share[-1] if len(share) else 0.0
        axes.step([SHORTEST, *shown, end], [0, *share, last], where="post", label=title(s), **style)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="seconds", ylabel="share of targets reached")
    axes.set_title(f"{trial.experiment.title}: anytime")
    axes.legend(fontsize=7)
    return _save(figure, path)


def time_to_target(trial: Trial, path: Path) -> bool:
    """Seconds until within 1% of the best answer anyone found; a mark at the limit's right for those who never were."""
    groups = [g for g in trial.groups() if trial.experiment.measures[g] not in SOLVING]
    best = _best_by_instance(trial, groups)
    solvers = [s for s in trial.solvers() if any(r["status"] in COUNTS for g in groups for r in trial.of(s, g))]
    if not best or not solvers:
        return False
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.45 * len(solvers)))
    end = max(r["limit"]["seconds"] for r in trial.records)
    for row, s in enumerate(solvers):
        for r in (r for g in groups for r in trial.of(s, g) if r["status"] in COUNTS):
            floor = best[r["group"], r["instance"]]
            times = [t for _, t, w in r["trace"] if (w - floor) / _scale(trial, r, floor) <= 0.01]
            if times:
                axes.plot(max(min(times), SHORTEST), row, "o", color="C0" if is_ours(s) else "C7", alpha=0.7)
            else:
                axes.plot(end * 1.5, row, "x", color="C3", alpha=0.5)
    axes.axvline(end, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="seconds to within 1% of the best found (×: not within the limit)")
    axes.set_yticks(range(len(solvers)), [title(s) for s in solvers], fontsize=8)
    axes.margins(y=0.15)
    axes.invert_yaxis()
    return _save(figure, path)


def steps_to_best(trial: Trial, path: Path) -> bool:
    """The best answer's violated weight against the step in which it was found: the paper's scatter plot."""
    group = trial.groups()[-1] if trial.groups() else ""
    points = {
        s: [r for r in trial.of(s, group) if r["status"] in COUNTS and r["best_step"] > 0] for s in trial.solvers()
    }
    points = {s: records for s, records in points.items() if records}
    if not points:
        return False
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for (s, records), marker in zip(points.items(), cycle("osD^vP*X"), strict=False):
        axes.scatter(
            [r["best_step"] for r in records],
            [r["violated_weight"] for r in records],
            label=title(s),
            marker=marker,
            alpha=0.7,
        )
    axes.set(xscale="log", xlabel="step of the best answer", ylabel="violated weight", title=f"{group}: steps to best")
    axes.legend(fontsize=7)
    return _save(figure, path)


def curves(trial: Trial, path: Path) -> bool:
    """The mean violated weight of the best answer so far, against search steps: the paper's ablation curve."""
    group = trial.groups()[-1] if trial.groups() else ""
    runs = {s: [r for r in trial.of(s, group) if r["status"] in COUNTS] for s in trial.solvers()}
    runs = {s: records for s, records in runs.items() if records}
    if not runs:
        return False
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7, 4.2))
    end = max(r["steps"] for records in runs.values() for r in records)
    grid = np.unique(np.geomspace(1, max(end, 2), 200).astype(int))
    for s, style in _styles(runs).items():
        means = np.mean([_at_steps(r, grid) for r in runs[s]], axis=0)
        axes.plot(grid, means, label=title(s), **style)
    axes.set(xscale="log", yscale="log", xlabel="search steps", ylabel="mean violated weight of the best", title=group)
    axes.legend(fontsize=7)
    return _save(figure, path)


def _at_steps(r: Record, grid: Any) -> Any:
    """The best so far at each step of the grid; before the first point, that point."""
    steps, weights = np.array([p[0] for p in r["trace"]]), np.array([p[2] for p in r["trace"]])
    return weights[np.maximum(np.searchsorted(steps, grid, side="right") - 1, 0)]


def frames(trial: Trial, path: Path) -> bool:
    """A grid's two-colouring after every step, conflicting edges red: the paper's picture."""
    recorded = [r for r in trial.records if r.get("frames")]
    if not recorded:
        return False
    # Of the models whose recorded run ended in a solution, the one with most to show.
    r = max(recorded, key=lambda r: (solved(r), len(r["frames"])))
    plt = _pyplot()
    side = int(np.sqrt(len(r["frames"][0])))
    columns = 3
    rows = -(-len(r["frames"]) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3 * columns, 3.2 * rows), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for step, (axis, frame) in enumerate(zip(axes.flat, r["frames"], strict=False)):
        color = np.array(frame).reshape(side, side)
        for (i, j), value in np.ndenumerate(color):
            for di, dj in ((0, 1), (1, 0)):
                if i + di < side and j + dj < side:
                    clash = value == color[i + di, j + dj]
                    style = {"color": "red", "linewidth": 2.2} if clash else {"color": "0.8", "linewidth": 0.8}
                    axis.plot([j, j + dj], [-i, -i - di], zorder=1, **style)
        y, x = np.indices(color.shape)
        axis.scatter(x, -y, c=color, cmap="coolwarm", s=36, zorder=2, edgecolors="0.3", linewidths=0.4)
        axis.set_aspect("equal")
        axis.set_title(f"t = {step}", fontsize=10)
    return _save(figure, path)
