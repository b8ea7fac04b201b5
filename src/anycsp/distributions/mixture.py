"""Several distributions in given proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.distributions.parameters import Kind, as_list, check
from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.schema import shown


@dataclass(frozen=True)
class Mixture(Distribution):
    parts: Sequence[Distribution]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        for weight in as_list(self.weights):
            check(Kind.NUMBER, 0, weights=weight)
        if len(as_list(self.weights)) != len(self.parts) or sum(self.weights) == 0:
            raise ProblemError(
                f"weights = {shown(self.weights)}: expected {len(self.parts)} numbers, one for each part"
            )

    def draw(self, rng: np.random.Generator) -> Problem:
        share = np.asarray(self.weights, dtype=np.float64)
        return self.parts[int(rng.choice(len(self.parts), p=share / share.sum()))].draw(rng)

    def validation(self) -> Mixture:
        return Mixture([part.validation() for part in self.parts], self.weights)
