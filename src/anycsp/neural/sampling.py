"""Drawing assignments in PyTorch, with the same counter-based draws as the native engine.

One uniform number a variable picks the first value whose cumulative weight exceeds u · total. Sums run in
double precision over all values end to end, so ragged domains need no padding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from anycsp.neural.tensors import TensorGraph
from anycsp.randomness import uniforms


def _uniforms(graph: TensorGraph, seed: int, runs: range, step: int) -> Tensor:
    """[runs, variables] in double precision, on the graph's device."""
    return graph.tensor(uniforms(seed, runs, step, graph.num_variables, graph.first_variable)).double()


def sample_global(
    graph: TensorGraph, logits: Tensor, temperature: float | Tensor, seed: int, runs: range, step: int
) -> Tensor:
    """α ~ φ: every variable draws from the softmax within its own domain. [runs, variables] positions."""
    highest = _segment_max(graph, logits)
    weight = ((logits - highest.index_select(1, graph.value_variable)) / temperature).double().exp()
    u = _uniforms(graph, seed, runs, step)
    value = _pick(weight, graph.value_start[:-1], graph.value_start[1:], u)
    return value - graph.value_start[:-1]


def sample_local(
    graph: TensorGraph,
    logits: Tensor,
    positions: Tensor,
    temperature: float | Tensor,
    seed: int,
    runs: range,
    step: int,
) -> Tensor:
    """Appendix C: one value of each instance, never a current one, from the softmax over all of them; its
    variable moves there. The draw is that of the instance's first variable. An instance whose domains all
    have one value stays as it is."""
    first = graph.instance_variable_start
    begin, end = graph.value_start[first[:-1]], graph.value_start[first[1:]]
    masked = logits.masked_fill(graph.chosen(positions).bool(), -torch.inf)
    value_instance = graph.value_instance.expand_as(masked)
    highest = masked.new_full((len(masked), graph.instances), -torch.inf)
    highest = highest.scatter_reduce(1, value_instance, masked, "amax")
    movable = highest.isfinite()
    shifted = (masked - highest.masked_fill(~movable, 0).gather(1, value_instance)) / temperature
    u = _uniforms(graph, seed, runs, step).index_select(1, first[:-1])
    value = _pick(shifted.double().exp(), begin, end, u)
    moved = positions.clone()
    variable = graph.value_variable[value]
    target = torch.where(movable, value - graph.value_start[variable], positions.gather(1, variable))
    return moved.scatter_(1, variable, target)


def _segment_max(graph: TensorGraph, logits: Tensor) -> Tensor:
    index = graph.value_variable.expand_as(logits)
    return logits.new_full((len(logits), graph.num_variables), -torch.inf).scatter_reduce(1, index, logits, "amax")


def _pick(weight: Tensor, begin: Tensor, end: Tensor, u: Tensor) -> Tensor:
    """[runs, segments]: per segment the first index whose cumulative weight exceeds u · the segment's total."""
    cumulative = torch.nn.functional.pad(weight.cumsum(dim=1), (1, 0))
    low, high = cumulative.index_select(1, begin), cumulative.index_select(1, end)
    target = low + u * (high - low)
    index = torch.searchsorted(cumulative[:, 1:].contiguous(), target.contiguous(), right=True)
    # Rounding may carry the target to the segment's end, or onto a weightless value there.
    return torch.minimum(torch.maximum(index, begin), end - 1)
