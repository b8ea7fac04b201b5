"""The compiled module, where it was built; `available()` says whether it was.

Every native function has a plain PyTorch twin, so the package works without a compiler, only slower.
ANYCSP_NATIVE=0 in the environment hides the module, for tests and comparisons.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anycsp.graph import ConstraintValueGraph

_module: ModuleType | None = None
_reason = ""
if os.environ.get("ANYCSP_NATIVE", "1") == "0":
    _reason = "switched off by ANYCSP_NATIVE=0"
else:
    try:
        from anycsp.native import _native  # type: ignore[attr-defined]

        _module = _native
    except ImportError as error:
        _reason = f"not built ({error})"


def available() -> bool:
    return _module is not None


def why_not() -> str:
    """Why the native module is not in use; empty when it is."""
    return _reason


def module() -> Any:
    if _module is None:
        raise ImportError(f"the native module of anycsp is {_reason}")
    return _module


def native_problem(graph: ConstraintValueGraph) -> Any:
    """The native Problem of a graph: the same arrays, checked once, shared by policy step and local search."""
    families, first = [], 0
    for labelling in graph.labellings:
        families.append((labelling.native_kind, first, first + len(labelling), labelling.native_arrays()))
        first += len(labelling)
    arrays = {
        "value_start": graph.domains.start.astype(np.int32),
        "value": graph.domains.values,
        "scope_start": graph.scope_start.astype(np.int32),
        "scope": graph.scope.astype(np.int32),
        "weight": np.ascontiguousarray(graph.terms.weight),
        "hard": graph.terms.hard.astype(np.uint8),
        "variable_instance": graph.variable_instance.astype(np.int32),
        "constraint_instance": graph.constraint_instance.astype(np.int32),
    }
    return module().make_problem(arrays, families)
