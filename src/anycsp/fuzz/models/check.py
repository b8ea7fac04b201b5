"""Load what a case says, use it where it loads, and expect one line where it does not."""

from __future__ import annotations

import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from anycsp.errors import AnyCSPError
from anycsp.fuzz.files.mutate import mutated
from anycsp.fuzz.models.draw import CONFIG, head_of
from anycsp.fuzz.outcome import expect, expect_one_line
from anycsp.model.problem import Problem
from anycsp.neural.models import load_model
from anycsp.neural.models.store import SHIPPED
from anycsp.search.solve import solve


def check(case: Any) -> str:
    with tempfile.TemporaryDirectory(prefix="anycsp-fuzz-") as folder:
        try:
            USE[case["what"]](case, Path(folder))
        except AnyCSPError as error:
            expect_one_line(str(error).replace(folder, "FOLDER"))
            return f"{case['what']}: refused"
    return f"{case['what']}: used"


def _model(case: Any, folder: Path) -> None:
    whole, head = (SHIPPED / f"{case['name']}.safetensors").read_bytes(), case["head"].encode("latin-1")
    body = whole[8 + len(head_of(case["name"])) :]
    length = max(0, len(head) + case["length"])
    weights = length.to_bytes(8, "little") + head + body[: int(len(body) * case["rest"])]
    (folder / "m.safetensors").write_bytes(weights)
    (folder / "m.json").write_bytes(case["description"].encode("latin-1"))
    problem = Problem()
    xs = problem.add_variables(4, range(2))
    for x, y in pairwise(xs):
        problem.add(x != y)
    result = solve(problem, model=load_model(folder / "m.safetensors"), search="neural", steps=3, runs=2, threads=1)
    expect(result.violated == problem.violation(result.assignment).violated, "a network's answer is counted wrong")


def _config(case: Any, folder: Path) -> None:
    """Read only: to train as some of them say would take hours."""
    from anycsp.training.config import TrainingConfig

    path = folder / "c.toml"
    path.write_bytes(case["text"].encode("latin-1"))
    TrainingConfig.read(path)


@cache
def _checkpoint() -> bytes:
    """That of a run of one update."""
    import torch

    from anycsp.training.config import TrainingConfig
    from anycsp.training.trainer import Trainer

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="anycsp-fuzz-") as folder:
        (Path(folder) / "c.toml").write_text(CONFIG)
        Trainer(TrainingConfig.read(Path(folder) / "c.toml"), Path(folder) / "run").run(quiet=True)
        return (Path(folder) / "run" / "checkpoint.safetensors").read_bytes()


def _broken_checkpoint(case: Any, folder: Path) -> None:
    """Its head broken as the case's seed says; a hook that it may name is not called, since nobody allows it."""
    from anycsp.training.trainer import Trainer

    data, rng = _checkpoint(), Random(case["seed"])
    length = int.from_bytes(data[:8], "little")
    head = mutated(data[8 : 8 + length], rng)
    rest = data[8 + length :]
    whole = len(head).to_bytes(8, "little") + head + (rest[: rng.randrange(len(rest))] if case["truncated"] else rest)
    (folder / "checkpoint.safetensors").write_bytes(whole)
    Trainer.resume(folder, [])


USE = {"model": _model, "config": _config, "checkpoint": _broken_checkpoint}
