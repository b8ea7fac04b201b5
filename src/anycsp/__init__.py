"""anycsp: one learned search for any constraint problem.

from anycsp import Problem, solve
p = Problem()
x, y, z = p.add_variables(3, range(3))
p.add_all_different([x, y, z])
print(solve(p).assignment)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anycsp.errors import AnyCSPError, ConversionError, FormatError, ModelError, ProblemError, TooLargeError
from anycsp.model.expressions import Variable
from anycsp.model.problem import Problem

if TYPE_CHECKING:
    from anycsp.formats import read
    from anycsp.neural.models import Model, load_model
    from anycsp.search import Progress, Result, solve

__version__ = "0.1.0"

__all__ = [
    "AnyCSPError",
    "ConversionError",
    "FormatError",
    "Model",
    "ModelError",
    "Problem",
    "ProblemError",
    "Progress",
    "Result",
    "TooLargeError",
    "Variable",
    "__version__",
    "load_model",
    "read",
    "solve",
]

# Loaded at first use, because they need torch and reading a file does not.
_HOME = {
    "solve": "anycsp.search",
    "Result": "anycsp.search",
    "Progress": "anycsp.search",
    "read": "anycsp.formats",
    "load_model": "anycsp.neural.models",
    "Model": "anycsp.neural.models",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'anycsp' has no attribute {name!r}")
