"""This project's own searches behind the same interface.

`anycsp:MODEL` is the network alone, searching as its settings say; `anycsp:MODEL:hybrid` the compiled search with its
advice; `anycsp:local` the compiled search alone, which needs no model; `anycsp:auto` what a user gets who chooses
nothing, with CP-SAT beside the compiled search where it is installed.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path

from anycsp import native
from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.errors import AnyCSPError
from anycsp.graph import compile_graph
from anycsp.model.problem import Problem
from anycsp.neural.engine import neural_engine
from anycsp.neural.guidance import UNGUIDED
from anycsp.neural.models import load_model
from anycsp.neural.models.store import SHIPPED
from anycsp.neural.temperature import as_range
from anycsp.search import solve

WITHOUT_MODEL = ("local", "auto")
"""Searches that choose for themselves."""


class Ours(Baseline):
    def __init__(self, model: str | None, search: str, models: Path | None = None) -> None:
        self.model, self.search, self.models = model, search, models
        self.name = "anycsp:" + ":".join(part for part in (model, search) if part and part != "neural")

    def unavailable(self) -> str | None:
        if self.search != "neural" and not native.available():
            return "not installed (native module)"
        return "not shipped (--models)" if self.model is not None and self._weights() is None else None

    def version(self) -> str:
        path = self._weights()
        if path is None:
            return ""
        # Search settings too: a run at another temperature is another run.
        search = json.dumps(json.loads(path.with_suffix(".json").read_text()).get("search", {}), sort_keys=True)
        return hashlib.sha256(path.read_bytes() + search.encode()).hexdigest()[:12]

    def _weights(self) -> Path | None:
        """The model's file: in the folder given, or shipped."""
        if self.model is None:
            return None
        folders = ([self.models] if self.models is not None else []) + [SHIPPED]
        return next((p for folder in folders if (p := folder / f"{self.model}.safetensors").exists()), None)

    def supports(self, problem: Problem) -> bool:
        return True

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
        began = time.perf_counter()
        weights = self._weights()
        result = solve(
            problem,
            model="auto" if weights is None else load_model(weights),
            search=self.search,
            time_limit=limit.seconds,
            steps=limit.steps,
            runs=limit.runs,
            seed=seed,
            threads=limit.threads,
        )
        seconds = time.perf_counter() - began
        preparation = seconds - result.seconds  # loading and compiling count as search time
        trace = [Point(p.step, min(preparation + p.seconds, seconds), p.violated_weight) for p in result.trace]
        engine = "native" if native.available() else "PyTorch"
        return BaselineResult(trace, result.positions, seconds, result.steps, f"{result.runs} runs, {engine}")

    def frames(self, problem: Problem, seed: int, count: int) -> list[list[int]]:
        """The assignments after steps 0, 1, … until it is solved: of one more run, without guidance and at the lowest
        of the model's temperatures, so that what a picture shows is the network's doing."""
        weights = self._weights()
        assert weights is not None, "only the network is drawn"
        model = replace(load_model(weights), guidance=UNGUIDED)
        coldest = as_range(model.temperature_for(problem))[1]
        search = neural_engine(compile_graph(problem, of_one_kind=True), model, 1, seed, coldest, 1)
        search.start()
        frames = [search.positions[0].tolist()]
        while len(frames) < count and search.advance(1, 60.0):
            frames.append(search.positions[0].tolist())
        return frames


def parse(name: str, models: Path | None) -> Ours:
    """From `anycsp:MODEL`, `anycsp:MODEL:SEARCH`, `anycsp:local` or `anycsp:auto`."""
    model, _, search = name.partition(":")[2].partition(":")
    if not model or search not in ("", "neural", "hybrid"):
        raise AnyCSPError(f"solver {name!r}: write anycsp:MODEL, anycsp:MODEL:SEARCH, anycsp:local or anycsp:auto")
    return Ours(None, model) if model in WITHOUT_MODEL else Ours(model, search or "neural", models)
