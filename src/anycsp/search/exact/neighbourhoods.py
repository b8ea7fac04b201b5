"""Large neighbourhoods: most variables of the best assignment are held, and CP-SAT finds the best for the rest.

Which variables are let go is chosen among several kinds of neighbourhoods. None leads everywhere, so a bandit chooses
by what has paid so far, and the size follows what CP-SAT can finish within a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp.constraints.rule import RuleBlock
from anycsp.model.expressions import Operation, Variable, scope_of
from anycsp.model.problem import Problem
from anycsp.search.exact.families import rule_expression
from anycsp.search.exact.translation import Positions, Translation

IntArray = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FIRST_SIZE = 0.1
"""The part of the variables that the first neighbourhoods let go."""
SMALLEST, LARGEST = 4, 0.8
"""The fewest variables, and the largest part of them: beyond it is the whole problem in other words."""
GROWTH, SHRINKAGE = 1.4, 0.7
"""Sizes grow where CP-SAT settles a neighbourhood within its slice, and shrink where it finds nothing in time."""
FEW_VALUED = 3
"""An objective over no more variables than this is one that others bound, such as the end of a schedule: holding them
would hold the objective."""
FEW_FOLLOW = 3
"""What may follow a node of a circuit says what is near it where it is at most this part of all nodes."""
FORGETTING = 0.95
"""What earlier successes are worth a round later: what paid at the beginning need not pay near the end."""


class Neighbourhoods:
    """The neighbourhoods of one problem and what each has brought."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        defined = np.zeros(problem.num_variables, dtype=np.bool_)
        defined[list(problem.definitions)] = True
        self._always_free = defined
        scopes = [block.scope_of(row) for block in problem.blocks for row in range(len(block)) if block.arity[row] > 1]
        self._scopes: list[IntArray] = scopes
        self._of_variable: list[list[int]] = [[] for _ in range(problem.num_variables)]
        for number, scope in enumerate(scopes):
            for x in scope.tolist():
                self._of_variable[x].append(number)
        objective = problem.objective
        own = [] if objective is None or objective.expression is None else scope_of(objective.expression)
        self._valued = np.array(own, dtype=np.int64)
        self._pushed = np.zeros(0, dtype=np.int64)
        self._pushed_down = objective is not None and objective.kind == "minimize"
        if len(own) <= FEW_VALUED:
            self._always_free[own] = True
            near = [scopes[number] for x in own for number in self._of_variable[x]]
            self._pushed = np.setdiff1d(np.concatenate(near), np.flatnonzero(defined)) if near else self._pushed
        self._decisions = np.flatnonzero(~self._always_free)
        self._kinds: dict[str, Callable[[Positions, int], Bools]] = {
            "random": self._random,
            "constraint": self._around_constraint,
            "value": self._of_like_value,
            "values": self._of_some_values,
            "conflict": self._around_conflicts,
        }
        if len(own) > FEW_VALUED:
            self._kinds["objective"] = self._around_objective
        self._circuits = circuits_of(problem)
        if self._circuits:
            self._kinds["way"] = self._of_a_way
        self._paid = dict.fromkeys(self._kinds, 1.0)
        self._tried = dict.fromkeys(self._kinds, 2.0)
        self._size = dict.fromkeys(self._kinds, max(SMALLEST, FIRST_SIZE * len(self._decisions)))
        self._chosen = "random"

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────────

    def draw(self, positions: Positions) -> Bools:
        """[variables]: those to let go, by Thompson sampling from what each kind has paid."""
        draws = {k: self._rng.beta(self._paid[k], max(self._tried[k] - self._paid[k], 0.1)) for k in self._kinds}
        self._chosen = max(draws, key=lambda kind: draws[kind])
        return self._kinds[self._chosen](positions, round(self._size[self._chosen])) | self._always_free

    def book(self, *, improved: bool, settled: bool) -> None:
        """What the last neighbourhood brought: something better, an answer in time, or neither."""
        kind = self._chosen
        for counts in (self._paid, self._tried):
            counts[kind] = max(FORGETTING * counts[kind], 0.2 if counts is self._paid else 0.4)
        self._paid[kind] += improved
        self._tried[kind] += 1.0
        factor = GROWTH if settled else 1.0 if improved else SHRINKAGE
        most = max(SMALLEST, LARGEST * len(self._decisions))
        self._size[kind] = min(most, max(SMALLEST, factor * self._size[kind]))

    # ── kinds ────────────────────────────────────────────────────────────────────────────────────────

    def _random(self, positions: Positions, size: int) -> Bools:
        return self._flags(self._rng.permutation(self._decisions)[:size])

    def _around_constraint(self, positions: Positions, size: int) -> Bools:
        """What is near a variable: those it shares constraints with, and theirs."""
        return self._grown([int(self._rng.choice(self._decisions))], size)

    def _of_like_value(self, positions: Positions, size: int) -> Bools:
        """Those whose values are nearest to some value: what happens at one time, or is in one place."""
        values = self._problem.values(positions)[self._decisions]
        middle = values[self._rng.integers(len(values))]
        distance = np.abs(values - middle) + self._rng.random(len(values))
        return self._flags(self._decisions[np.argsort(distance)[:size]])

    def _of_some_values(self, positions: Positions, size: int) -> Bools:
        """Those that have one of a few values, drawn at random: what is in some bins, or at some hours. What a
        bounded objective pushes at is one of them every second time."""
        values = self._problem.values(positions)[self._decisions]
        taken = self._rng.permutation(np.unique(values))
        if len(self._pushed) and self._rng.integers(2):
            pushed = self._problem.values(positions)[self._pushed]
            taken = np.concatenate([[pushed.max() if self._pushed_down else pushed.min()], taken])
        rank = {value: k for k, value in reversed(list(enumerate(taken.tolist())))}
        order = np.array([rank[value] for value in values.tolist()]) + self._rng.random(len(values))
        return self._flags(self._decisions[np.argsort(order)[:size]])

    def _around_conflicts(self, positions: Positions, size: int) -> Bools:
        """The variables of some violated constraints, and what is near them; any where nothing is violated. One is as
        likely to be mended together with a few others as with many, so how many it begins at is drawn by magnitude."""
        violated: list[IntArray] = []
        for block in self._problem.blocks:
            rows = np.flatnonzero(~block.satisfied(self._problem.domains, positions)).tolist()
            violated += [block.scope_of(row) for row in rows]
        if not violated:
            return self._around_constraint(positions, size)
        count = round(len(violated) ** self._rng.random())
        some = [violated[k] for k in self._rng.permutation(len(violated))[:count].tolist()]
        return self._grown(self._rng.permutation(np.unique(np.concatenate(some))).tolist()[:size], size)

    def _around_objective(self, positions: Positions, size: int) -> Bools:
        """Some variables of the objective, and what is near them."""
        seeds = self._rng.permutation(self._valued)[: max(1, size // 4)]
        return self._grown(seeds.tolist(), size)

    def _of_a_way(self, positions: Positions, size: int) -> Bools:
        """On a circuit: nodes near each other and those before them, so that the ways between them can change. Near is
        what may follow, where that is a choice of few; otherwise the next nodes on the way, from several places on."""
        nodes = self._circuits[int(self._rng.integers(len(self._circuits)))]
        values = self._problem.values(positions)
        after = [int(values[x]) for x in nodes]
        before = {j: i for i, j in enumerate(after)}
        domains = self._problem.domain_list
        chosen, frontier = dict[int, None](), list[int]()
        while len(chosen) < min(size, len(nodes)):
            if not frontier:
                frontier = [int(self._rng.integers(len(nodes)))]
                stretch = max(3, size // 4)
            i = frontier.pop(int(self._rng.integers(min(len(frontier), 4))))
            chosen.update(dict.fromkeys((i, before.get(i, i))))
            near = domains[nodes[i]].values
            if FEW_FOLLOW * len(near) <= len(nodes):
                frontier += [j for j in self._rng.permutation(near).tolist() if j not in chosen]
            elif stretch > 0:
                stretch -= 1
                frontier = [after[i]]
        return self._flags(np.array([nodes[i] for i in list(chosen)[:size]], dtype=np.int64))

    def _grown(self, seeds: list[int], size: int) -> Bools:
        """The seeds and what shares constraints with them, breadth first, constraints in random order."""
        free, frontier, used = dict.fromkeys(seeds), list(seeds), set[int]()
        while frontier and len(free) < size:
            x = frontier.pop(int(self._rng.integers(min(len(frontier), 4))))
            for number in self._rng.permutation(self._of_variable[x]).tolist():
                if number in used or len(free) >= size:
                    continue
                used.add(number)
                near = [y for y in self._rng.permutation(self._scopes[number]).tolist() if y not in free]
                near = near[: size - len(free)]
                free.update(dict.fromkeys(near))
                frontier += near
        return self._flags(np.array(list(free)[:size], dtype=np.int64))

    def _flags(self, variables: IntArray) -> Bools:
        flags = np.zeros(self._problem.num_variables, dtype=np.bool_)
        flags[variables] = True
        return flags


def circuits_of(problem: Problem) -> list[list[int]]:
    """The variables of every circuit in the order of its nodes, where each names the next node."""
    circuits = []
    for block in problem.blocks:
        if not isinstance(block, RuleBlock):
            continue
        for row in range(len(block)):
            rule = rule_expression(block, row)
            if isinstance(rule, Operation) and rule.operator == "circuit":
                nodes = [operand.index for operand in rule.operands if isinstance(operand, Variable)]
                if len(nodes) == len(rule.operands):
                    circuits.append(nodes)
    return circuits


def machines_of(problem: Problem) -> list[dict[int, int]]:
    """By the global constraints that were posted: the tasks that do not overlap, length by variable of its start."""
    machines = []
    for kind, operands, _ in problem.whole:
        if kind != "no_overlap" or any(len(origin) != 1 for origin in operands[0]):
            continue
        tasks = [(origin[0], length[0]) for origin, length in zip(*operands, strict=True)]
        machines.append({x.index: l for x, l in tasks if isinstance(x, Variable) and isinstance(l, int)})
    return machines


def restricted(
    translation: Translation,
    positions: Positions,
    free: Bools,
    better_than: float | None,
    machines: Sequence[Mapping[int, int]] = (),
) -> Any:
    """The model with all but the free variables held where they are, and only what is better than a value of its
    objective left. Tasks of a machine are held in their order instead: a schedule whose times are held cannot move."""
    model = translation.model.clone()
    proto, exact = model.proto, translation.exact
    ordered = np.zeros_like(free)
    for machine in machines:
        held = sorted((x for x in machine if not free[x]), key=lambda x: exact.domains[x].values[positions[x]])
        ordered[held] = True
        for x, following in pairwise(held):
            model.add(exact.number(x).expression + machine[x] <= exact.number(following).expression)
    for x in np.flatnonzero(~free & ~ordered).tolist():
        value = translation.internal(x, int(positions[x]))
        domain = proto.variables[exact.variables[x].index].domain
        domain.clear()
        domain.extend([value, value])
    if better_than is not None:
        # CP-SAT keeps Σ and shows scale · (Σ + offset); the domain is that of Σ, which it always minimises.
        objective = proto.objective
        scale = objective.scaling_factor or 1.0
        objective.domain.extend([-(2**61), round(better_than / scale - objective.offset) - 1])
    return model
