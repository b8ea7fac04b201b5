"""This project's own searches behind the same interface: `anycsp:MODEL` is the paper's, `anycsp:MODEL:SEARCH` any."""

from __future__ import annotations

import hashlib
from pathlib import Path

from anycsp.bench.baseline import Baseline, BaselineResult, Limit, Point
from anycsp.errors import AnyCSPError
from anycsp.models import load_model, shipped_models
from anycsp.models.store import SHIPPED
from anycsp.problem import Problem
from anycsp.search import solve


class Ours(Baseline):
    def __init__(self, model: str, search: str = "neural", models: Path | None = None) -> None:
        self.model, self.search, self.models = model, search, models
        self.name = f"anycsp:{model}" + ("" if search == "neural" else f":{search}")

    def unavailable(self) -> str | None:
        if self.model == "auto":
            return None if shipped_models() else "not shipped yet"
        return None if self._weights() is not None else "not shipped yet"

    def version(self) -> str:
        path = self._weights()
        return "" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()[:12]

    def _weights(self) -> Path | None:
        """The model's file: in the folder given, or shipped."""
        folders = ([self.models] if self.models is not None else []) + [SHIPPED]
        return next((p for folder in folders if (p := folder / f"{self.model}.safetensors").exists()), None)

    def supports(self, problem: Problem) -> bool:
        return True

    def run(self, problem: Problem, limit: Limit, seed: int) -> BaselineResult:
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
        trace = [Point(point.step, point.seconds, point.violated_weight) for point in result.trace]
        return BaselineResult(trace, result.positions, result.seconds, result.steps, f"{result.runs} runs")


    def frames(self, problem: Problem, seed: int, count: int) -> list[list[int]]:
        """The assignments after steps 0, 1, … of one run, until it is solved."""
        import torch

        from anycsp.graph import compile_graph
        from anycsp.search.twin import TwinSearch

        weights = self._weights()
        assert weights is not None
        model = load_model(weights)
        torch.set_num_threads(1)
        search = TwinSearch(compile_graph(problem), model.policy, 1, seed, model.temperature)
        search.start()
        frames = [search.positions[0].tolist()]
        while len(frames) < count and search.advance(1, 60.0):
            frames.append(search.positions[0].tolist())
        return frames


def parse(name: str, models: Path | None) -> Ours:
    """From `anycsp:MODEL` or `anycsp:MODEL:SEARCH`."""
    _, _, rest = name.partition(":")
    model, _, search = rest.partition(":")
    if not model:
        raise AnyCSPError(f"solver {name!r}: write anycsp:MODEL or anycsp:MODEL:SEARCH")
    return Ours(model, search or "neural", models)
