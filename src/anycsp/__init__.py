"""anycsp: one learned search for any constraint problem."""

from __future__ import annotations

from anycsp.errors import AnyCSPError, FormatError, ModelError, ProblemError, TooLargeError
from anycsp.problem import Problem, Variable

__version__ = "0.1.0"

__all__ = [
    "AnyCSPError",
    "FormatError",
    "ModelError",
    "Problem",
    "ProblemError",
    "TooLargeError",
    "Variable",
    "__version__",
]
