"""Which instance a run trains on at which place of its batch, and for how long.

All of it follows from the settings, so every process of a distributed run keeps the whole roster, draws the problems of
its own places only, and knows in advance which come next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anycsp.training.config import TrainingConfig

_LIFETIME_STREAM = 1 << 40
"""Keeps the draw of lifetimes apart from that of instances."""


@dataclass
class Slot:
    """One instance of the batch."""

    index: int
    """Which of the seed's sequence of instances it is."""
    depth: int
    """Steps searched so far."""
    lifetime: int
    """Steps after which it is replaced."""

    @property
    def ended(self) -> bool:
        return self.depth >= self.lifetime


class Roster:
    def __init__(self, config: TrainingConfig, slots: Sequence[Slot] = (), next_index: int = 0) -> None:
        """Empty, as a run begins with it, or as a checkpoint left it."""
        self.config, self.slots, self.next_index = config, list(slots), next_index

    def refresh(self) -> bool:
        """Replace the instances whose lifetime has ended; whether there were any."""
        if self.slots and not any(slot.ended for slot in self.slots):
            return False
        before = self.slots or [Slot(-1, 0, 0)] * self.config.instances
        self.slots = [self._fresh() if slot.ended else slot for slot in before]
        return True

    def advance(self) -> None:
        """A window was searched."""
        for slot in self.slots:
            slot.depth += self.config.window

    def ahead(self, places: slice) -> Iterator[int]:
        """The instances that will come to these places, in the order in which they do."""
        future = Roster(self.config, [replace(slot) for slot in self.slots], self.next_index)
        while True:
            known = {slot.index for slot in future.slots[places]}
            if future.refresh():
                yield from (slot.index for slot in future.slots[places] if slot.index not in known)
            future.advance()

    def _fresh(self) -> Slot:
        index, config = self.next_index, self.config
        self.next_index += 1
        lifetime = config.depth
        if config.lifetime == "log-uniform":
            rng = np.random.default_rng([config.seed, _LIFETIME_STREAM, index])
            windows = math.exp(rng.uniform(0.0, math.log(config.depth / config.window + 1)))
            lifetime = int(windows) * config.window
        return Slot(index, 0, lifetime)
