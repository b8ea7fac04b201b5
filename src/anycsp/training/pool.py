"""The pool of searches a run trains on: instances are drawn ahead, searched window by window, and replaced.

With depth = window every instance is new at every update, as in the paper. Beyond that a search is carried on
from update to update until its lifetime ends, and the pool holds searches of all depths at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from anycsp import distributions
from anycsp.distributions import Distribution
from anycsp.errors import ModelError
from anycsp.graph import compile_graph
from anycsp.memory import check_bytes
from anycsp.model.problem import Problem
from anycsp.neural.tensors import TensorGraph
from anycsp.randomness import initial_positions
from anycsp.training.checkpoint import Expected, check_tensors
from anycsp.training.config import TrainingConfig
from anycsp.training.walk import Batch, SearchState

_LIFETIME_STREAM = 1 << 40
"""Keeps the draw of lifetimes apart from that of instances."""
_TEMPERATURE_STREAM = 1 << 41


class Instances:
    """Instance 0, 1, 2, … of a seed, drawn in a background thread a few ahead of their use."""

    def __init__(self, distribution: Distribution, seed: int, ahead: int) -> None:
        self._distribution, self._seed, self._ahead = distribution, seed, ahead
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="draw")
        self._queue: deque[tuple[int, Future[Problem]]] = deque()

    def draw(self, index: int) -> Problem:
        """Any order is right; ascending order is fast."""
        while self._queue and self._queue[0][0] < index:
            self._queue.popleft()[1].cancel()
        if self._queue and self._queue[0][0] == index:
            problem = self._queue.popleft()[1].result()
        else:
            problem = distributions.draw(self._distribution, self._seed, index)
        next_index = self._queue[-1][0] + 1 if self._queue else index + 1
        while len(self._queue) < self._ahead:
            future = self._executor.submit(distributions.draw, self._distribution, self._seed, next_index)
            self._queue.append((next_index, future))
            next_index += 1
        return problem

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


@dataclass
class Slot:
    """One instance of the pool."""

    index: int
    problem: Problem
    depth: int
    """Steps searched so far."""
    lifetime: int
    """Steps after which it is replaced."""


class Pool:
    """`instances` searches with `replicas` runs each; `batch` and `state` are what the next window starts from."""

    def __init__(self, config: TrainingConfig, hidden: int) -> None:
        self.config, self.hidden = config, hidden
        self.next_index = 0
        self.slots: list[Slot] = []
        distribution = config.training_distribution()
        _check_memory(config, hidden, distributions.draw(distribution, config.seed, 0))
        self._source = Instances(distribution, config.seed, 2 * config.instances)

    def close(self) -> None:
        self._source.close()

    @property
    def depth(self) -> Tensor:
        return torch.tensor([slot.depth for slot in self.slots])

    @property
    def temperature(self) -> Tensor | None:
        """[instances]: of the next window, drawn log-uniformly for each; None where all are 1."""
        hot, cold = self.config.training_temperature
        if hot == cold == 1:
            return None
        keys = [[self.config.seed, _TEMPERATURE_STREAM, slot.index, slot.depth] for slot in self.slots]
        share = [np.random.default_rng(key).random() for key in keys]
        return torch.tensor([hot * (cold / hot) ** s for s in share], dtype=torch.float32)

    def refresh(self) -> None:
        """Replace the instances whose lifetime has ended."""
        if not self.slots:
            self._build([self._fresh() for _ in range(self.config.instances)], None)
        elif any(slot.depth >= slot.lifetime for slot in self.slots):
            kept = [slot.depth < slot.lifetime for slot in self.slots]
            slots = [slot if keep else self._fresh() for slot, keep in zip(self.slots, kept, strict=True)]
            self._build(slots, kept)

    def advanced(self, end: SearchState) -> None:
        """A window was searched."""
        self.state = end
        for slot in self.slots:
            slot.depth += self.config.window

    def restore(
        self, slots: Sequence[tuple[int, int, int]], next_index: int, state: dict[str, Tensor], where: object
    ) -> None:
        """Continue from a checkpoint, which errors call `where`: (index, depth, lifetime) of every slot, instances
        drawn again, and the tensors of a `SearchState`."""
        if len(slots) != self.config.instances or any(index >= next_index for index, _, _ in slots):
            raise ModelError(f"{where}: its slots are not those of {self.config.instances} instances")
        self.slots = [Slot(index, self._source.draw(index), depth, life) for index, depth, life in slots]
        self.next_index, self.batch = next_index, _batch(self.slots)
        graph, runs = self.batch.graph, self.config.replicas
        expected = {
            "positions": Expected((runs, graph.num_variables), torch.int64, low=0),
            "state": Expected((runs, graph.num_values, self.hidden)),
            "fresh": Expected((graph.instances,), torch.bool),
            "best": Expected((runs, graph.instances), torch.float64, low=0),
            "initial": Expected((runs, graph.instances), torch.float64, low=0),
            "trace": Expected((runs, graph.num_constraints), low=0),
        }
        check_tensors(state, expected, where)
        if (state["positions"] >= torch.from_numpy(graph.topology.domains.sizes)).any():
            raise ModelError(f"{where}: values outside the domains of its instances")
        self.state = SearchState(**state)

    def _fresh(self) -> Slot:
        index, config = self.next_index, self.config
        self.next_index += 1
        lifetime = config.depth
        if config.lifetime == "log-uniform":
            rng = np.random.default_rng([config.seed, _LIFETIME_STREAM, index])
            windows = math.exp(rng.uniform(0.0, math.log(config.depth / config.window + 1)))
            lifetime = int(windows) * config.window
        return Slot(index, self._source.draw(index), 0, lifetime)

    def _build(self, slots: list[Slot], kept: list[bool] | None) -> None:
        """Compile the new set of instances; carried searches keep their state, others begin at random."""
        runs = self.config.replicas
        batch = _batch(slots)
        graph = batch.graph
        # The seed of an α^(0) is the number of instances drawn until then, which no two batches share.
        seed = self.config.seed ^ (self.next_index << 20)
        positions = torch.from_numpy(initial_positions(graph.topology.domains.sizes, seed, range(runs)))
        state = torch.zeros(runs, graph.num_values, self.hidden)
        best = torch.zeros(runs, graph.instances, dtype=torch.float64)
        initial = torch.zeros_like(best)
        trace = torch.zeros(runs, graph.num_constraints)
        fresh = torch.ones(graph.instances, dtype=torch.bool)
        if kept is not None:
            old = self.state
            pairs = zip(_places(self.batch), _places(batch), strict=True)
            for i, (before, now) in enumerate(pairs):
                if kept[i]:
                    positions[:, now.variables] = old.positions[:, before.variables]
                    state[:, now.values] = old.state[:, before.values]
                    trace[:, now.constraints] = old.trace[:, before.constraints]
                    best[:, i], initial[:, i], fresh[i] = old.best[:, i], old.initial[:, i], False
        self.slots, self.batch = slots, batch
        self.state = SearchState(positions, state, fresh, best, initial, trace)


def _check_memory(config: TrainingConfig, hidden: int, problem: Problem) -> None:
    """Every step of a window keeps at least its recurrent states for the gradient. One instance stands for all."""
    searches = config.instances * config.replicas
    floats = searches * config.window * int(problem.domains.sizes.sum()) * hidden
    check_bytes(4 * floats, f"training config: {searches} searches of {config.window} steps with gradients")


def _batch(slots: list[Slot]) -> Batch:
    return Batch(TensorGraph(compile_graph([slot.problem for slot in slots], of_one_kind=True)))


class _Places(NamedTuple):
    """Where one instance lies in a batch."""

    variables: slice
    values: slice
    constraints: Tensor
    """In the order they were added to the problem: a batch groups those of all its instances by kind."""


def _places(batch: Batch) -> Iterator[_Places]:
    graph = batch.graph.topology
    constraint_order = np.lexsort((graph.terms.index, graph.constraint_instance))
    constraints = np.cumsum(np.bincount(graph.constraint_instance, minlength=graph.instances))[:-1]
    start = np.searchsorted(graph.variable_instance, np.arange(graph.instances + 1))
    for (first, last), own in zip(pairwise(start.tolist()), np.split(constraint_order, constraints), strict=True):
        values = slice(int(graph.domains.start[first]), int(graph.domains.start[last]))
        yield _Places(slice(first, last), values, torch.from_numpy(own))
