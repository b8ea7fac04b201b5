"""The space that is searched: which strategies share the time, their parameters, restarts, presolving.

A point is a table from names to values, such as {"lead": "tabu", "tabu.tenure": 7.0, …}; what a choice rules out is not
in it. Every number is declared in `search/parameters.py`, with its range and default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from anycsp.search.heuristic import Heuristic
from anycsp.search.invariants import NAME as INVARIANTS
from anycsp.search.parameters import BOUT, GROWTH, LEADER, PARAMETERS, Parameter

AUTO = "auto"
"""As a leader: the shares that the kind of problem has by default."""
NONE = "none"
TREE_SHARES = (0.0, 0.05, 0.1, 0.3, 0.6, 0.9)
"""Shares of the time: none, a safeguard, …, nearly all."""
INVARIANT_SHARES = (0.0, 0.2, 0.5)
"""What moves over an invariant graph have of the rest."""
SECOND_SHARES = (0.1, 0.25, 0.5)
"""What a second strategy has of the rest."""
Point = Mapping[str, Any]


class Chooser(Protocol):
    """Whatever picks a value for a name: a trial of Optuna, or a point that is there already."""

    def suggest_categorical(self, name: str, choices: Any) -> Any: ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int: ...


def heuristic_from(chooser: Chooser, default_strategies: Sequence[str]) -> Heuristic:
    """The settings that the chooser's values make, asked for one after the other. The default strategies are those
    that have a share where the leader is AUTO."""
    lead = chooser.suggest_categorical("lead", (AUTO, *PARAMETERS))
    shares: dict[str, float] = {}
    strategies = [lead]
    if lead != AUTO:
        tree = chooser.suggest_categorical("tree", TREE_SHARES)
        invariants = round((1 - tree) * chooser.suggest_categorical("invariants", INVARIANT_SHARES), 4)
        second = chooser.suggest_categorical("second", (NONE, *PARAMETERS))
        if second not in (NONE, lead):
            strategies.append(second)
            part = chooser.suggest_categorical("second_share", SECOND_SHARES)
            shares[second] = round((1 - tree - invariants) * part, 4)
        shares[lead] = round(1 - tree - invariants - sum(shares.values()), 4)
        shares |= {name: share for name, share in (("tree", tree), (INVARIANTS, invariants)) if share}
    else:
        strategies = list(default_strategies)
    parameters = {
        strategy: {name: _number(chooser, f"{strategy}.{name}", p) for name, p in PARAMETERS[strategy].items()}
        for strategy in strategies
        if chooser.suggest_categorical(f"{strategy}.tuned", (True, False))
    }
    bouts = chooser.suggest_categorical("bouts", (False, True))
    return Heuristic(
        shares=shares,
        parameters=parameters,
        presolve=chooser.suggest_categorical("presolve", (True, False)),
        graded=chooser.suggest_categorical("graded", (True, False)),
        bout=int(_number(chooser, "bout", BOUT)) if bouts else None,
        growth=_number(chooser, "growth", GROWTH) if bouts else 2.0,
        leader=_number(chooser, "leader", LEADER) if len(shares) != 1 else 3.0,
    )


def _number(chooser: Chooser, name: str, declared: Parameter) -> float:
    if declared.whole:
        return chooser.suggest_int(name, int(declared.low), int(declared.high), log=declared.logarithmic)
    return float(f"{chooser.suggest_float(name, declared.low, declared.high, log=declared.logarithmic):.4g}")


def first_points() -> list[dict[str, Any]]:
    """Where the search begins: every strategy alone, beside the tree and beside invariants, as it is by default."""
    plain = {"bouts": False, "presolve": True, "graded": True, "second": NONE, "invariants": 0.0}
    points = []
    for lead in PARAMETERS:
        points.append({"lead": lead, "tree": 0.0, f"{lead}.tuned": False, **plain})
    points.append(
        {"lead": "weighting", "tree": 0.0, "weighting.tuned": False, **plain, "invariants": 0.5, "leader": 3.0}
    )
    points.append({"lead": "tabu", "tree": 0.9, "tabu.tuned": False, "leader": 3.0, **plain})
    return points
