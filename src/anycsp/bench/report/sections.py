"""The report's contents: a summary that says where we lose, then a section for every experiment that was run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anycsp.bench.report import figures
from anycsp.bench.report.page import Bullets, Document, Figure, Heading, Paragraph
from anycsp.bench.report.results import Results, Trial
from anycsp.bench.report.summary import faults, verdicts
from anycsp.bench.report.tables import instance_table, main_table, newest_table

Draw = Callable[[Trial, Path], bool]

FIGURES: list[tuple[str, Draw, str]] = [
    ("survival", figures.survival, "Instances solved by a time."),
    (
        "anytime",
        figures.anytime,
        "Share of (instance, target) pairs reached by a time; targets 10% to 0.1% above the best.",
    ),
    ("time-to-target", figures.time_to_target, "Seconds until within 1% of the best answer anyone found."),
]
SPECIAL: dict[str, list[tuple[str, Draw, str]]] = {
    "max-k-sat": [("steps-to-best", figures.steps_to_best, "The best answer against the step in which it was found.")],
    "ablation": [("curves", figures.curves, "The best answer so far against search steps.")],
    "grid": [
        ("frames", figures.frames, "The assignment after every step of one run at the model's lowest temperature.")
    ],
}


def document(results: Results, out: Path) -> Document:
    page = Document()
    page.add(Heading(1, "Benchmark report"))
    page.add(
        Paragraph(
            "Every system of the paper has a row: **measured** rows ran here, and every answer was recounted by an "
            "independent checker before it counted; **quoted** rows are numbers of the paper, or of the source that a "
            "table names, on its hardware. "
            "Our own rows are bold. *neural* is the network alone. Variables that can wait are set aside before it "
            "searches, and where a model's settings say so, constraints violated lately pull at their variables (both "
            "in docs/guides/search.md): the paper's search has neither. What has no record here is *not run*."
        )
    )
    if not figures.available():
        page.add(Paragraph("Without figures: they need matplotlib, `pip install 'anycsp[plot]'`."))
    page.add(Heading(2, "Where we stand"))
    for trial in results.trials:
        page.add(Paragraph(f"**{trial.experiment.title}**, budget {trial.budget}:"), Bullets(verdicts(trial)))
    wrong = faults(results)
    page.add(Heading(2, "Runs that did not count"))
    page.add(Bullets(wrong) if wrong else Paragraph("None: no wrong answer, no error, no run that had to be ended."))
    for trial in results.trials:
        _section(page, trial, out)
    return page


def _section(page: Document, trial: Trial, out: Path) -> None:
    experiment = trial.experiment
    page.add(Heading(2, f"{experiment.title} ({trial.budget})"))
    page.add(Paragraph(f"{experiment.about} In the paper: {experiment.paper}."))
    page.add(main_table(trial))
    newest = newest_table(trial)
    if newest is not None:
        page.add(newest)
    for name, draw, caption in [*FIGURES, *SPECIAL.get(experiment.name, [])] if figures.available() else []:
        file = f"figures/{experiment.name}-{trial.budget}-{name}"
        if draw(trial, out / file):
            page.add(Figure(file, f"{experiment.title}: {caption}"))
    page.add(Heading(3, f"{experiment.title} ({trial.budget}): every instance"), instance_table(trial))
