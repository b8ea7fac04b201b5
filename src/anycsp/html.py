"""What a notebook shows of a problem or a result: a table, and a curve as inline SVG. No script, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 320, 90
"""The size of a curve, in pixels."""


def table(title: str, rows: Mapping[str, object]) -> str:
    """A caption and two columns."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th><td style='text-align:left'>{escape(str(value))}</td></tr>"
        for key, value in rows.items()
    )
    return f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{cells}</table>"


def curve(points: Sequence[tuple[float, float]], end: float, label: str) -> str:
    """A falling step curve: (seconds, value) of every improvement, the last one held until the end."""
    if not points:
        return ""
    highest = max(value for _, value in points) or 1.0
    last = max(end, points[-1][0]) or 1.0

    def at(seconds: float, value: float) -> str:
        return f"{4 + seconds / last * (WIDTH - 8):.1f},{4 + (1 - value / highest) * (HEIGHT - 24):.1f}"

    path, value = [], points[0][1]
    for seconds, lower in [*points, (last, points[-1][1])]:
        path += [at(seconds, value), at(seconds, lower)]
        value = lower
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' role='img'>"
        f"<polyline points='{' '.join(path)}' fill='none' stroke='currentColor' stroke-width='1.5'/>"
        f"<text x='4' y='{HEIGHT - 4}' font-size='11' fill='currentColor'>{escape(label)}: {points[0][1]:g} to "
        f"{points[-1][1]:g} in {last:.2g} s</text></svg>"
    )
