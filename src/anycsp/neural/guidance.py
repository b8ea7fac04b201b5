"""Guidance: constraints that were violated lately pull at their variables, so that a search leaves local minima.

Every run keeps a trace of each constraint, τ ← memory · τ + [violated], and the logit of a value loses
strength · Σ τ(C) / deg over the constraints that the value would leave violated, all else as it is; deg is the number
of constraints on its variable, so that one strength fits sparse and dense problems. The weights of breakout and
clause-weighting local search, given to a policy, whether it was trained with them or not.

A pull that melts the frozen domains of one problem keeps another from ever ordering, so runs may differ in strength.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anycsp.errors import AnyCSPError
from anycsp.schema import either, number, row, several, shown

if TYPE_CHECKING:
    from torch import Tensor

    from anycsp.neural.tensors import TensorGraph


class Guidance(NamedTuple):
    strengths: tuple[float, ...]
    """Pairs of runs take turns with them (the runs of a pair differ in their cooling); (0,): none."""
    memory: float
    """How much of the trace is kept from step to step: 0.98 forgets within 50 steps."""

    def __bool__(self) -> bool:
        return max(self.strengths) > 0

    def of(self, runs: Iterable[int]) -> list[float]:
        """The strength of each run."""
        return [self.strengths[run // 2 % len(self.strengths)] for run in runs]


UNGUIDED = Guidance((0.0,), 1.0)
STRENGTH = number(0, 1e6)
"""Logits are some tens: more than this says nothing more, until a number of 32 bits is infinite."""
GUIDANCE = row(either(STRENGTH, several(STRENGTH, 1, 1000)), number(0, 1))


def as_guidance(given: Any) -> Guidance:
    """From a strength, or several, and a memory, as text "5:0.98" or "1,4:0.98"; "0" is none."""
    parts = _parts(given) if isinstance(given, str) else given
    if isinstance(parts, int) and parts == 0:
        return UNGUIDED
    if not GUIDANCE.fits(parts):
        raise AnyCSPError(f"guidance = {shown(given)}: must be STRENGTH:MEMORY, at least 0 and between 0 and 1")
    strength, memory = parts
    strengths = strength if isinstance(strength, (list, tuple)) else [strength]
    return Guidance(tuple(float(s) for s in strengths), float(memory))


def _parts(text: str) -> Any:
    """What a text says, as a document would."""
    if text.strip() == "0":
        return 0
    strengths, _, memory = text.partition(":")
    try:
        return [[float(strength) for strength in strengths.split(",")], float(memory)]
    except ValueError:
        return None


def guidance_json(guidance: Guidance) -> list[float | Sequence[float]]:
    """What `as_guidance` reads."""
    strengths = guidance.strengths
    return [strengths[0] if len(strengths) == 1 else list(strengths), guidance.memory]


def updated(trace: Tensor, satisfied: Tensor, guidance: Guidance) -> Tensor:
    """[runs, constraints]"""
    return guidance.memory * trace + (~satisfied).to(trace.dtype)


def guided(graph: TensorGraph, logits: Tensor, labels: Tensor, trace: Tensor, guidance: Guidance) -> Tensor:
    """[runs, values]"""
    violated = logits.new_zeros(logits.shape)
    violated.index_add_(1, graph.edge_value, trace.index_select(1, graph.edge_constraint) * (1 - labels))
    strength = graph.tensor(np.array(guidance.of(range(len(logits))))).to(logits.dtype)[:, None]
    return logits - strength * violated / graph.by_value.start.diff().clamp(min=1)
