"""What a caller of `solve` may ask for, checked when it is asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from anycsp.errors import AnyCSPError
from anycsp.model.problem import Assignment
from anycsp.neural.guidance import Guidance, as_guidance
from anycsp.neural.models import Model
from anycsp.neural.temperature import Temperature, as_temperature
from anycsp.search.driver import Callback, Limits
from anycsp.threads import available_threads

SEARCHES = ("auto", "neural", "local", "hybrid", "exact")

DEFAULT_SECONDS = 10.0
"""Without a limit of time or steps a search ends after this long."""


@dataclass(frozen=True)
class SearchOptions:
    """The options of `solve`, which says what they mean."""

    model: str | Model = "auto"
    search: str = "auto"
    time_limit: float | None = None
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

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise AnyCSPError(f"unknown search {self.search!r}: use one of {', '.join(SEARCHES)}")
        for name, least in (("time_limit", 0), ("steps", 0), ("runs", 1), ("threads", 1)):
            value = getattr(self, name)
            if value is not None and not value >= least:  # NaN is refused too
                raise AnyCSPError(f"{name} = {value}: must be positive")
        # Whatever form they were given in, from here on they are in one.
        if self.temperature is not None:
            object.__setattr__(self, "temperature", as_temperature(self.temperature))
        if self.guidance is not None:
            object.__setattr__(self, "guidance", as_guidance(self.guidance))

    @property
    def seconds(self) -> float | None:
        """The limit of time, which is never missing where there is no other."""
        return DEFAULT_SECONDS if self.time_limit is None and self.steps is None else self.time_limit

    @property
    def limits(self) -> Limits:
        return Limits(self.seconds, self.steps, self.stop)

    @property
    def thread_count(self) -> int:
        """As many threads as asked for, otherwise as the process may use."""
        return self.threads or available_threads()
