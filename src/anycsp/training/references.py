"""What a run is held against: its validation instances by the default search, and by a shipped model.

A curve that falls says that something is learned, not that it is of use. These two numbers do, so they are measured
before training begins, kept in the run's folder, drawn beside its curve and said at its end.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anycsp.errors import ModelError
from anycsp.formats.files import write_whole
from anycsp.neural.models import load_model
from anycsp.schema import TABLE, TEXT, Schema, check, number, one_of, parse_json, several, table_of, whole
from anycsp.search.choose import choose_model
from anycsp.search.solve import solve
from anycsp.training.config import TrainingConfig

if TYPE_CHECKING:  # which needs torch, and drawing a curve does not
    from anycsp.training.validation import ValidationSet

FILE = "references.json"
SHORTEST, LONGEST = 0.05, 1.0
"""Seconds of default search for one instance. It gets as long as a policy takes for the deepest validation; but less
than the first says more about the clock, and more than the second keeps the user waiting."""

_REFERENCE: Schema = {
    "search": one_of("default search", "model"),
    "name": TEXT,
    "seconds": number(0, math.inf),
    "instances": whole(1, 10**6),
    "unsatisfied": table_of(number(0, math.inf)),
}


@dataclass(frozen=True)
class Reference:
    search: str
    """"default search" or "model"."""
    name: str
    """How to call it."""
    seconds: float
    """Spent on each instance."""
    instances: int
    unsatisfied: dict[str, float]
    """Steps → mean over the instances, as in validation; the default search has one number for all."""

    @property
    def deepest(self) -> float:
        return list(self.unsatisfied.values())[-1]


def measured(config: TrainingConfig, validation: ValidationSet, seconds: float) -> list[Reference]:
    """`seconds` is what a policy took for each instance."""
    depths, count = config.validation_depths, len(validation.problems)
    limit = min(max(seconds, SHORTEST), LONGEST)
    found = [
        problem.positions(solve(problem, time_limit=limit, threads=1).assignment) for problem in validation.problems
    ]
    by_default = validation.unsatisfied(np.concatenate(found))
    model = load_model(config.start_from or choose_model(validation.problems[0]))
    by_model = validation.measure_model(model, depths)
    return [
        Reference("default search", "the default search", limit, count, {str(depth): by_default for depth in depths}),
        Reference("model", f"the model {model.name}", seconds, count, {str(d): cost for d, cost in by_model.items()}),
    ]


def save(folder: Path, references: list[Reference]) -> None:
    write_whole(folder / FILE, json.dumps([asdict(reference) for reference in references], indent=2) + "\n")


def load(folder: Path) -> list[Reference]:
    """Those of a run; none where it has none."""
    path = folder / FILE
    try:
        rows = parse_json(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: not the references of a run ({error})") from None
    check({"references": rows}, {"references": several(TABLE, 0, 100)}, str(path), ModelError)
    return [Reference(**check(row, _REFERENCE, str(path), ModelError)) for row in rows]


def verdict(best: float, references: list[Reference]) -> str:
    """One line that says whether training was worth it; empty where nothing was compared."""
    if not references:
        return ""
    said = [
        f"{r.deepest:.4g} by {r.name}" + (f" in {r.seconds:.2g} s each" * (r.search != "model")) for r in references
    ]
    ahead = [r.name for r in references if r.deepest < best]
    level = [r.name for r in references if r.deepest == best]
    if ahead:
        end = f"{' and '.join(ahead)} {'is' if len(ahead) == 1 else 'are'} better"
    else:
        end = f"no better than {' and '.join(level)}" if level else "better than both"
    return f"the same {references[0].instances} instances: {', '.join(said)}; {end}"
