"""A member of the portfolio: one searcher, what it has spent and how far it has come."""

from __future__ import annotations

from anycsp.engine import WORST

FIRST_TURN = 0.01
"""Seconds of the first turns: many problems are solved in less by one member and never by another."""
SHORTEST_TURN = 0.001
"""Seconds of the first turn of a member with hardly any share: less would be spent on changing over."""
LONGEST_TURN = 0.25
"""Turns double up to this: longer ones save nothing, and an answer would wait for its turn."""


class Member:
    def __init__(self, name: str, share: float) -> None:
        self.name, self.share = name, share
        self.spent = 0.0
        self.turns = 0
        self.best = WORST
        self.first_turn = FIRST_TURN

    @property
    def steps(self) -> int:
        raise NotImplementedError

    @property
    def over(self) -> bool:
        """Nothing comes of more turns."""
        return False

    def run(self, steps: int, seconds: float) -> None:
        raise NotImplementedError

    def turn_seconds(self) -> float:
        return min(LONGEST_TURN, self.first_turn * 2.0 ** min(self.turns // 2, 10))
