"""Which constraints an assignment violates: by name, in words, with the values involved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anycsp.model.expressions import Variable, expression_of, text_of
from anycsp.model.problem import Problem
from anycsp.model.variables import Value


class ViolatedConstraint(NamedTuple):
    """A constraint that does not hold."""

    number: int
    """Its place in the order in which constraints were added, from 1."""
    name: str
    """What it was called when it was added, or nothing."""
    required: bool
    """Whether it must hold; a soft one has a weight instead."""
    weight: float
    """What it costs."""
    text: str
    """What it says."""
    values: dict[str, Value]
    """The value or label of every variable in it."""

    def __str__(self) -> str:
        cost = "required" if self.required else f"weight {self.weight:g}"
        taken = [f"{name} = {value}" for name, value in list(self.values.items())[:MOST_VALUES]]
        rest = len(self.values) - MOST_VALUES
        return (
            f"constraint {self.number}{f' {self.name!r}' if self.name else ''} ({cost}): {self.text}; "
            + ", ".join(taken)
            + (f" and {rest} more" if rest > 0 else "")
        )


MOST_VALUES = 8
"""Values that a line shows: more are not read."""
LONGEST_TEXT = 100


def violated_constraints(
    problem: Problem, positions: npt.NDArray[np.integer[Any]], constraints: int | None = None
) -> list[ViolatedConstraint]:
    """Required ones first, then by falling weight. `constraints`: how many there were when the assignment was
    found, perhaps with fewer variables; what was added since is left out."""
    added = np.zeros(problem.num_variables - len(positions), dtype=positions.dtype)
    positions = np.concatenate([positions, added])
    found = []
    for block in problem.blocks:
        for row in np.flatnonzero(~block.satisfied(problem.domains, positions)).tolist():
            if constraints is not None and block.terms.index[row] >= constraints:
                continue
            number, plain = int(block.terms.index[row]), block.describe(row, problem.domain_list)
            scope = [int(x) for x in block.scope_of(row)]
            found.append(
                ViolatedConstraint(
                    number + 1,
                    problem.constraint_names.get(number, ""),
                    bool(block.terms.hard[row]),
                    float(block.terms.weight[row]),
                    _shortened(
                        text_of(problem.written[number])
                        if number in problem.written
                        else _text(plain, [problem.names[x] for x in scope])
                    ),
                    {problem.names[x]: problem.domain(x).external(int(positions[x])) for x in scope},
                )
            )
    return sorted(found, key=lambda c: (not c.required, -c.weight, c.number))


def _text(plain: dict[str, Any], names: list[str]) -> str:
    """A description of plain data in words."""
    kind, over = plain["kind"], ", ".join(names)
    if kind == "linear":
        parts = " + ".join(f"{a}*{x}" if a != 1 else x for a, x in zip(plain["coefficients"], names, strict=True))
        text = f"{parts} {plain['operator']} {plain['bound']}".replace("+ -1*", "- ").replace("+ -", "- ")
    elif kind == "rule":
        text = text_of(expression_of(plain["expression"], [Variable(i, name) for i, name in enumerate(names)]))
    elif kind == "clause":
        text = " or ".join(f"{x} != {v}" for x, v in zip(names, plain["forbidden"], strict=True))
    elif kind in ("table", "short_table"):
        side = "allowed" if "allowed" in plain else "forbidden"
        text = f"({over}) {'is one' if side == 'allowed' else 'is none'} of {len(plain[side])} tuples"
        if len(plain[side]) <= 4:
            text = f"({over}) {'in' if side == 'allowed' else 'not in'} {plain[side]}"
    else:
        text = f"{kind}({over})" + (f" {plain['operator']} {plain['bound']}" if "bound" in plain else "")
    return text


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
