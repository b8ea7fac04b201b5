"""`anycsp learn`: everything that could make searches of a user's own instances faster, and an honest table of it.

Settings of the compiled search are tuned on most of the instances. The network for this kind of problem is tried on a
few of them, which tells whether training could close the gap; if so, it is fine-tuned. What was best on the instances
held out, beyond doubt, is kept in a folder that `solve --model` takes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from anycsp.cluster.workers import Workers
from anycsp.errors import AnyCSPError
from anycsp.formats.files import write_whole
from anycsp.neural.models import Model, load_model, save_model
from anycsp.neural.models.store import RUN_MODEL
from anycsp.search.choose import choose_model
from anycsp.search.heuristic import FILE, Heuristic, save_heuristic
from anycsp.tuning.fine_tune import fine_tuned
from anycsp.tuning.instances import Family, Laboratory, Measured
from anycsp.tuning.measure import Gain, Searcher, gain
from anycsp.tuning.tune import Report, Tuner

TUNING = 0.75
"""The share of the time for settings; the rest is for judging."""
TRAINING = 0.35
"""The share of the time for training a network, where that is promising; settings have so much less."""
NETWORK = "network"
"""Folder of the training run, within that of what was learnt."""
PROMISING = 3.0
"""A network more than so many times slower than the default is not worth training: no fine-tuning has gained more
than that (research/)."""
TRIED = 6
"""Instances on which that is decided."""
RUN = "checkpoint.safetensors"
"""What the folder of a training run has, and no other; `training/checkpoint.py`, which needs torch."""
LESSON = "lesson.json"
"""The closing table, beside what was learnt."""


@dataclass(frozen=True)
class Row:
    """One way to search, on the held-out instances."""

    name: str
    solved: float
    """Share of the searches that violate nothing in the end."""
    seconds: float
    """Geometric mean of the processor time to a target."""
    quality: float
    """Mean violated weight in the end, or the mean value of an objective."""
    gain: Gain | None
    """Over the default."""
    searcher: Searcher = None


@dataclass(frozen=True)
class Lesson:
    """What was learnt."""

    rows: Sequence[Row]
    best: Row
    remark: str
    """How far the network is behind, and what followed from that."""


class Learner:
    """Learn from the instances of a folder."""

    def __init__(
        self,
        folder: str,
        *,
        limit: float,
        seeds: int = 3,
        seed: int = 0,
        workers: Workers | None = None,
        report: Report = print,
    ) -> None:
        self._limit, self._seeds, self._seed, self._report = limit, seeds, seed, report
        self._workers = workers
        self._family = Family(f"files:{folder}", {}, seed, 64)

    def run(self, minutes: float, out: Path, command: Sequence[str] = ()) -> Lesson:
        began = time.perf_counter()
        if (out / RUN).exists():  # its model would be replaced
            raise AnyCSPError(f"{out} holds a training run: learn into another --out")
        out.mkdir(parents=True, exist_ok=True)
        judges = self._family.to_judge(64)
        self._report(f"{len(self._family.problems)} instances to learn from, {len(judges.problems)} held out")
        network, promising, remark = self._network()
        self._report(remark)
        tuner = Tuner(
            self._family,
            limit=self._limit, seeds=self._seeds, seed=self._seed, workers=self._workers,
            journal=out / "journal.jsonl", report=self._report,
        )  # fmt: skip
        tuned = tuner.search(minutes * (TUNING - TRAINING if promising else TUNING))
        candidates: dict[str, Searcher] = {"default": None, "tuned": tuned, "network": network}
        if promising:
            self._report(f"training the network for {minutes * TRAINING:.1f} minutes")
            candidates["trained"] = fine_tuned(self._family, network, minutes * TRAINING, out / NETWORK)
        laboratory = Laboratory(judges, self._limit, self._workers)
        self._report(f"{', '.join(candidates)}: searching the held-out instances")
        measured = laboratory.judge(list(candidates.values()), self._seeds)
        rows = _rows(candidates, measured)
        lesson = Lesson(rows, best_of(rows), remark)
        spent = round((time.perf_counter() - began) / 60, 1)
        _keep(lesson, out, {"command": " ".join(command), "minutes": spent, "seed": self._seed, **_told(lesson.best)})
        return lesson

    def _network(self) -> tuple[Model, bool, str]:
        """The network of this kind of problem, whether it is trained, and why."""
        model = load_model(choose_model(self._family.problems[0]))
        few = replace(self._family, count=TRIED)
        default, network = Laboratory(few, self._limit, self._workers).judge([None, model], 1)
        slower = math.exp(float((network.costs - default.costs).mean()))
        facts = f"the network {model.name} is {slower:.3g} times slower than the default"
        if slower > PROMISING:
            return model, False, f"{facts}: too far behind to be worth training"
        if find_spec("torch") is None:
            return model, False, f"{facts}: training may pay, but needs torch: pip install 'anycsp[train]'"
        return model, True, f"{facts}: it is trained on these instances"


def best_of(rows: Sequence[Row]) -> Row:
    """The fastest of those that are surely faster than the default, which is the first row; otherwise that."""
    surely = [row for row in rows if row.gain is not None and row.gain.low > 1]
    return max(surely, key=lambda row: row.gain.speedup if row.gain else 1.0, default=rows[0])


def _rows(candidates: Mapping[str, Searcher], measured: Sequence[Measured]) -> list[Row]:
    default = measured[0].costs
    return [
        Row(
            name,
            float(m.solved.mean()),
            math.exp(float(m.costs.mean())),
            float(np.mean(m.quality)),
            None if name == "default" else gain(default, m.costs),
            searcher,
        )
        for (name, searcher), m in zip(candidates.items(), measured, strict=True)
    ]


def _told(row: Row) -> dict[str, Any]:
    if row.gain is None:
        return {}
    return {"speedup": round(row.gain.speedup, 3), "interval": [round(row.gain.low, 3), round(row.gain.high, 3)]}


def _keep(lesson: Lesson, out: Path, provenance: dict[str, Any]) -> None:
    """The best alone: `solve --model OUT` takes what is there."""
    (out / FILE).unlink(missing_ok=True)
    (out / RUN_MODEL).unlink(missing_ok=True)
    write_whole(
        out / LESSON, json.dumps({"rows": [_described(row, lesson.best) for row in lesson.rows]}, indent=2) + "\n"
    )
    searcher = lesson.best.searcher
    if isinstance(searcher, Model):
        save_model(replace(searcher, training={**searcher.training, "learn": provenance}), out / RUN_MODEL)
        return
    heuristic = replace(searcher or Heuristic(), provenance=provenance)
    save_heuristic(
        heuristic, out / FILE, f"Made by `anycsp learn`: what was best on held-out instances, {lesson.best.name}."
    )


def _described(row: Row, best: Row) -> dict[str, Any]:
    numbers = {"solved": row.solved, "seconds": row.seconds, "quality": row.quality}
    return {"name": row.name, **numbers, "faster": _faster(row), "best": row is best}


def _faster(row: Row) -> str:
    return "1" if row.gain is None else str(row.gain)


def table(lesson: Lesson, line: Callable[[str], None]) -> None:
    """The closing table."""
    line(f"{'search':<10}{'solved':>8}{'s to target':>13}{'in the end':>12}  times as fast (95% interval)")
    for row in lesson.rows:
        line(f"{row.name:<10}{row.solved:>8.0%}{row.seconds:>13.3g}{row.quality:>12.4g}  {_faster(row)}")
