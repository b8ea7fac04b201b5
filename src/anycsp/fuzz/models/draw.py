"""A case: a description or the head of a weights file, broken; or a configuration; or where a checkpoint is broken."""

from __future__ import annotations

from random import Random
from typing import Any

from anycsp.fuzz.files.mutate import mutated
from anycsp.neural.models import shipped_models
from anycsp.neural.models.store import SHIPPED

CONFIG = """distribution = "sat"
parameters = { n = 10 }
validation_parameters = { validation_n = 10 }
instances = 2
replicas = 2
window = 3
depth = 3
updates = 1
minutes = 0.01
validation_instances = 2
validate_minutes = 1
temperatures = [1.0]
discount = 0.75
learning_rate = 1e-3

[policy]
hidden = 8
aggregation = "max"
"""
"""A training run of a moment."""


def head_of(name: str) -> bytes:
    """The JSON at the beginning of a weights file, which says where each array is."""
    data = (SHIPPED / f"{name}.safetensors").read_bytes()
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def draw(rng: Random) -> dict[str, Any]:
    kind = rng.random()
    if kind < 0.15:
        return {"what": "config", "text": mutated(CONFIG.encode(), rng).decode("latin-1")}
    if kind < 0.35:
        return {"what": "checkpoint", "seed": rng.randrange(2**32), "truncated": rng.random() < 0.1}
    name = rng.choice(shipped_models())
    case: dict[str, Any] = {"what": "model", "name": name, "length": 0, "rest": 1.0}
    description, head = (SHIPPED / f"{name}.json").read_bytes(), head_of(name)
    if rng.random() < 0.6:
        description = mutated(description, rng)
    else:
        head = mutated(head, rng) if rng.random() < 0.8 else head
        case["length"] = rng.choice([0, 0, 0, 1, -1, 2**40])
        case["rest"] = rng.choice([1.0, 1.0, rng.random()])
    return {**case, "description": description.decode("latin-1"), "head": head.decode("latin-1")}
