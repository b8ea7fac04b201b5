"""The pool of searches a run trains on: instances are drawn ahead, searched window by window, and replaced.

With depth = window every instance is new at every update, as in the paper. Beyond that a search is carried on
from update to update until its lifetime ends, and the pool holds searches of all depths at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from anycsp import distributions
from anycsp.distributions import Distribution
from anycsp.errors import ModelError
from anycsp.graph import compile_graph
from anycsp.memory import check_bytes
from anycsp.model.problem import Problem
from anycsp.neural.pairs import in_pairs
from anycsp.neural.tensors import TensorGraph
from anycsp.randomness import initial_positions
from anycsp.training.carry import Carried, put_in, taken_out
from anycsp.training.checkpoint import Expected, check_tensors
from anycsp.training.config import TrainingConfig
from anycsp.training.distributed import ALONE, Ranks
from anycsp.training.roster import Roster, Slot
from anycsp.training.walk import Batch, SearchState

_TEMPERATURE_STREAM = 1 << 41
"""Keeps the draw of temperatures apart from that of instances."""


class Instances:
    """Instances of a seed by their index, drawn in a background thread a few ahead of their use."""

    def __init__(self, distribution: Distribution, seed: int, ahead: int) -> None:
        self._distribution, self._seed, self._ahead = distribution, seed, ahead
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="draw")
        self._queue: deque[tuple[int, Future[Problem]]] = deque()
        self._expected: Iterator[int] = iter(())

    def expect(self, indices: Iterator[int]) -> None:
        """Which ones will be asked for, in ascending order."""
        self._expected = indices

    def draw(self, index: int) -> Problem:
        """Any order is right; the expected one is fast."""
        while self._queue and self._queue[0][0] < index:
            self._queue.popleft()[1].cancel()
        if self._queue and self._queue[0][0] == index:
            problem = self._queue.popleft()[1].result()
        else:
            problem = distributions.draw(self._distribution, self._seed, index)
        while len(self._queue) < self._ahead and (following := next(self._expected, None)) is not None:
            if following > index:
                future = self._executor.submit(distributions.draw, self._distribution, self._seed, following)
                self._queue.append((following, future))
        return problem

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class Pool:
    """`instances` searches with `replicas` runs each; `batch` and `state` are what the next window starts from. In a
    distributed run they hold a share of the instances, those of the places `share`."""

    def __init__(
        self, config: TrainingConfig, hidden: int, ranks: Ranks = ALONE, device: torch.device | str = "cpu"
    ) -> None:
        self.config, self.hidden, self._ranks, self._device = config, hidden, ranks, torch.device(device)
        self.share = ranks.share(config.instances)
        self.problems: list[Problem] = []
        """The instances of the share."""
        distribution = config.training_distribution()
        own = self.share.stop - self.share.start
        _check_memory(config, own, hidden, distributions.draw(distribution, config.seed, 0))
        self._source = Instances(distribution, config.seed, 2 * own)
        self._follow(Roster(config))

    def _follow(self, roster: Roster) -> None:
        self._roster = roster
        self._source.expect(roster.ahead(self.share))

    def close(self) -> None:
        self._source.close()

    @property
    def slots(self) -> list[Slot]:
        """All of the run, whoever searches them."""
        return self._roster.slots

    @property
    def own(self) -> list[Slot]:
        """Those of the share."""
        return self._roster.slots[self.share]

    @property
    def next_index(self) -> int:
        return self._roster.next_index

    @property
    def depth(self) -> Tensor:
        return torch.tensor([slot.depth for slot in self.own], device=self._device)

    @property
    def temperature(self) -> Tensor | None:
        """[instances]: of the next window, drawn log-uniformly for each; None where all are 1."""
        hot, cold = self.config.training_temperature
        if hot == cold == 1:
            return None
        keys = [[self.config.seed, _TEMPERATURE_STREAM, slot.index, slot.depth] for slot in self.own]
        share = [np.random.default_rng(key).random() for key in keys]
        return torch.tensor([hot * (cold / hot) ** s for s in share], dtype=torch.float32, device=self._device)

    def refresh(self) -> None:
        """Replace the instances whose lifetime has ended: carried searches keep their state, others begin at random."""
        before = self.own
        if not self._roster.refresh():
            return
        carried = taken_out(self.batch, self.state) if before else []
        kept = {i: carried[i] for i, slot in enumerate(self.own) if before and slot is before[i]}
        self.problems = [
            self.problems[i] if i in kept else self._source.draw(slot.index) for i, slot in enumerate(self.own)
        ]
        self._build(kept)

    def advanced(self, end: SearchState) -> None:
        """A window was searched."""
        self.state = end
        self._roster.advance()

    def restore(
        self, slots: Sequence[tuple[int, int, int]], next_index: int, state: dict[str, Tensor], where: object
    ) -> None:
        """Continue from a checkpoint, which errors call `where`: (index, depth, lifetime) of every slot, instances
        drawn again, and the tensors of a `SearchState`, all of the whole run."""
        if len(slots) != self.config.instances or any(index >= next_index for index, _, _ in slots):
            raise ModelError(f"{where}: its slots are not those of {self.config.instances} instances")
        self._follow(Roster(self.config, [Slot(*slot) for slot in slots], next_index))
        problems = [self._source.draw(slot.index) for slot in self.slots]
        whole = _batch(problems, torch.device("cpu"))
        graph, runs = whole.graph, self.config.replicas
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
        self.problems = problems[self.share]
        self._build(dict(enumerate(taken_out(whole, SearchState(**state))[self.share])))

    def whole_state(self) -> SearchState | None:
        """That of all instances of the run, gathered at the first rank, for a checkpoint; None at the others. It is the
        same however many ranks there are."""
        if self._ranks.size == 1:
            return self.state
        parts = [Carried(*(tensor.cpu() for tensor in part)) for part in taken_out(self.batch, self.state)]
        gathered = self._ranks.gather(parts)
        if gathered is None:
            return None
        others = [distributions.draw(self.config.training_distribution(), self.config.seed, slot.index)
                  for slot in self.slots[self.share.stop :]]  # fmt: skip
        batch = _batch([*self.problems, *others], torch.device("cpu"))
        state = self._begun(batch)
        put_in(batch, state, dict(enumerate(part for of_rank in gathered for part in of_rank)))
        return state

    def _build(self, carried: dict[int, Carried]) -> None:
        """Compile the problems of the share."""
        variables = sum(problem.num_variables for problem in self.problems)
        self.batch = _batch(self.problems, self._device, self._ranks.before(variables))
        self.state = self._begun(self.batch)
        put_in(self.batch, self.state, carried)

    def _begun(self, batch: Batch) -> SearchState:
        graph, runs, device = batch.graph, self.config.replicas, batch.graph.device
        # The seed of an α^(0) is the number of instances drawn until then, which no two batches share.
        seed, sizes = self.config.seed ^ (self.next_index << 20), graph.topology.domains.sizes
        positions = initial_positions(sizes, seed, range(runs), first=graph.first_variable)
        best = torch.zeros(runs, graph.instances, dtype=torch.float64, device=device)
        return SearchState(
            graph.tensor(positions),
            torch.zeros(runs, graph.num_values, self.hidden, device=device),
            torch.ones(graph.instances, dtype=torch.bool, device=device),
            best,
            torch.zeros_like(best),
            torch.zeros(runs, graph.num_constraints, device=device),
        )


def _check_memory(config: TrainingConfig, instances: int, hidden: int, problem: Problem) -> None:
    """Every step of a window keeps at least its recurrent states for the gradient. One instance stands for all."""
    searches = instances * config.replicas
    floats = searches * config.window * int(problem.domains.sizes.sum()) * hidden
    check_bytes(4 * floats, f"training config: {searches} searches of {config.window} steps with gradients")


def _batch(problems: Sequence[Problem], device: torch.device, first_variable: int = 0) -> Batch:
    return Batch(
        TensorGraph(
            compile_graph([in_pairs(problem) for problem in problems], of_one_kind=True), device, first_variable
        )
    )
