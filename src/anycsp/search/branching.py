"""In which order a tree tries variables and values, where whoever wrote the problem knows a good one.

Models of MiniZinc say so in annotations (`int_search`). It is advice: CP-SAT follows it for the first part of its time,
and no answer depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anycsp.errors import AnyCSPError

if TYPE_CHECKING:
    from anycsp.search.exact.translation import Translation

_VARIABLE = {
    "first": "CHOOSE_FIRST",
    "fewest values": "CHOOSE_MIN_DOMAIN_SIZE",
    "most values": "CHOOSE_MAX_DOMAIN_SIZE",
    "lowest": "CHOOSE_LOWEST_MIN",
    "highest": "CHOOSE_HIGHEST_MAX",
}
_VALUE = {
    "lowest": "SELECT_MIN_VALUE",
    "highest": "SELECT_MAX_VALUE",
    "median": "SELECT_MEDIAN_VALUE",
    "lower half": "SELECT_LOWER_HALF",
    "upper half": "SELECT_UPPER_HALF",
}


@dataclass(frozen=True)
class Branching:
    """These variables before those of the next branching."""

    variables: tuple[str, ...]
    """Their names; those that presolve has taken away are left out."""
    choose: str = "first"
    """Which of them is next: the "first", that with the "fewest values" or "most values" left, or that which may be
    "lowest" or "highest"."""
    value: str = "lowest"
    """What it tries: its "lowest", "highest" or "median" value, or its "lower half" or "upper half"."""

    def __post_init__(self) -> None:
        for what, known in ((self.choose, _VARIABLE), (self.value, _VALUE)):
            if what not in known:
                raise AnyCSPError(f"unknown branching {what!r}: use one of {', '.join(known)}")


def guide(translation: Translation, branchings: tuple[Branching, ...]) -> Any:
    """The model of a translation with this order in it; None where none of the variables is left."""
    exact = translation.exact
    by_name = {name: exact.variables[x] for x, name in enumerate(exact.problem.names)}
    model, guided = translation.model.clone(), False
    model.clear_hints()
    for branching in branchings:
        left = [model.get_int_var_from_proto_index(by_name[n].index) for n in branching.variables if n in by_name]
        if left:
            guided = True
            model.add_decision_strategy(
                left, getattr(exact.cp, _VARIABLE[branching.choose]), getattr(exact.cp, _VALUE[branching.value])
            )
    return model if guided else None
