"""One move a step (Appendix C): the probability of the move an instance makes, among all it could have made."""

from __future__ import annotations

import torch
from torch import Tensor

from anycsp.neural.operations import Choice
from anycsp.neural.tensors import TensorGraph


def choice_of_move(
    graph: TensorGraph,
    logits: Tensor,
    before: Tensor,
    after: Tensor,
    epsilon: float,
    entropy: bool,
    reward: Tensor | None,
) -> Choice:
    """The choice from a softmax over those values of an instance that no variable has in `before`; tensors of the
    result are [runs, instances]. `reward` [runs, values] is that of moving there from `before`. An instance that
    cannot move has probability 1 of staying."""
    instance = graph.value_instance.expand_as(logits)
    movable = ~graph.chosen(before).bool()
    shape = (len(logits), graph.instances)
    highest = logits.detach().masked_fill(~movable, -torch.inf)
    highest = highest.new_full(shape, -torch.inf).scatter_reduce(1, instance, highest, "amax")
    shifted = logits - highest.masked_fill(~highest.isfinite(), 0).gather(1, instance)
    weight = torch.where(movable, shifted, 0).exp() * movable
    total = weight.new_zeros(shape).scatter_add(1, instance, weight)
    stuck = total == 0
    log_phi = torch.where(movable, shifted - total.masked_fill(stuck, 1).log().gather(1, instance), 0)
    phi = weight / total.masked_fill(stuck, 1).gather(1, instance)

    def over_instance(x: Tensor) -> Tensor:
        return x.new_zeros(shape).scatter_add(1, instance, x)

    moved = (before != after).index_select(1, graph.value_variable) & graph.chosen(after).bool()
    log_probability = over_instance(log_phi * moved)
    return Choice(
        (log_probability.exp() + epsilon).log() if epsilon else log_probability,
        over_instance(-phi * log_phi) if entropy else None,
        None if reward is None else over_instance(phi * reward.to(phi.dtype)),
    )
