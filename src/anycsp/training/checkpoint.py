"""A training run on disk: one safetensors file, everything that is no tensor as JSON in its header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from anycsp.errors import ModelError
from anycsp.formats.files import write_whole

FORMAT_VERSION = 2
FILE = "checkpoint.safetensors"


def write(folder: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Over the old one, at once: a crash leaves one of the two complete."""
    header = {"anycsp": json.dumps({"format_version": FORMAT_VERSION, **facts})}
    contiguous = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    write_whole(folder / FILE, safetensors.torch.save(contiguous, metadata=header))


def read(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    path = folder / FILE
    try:
        with safetensors.safe_open(path, "pt") as file:
            facts = json.loads((file.metadata() or {})["anycsp"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ModelError(f"{path}: not a checkpoint of anycsp ({error})") from None
    if facts.get("format_version") != FORMAT_VERSION:
        raise ModelError(f"{path}: checkpoint version {facts.get('format_version')!r}, expected {FORMAT_VERSION}")
    return tensors, facts
