"""A training run on disk: one safetensors file, everything that is no tensor as JSON in its header."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from anycsp.errors import ModelError

FORMAT_VERSION = 2
FILE = "checkpoint.safetensors"


def write(folder: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Written beside and renamed over the old one, so that a crash leaves one of the two complete."""
    path = folder / FILE
    temporary = path.with_suffix(".tmp")
    header = {"anycsp": json.dumps({"format_version": FORMAT_VERSION, **facts})}
    contiguous = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    safetensors.torch.save_file(contiguous, temporary, metadata=header)
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)


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
