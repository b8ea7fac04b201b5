"""A document as a list of parts, rendered as Markdown and as one HTML page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str
    """With **bold**, *italics* and `code` as in Markdown."""


@dataclass(frozen=True)
class Bullets:
    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    footer: str = ""
    """Budget, hardware, seeds, commit and models: under what the numbers hold."""


@dataclass(frozen=True)
class Figure:
    file: str
    """Relative to the report, without its ending: there is a .png and an .svg."""
    caption: str


Part = Heading | Paragraph | Bullets | Table | Figure


@dataclass
class Document:
    parts: list[Part] = field(default_factory=list)

    def add(self, *parts: Part) -> None:
        self.parts.extend(parts)


def markdown(document: Document) -> str:
    return "\n\n".join(_markdown(part) for part in document.parts) + "\n"


def write_markdown(document: Document, path: Path) -> Path:
    path.write_text(markdown(document), encoding="utf-8")
    return path


def _markdown(part: Part) -> str:
    if isinstance(part, Heading):
        return "#" * part.level + " " + part.text
    if isinstance(part, Paragraph):
        return part.text
    if isinstance(part, Bullets):
        return "\n".join(f"- {item}" for item in part.items)
    if isinstance(part, Figure):
        return f"![{part.caption}]({part.file}.png)\n\n*{part.caption}* ([SVG]({part.file}.svg))"
    rows = [part.header, ["---"] + ["---:"] * (len(part.header) - 1), *part.rows]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return table + (f"\n\n*{part.footer}*" if part.footer else "")


_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0 .3rem; display: block; overflow-x: auto; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tr.ours td { font-weight: 600; }
tr.quoted td { opacity: .7; font-style: italic; }
p.footer, figcaption { font-size: .85em; opacity: .8; }
figure { margin: 1.2rem 0; } img { max-width: 100%; background: white; }
"""


def write_html(document: Document, path: Path) -> Path:
    title = next((part.text for part in document.parts if isinstance(part, Heading)), "Report")
    body = "\n".join(_html(part) for part in document.parts)
    path.write_text(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n{body}\n</html>\n'
    )
    return path


def _html(part: Part) -> str:
    if isinstance(part, Heading):
        anchor = re.sub(r"\W+", "-", part.text.lower()).strip("-")
        return f'<h{part.level} id="{anchor}">{_inline(part.text)}</h{part.level}>'
    if isinstance(part, Paragraph):
        return f"<p>{_inline(part.text)}</p>"
    if isinstance(part, Bullets):
        return "<ul>\n" + "\n".join(f"<li>{_inline(item)}</li>" for item in part.items) + "\n</ul>"
    if isinstance(part, Figure):
        image = f'<img src="{part.file}.png" alt="{html.escape(part.caption)}">'
        return f'<figure><a href="{part.file}.svg">{image}</a><figcaption>{_inline(part.caption)}</figcaption></figure>'
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in part.header)
    rows = "\n".join(_html_row(row) for row in part.rows)
    footer = f'\n<p class="footer">{_inline(part.footer)}</p>' if part.footer else ""
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>{footer}"


def _html_row(row: Sequence[str]) -> str:
    kind = "quoted" if "quoted" in row[:2] else "ours" if row[0].startswith("**") else ""
    cells = "".join(f"<td>{_inline(cell)}</td>" for cell in row)
    return f'<tr class="{kind}">{cells}</tr>' if kind else f"<tr>{cells}</tr>"


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped)
    escaped = re.sub(r"\*(\w.*?)\*", r"<i>\1</i>", escaped)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escaped)
