"""What `anycsp solve --explain` says about an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anycsp.search import Result

MOST_LINES = 50
"""Constraints that are listed: the rest is counted."""


def explanation(result: Result) -> list[str]:
    """One line per violated constraint: required ones first, then by falling weight."""
    if result.violated == 0:
        return ["explain: nothing is violated"]
    violated = result.violated_constraints
    required = sum(constraint.required for constraint in violated)
    soft = sum(constraint.weight for constraint in violated if not constraint.required)
    lines = [
        f"explain: {required} required and {len(violated) - required} soft constraints violated, of weight {soft:g}"
    ]
    lines += [f"explain: {constraint}" for constraint in violated[:MOST_LINES]]
    if len(violated) > MOST_LINES:
        lines.append(f"explain: … and {len(violated) - MOST_LINES} more")
    return lines
