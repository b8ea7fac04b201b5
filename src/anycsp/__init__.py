"""anycsp: good answers to any constraint problem, by compiled search, exact search or a learned network.

from anycsp import Problem, solve
problem = Problem()
x = problem.add_variables(3, 0, 2)
problem.add_all_different(x)
print(solve(problem)[x])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anycsp.cluster.many import solve_many
    from anycsp.errors import (
        AnyCSPError,
        ConversionError,
        ExpressionError,
        FormatError,
        ModelError,
        ProblemError,
        TooLargeError,
    )
    from anycsp.formats import read
    from anycsp.model.expressions import (
        Array,
        Variable,
        all_of,
        any_of,
        distinct,
        element,
        if_else,
        maximum,
        minimum,
        total,
    )
    from anycsp.model.problem import Problem
    from anycsp.neural.models import Model, load_model
    from anycsp.search.driver import Progress
    from anycsp.search.iterate import iterate, iterate_async
    from anycsp.search.result import BEST_EFFORT, INTERRUPTED, OPTIMAL, SATISFIED, UNSATISFIABLE, Result
    from anycsp.search.solve import solve

__version__ = "0.2.0"

__all__ = [
    "BEST_EFFORT",
    "INTERRUPTED",
    "OPTIMAL",
    "SATISFIED",
    "UNSATISFIABLE",
    "AnyCSPError",
    "Array",
    "ConversionError",
    "ExpressionError",
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
    "all_of",
    "any_of",
    "distinct",
    "element",
    "if_else",
    "iterate",
    "iterate_async",
    "load_model",
    "maximum",
    "minimum",
    "read",
    "solve",
    "solve_many",
    "total",
]

_HOME = {
    "AnyCSPError": "anycsp.errors",
    "ConversionError": "anycsp.errors",
    "ExpressionError": "anycsp.errors",
    "FormatError": "anycsp.errors",
    "ModelError": "anycsp.errors",
    "ProblemError": "anycsp.errors",
    "TooLargeError": "anycsp.errors",
    "Array": "anycsp.model.expressions",
    "Variable": "anycsp.model.expressions",
    "all_of": "anycsp.model.expressions",
    "any_of": "anycsp.model.expressions",
    "distinct": "anycsp.model.expressions",
    "element": "anycsp.model.expressions",
    "if_else": "anycsp.model.expressions",
    "maximum": "anycsp.model.expressions",
    "minimum": "anycsp.model.expressions",
    "total": "anycsp.model.expressions",
    "BEST_EFFORT": "anycsp.search.result",
    "INTERRUPTED": "anycsp.search.result",
    "OPTIMAL": "anycsp.search.result",
    "SATISFIED": "anycsp.search.result",
    "UNSATISFIABLE": "anycsp.search.result",
    "Result": "anycsp.search.result",
    "Problem": "anycsp.model.problem",
    "read": "anycsp.formats",
    "Model": "anycsp.neural.models",
    "load_model": "anycsp.neural.models",
    "Progress": "anycsp.search.driver",
    "iterate": "anycsp.search.iterate",
    "iterate_async": "anycsp.search.iterate",
    "solve": "anycsp.search.solve",
    "solve_many": "anycsp.cluster.many",
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
