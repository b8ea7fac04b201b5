"""Where the searches of one problem tell each other of their best assignments."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from anycsp.search.together import Rank

Positions = npt.NDArray[np.int32]


class Post(NamedTuple):
    """What one search knows."""

    rank: Rank
    positions: Positions
    settled: bool = False
    """Nothing better is to be looked for: all is satisfied, or it is proved that nothing is better."""


class Exchange(Protocol):
    """A board as a search sees it, wherever it is."""

    def exchange(self, key: str, post: Post) -> Post | None:
        """Tell of an assignment of the problem `key`; the best one known, where another search has a better one, or has
        settled it."""


@dataclass
class Board:
    """The best of every problem that is being searched."""

    def __post_init__(self) -> None:
        self._best: dict[str, Post] = {}
        self._lock = threading.Lock()

    def exchange(self, key: str, post: Post) -> Post | None:
        with self._lock:
            best = self._best.get(key)
            if best is None or post.rank < best.rank:
                best = self._best[key] = post._replace(settled=post.settled or (best is not None and best.settled))
            elif post.settled and not best.settled:
                best = self._best[key] = best._replace(settled=True)
        return best if best.settled or best.rank < post.rank else None
