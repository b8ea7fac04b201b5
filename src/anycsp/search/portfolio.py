"""A portfolio that races: the tree and several local strategies take turns on one problem, time follows progress.

No strategy leads everywhere: of 23 competition models the best solved 11 in four seconds, any of them 14 (research/).
So every turn goes to the member furthest behind its share. Shares begin at a prior (`search/prior.py`) and grow for the
local strategy that holds the best assignment. A local member works in bouts: each begins at random or at the best
assignment so far, and the next is twice as long, so that no run is trapped for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from anycsp import clock
from anycsp.engine import WORST, Improvement, OneBest
from anycsp.graph import ConstraintValueGraph
from anycsp.model.problem import Violation
from anycsp.search.invariant_member import InvariantMember
from anycsp.search.local import LocalSearch
from anycsp.search.member import SHORTEST_TURN, Member
from anycsp.search.tree import TreeSearch

PROPOSE = ("annealing", "focused", "invariants")
"""Strategies whose moves are mere proposals, most of them refused."""
TURN_STEPS = {"tree": 256, **dict.fromkeys(PROPOSE, 1 << 15)}
"""Steps of a turn where only steps are limited, so that the clock decides nothing."""
OTHER_TURN_STEPS = 1 << 12
FIRST_BOUT = 1 << 13
"""Moves of a local member's first bout, unless settings say otherwise; proposals eight times as many."""
LEADER = 3.0
"""What the share of the leading local strategy is multiplied by, until there is a solution for an objective to improve:
who improves it first is often not who improves it most."""
CLEARLY = 0.5
"""A leader that violates at most this part of what any other does has its share multiplied once more."""


class TreeMember(Member):
    def __init__(self, tree: TreeSearch, share: float) -> None:
        super().__init__("tree", share)
        self.tree = tree

    @property
    def steps(self) -> int:
        return self.tree.steps

    @property
    def over(self) -> bool:
        return self.tree.over

    def run(self, steps: int, seconds: float) -> None:
        self.tree.advance(steps, seconds)


class LocalMember(Member):
    """A local strategy. Its first bout takes `bout` moves, the next one `growth` times as many; without bouts it runs
    once, to the end that its search was told of."""

    def __init__(
        self,
        search: LocalSearch,
        share: float,
        rng: np.random.Generator,
        *,
        bout: int | None = FIRST_BOUT,
        growth: float = 2.0,
    ) -> None:
        super().__init__(search.strategy, share)
        self.search, self._rng, self._growth = search, rng, growth
        self._earlier = self._bouts = 0
        self.restart_at: npt.NDArray[np.integer[Any]] | None = None
        """Where the next turn begins: counting anew costs time, which is the member's own."""
        self.bout = None if bout is None else bout * (8 if self.name in PROPOSE else 1)

    @property
    def steps(self) -> int:
        return self._earlier + self.search.steps

    def begin(self, positions: npt.NDArray[np.integer[Any]]) -> None:
        """[runs, variables]"""
        self.search.start(positions, steps=self.bout)

    def again(self, positions: npt.NDArray[np.integer[Any]]) -> None:
        """Count anew, from these assignments."""
        self._earlier += self.search.steps
        self.begin(positions)

    def next_bout(self, best: npt.NDArray[np.integer[Any]]) -> None:
        """Begin again, longer: at random, or at the best assignment there is."""
        assert self.bout is not None
        self.bout = int(self.bout * self._growth)
        self._bouts += 1
        sizes = self.search.graph.domains.sizes
        drawn = (self._rng.random((self.search.runs, len(sizes))) * sizes).astype(np.int32)
        self.again(drawn if self._bouts % 2 else np.repeat(best[None, :], self.search.runs, axis=0))

    @property
    def bout_over(self) -> bool:
        return self.bout is not None and self.search.steps >= self.bout

    def run(self, steps: int, seconds: float) -> None:
        if self.restart_at is not None:
            positions, self.restart_at = self.restart_at, None
            self.again(positions)
        left = steps if self.bout is None else self.bout - self.search.steps
        if steps > 0:
            self.search.advance(min(steps, max(1, left)), seconds)


class Portfolio(OneBest):
    """Members by name and share on the graph of one instance; see `Engine` for the face. A step is one of any member.

    With a limit of steps turns are counted in steps, so that answers repeat for any number of threads; otherwise in
    seconds, several members at a time where there are threads.
    """

    def __init__(
        self,
        graph: ConstraintValueGraph,
        tree: TreeSearch | None,
        tree_share: float,
        local: Sequence[LocalMember],
        threads: int = 1,
        *,
        invariants: InvariantMember | None = None,
        by_steps: bool = False,
        retreat: Callable[[], bool] | None = None,
        ends_at_proof: bool = True,
        leader: float = LEADER,
        refuted: bool = False,
        first_turn: float | None = None,
        improves: Callable[[npt.NDArray[np.int32]], bool] = lambda positions: True,
        count: Callable[[npt.NDArray[np.int32]], tuple[int, Violation]] | None = None,
    ) -> None:
        """`retreat` asks less of an objective, and says whether it did. Without `ends_at_proof` the search goes on to
        violate as little as it can, though it is known that something will be; `refuted`: from the beginning.
        `first_turn`: seconds of the member with the largest share, which then begins; the others follow by their
        shares, with turns in proportion. Without it the tree begins, and all first turns are alike.
        `improves` says whether an assignment is better than the best, where a member keeps an objective of its own.
        `count`: the score of an assignment and what it violates, for the first one where no local member counts it."""
        self._count = count
        self._by_steps, self._threads, self._retreat, self._improves = by_steps, threads, retreat, improves
        self._ends_at_proof, self._demanding, self._leader = ends_at_proof, False, leader
        self._constant, self._units = graph.constant[0], float(graph.units[0])
        self._local = list(local)
        self._tree = None if tree is None else TreeMember(tree, tree_share)
        self._invariants = invariants
        self._members: list[Member] = [m for m in (self._tree, invariants, *self._local) if m is not None]
        if first_turn is not None:
            self._members.sort(key=lambda member: -member.share)
            for member in self._members:
                member.first_turn = max(SHORTEST_TURN, first_turn * member.share / self._members[0].share)
        self._turn: tuple[Member, int] | None = None
        self._pool = ThreadPoolExecutor(threads) if threads > 1 and not by_steps else None
        self._improvements: list[Improvement] = []
        self._positions = np.zeros(graph.num_variables, dtype=np.int32)
        self._stuck = bool((graph.domains.sizes == 1).all())
        """Whether there is no move, so that local members take no steps."""
        self._score = WORST
        self._began = clock.now()
        self.refuted = refuted
        """No assignment satisfies all that is required: the tree has looked everywhere."""

    # ── the face of an engine ────────────────────────────────────────────────────────────────────────

    @property
    def steps(self) -> int:
        return sum(member.steps for member in self._members)

    def start(self, positions: npt.NDArray[np.integer[Any]] | None = None) -> None:
        self._began = clock.now()
        for k, member in enumerate(self._local):
            if positions is None:
                member.search.start(None, steps=member.bout)
            else:  # as many rows as the member has runs, the first of them where it has one
                member.restart_at = positions[(np.arange(member.search.runs) + k) % len(positions)]
        if self._invariants is not None:
            self._invariants.begin(positions)
        if not self._local:
            assert positions is not None
            assert self._count is not None
            first = positions[0].astype(np.int32)
            score, violation = self._count(first)
            self._keep(first, score, violation.violated, violation.weight, violation.hard, "initial")
            return
        # Counting a first assignment costs time: the others do so in their first turns.
        if positions is not None:
            self._local[0].run(0, 0.0)
        self._collect(self._local[0], "initial")

    def advance(self, max_steps: int, seconds: float) -> int:
        """Turns until the time is up, a member violates nothing, or nothing better can exist."""
        before, deadline = self.steps, clock.now() + seconds
        while not self.solved and not self.concluded:
            left, steps_left = deadline - clock.now(), max_steps - (self.steps - before)
            if left <= 0 or steps_left <= 0:
                break
            if self._by_steps:
                self._turn_by_steps(steps_left, left)
            else:
                self._turns_by_time(steps_left, left)
        return self.steps - before

    @property
    def solved(self) -> bool:
        return bool(self._score <= self._constant[3])

    @property
    def concluded(self) -> bool:
        """Whether going on is pointless: nothing can be better, or the question is answered with no and every local
        member has had a bout to violate little, unless there is no move."""
        if self._stuck and (self.refuted or self._tree is None or self._tree.tree.over):
            return True
        if self.refuted and self._ends_at_proof:
            return all(member.steps >= FIRST_BOUT for member in self._local) or self._demanding
        return self.solved

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────

    def _turn_by_steps(self, steps_left: int, seconds: float) -> None:
        """One member, a fixed number of steps; a turn that the clock cuts short goes on at the next call. One that has
        nothing left to do ends its turn: it takes no steps, so that none would ever use them up."""
        if self._turn is None:
            member = min(self._active(), key=lambda m: m.spent / self._share(m))
            self._turn = (member, TURN_STEPS.get(member.name, OTHER_TURN_STEPS))
        member, steps = self._turn
        before = member.steps
        member.run(min(steps, steps_left), seconds)
        steps -= max(1, member.steps - before)
        over = steps <= 0 or member.over or (isinstance(member, LocalMember) and member.bout_over)
        self._turn = None if over else (member, steps)
        member.spent += over
        self._book(member)

    def _turns_by_time(self, steps_left: int, seconds: float) -> None:
        chosen = sorted(self._active(), key=lambda m: m.spent / self._share(m))[: self._threads]
        length = min(seconds, min(member.turn_seconds() for member in chosen))
        if self._pool is None or len(chosen) == 1:
            self._timed(chosen[0], steps_left, length)
        else:
            list(self._pool.map(lambda member: self._timed(member, steps_left // len(chosen), length), chosen))
        for member in chosen[: 1 if self._pool is None else None]:
            self._book(member)

    @staticmethod
    def _timed(member: Member, steps: int, seconds: float) -> None:
        began = clock.now()
        member.run(steps, seconds)
        member.spent += clock.now() - began
        member.turns += 1

    def _active(self) -> list[Member]:
        if self.refuted and self._ends_at_proof:  # only those are waited for
            return [m for m in self._local if m.steps < FIRST_BOUT] or self._members
        return [m for m in self._members if not m.over] or self._members

    def _share(self, member: Member) -> float:
        others = [m.best for m in self._members if m is not self._tree and m is not member]
        if self._demanding or member is self._tree or member.best > min(others, default=member.best):
            return member.share
        clearly = member.best - self._constant[3] <= CLEARLY * (min(others, default=WORST) - self._constant[3])
        return member.share * (self._leader**2 if clearly else self._leader)

    def _book(self, member: Member) -> None:
        """Take what a turn has found, and prepare the next."""
        if isinstance(member, TreeMember):
            self._take_solution(member)
        elif isinstance(member, InvariantMember):
            self._take_improvement(member)
        elif isinstance(member, LocalMember):
            self._end_turn(member)

    def _take_improvement(self, member: InvariantMember) -> None:
        taken = member.take()
        if taken is not None and taken[0].score < self._score and self._improves(taken[1]):
            found, positions = taken
            self._keep(positions, found.score, found.violated, found.weight, found.hard, member.name)

    def _end_turn(self, member: LocalMember) -> None:
        self._collect(member, member.name)
        if member.bout_over and not self.solved:
            if self._retreat is not None and self._retreat():
                self._count_anew()
            member.next_bout(self._positions)
            member.restart_at = None
            self._collect(member, member.name)
            if self._tree is not None and not self._tree.tree.exhausted:
                self._tree.tree.suggest(self._positions)

    def _take_solution(self, member: TreeMember) -> None:
        positions = member.tree.take_solution()
        if positions is None:
            exhausted = self.refuted or member.tree.exhausted
            self.refuted = exhausted and not self.solved and not member.tree.keeps_required
            return
        if member.tree.satisfies_all:
            violated, weight, hard, score = self._constant.tolist()
            self._keep(positions, score, violated, weight / self._units, hard, "tree")
        else:  # it keeps what is hard; how much that violates of the rest a local member counts, and goes on from there
            self._local[0].again(np.repeat(positions[None, :], self._local[0].search.runs, axis=0))
            self._collect(self._local[0], "tree")

    def _collect(self, member: LocalMember, found_by: str) -> None:
        """The best that a local member reports of its present bout."""
        found = min(member.search.improvements(), key=lambda improvement: improvement.score, default=None)
        if found is None:
            return
        member.best = min(member.best, found.score)
        if found.score < self._score:
            positions = member.search.best_positions()[found.run]
            self._keep(positions, found.score, found.violated, found.weight, found.hard, found_by)

    def _keep(
        self, positions: npt.NDArray[np.int32], score: int, violated: int, weight: float, hard: int, found_by: str
    ) -> None:
        self._positions, self._score = positions.copy(), score
        seconds = clock.now() - self._began
        self._improvements.append(Improvement(self.steps, seconds, 0, 0, violated, weight, hard, score, found_by))

    def adopt(self, found: Improvement, positions: npt.NDArray[np.int32]) -> None:
        """The best assignment of a search beside this one, which has told of it: the next bouts begin there."""
        self._positions, self._score = positions.copy(), found.score
        if self._tree is not None and not self._tree.tree.exhausted:
            self._tree.tree.suggest(self._positions)

    # ── an objective ─────────────────────────────────────────────────────────────────────────────────

    def demand_better(self) -> None:
        """The bound of the objective has moved past the best assignment: all members go on against the new one."""
        best = self._positions.copy()
        self._demanding = True
        self._count_anew(best)
        seconds = clock.now() - self._began  # the best assignment now violates the bound
        self._improvements.append(Improvement(self.steps, seconds, 0, 0, 1, 1.0, 1, WORST, "initial"))
        if self._invariants is not None:
            self._invariants.learn(best)
        if self._tree is not None and not self._tree.tree.exhausted:
            self._tree.tree.suggest(best, solution=True)
        self.refuted = self._tree is not None and self._tree.tree.exhausted

    def _count_anew(self, best: npt.NDArray[np.int32] | None = None) -> None:
        """A constraint has changed: every local member counts its assignment again at its next turn, or every second
        one begins at the best."""
        self._score, self._turn = WORST, None
        for k, member in enumerate(self._local):
            member.best = WORST
            positions = member.search.positions
            if best is not None and k % 2 == 0:
                positions = np.repeat(best[None, :], len(positions), axis=0)
            member.restart_at = positions
