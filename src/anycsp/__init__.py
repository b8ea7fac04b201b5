"""anycsp: one learned search for any constraint problem.

from anycsp import Problem, solve
p = Problem()
x, y, z = p.add_variables(3, range(3))
p.add_all_different([x, y, z])
print(solve(p).assignment)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anycsp.errors import AnyCSPError, ConversionError, FormatError, ModelError, ProblemError, TooLargeError
    from anycsp.formats import read
    from anycsp.model.expressions import Variable
    from anycsp.model.problem import Problem
    from anycsp.neural.models import Model, load_model
    from anycsp.search.driver import Progress
    from anycsp.search.result import Result
    from anycsp.search.solve import solve

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

_HOME = {
    "AnyCSPError": "anycsp.errors",
    "ConversionError": "anycsp.errors",
    "FormatError": "anycsp.errors",
    "ModelError": "anycsp.errors",
    "ProblemError": "anycsp.errors",
    "TooLargeError": "anycsp.errors",
    "Problem": "anycsp.model.problem",
    "Variable": "anycsp.model.expressions",
    "read": "anycsp.formats",
    "Model": "anycsp.neural.models",
    "load_model": "anycsp.neural.models",
    "Progress": "anycsp.search.driver",
    "Result": "anycsp.search.result",
    "solve": "anycsp.search.solve",
}
"""Where each name is found, at its first use: a command that only prints help imports none of them."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'anycsp' has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
