"""Peeling: variables that can wait are set aside, and what is left to search is smaller.

A variable can wait if its constraints, whatever the other variables take, leave it a value that satisfies them all: a
vertex with fewer neighbours than colours, a Boolean in a single clause. It is set aside with its constraints, which may
let others wait, and so on; once the rest has values, those that waited take theirs in reverse order. Nothing is lost:
the best assignment of what is left, so extended, violates what it violates there and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.base import Block
from anycsp.deadline import NEVER, Deadline
from anycsp.model.problem import Problem

IntArray = npt.NDArray[np.int64]

MOST_VISITS = 100_000_000
"""Slots looked at before the rest is left as it is: about a second. A round looks at all, and a long chain that can
only be unravelled from its ends takes many rounds."""
WAITING_SECONDS = 1e-5
"""For a variable to be set aside and given its value last."""
WAITING_SHARE = 0.2
"""The part of the time that those who wait may take."""


@dataclass(frozen=True)
class Peeled:
    whole: Problem
    problem: Problem
    """What is left: the variables and constraints that were kept."""
    kept: IntArray
    """These variables' places in the whole problem."""
    waiting: list[tuple[int, list[tuple[Block, int]]]]
    """In the order they were set aside: a variable, and its constraints as rows of the whole problem's blocks."""

    @property
    def seconds(self) -> float:
        """What the way back will take, roughly."""
        return WAITING_SECONDS / 2 * len(self.waiting)

    def extended(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Positions of the variables kept → of all."""
        result = np.zeros(self.whole.num_variables, dtype=np.int32)
        result[self.kept] = positions
        domains, sizes = self.whole.domains, self.whole.domains.sizes.tolist()
        for variable, constraints in reversed(self.waiting):
            if not constraints:
                continue
            free = np.ones(sizes[variable], dtype=np.bool_)
            for block, row in constraints:
                free &= block.allowed(row, variable, domains, result)
            result[variable] = np.argmax(free)
        return result


def _nothing_peeled(problem: Problem) -> Peeled:
    return Peeled(problem, problem, np.arange(problem.num_variables), [])


def peel(problem: Problem, deadline: Deadline = NEVER) -> Peeled:
    """Where nothing can wait, the problem itself. One variable is always kept, so that there is something to search.
    Auxiliary variables follow from others, so problems that have any are left alone."""
    blocks = [block for block in problem.blocks if len(block)]
    if problem.definitions:
        return _nothing_peeled(problem)
    aside = _set_aside(problem, blocks, deadline)
    if not aside.order:
        return _nothing_peeled(problem)
    kept = np.flatnonzero(aside.variable_kept)
    return Peeled(problem, _part(problem, blocks, kept, aside.kept_rows), kept, aside.waiting(blocks))


@dataclass(frozen=True)
class _SetAside:
    variable_kept: npt.NDArray[np.bool_]
    order: list[int]
    handler: IntArray
    """[constraints]: the variable each was set aside with, −1 where it was kept; block after block."""
    first: IntArray
    """[blocks + 1]: where a block's constraints begin."""

    def kept_rows(self, block: int) -> IntArray:
        return np.flatnonzero(self.handler[self.first[block] : self.first[block + 1]] < 0)

    def waiting(self, blocks: list[Block]) -> list[tuple[int, list[tuple[Block, int]]]]:
        constraints: dict[int, list[tuple[Block, int]]] = {variable: [] for variable in self.order}
        handled = np.flatnonzero(self.handler >= 0)
        block = np.searchsorted(self.first, handled, side="right") - 1
        rows = (handled - self.first[block]).tolist()
        for variable, b, row in zip(self.handler[handled].tolist(), block.tolist(), rows, strict=True):
            constraints[variable].append((blocks[b], row))
        return list(constraints.items())


def _set_aside(problem: Problem, blocks: list[Block], deadline: Deadline) -> _SetAside:
    """Round after round, all variables that can wait by then; of those that share a constraint the first takes it."""
    sizes = problem.domains.sizes
    first = np.cumsum([0] + [len(block) for block in blocks])
    none = [np.zeros(0, dtype=np.int64)]  # where there are no constraints, all can wait
    variable = np.concatenate([block.scope for block in blocks] or none)
    constraint = np.concatenate(
        [block.slot_constraint() + at for block, at in zip(blocks, first, strict=False)] or none
    )
    ruled_out = np.concatenate([block.rules_out(problem.domains) for block in blocks] or none)
    kept = np.ones(problem.num_variables, dtype=np.bool_)
    handler = np.full(first[-1], -1, dtype=np.int64)
    order: list[int] = []
    visits, most = 0, deadline.left * WAITING_SHARE / WAITING_SECONDS
    while visits < MOST_VISITS and not deadline.passed:
        at_most = np.bincount(variable, ruled_out, minlength=len(kept))
        leaving = kept & (at_most < sizes)
        if leaving.sum() == kept.sum():
            leaving[np.argmax(leaving)] = False
        if len(order) + leaving.sum() > most:
            leaving[np.flatnonzero(leaving)[int(most) - len(order) :]] = False
        if not leaving.any():
            break
        own = leaving[variable]
        earliest = np.full(len(handler), len(kept))
        np.minimum.at(earliest, constraint[own], variable[own])
        handler = np.where(earliest < len(kept), earliest, handler)
        kept &= ~leaving
        order += np.flatnonzero(leaving).tolist()
        visits += len(variable)
        stays = handler[constraint] < 0
        variable, constraint, ruled_out = variable[stays], constraint[stays], ruled_out[stays]
    return _SetAside(kept, order, handler, first)


def _part(problem: Problem, blocks: list[Block], kept: IntArray, rows_of: Callable[[int], IntArray]) -> Problem:
    """The problem of these variables and constraints, numbered anew in the same order."""
    part = problem.without_constraints(kept.tolist())
    new_index = np.full(problem.num_variables, -1, dtype=np.int64)
    new_index[kept] = np.arange(len(kept))
    places = []
    for i, block in enumerate(blocks):
        rows = rows_of(i)
        if len(rows):
            taken = block if len(rows) == len(block) else block.take(rows)
            places.append(taken.terms.index)
            index = np.arange(len(rows)) + part.num_constraints
            part.add_block(replace(taken, scope=new_index[taken.scope], terms=replace(taken.terms, index=index)))
    if places:
        part.renumber(np.argsort(np.argsort(np.concatenate(places))))
    return part
