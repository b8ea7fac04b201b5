"""Distributions of instances, by name: `get("maxcut", n=200).draw(rng)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.distributions.colorable import Colorable
from anycsp.distributions.coloring import Coloring
from anycsp.distributions.files import Files
from anycsp.distributions.hook import Hook
from anycsp.distributions.maxcut import MaxCut
from anycsp.distributions.mixture import Mixture
from anycsp.distributions.rb import ForcedRB, ModelRB
from anycsp.distributions.sat import maxsat, maxsat_10k, sat
from anycsp.errors import ProblemError
from anycsp.problem import Problem

__all__ = ["NAMES", "Distribution", "draw", "get"]


def _mixture(parts: Sequence[Mapping[str, Any] | str], weights: Sequence[float] | None = None) -> Mixture:
    """`parts` holds names, or tables {name = …, parameters …}."""
    made = [get(part) if isinstance(part, str) else get(**dict(part)) for part in parts]
    return Mixture(made, weights if weights is not None else [1.0] * len(made))


_REGISTRY: dict[str, Callable[..., Distribution]] = {
    "rb": ModelRB,
    "forced-rb": ForcedRB,
    "coloring": Coloring,
    "colorable": Colorable,
    "maxcut": MaxCut,
    "sat": sat,
    "maxsat": maxsat,
    "maxsat-10k": maxsat_10k,
    "mixture": _mixture,
}
NAMES = tuple(_REGISTRY)


def get(name: str, **parameters: Any) -> Distribution:
    """A distribution by name; `files:DIR` and `python:module:function` name the user's own."""
    kind, _, target = name.partition(":")
    try:
        if target and kind == "files":
            return Files(target, **parameters)
        if target and kind == "python":
            return Hook.load(target, **parameters)
        if name in _REGISTRY:
            return _REGISTRY[name](**parameters)
    except TypeError as error:
        raise ProblemError(f"distribution {name!r}: {error}") from None
    known = ", ".join([*NAMES, "files:DIR", "python:MODULE:FUNCTION"])
    raise ProblemError(f"unknown distribution {name!r}; known are {known}")


def draw(distribution: Distribution, seed: int, index: int) -> Problem:
    """Instance `index` of the sequence a seed names; any instance can be drawn without those before it."""
    return distribution.draw(np.random.default_rng([seed, index]))
