"""Distillation: a small policy learns what a larger one would have done, in place of a reward.

The teacher's distribution is a signal at every variable of every step, so minutes suffice to make a policy of half the
hidden size, with steps twice as fast, that searches about as well.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from anycsp.neural.guidance import UNGUIDED, Guidance
from anycsp.neural.operations import Operations
from anycsp.neural.policy import ABSENT_LOGIT, TORCH, PolicyNetwork
from anycsp.neural.tensors import TensorGraph
from anycsp.training.rollout import Sampler
from anycsp.training.walk import Batch, SearchState, Walk


class Lesson(NamedTuple):
    """A window in which a student was compared with its teacher."""

    divergence: Tensor
    """Mean of KL(φ_teacher ‖ φ_student) over steps, runs and variables; differentiable in the student."""
    cost: Tensor
    """[runs, instances] violated weight at the end."""


def divergence(graph: TensorGraph, teacher: Tensor, student: Tensor) -> Tensor:
    """[runs, variables]: KL(φ_teacher ‖ φ_student) of the softmax within each domain; logits are [runs, values]."""
    log_teacher = torch.log_softmax(graph.by_variable_padded(teacher, ABSENT_LOGIT), dim=2)
    log_student = torch.log_softmax(graph.by_variable_padded(student, ABSENT_LOGIT), dim=2)
    return (log_teacher.exp() * (log_teacher - log_student)).sum(dim=2)


def lesson(
    student: PolicyNetwork,
    teacher: PolicyNetwork,
    batch: Batch,
    start: SearchState,
    steps: int,
    sample: Sampler,
    taught: Tensor,
    temperature: Tensor | None = None,
    ops: Operations = TORCH,
    guidance: Guidance = UNGUIDED,
    teacher_temperature: float = 1.0,
) -> tuple[Lesson, SearchState]:
    """Both look at the same assignments for `steps` steps. Where `taught` [instances] the teacher draws the next one,
    elsewhere the student: it has to know where its own mistakes lead. Temperature and guidance change what is drawn,
    not what is learnt: the search adds them to either. `teacher_temperature` is what a temperature of 1 means to the
    student. Recurrent states lie side by side, the student's first."""
    graph = batch.graph
    student_ops, teacher_ops = ops.prepared(student), ops.prepared(teacher)
    walk = Walk(batch, start, ops, temperature, guidance)
    d = student.config.hidden
    state = walk.recurrent(start.state[..., :d], student.initial_state)
    teacher_state = walk.recurrent(start.state[..., d:], teacher.initial_state)
    of_teacher = taught[graph.value_instance]
    total = state.new_zeros(())
    for step in range(steps):
        logits, state = student(graph, state, walk.positions, walk.labels, student_ops)
        with torch.no_grad():
            wanted, teacher_state = teacher(graph, teacher_state, walk.positions, walk.labels, teacher_ops)
            wanted = wanted / teacher_temperature
        total = total + divergence(graph, wanted, logits).mean()
        drawn_from = walk.drawn_from(torch.where(of_teacher, wanted, logits.detach()))
        walk.step(sample(drawn_from, walk.positions, step))
    return Lesson(total / steps, walk.cost), walk.end(torch.cat([state, teacher_state], dim=2))
