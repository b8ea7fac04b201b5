"""Distributions of instances, by name: `get("maxcut", n=200).draw(rng)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.distributions.colorable import Colorable
from anycsp.distributions.coloring import Coloring
from anycsp.distributions.equations import Equations, Knapsack
from anycsp.distributions.files import Files
from anycsp.distributions.hook import Hook
from anycsp.distributions.jobshop import JobShop
from anycsp.distributions.magic import MagicSequence, MagicSquare
from anycsp.distributions.maxcut import MaxCut
from anycsp.distributions.mixture import Mixture
from anycsp.distributions.parameters import as_list, check_names, described, widened
from anycsp.distributions.parity import Parity
from anycsp.distributions.permutations import AllInterval, Queens
from anycsp.distributions.quasigroup import Quasigroup
from anycsp.distributions.rb import ForcedRB, ModelRB
from anycsp.distributions.sat import maxsat, maxsat_10k, sat
from anycsp.distributions.sudoku import Sudoku
from anycsp.distributions.timetable import Timetable
from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.schema import shown

__all__ = ["HOOK", "NAMES", "Distribution", "draw", "get", "parameters_of"]


def _mixture(parts: Sequence[Mapping[str, Any] | str] = (), weights: Sequence[float] | None = None) -> Mixture:
    """`parts` holds names, or tables {name = …, parameters …}."""
    tables = [{"name": part} if isinstance(part, str) else part for part in as_list(parts)]
    if not tables or not all(isinstance(table, Mapping) and isinstance(table.get("name"), str) for table in tables):
        raise ProblemError(f"parts = {shown(parts)}: expected a list of names or of tables {{name = …, parameters …}}")
    made = [get(table["name"], **{key: table[key] for key in table if key != "name"}) for table in tables]
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
    "quasigroup": Quasigroup,
    "sudoku": Sudoku,
    "magic-square": MagicSquare,
    "magic-sequence": MagicSequence,
    "equations": Equations,
    "knapsack": Knapsack,
    "timetable": Timetable,
    "jobshop": JobShop,
    "queens": Queens,
    "all-interval": AllInterval,
    "parity": Parity,
    "mixture": _mixture,
}
NAMES = tuple(_REGISTRY)
HOOK = "python"
"""What the name of a user's function begins with, before a colon."""


def get(name: str, /, **parameters: Any) -> Distribution:
    """A distribution by name; `files:DIR` and `python:module:function` name the user's own."""
    kind, _, target = name.partition(":")
    make: Callable[..., Distribution]
    if target and kind == "files":
        make = partial(Files, target)
    elif target and kind == HOOK:
        make = partial(Hook.load, target)
    elif name in _REGISTRY:
        make = _REGISTRY[name]
    else:
        known = ", ".join([*NAMES, "files:DIR", "python:MODULE:FUNCTION"])
        raise ProblemError(f"unknown distribution {shown(name)}; known are {known}")
    try:
        check_names(make, parameters)
        return make(**widened(make, parameters))
    except ProblemError as error:
        raise ProblemError(f"distribution {shown(name)}: {error}") from error.__cause__


def parameters_of(name: str) -> str:
    """What `get` takes beside the name, with the defaults."""
    return described(_REGISTRY[name])


def draw(distribution: Distribution, seed: int, index: int) -> Problem:
    """Instance `index` of the sequence a seed names; any instance can be drawn without those before it."""
    return distribution.draw(np.random.default_rng([seed, index]))
