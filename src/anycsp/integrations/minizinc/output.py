"""Solutions as MiniZinc reads them: `name = value;` for every output, then ten dashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy.typing as npt

from anycsp.formats.flatzinc import Output
from anycsp.model.expressions import Expression
from anycsp.model.program import evaluate

SOLUTION, COMPLETE = "-" * 10, "=" * 10
UNKNOWN, UNSATISFIABLE, ERROR = (f"====={word}=====" for word in ("UNKNOWN", "UNSATISFIABLE", "ERROR"))


def solution(outputs: Sequence[Output], values: npt.NDArray[Any]) -> str:
    """The text of a solution, given the value of every variable of the problem."""
    return "".join(f"{output.name} = {_text(output, values)};\n" for output in outputs) + SOLUTION


def _text(output: Output, values: npt.NDArray[Any]) -> str:
    items = [_item(output.kind, item, values) for item in output.items]
    if output.indices is None:
        return items[0]
    indices = ", ".join(_set(index) for index in output.indices)
    return f"array{len(output.indices)}d({indices}, [{', '.join(items)}])"


def _item(kind: str, item: Any, values: npt.NDArray[Any]) -> str:
    if isinstance(item, dict):
        return _set([v for v, bit in item.items() if value_of(bit, values)])
    if isinstance(item, (range, frozenset)):
        return _set(item)
    number = value_of(item, values)
    return ("true" if number else "false") if kind == "bool" else str(number)


def value_of(item: Any, values: npt.NDArray[Any]) -> int:
    """The value of an operand."""
    return int(evaluate(item, values)[0]) if isinstance(item, Expression) else int(item)


def _set(members: Iterable[int]) -> str:
    ordered = sorted(members)
    if ordered and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]}..{ordered[-1]}"
    return "{" + ",".join(map(str, ordered)) + "}" if ordered else "1..0"
