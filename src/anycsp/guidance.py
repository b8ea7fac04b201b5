"""Guidance: constraints that were violated lately pull at their variables, so that a search leaves local minima.

Every run keeps a trace of each constraint, τ ← memory · τ + [violated], and the logit of a value loses
strength · Σ τ(C) / deg over the constraints that the value would leave violated, all else as it is; deg is the number
of constraints on its variable, so that one strength fits sparse and dense problems. The weights of breakout and
clause-weighting local search, given to a policy, whether it was trained with them or not.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from anycsp.errors import AnyCSPError
from anycsp.graph import ConstraintValueGraph


class Guidance(NamedTuple):
    strength: float
    """0: none."""
    memory: float
    """Of the trace, from step to step: 0.98 forgets within 50 steps."""


UNGUIDED = Guidance(0.0, 1.0)


def as_guidance(given: object) -> Guidance:
    """From a pair of numbers, as text "5:0.98"; "0" is none."""
    parts = given.split(":") if isinstance(given, str) else given
    if parts in (["0"], 0):
        return UNGUIDED
    try:
        strength, memory = (float(part) for part in parts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        strength = memory = -1.0
    if not (0 <= strength < float("inf") and 0 <= memory <= 1):
        raise AnyCSPError(f"guidance = {given}: must be STRENGTH:MEMORY, at least 0 and between 0 and 1")
    return Guidance(strength, memory)


def updated(trace: Tensor, satisfied: Tensor, guidance: Guidance) -> Tensor:
    """[runs, constraints]"""
    return guidance.memory * trace + (~satisfied).to(trace.dtype)


def guided(graph: ConstraintValueGraph, logits: Tensor, labels: Tensor, trace: Tensor, guidance: Guidance) -> Tensor:
    """[runs, values]"""
    violated = torch.zeros_like(logits)
    violated.index_add_(1, graph.edge_value, trace.index_select(1, graph.edge_constraint) * (1 - labels))
    degree = graph.by_value.start.diff().clamp(min=1)
    return logits - guidance.strength * violated / degree
