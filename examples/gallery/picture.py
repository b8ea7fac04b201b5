"""The pictures of the gallery: boards, lanes and graphs as small SVG files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

COLORS = ("#dbe7f3", "#f6d9c9", "#d8ead3", "#f3e7b8", "#e3d5ec", "#cfe8e6", "#f3cfd6", "#e6e6e6", "#c9d3b8", "#ffe0ad")


def show(file: str, main: Callable[[], str]) -> None:
    """Run an example; with a folder as argument its picture is written there."""
    drawn = main()
    if len(sys.argv) > 1:
        (Path(sys.argv[1]) / f"{Path(file).stem}.svg").write_text(drawn, encoding="utf-8")


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13" '
        f'text-anchor="middle">\n<rect width="100%" height="100%" fill="white"/>\n{inside}\n</svg>\n'
    )


def _text(x: float, y: float, text: object) -> str:
    return f'<text x="{x:g}" y="{y + 4.5:g}">{escape(str(text))}</text>'


def board(cells: Sequence[Sequence[object]], fill: Callable[[int, int], int], width: int = 34) -> str:
    """Rows of cells; `fill` numbers the colour of a cell, −1 for none."""
    parts = []
    for r, row in enumerate(cells):
        for c, cell in enumerate(row):
            color = COLORS[fill(r, c) % len(COLORS)] if fill(r, c) >= 0 else "white"
            place = f'x="{4 + c * width}" y="{4 + r * 34}" width="{width}" height="34"'
            parts.append(f'<rect {place} fill="{color}" stroke="#888"/>')
            parts.append(_text(4 + (c + 0.5) * width, 21 + r * 34, cell))
    return _svg(8 + width * max(map(len, cells)), 8 + 34 * len(cells), parts)


def lanes(rows: Sequence[Sequence[tuple[int, int, str, int]]], unit: int = 20) -> str:
    """One lane per row of (start, length, text, colour)."""
    parts = []
    for r, row in enumerate(rows):
        for start, length, text, color in row:
            place = f'x="{4 + start * unit}" y="{6 + r * 34}" width="{length * unit}" height="28"'
            parts.append(f'<rect {place} fill="{COLORS[color % len(COLORS)]}" stroke="#888"/>')
            parts.append(_text(4 + (start + length / 2) * unit, 20 + r * 34, text))
    end = max(start + length for row in rows for start, length, _, _ in row)
    return _svg(8 + end * unit, 8 + 34 * len(rows), parts)


def graph(
    points: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], colors: Sequence[int], size: int = 320
) -> str:
    """Points between 0 and 1, joined by edges."""
    at = [(18 + x * (size - 36), 18 + y * (size - 36)) for x, y in points]
    parts = [
        f'<line x1="{at[a][0]:.1f}" y1="{at[a][1]:.1f}" x2="{at[b][0]:.1f}" y2="{at[b][1]:.1f}" stroke="#999"/>'
        for a, b in edges
    ]
    for number, (x, y) in enumerate(at):
        color = COLORS[colors[number] % len(COLORS)]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{color}" stroke="#666"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 4:.1f}" font-size="10">{number}</text>')
    return _svg(size, size, parts)


def curve(points: Sequence[tuple[float, float]], label: str) -> str:
    """A line through points, scaled to fit."""
    last, highest = max(x for x, _ in points) or 1.0, max(y for _, y in points) or 1.0
    path = " ".join(f"{10 + x / last * 320:.1f},{10 + (1 - y / highest) * 120:.1f}" for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="#36699c" stroke-width="2"/>'
    return _svg(340, 160, [line, _text(170, 148, label)])
