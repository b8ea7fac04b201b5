"""A training run on disk: one safetensors file, everything that is no tensor as JSON in its header.

A checkpoint may come from anywhere, so what it says is checked whole before any of it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from anycsp.errors import ModelError
from anycsp.formats.files import write_whole
from anycsp.schema import TABLE, Schema, check, number, parse_json, row, several, shown, whole

FORMAT_VERSION = 3
FILE = "checkpoint.safetensors"

INDEX = whole(0, 1 << 40)
"""The place of an instance in the sequence of a seed."""
STEPS = whole(0, 10**9)
FACTS: Schema = {
    "format_version": whole(FORMAT_VERSION, FORMAT_VERSION),
    "config": TABLE,
    "counters": TABLE,
    "subjects": several(TABLE, 1, 1000),
}
PROGRESS: Schema = {
    "next_index": INDEX,
    "slots": several(row(INDEX, STEPS, STEPS), 0, 10**6),
    "norm": number(0, 1e300),
    "scale_square": several(number(0, 1e300), 0, 64),
    "scale_weight": several(number(0, 1), 0, 64),
}
"""How far a subject is."""
COUNTERS: Schema = {
    "update": whole(0, 10**12),
    "seconds": number(0, 10**12),
    "skipped": whole(0, 10**12),
    "best": number(0, math.inf),
    "best_update": whole(0, 10**12),
    "since_best": whole(0, 10**12),
    "validated_at": number(0, 10**12),
    "norms": several(number(0, 1e300), 0, 100),
}


@dataclass
class Counters:
    """What a run remembers beside tensors."""

    update: int = 0
    seconds: float = 0.0
    """Spent training so far, validation not counted."""
    skipped: int = 0
    """Updates left out because the gradient was not finite or exploded."""
    best: float = math.inf
    """Lowest deep validation."""
    best_update: int = 0
    since_best: int = 0
    """Validations since then."""
    validated_at: float = 0.0
    """Training seconds at the last validation."""
    norms: list[float] = field(default_factory=list)
    """Recent gradient norms."""

    @staticmethod
    def from_table(table: object, where: str) -> Counters:
        return Counters(**check(table, COUNTERS, f"{where}: counters", ModelError))


def write(folder: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Over the old one, at once: a crash leaves one of the two complete."""
    header = {"anycsp": json.dumps({"format_version": FORMAT_VERSION, **facts})}
    contiguous = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    write_whole(folder / FILE, safetensors.torch.save(contiguous, metadata=header))


def read(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and facts; the facts fit FACTS, what they mean together is for the trainer to judge."""
    path = folder / FILE
    try:
        with safetensors.safe_open(path, "pt") as file:
            facts = parse_json((file.metadata() or {})["anycsp"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        reason = shown(str(error), 120)
        raise ModelError(f"{path}: not a checkpoint of anycsp ({reason})") from None
    version = facts.get("format_version") if isinstance(facts, dict) else None
    if version != FORMAT_VERSION:
        raise ModelError(f"{path}: checkpoint version {shown(version)}, expected {FORMAT_VERSION}")
    check(facts, FACTS, str(path), ModelError)
    for subject in facts["subjects"]:
        check(subject, PROGRESS, f"{path}: subjects", ModelError)
    return tensors, facts


@dataclass(frozen=True)
class Expected:
    """What a tensor of a checkpoint has to be."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    low: float = -math.inf

    def fits(self, tensor: Tensor | None) -> bool:
        if tensor is None or tuple(tensor.shape) != self.shape or tensor.dtype != self.dtype:
            return False
        return bool((tensor.isfinite() & (tensor >= self.low)).all())


def check_tensors(tensors: Mapping[str, Tensor], expected: Mapping[str, Expected], where: object) -> None:
    """Refuse tensors that are not exactly the expected ones."""
    for name in sorted(tensors.keys() | expected.keys()):
        if name not in expected or not expected[name].fits(tensors.get(name)):
            raise ModelError(f"{where}: the tensor {shown(name)} is not what its configuration makes it")
