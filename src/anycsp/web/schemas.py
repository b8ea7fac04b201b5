"""What visitors may say, and what they are told: the fixed lists and ranges of the page's requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from anycsp.formats import FORMATS
from anycsp.neural.models import shipped_models
from anycsp.search.options import SEARCHES
from anycsp.web.gallery import EXAMPLES

ID = r"^[A-Za-z0-9_-]{16}$"
MOST_RUNS = 64
MOST_COLORS = 1000


def one_of(names: Iterable[str]) -> Any:
    """A text of a fixed list."""
    return Field(pattern=f"^({'|'.join(map(re.escape, names))})$")


ExampleName = Annotated[str, one_of(EXAMPLES)]
FormatName = Annotated[str, one_of(FORMATS)]
SearchName = Annotated[str, one_of(SEARCHES)]
ModelName = Annotated[str, Field(pattern=f"^({'|'.join(['auto', *shipped_models()])}|run:[A-Za-z0-9._-]{{1,80}})$")]
"""A shipped model, or `run:` and the name of a training run that the server was given."""


class Facts(BaseModel):
    """A problem as far as it is known without a search."""

    id: str
    name: str
    format: str
    variables: int
    constraints: int
    takes_colors: bool
    objective: str | None
    warnings: list[str]


class JobRequest(BaseModel):
    """One search of one problem."""

    model_config = ConfigDict(extra="forbid")

    problem: Annotated[str, Field(pattern=ID, description="The id of a problem.")]
    search: SearchName = "auto"
    model: ModelName = "auto"
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS)] | None = None
    seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    colors: Annotated[int, Field(ge=1, le=MOST_COLORS)] | None = None


class JobState(BaseModel):
    id: str
    state: str
    message: str
    events: int


class Refusal(BaseModel):
    """Why not, in one line."""

    detail: str


class ExampleCard(BaseModel):
    name: str
    title: str
    text: str
    search: str
    seconds: int


class FormatCard(BaseModel):
    name: str
    title: str
    extensions: list[str]


class Options(BaseModel):
    """The fixed lists of the page."""

    version: str
    searches: list[str]
    models: list[str]
    examples: list[ExampleCard]
    formats: list[FormatCard]
    most_runs: int
    most_colors: int
    longest_search: int
    largest_upload: int
    jobs: int
    threads: int
    shows_training: bool


class QueueState(BaseModel):
    waiting: int
    running: int


class RunCard(BaseModel):
    """A training run in a list."""

    number: int
    name: str
    updates: int
    minutes: float
    has_model: bool
    can_draw: bool
    """Whether a problem can be drawn such as it is validated on."""


class Reference(BaseModel):
    """What a run is held against: steps to the mean unsatisfied."""

    name: str
    unsatisfied: dict[str, float]


class LessonRow(BaseModel):
    """A row of `learn`'s table."""

    name: str
    solved: float
    seconds: float
    quality: float
    faster: str
    best: bool


class RunDetail(RunCard):
    """A training run, its tables column by column."""

    validation: dict[str, list[float]]
    training: dict[str, list[float]]
    references: list[Reference]
    lesson: list[LessonRow]
