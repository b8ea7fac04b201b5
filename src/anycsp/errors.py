"""The exceptions of the public API: each message is the one line the command line prints."""

from __future__ import annotations

from pathlib import Path


class AnyCSPError(Exception):
    """Base of every error a user can cause."""


class ProblemError(AnyCSPError, ValueError):
    """A variable or constraint that cannot be: empty domain, wrong arity, value outside its domain."""


class ExpressionError(ProblemError, TypeError):
    """Python was about to evaluate what a search has to: says what to write instead."""


class FormatError(AnyCSPError, ValueError):
    """A file that cannot be read: names the file, the line where there is one, and the reason."""

    def __init__(self, path: str | Path, reason: str, line: int | None = None) -> None:
        self.path, self.line, self.reason = str(path), line, reason
        super().__init__(f"{path}:{line}: {reason}" if line is not None else f"{path}: {reason}")


class UnsupportedError(FormatError):
    """A file that is well formed but says something that is not supported; names the element."""


class ConversionError(AnyCSPError, ValueError):
    """A problem that a format cannot express without loss; says which part of it."""


class ModelError(AnyCSPError, ValueError):
    """Weights that cannot be loaded: unknown name, wrong file type, wrong shapes or version."""


class TooLargeError(AnyCSPError, MemoryError):
    """A problem whose estimated memory exceeds the limit; the message gives both."""
