"""What a caller of `solve` may ask for, checked when it is asked."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anycsp.deadline import DEFAULT_SECONDS, NEVER, Deadline
from anycsp.errors import AnyCSPError
from anycsp.model.variables import Assignment
from anycsp.neural.guidance import Guidance, as_guidance
from anycsp.neural.models import Model
from anycsp.neural.temperature import Temperature, as_temperature
from anycsp.search.branching import Branching
from anycsp.search.driver import Callback, Limits
from anycsp.search.heuristic import Heuristic, load_heuristic, names_heuristic
from anycsp.search.local import FOREVER
from anycsp.threads import available_threads

SEARCHES = ("auto", "neural", "local", "hybrid", "exact")
MOST_THREADS = 1024
"""More threads than these are these: each takes memory, and a run of its own where nobody says how many runs."""


@dataclass(frozen=True)
class SearchOptions:
    """The options of `solve`, which says what they mean."""

    model: str | Model | Heuristic = "auto"
    search: str = "auto"
    time_limit: float | Deadline | None = None
    steps: int | None = None
    runs: int | None = None
    seed: int = 0
    callback: Callback | None = None
    hint: Assignment | None = None
    threads: int | None = None
    device: str = "cpu"
    temperature: Temperature | None = None
    guidance: Guidance | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    presolve: bool = True
    profile: bool = False
    branching: Sequence[Branching] = ()
    tell: Callable[[str], None] | None = None
    """Hears what was chosen for the problem, and why."""

    def __post_init__(self) -> None:
        self._refuse_wrong_types()
        # Whatever form they were given in, from here on they are in one.
        for name, least in (("steps", 0), ("runs", 1), ("threads", 1)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), least))
        # Compiled code counts in 64 bits.
        for name, most in (("steps", FOREVER), ("threads", MOST_THREADS)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, min(getattr(self, name), most))
        object.__setattr__(self, "seed", whole("seed", self.seed))
        object.__setattr__(self, "time_limit", _deadline(self.time_limit, self.steps))
        if names_heuristic(self.model):
            assert isinstance(self.model, (str, Path))
            object.__setattr__(self, "model", load_heuristic(self.model))
        if isinstance(self.model, Heuristic) and self.search not in ("auto", "local"):
            raise AnyCSPError(f"{self.model.name}: settings of compiled search, which {self.search} search has none of")
        if self.temperature is not None:
            object.__setattr__(self, "temperature", as_temperature(self.temperature))
        if self.guidance is not None:
            object.__setattr__(self, "guidance", as_guidance(self.guidance))

    def _refuse_wrong_types(self) -> None:
        if not isinstance(self.search, str) or self.search not in SEARCHES:
            raise AnyCSPError(f"unknown search {_shown(self.search)}: use one of {', '.join(SEARCHES)}")
        if not isinstance(self.model, (str, Model, Heuristic)):
            raise AnyCSPError(f"model is a name, a path or a loaded model, not {_shown(self.model)}")
        if not isinstance(self.branching, Sequence) or not all(isinstance(b, Branching) for b in self.branching):
            raise AnyCSPError(f"branching is a list of Branching, not {_shown(self.branching)}")
        if self.hint is not None and not _is_assignment(self.hint):
            raise AnyCSPError(f"hint maps names to values, or lists a value per variable; it is {_shown(self.hint)}")
        if self.callback is not None and not callable(self.callback):
            raise AnyCSPError(f"callback is a function of the progress, not {_shown(self.callback)}")
        if not callable(getattr(self.stop, "is_set", None)):
            raise AnyCSPError(f"stop is a threading.Event, not {_shown(self.stop)}")
        for name in ("presolve", "profile"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise AnyCSPError(f"{name} is True or False, not {_shown(getattr(self, name))}")
        if not isinstance(self.device, str):
            raise AnyCSPError(f'device is "cpu" or "cuda", not {_shown(self.device)}')

    @property
    def deadline(self) -> Deadline:
        """The limit of time, counted from when these options were made, so that it holds for whatever follows."""
        assert isinstance(self.time_limit, Deadline)
        return self.time_limit

    @property
    def limits(self) -> Limits:
        return Limits(self.deadline, self.steps, self.stop)

    @property
    def thread_count(self) -> int:
        """As many threads as asked for, otherwise as the process may use."""
        return self.threads or available_threads()


def _deadline(time_limit: Any, steps: int | None) -> Deadline:
    """A limit of time is never missing where there is no other."""
    if isinstance(time_limit, Deadline):
        return time_limit
    if time_limit is None:
        return Deadline.after(DEFAULT_SECONDS if steps is None else None)
    if isinstance(time_limit, (bool, str)) or not isinstance(time_limit, (int, float, np.number)):
        raise AnyCSPError(f"time_limit is a number of seconds, not {_shown(time_limit)}")
    if not time_limit >= 0:  # NaN is refused too
        raise AnyCSPError(f"time_limit = {time_limit}: must not be negative")
    try:
        return Deadline.after(float(time_limit))
    except OverflowError:  # more seconds than a float holds
        return NEVER


def whole(name: str, value: Any, least: int | None = None) -> int:
    """A whole number of any type, checked; `name` is the argument's."""
    try:
        number = operator.index(value)
    except TypeError:
        raise AnyCSPError(f"{name} is a whole number, not {_shown(value)}") from None
    if isinstance(value, bool):
        raise AnyCSPError(f"{name} is a whole number, not {value}")
    if least is not None and number < least:
        raise AnyCSPError(f"{name} = {number}: must be at least {least}")
    return number


def _is_assignment(hint: Any) -> bool:
    return isinstance(hint, (Mapping, Sequence, np.ndarray)) and not isinstance(hint, (str, bytes))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
