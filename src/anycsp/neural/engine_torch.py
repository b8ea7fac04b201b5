"""The neural search in plain PyTorch: Algorithm 1, readable, any device. `engine_native` computes the same."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from anycsp.engine import WORST, Improvement, Incomplete
from anycsp.neural.guidance import UNGUIDED, Guidance, guided, updated
from anycsp.neural.policy import PolicyNetwork
from anycsp.neural.sampling import sample_global, sample_local
from anycsp.neural.tensors import TensorGraph
from anycsp.randomness import initial_positions


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """So many threads for torch in here, and as many as before afterwards; None changes nothing."""
    before = torch.get_num_threads()
    if count is None or count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class TorchEngine(Incomplete):
    """R runs of the policy on one graph; see `Engine` for the face."""

    def __init__(
        self,
        graph: TensorGraph,
        policy: PolicyNetwork,
        runs: int,
        seed: int = 0,
        temperature: float = 1.0,
        guidance: Guidance = UNGUIDED,
        threads: int | None = None,
    ) -> None:
        self.graph, self.policy, self.guidance = graph, policy, guidance
        self.runs, self.seed = range(runs), seed
        self.temperature: float | torch.Tensor = temperature
        self._threads = threads
        self.steps = 0

    @torch.no_grad()
    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self._began = time.perf_counter()
        self.steps = 0
        runs = len(self.runs)
        self._positions = self._placed(self._random() if positions is None else positions)
        self.state = self.policy.start(self.graph, runs)
        self.trace = torch.zeros(runs, self.graph.num_constraints, device=self.graph.device)
        self._best_score = torch.full((runs, self.graph.instances), WORST)
        self._best_positions = self._positions.clone()
        self._improvements: list[Improvement] = []
        self._relabel("initial")

    @torch.no_grad()
    def advance(self, max_steps: int, seconds: float) -> int:
        with torch_threads(self._threads):
            return self._advance(max_steps, time.perf_counter() + seconds)

    def _advance(self, max_steps: int, until: float) -> int:
        taken = 0
        while taken < max_steps and not self._solved():
            self.steps += 1
            taken += 1
            output = self.policy(self.graph, self.state, self._positions, self.labels)
            self.state, logits = output.state, output.logits
            if self.guidance:
                self.trace = updated(self.trace, self.satisfied, self.guidance)
                logits = guided(self.graph, logits, self.labels, self.trace, self.guidance)
            draw = (self.temperature, self.seed, self.runs, self.steps)
            if self.policy.config.sampling == "global":
                self._positions = sample_global(self.graph, logits, *draw)
            else:
                self._positions = sample_local(self.graph, logits, self._positions, *draw)
            self._relabel("network")
            if time.perf_counter() >= until:
                break
        return taken

    @torch.no_grad()
    def restart(self, runs: Sequence[int]) -> None:
        """These go on from random assignments, with nothing remembered."""
        index = torch.tensor(list(runs), device=self.graph.device)
        self._positions = self._positions.clone()
        self._positions[index] = self._placed(self._random(self.steps))[index]
        self.state = self.state.clone()
        self.state[index] = self.policy.start(self.graph, len(self.runs))[index]
        self.trace[index] = 0
        self._relabel("initial")

    @property
    def positions(self) -> npt.NDArray[np.int32]:
        """[runs, variables]: where the runs are now."""
        return self._positions.cpu().numpy().astype(np.int32)

    def _random(self, step: int = 0) -> npt.NDArray[np.int64]:
        return initial_positions(self.graph.topology.domains.sizes, self.seed, self.runs, step)

    def _placed(self, positions: npt.NDArray[np.integer[Any]]) -> torch.Tensor:
        return torch.as_tensor(np.asarray(positions), dtype=torch.int64, device=self.graph.device)

    def set_temperature(self, temperature: npt.NDArray[np.floating[Any]]) -> None:
        """[runs]: of the softmax from the next step on."""
        self.temperature = torch.as_tensor(temperature, dtype=torch.float32, device=self.graph.device)[:, None]

    def _relabel(self, found_by: str) -> None:
        self.labels = self.graph.labels(self._positions)
        self.satisfied = self.graph.satisfied(self._positions, self.labels)
        violations = self.graph.violations(self.satisfied)
        score = violations.score.cpu()
        better = score < self._best_score
        if not better.any():
            return
        self._best_score = torch.where(better, score, self._best_score)
        keep = better.to(self.graph.device).index_select(1, self.graph.variable_instance)
        self._best_positions = torch.where(keep, self._positions, self._best_positions)
        seconds = time.perf_counter() - self._began
        for run, instance in better.nonzero().tolist():
            self._improvements.append(
                Improvement(
                    self.steps,
                    seconds,
                    run,
                    instance,
                    int(violations.violated[run, instance]),
                    float(violations.weight[run, instance]),
                    int(violations.hard[run, instance]),
                    int(score[run, instance]),
                    found_by,
                )
            )

    def _solved(self) -> bool:
        return self.graph.instances == 1 and bool((self._best_score <= 0).any())

    def improvements(self) -> list[Improvement]:
        new, self._improvements = self._improvements, []
        return new

    def best_score(self) -> npt.NDArray[np.int64]:
        scores: npt.NDArray[np.int64] = self._best_score.numpy().copy()
        return scores

    def best_positions(self) -> npt.NDArray[np.int32]:
        return self._best_positions.cpu().numpy().astype(np.int32)
