"""Training in several processes, on one host or many: each searches its share of every batch, all make the same step.

`torchrun` starts the processes (ranks) and says to each which one it is. What they exchange is here: gradients, the few
numbers that decisions are made by, and the state of searches, which the first rank writes into checkpoints. Gradients
are weighted by what each loss is the mean of, so that the step is that of one process with the whole batch, also where
the shares differ in size. `DistributedDataParallel` weighs all ranks alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from anycsp.errors import AnyCSPError
from anycsp.training.config import ConfigError

T = TypeVar("T")

PATIENCE = timedelta(hours=12)
"""How long a rank waits for another: the first one validates alone, which may take long. A rank that dies is noticed at
once by its closed connection."""


class Ranks:
    """The processes of a run; this one is number `rank`."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0) -> None:
        self.rank, self.size, self.local_rank = rank, size, local_rank

    @property
    def first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def device(self, kind: str) -> torch.device:
        """Where this rank computes: with several GPUs in a host each has its own."""
        return torch.device(kind, self.local_rank) if kind == "cuda" and self.size > 1 else torch.device(kind)

    def share(self, count: int) -> slice:
        """The part of a list that is this rank's: contiguous, and none longer than another by more than one."""
        if count < self.size:
            raise ConfigError(f"training config: instances = {count} are too few for {self.size} processes")
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def total(self, numbers: Tensor) -> Tensor:
        """The sum over all ranks."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def before(self, count: int) -> int:
        """How many the ranks before this one have together."""
        if self.size == 1:
            return 0
        counts = torch.zeros(self.size, dtype=torch.int64)
        counts[self.rank] = count
        return int(self.total(counts)[: self.rank].sum())

    def average_gradients(self, policy: nn.Module, weight: float) -> None:
        """Those of all ranks together, where each has `weight` of the whole."""
        if self.size == 1:
            return
        gradients = [parameter.grad for parameter in policy.parameters() if parameter.grad is not None]
        whole = self.total(torch.tensor([weight], dtype=torch.float64)).clamp(min=1)
        flat = self.total(parameters_to_vector(gradients) * float(weight / whole))
        vector_to_parameters(flat, gradients)

    def average(self, figures: Mapping[str, float], weight: float) -> dict[str, float]:
        """The mean over ranks, by weight; nan where one has it."""
        if self.size == 1:
            return dict(figures)
        total = self.total(torch.tensor([weight, *(weight * f for f in figures.values())], dtype=torch.float64))
        return dict(zip(figures, (total[1:] / total[0]).tolist(), strict=True))

    def any(self, here: bool) -> bool:
        """Whether it is so at some rank."""
        return here if self.size == 1 else bool(self.total(torch.tensor([int(here)])))

    def number_of_first(self, number: float) -> float:
        """What the first rank has, where decisions follow from it: clocks differ."""
        if self.size == 1:
            return number
        return float(self.total(torch.tensor([number if self.first else 0.0], dtype=torch.float64)))

    def of_first(self, thing: T) -> T:
        """What the first rank has."""
        if self.size == 1:
            return thing
        box = [thing]
        dist.broadcast_object_list(box)
        return box[0]

    def gather(self, thing: T) -> list[T] | None:
        """What all have, in order, at the first rank; None at the others."""
        box: list[Any] | None = [None] * self.size if self.first else None
        dist.gather_object(thing, box)
        return box


ALONE = Ranks()


def join(device: str = "cpu") -> Ranks:
    """The ranks that `torchrun` started this process among, or just this one."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return ALONE
    if not dist.is_available():
        raise AnyCSPError("this build of torch cannot train in several processes")
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if device == "cuda":
        torch.cuda.set_device(local_rank)
    # After a restart `torchrun` may hand out the same store, which still has the addresses of the dead: each attempt
    # has a part of its own.
    store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
    store = PrefixStore(f"attempt-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    backend = "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
    return Ranks(rank, size, local_rank)


def under_torchrun() -> bool:
    """Whether this process may be a restarted one: `torchrun` repeats the command, whatever it had come to."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def leave(ranks: Ranks) -> None:
    """At the end, when all are there."""
    if ranks.size > 1:
        dist.barrier()
        dist.destroy_process_group()
