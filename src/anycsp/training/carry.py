"""Searches carried from one batch to another: the state of single instances, taken out and put in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from anycsp.training.walk import Batch, SearchState


class Carried(NamedTuple):
    """What a `SearchState` holds of one instance; constraints in the order they were added to the problem, since a
    batch groups those of all its instances by kind."""

    positions: Tensor
    state: Tensor
    fresh: Tensor
    best: Tensor
    initial: Tensor
    trace: Tensor


class _Place(NamedTuple):
    """Where one instance lies in a batch."""

    variables: slice
    values: slice
    constraints: Tensor


def taken_out(batch: Batch, state: SearchState) -> list[Carried]:
    """Every instance's part of the state, in the order of the batch."""
    return [
        Carried(
            state.positions[:, place.variables],
            state.state[:, place.values],
            state.fresh[i],
            state.best[:, i],
            state.initial[:, i],
            state.trace[:, place.constraints],
        )
        for i, place in enumerate(_places(batch))
    ]


def put_in(batch: Batch, state: SearchState, carried: dict[int, Carried]) -> None:
    """Overwrite the parts of some instances, by their number in the batch."""
    for i, place in enumerate(_places(batch)):
        if i in carried:
            part = carried[i]
            state.positions[:, place.variables] = part.positions
            state.state[:, place.values] = part.state
            state.fresh[i], state.best[:, i], state.initial[:, i] = part.fresh, part.best, part.initial
            state.trace[:, place.constraints] = part.trace


def _places(batch: Batch) -> Iterator[_Place]:
    graph = batch.graph.topology
    constraint_order = np.lexsort((graph.terms.index, graph.constraint_instance))
    constraints = np.cumsum(np.bincount(graph.constraint_instance, minlength=graph.instances))[:-1]
    start = np.searchsorted(graph.variable_instance, np.arange(graph.instances + 1))
    for (first, last), own in zip(pairwise(start.tolist()), np.split(constraint_order, constraints), strict=True):
        values = slice(int(graph.domains.start[first]), int(graph.domains.start[last]))
        yield _Place(slice(first, last), values, torch.from_numpy(own))
