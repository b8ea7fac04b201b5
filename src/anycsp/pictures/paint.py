"""The pictures in matplotlib: what the page draws on a canvas, from the same data."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from typing import Any

Data = dict[str, Any]

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#f0e442", "#56b4e9", "#cc79a7", "#8c8c8c")
"""Colours that people with any kind of colour vision tell apart (Okabe and Ito), without the red, which is conflict."""
BAD, EDGE, FIXED, INK = "#c4001a", "#a9b0b8", "#e4e8ec", "#1b1f24"


def color(index: int) -> str:
    if index < len(PALETTE):
        return PALETTE[index]
    lightness = 0.42 if index % 2 else 0.68
    red, green, blue = colorsys.hls_to_rgb(index * 137.5 % 360 / 360, lightness, 0.45)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def ink_on(fill: str) -> str:
    """Black or white, whichever has more contrast on the colour."""
    parts = [int(fill[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


def paint(axes: Any, picture: Data, frame: Data) -> None:
    """Draw one frame; `picture` is what `Picture.describe` says, `frame` what `Picture.frame` does, or its `soft`."""
    axes.clear()
    axes.set_axis_off()
    axes.set_aspect("auto" if picture["kind"] == "schedule" else "equal")
    _PAINTED[picture["kind"]](axes, picture, frame)


def _graph(axes: Any, picture: Data, frame: Data) -> None:
    from matplotlib.collections import LineCollection

    places, bad = [(x, 1 - y) for x, y in picture["places"]], set(frame["links"])
    thick = max(0.9, min(2.0, 17 / max(1, len(bad)) ** 0.5))  # many, as in a cut, would hide everything else
    for wrong, width, stroke in ((False, 0.6, EDGE), (True, thick, BAD)):
        lines = [[places[a], places[b]] for k, (a, b) in enumerate(picture["links"]) if (k in bad) == wrong]
        axes.add_collection(LineCollection(lines, colors=stroke, linewidths=width, zorder=1 + wrong))
    wrong_nodes = set(frame["bad"])
    sure = frame.get("sure")
    axes.scatter(
        [x for x, _ in places],
        [y for _, y in places],
        s=min(120, 12_000 / len(places)),
        c=[color(index) for index in frame["color"]],
        alpha=None if sure is None else [0.12 + 0.88 * percent / 100 for percent in sure],
        edgecolors=[BAD if k in wrong_nodes else INK for k in range(len(places))],
        linewidths=0.5,
        zorder=3,
    )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))


def _board(axes: Any, picture: Data, frame: Data) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = picture["rows"], picture["columns"]
    bad, fixed = set(frame["bad"]), set(picture["fixed"])
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        dark = cell in fixed or (picture.get("checkered") and (row + column) % 2)
        fill = color(frame["color"][cell]) if frame["color"] else (FIXED if dark else "white")
        wrong = cell in bad
        axes.add_patch(
            Rectangle(
                (column, rows - 1 - row), 1, 1, facecolor=fill, edgecolor=BAD if wrong else EDGE,
                linewidth=2 if wrong else 0.4, zorder=2 if wrong else 1, hatch="//" if wrong else None,
            )
        )  # fmt: skip
        if frame["text"][cell]:
            size = 170 / rows * (0.7 if len(frame["text"][cell]) > 2 else 1)
            place = (column + 0.5, rows - 0.5 - row)
            ink = ink_on(fill) if frame["color"] else INK
            axes.text(*place, frame["text"][cell], ha="center", va="center", fontsize=size, color=ink, zorder=3)
    for at in range(0, rows + 1, picture["box"]) if picture["box"] else ():
        axes.plot([at, at], [0, rows], color=INK, linewidth=1.5, zorder=3)
        axes.plot([0, columns], [at, at], color=INK, linewidth=1.5, zorder=3)
    axes.set(xlim=(-0.1, columns + 0.1), ylim=(-0.1, rows + 0.1))


def _schedule(axes: Any, picture: Data, frame: Data) -> None:
    bad = set(frame["bad"])
    for k, (lane, start, length, job, _) in enumerate(frame["bars"]):
        axes.barh(
            -lane, length, left=start, height=0.8, color=color(job), edgecolor=BAD if k in bad else INK,
            linewidth=1.5 if k in bad else 0.5, hatch="//" if k in bad else None,
        )  # fmt: skip
    lanes = picture["lanes"]
    axes.set_axis_on()
    axes.figure.set_layout_engine("constrained")  # as much room as the names of the lanes take
    axes.tick_params(length=0, labelsize=8)
    axes.set_yticks([-lane for lane in range(len(lanes))], lanes, fontsize=min(8, 240 / len(lanes)))
    axes.set(xlim=(picture["first"], picture["last"]), ylim=(-len(lanes) + 0.4, 0.6))


def _route(axes: Any, picture: Data, frame: Data) -> None:
    places, bad = [(x, 1 - y) for x, y in picture["places"]], set(frame["bad"])
    for k, (a, b) in enumerate(frame["arrows"]):
        style = {"arrowstyle": "-|>", "color": BAD if k in bad else PALETTE[0], "linestyle": "--" if k in bad else "-"}
        axes.annotate("", xy=places[b], xytext=places[a], arrowprops={**style, "linewidth": 2 if k in bad else 1.2})
    axes.scatter([x for x, _ in places], [y for _, y in places], s=25, color=INK, zorder=3)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))


def _heat(axes: Any, picture: Data, frame: Data) -> None:
    import numpy as np

    columns = picture["columns"]
    cells = np.full(-(-picture["cells"] // columns) * columns, np.nan)
    cells[: picture["cells"]] = frame["heat"]
    axes.imshow(cells.reshape(-1, columns), cmap="Reds", vmin=0, vmax=picture["per_cell"], interpolation="nearest")


_PAINTED: dict[str, Callable[[Any, Data, Data], None]] = {
    "graph": _graph,
    "board": _board,
    "schedule": _schedule,
    "route": _route,
    "heat": _heat,
}
