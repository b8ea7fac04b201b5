"""From the journal of a benchmark to a report a reader can hold beside the paper: Markdown, HTML, PNG and SVG."""

from __future__ import annotations

from pathlib import Path

from anycsp.bench.journal import read_records
from anycsp.bench.report.page import write_html, write_markdown
from anycsp.bench.report.results import Results
from anycsp.bench.report.sections import document

__all__ = ["write_report"]


def write_report(folder: Path, out: Path | None = None) -> list[Path]:
    """Read FOLDER/runs.jsonl and write report.md, report.html and figures/ into `out` (default: the same folder)."""
    results = Results.of(read_records(folder))
    out = out or folder
    (out / "figures").mkdir(parents=True, exist_ok=True)
    parts = document(results, out)
    return [write_markdown(parts, out / "report.md"), write_html(parts, out / "report.html")]
