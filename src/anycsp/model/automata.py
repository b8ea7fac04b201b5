"""Automata unrolled over a sequence of variables: deterministic, layer by layer, without dead states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from anycsp.errors import ProblemError, TooLargeError
from anycsp.model.domains import Domain

STATE_LIMIT = 100_000
"""States of one layer; a nondeterministic automaton can need exponentially many."""


class Layer(NamedTuple):
    """One step: `arcs` are (state before, value, state after), states numbered from 0 in each layer."""

    states: int
    arcs: list[tuple[int, int, int]]


def layers_of(
    domains: Sequence[Domain],
    transitions: Iterable[tuple[Hashable, int, Hashable]],
    start: Hashable,
    final: Iterable[Hashable],
) -> list[Layer]:
    """Unroll over the domains: forwards by sets of states (which makes it deterministic), backwards to drop what
    cannot reach a final state."""
    step: dict[Hashable, dict[int, set[Hashable]]] = {}
    for source, value, target in transitions:
        step.setdefault(source, {}).setdefault(int(value), set()).add(target)
    if not domains:
        raise ProblemError("an automaton over no variables")
    accepting = frozenset(final)
    frontier: dict[frozenset[Hashable], int] = {frozenset([start]): 0}
    forward: list[list[tuple[int, int, int]]] = []
    for domain in domains:
        reached: dict[frozenset[Hashable], int] = {}
        arcs = []
        for states, number in frontier.items():
            moves: dict[int, set[Hashable]] = {}
            for state in states:
                for value, targets in step.get(state, {}).items():
                    moves.setdefault(value, set()).update(targets)
            for value in domain.values.tolist():
                if value in moves:
                    arcs.append((number, value, reached.setdefault(frozenset(moves[value]), len(reached))))
        if len(reached) > STATE_LIMIT:
            raise TooLargeError(f"an automaton needs more than {STATE_LIMIT:,} states in one layer")
        forward.append(arcs)
        frontier = reached
    alive = {number for states, number in frontier.items() if states & accepting}
    layers: list[Layer] = []
    numbering = {number: 0 for number in alive}  # what comes after the last variable need not be told apart
    for arcs in reversed(forward):
        kept = [(q, v, numbering[r]) for q, v, r in arcs if r in numbering]
        numbering = {q: k for k, q in enumerate(dict.fromkeys(q for q, _, _ in kept))}
        layers.append(Layer(len(numbering), [(numbering[q], v, r) for q, v, r in kept]))
    return layers[::-1]
