"""A user's own generator: `python:package.module:function` with `function(rng) -> Problem`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.errors import ProblemError
from anycsp.problem import Problem


@dataclass(frozen=True)
class Hook(Distribution):
    """Parameters beside `rng` are passed on by name."""

    function: Callable[..., Problem]
    parameters: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def load(target: str, **parameters: Any) -> Hook:
        module, _, name = target.partition(":")
        try:
            return Hook(getattr(importlib.import_module(module), name), parameters)
        except (ImportError, AttributeError, ValueError) as error:
            raise ProblemError(f"python:{target}: {error}") from None

    def draw(self, rng: np.random.Generator) -> Problem:
        problem = self.function(rng, **self.parameters)
        if not isinstance(problem, Problem):
            raise ProblemError(f"{self.function.__name__} returned {type(problem).__name__}, not a Problem")
        return problem
