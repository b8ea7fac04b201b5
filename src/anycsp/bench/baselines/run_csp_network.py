"""The network of RUN-CSP, its search and its training; apart from `run_csp.py` because it needs torch."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from torch import Tensor, nn

from anycsp.bench.baseline import BaselineResult, Limit, Point
from anycsp.distributions.graphs import barabasi_albert, erdos_renyi
from anycsp.formats.files import write_whole
from anycsp.model.structure import WeightedGraph

HIDDEN, STEPS, DISCOUNT, BATCH, VERTICES, LEARNING_RATE = 64, 30, 0.95, 10, 100, 1e-3
"""Ours: small enough to train in minutes on a processor. The architecture and the loss are the published ones."""


@torch.no_grad()
def search(graph: WeightedGraph, values: int, limit: Limit, runs: int, seed: int, training: float) -> BaselineResult:
    """The network's assignments step by step, trained for so many seconds before unless it was."""
    torch.set_num_threads(limit.threads)
    network, trained = _trained(values, training)
    torch.manual_seed(seed)
    began = time.perf_counter()
    averaging, edges = _averaging(graph.vertices, graph.edges), torch.from_numpy(graph.edges)
    weight = torch.from_numpy(graph.weights)
    state = network.start(graph.vertices, runs)
    trace: list[Point] = []
    best: npt.NDArray[np.int32] | None = None
    step, seconds = 0, 0.0
    while seconds < limit.seconds and (not trace or trace[-1].violated_weight > 0):
        step += 1
        state, soft = network(averaging, state)
        hard = soft.argmax(dim=2)  # [vertices, runs]
        conflicts = (hard[edges[:, 0]] == hard[edges[:, 1]]).to(torch.float64)
        violated = weight @ conflicts
        seconds = time.perf_counter() - began
        run = int(violated.argmin())
        if not trace or float(violated[run]) < trace[-1].violated_weight:
            trace.append(Point(step, seconds, float(violated[run])))
            best = hard[:, run].numpy().astype(np.int32)
    return BaselineResult(trace, best, seconds, step, f"{runs} runs, trained {trained:.0f} s")


class RunCspNetwork(nn.Module):
    def __init__(self, values: int) -> None:
        super().__init__()
        self.from_neighbour = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.from_self = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.normalise = nn.BatchNorm1d(HIDDEN)
        self.cell = nn.LSTMCell(HIDDEN, HIDDEN)
        self.soft = nn.Linear(HIDDEN, values, bias=False)

    def start(self, vertices: int, runs: int) -> tuple[Tensor, Tensor]:
        """Random states break the symmetry between vertices of regular graphs, and between runs."""
        return torch.randn(vertices * runs, HIDDEN), torch.zeros(vertices * runs, HIDDEN)

    def forward(self, averaging: Tensor, state: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """One step; the soft assignment is [vertices, runs, values]. The message map is linear in the pair of
        states, so the mean over neighbours may be taken before it."""
        vertices = averaging.shape[0]
        mean = torch.sparse.mm(averaging, state[0].view(vertices, -1)).view(-1, HIDDEN)
        received = self.normalise(self.from_neighbour(mean) + self.from_self(state[0]))
        state = self.cell(received, state)
        return state, self.soft(state[0]).softmax(dim=1).view(vertices, -1, self.soft.out_features)


def _averaging(vertices: int, edges: npt.NDArray[np.int64]) -> Tensor:
    """The matrix that takes every vertex to the mean of its neighbours."""
    start, neighbour, _ = WeightedGraph(vertices, edges, np.ones(len(edges))).adjacency()
    share = np.repeat(1 / np.maximum(np.diff(start), 1), np.diff(start)).astype(np.float32)
    crow, col = torch.from_numpy(start), torch.from_numpy(neighbour)
    return torch.sparse_csr_tensor(crow, col, torch.from_numpy(share), (vertices, vertices), check_invariants=False)


def _trained(values: int, seconds: float) -> tuple[RunCspNetwork, float]:
    """The network for a number of values: from the cache, or trained now."""
    folder = Path(os.environ.get("ANYCSP_CACHE", Path.home() / ".cache" / "anycsp"))
    path = folder / f"run-csp-{values}-values-{seconds:.0f}s.safetensors"
    network = RunCspNetwork(values)
    if path.exists():
        network.load_state_dict(safetensors.torch.load_file(path))
    else:
        with torch.enable_grad():
            _train(network, values, seconds)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, safetensors.torch.save(network.state_dict()))
    return network.eval(), seconds


def _train(network: RunCspNetwork, values: int, seconds: float) -> None:
    until = time.process_time() + seconds  # of the processor, so that a busy machine trains no worse
    torch.manual_seed(values)
    rng = np.random.default_rng(values)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    network.train()
    while time.process_time() < until:
        edges = np.concatenate([_training_graph(rng, values) + i * VERTICES for i in range(BATCH)])
        averaging = _averaging(BATCH * VERTICES, edges)
        first, second = torch.from_numpy(edges[:, 0]), torch.from_numpy(edges[:, 1])
        state = network.start(BATCH * VERTICES, 1)
        loss = torch.zeros(())
        for step in range(1, STEPS + 1):
            state, soft = network(averaging, state)
            agree = (soft[first, 0] * soft[second, 0]).sum(dim=1)
            loss = loss - DISCOUNT ** (STEPS - step) * torch.log1p(-agree.clamp(max=1 - 1e-6)).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()


def _training_graph(rng: np.random.Generator, values: int) -> npt.NDArray[np.int64]:
    """Ω_MCUT for two values; else random and preferential-attachment graphs around the density at which random
    graphs stop being colourable (mean degree 2k ln k − ln k)."""
    if values == 2:
        return erdos_renyi(rng, VERTICES, rng.uniform(0.05, 0.3))
    degree = rng.uniform(0.5, 1.1) * (2 * values - 1) * math.log(values)
    if rng.random() < 0.5:
        return erdos_renyi(rng, VERTICES, min(degree / VERTICES, 1.0))
    return barabasi_albert(rng, VERTICES, max(2, round(degree / 2)))
