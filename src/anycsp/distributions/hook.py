"""A user's own generator: `python:package.module:function` or `python:path/file.py:function` with
`function(rng) -> Problem`."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from anycsp.distributions.base import Distribution
from anycsp.errors import ProblemError
from anycsp.model.problem import Problem
from anycsp.schema import shown


@dataclass(frozen=True)
class Hook(Distribution):
    """Parameters beside `rng` are passed on by name."""

    target: str
    """`module:function`, for messages."""
    function: Callable[..., Problem]
    parameters: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def load(target: str, /, **parameters: Any) -> Hook:
        source, _, name = target.rpartition(":")
        if not source or not name:
            raise ProblemError(f"names no function; expected python:{target.strip(':')}:FUNCTION")
        function = getattr(_module(source), name, None)
        if not callable(function):
            raise ProblemError(f"{source} has no function {shown(name)}")
        try:
            inspect.signature(function).bind(None, **parameters)
        except TypeError as error:
            given = ", ".join(["rng", *parameters])
            raise ProblemError(f"cannot be called as {name}({given}): {error}") from None
        except ValueError:  # compiled functions may not tell their signature
            pass
        return Hook(target, function, parameters)

    def draw(self, rng: np.random.Generator) -> Problem:
        try:
            problem = self.function(rng, **self.parameters)
        except Exception as error:
            raise ProblemError(f"{self.target} raised {_shown(error)}") from error
        if not isinstance(problem, Problem):
            raise ProblemError(f"{self.target} returned {type(problem).__name__}, not a Problem")
        return problem


def _module(source: str) -> ModuleType:
    """By file, or by name among the installed modules and those of the current folder."""
    path = Path(source)
    if path.suffix == ".py" and not path.is_file():
        raise ProblemError(f"the file {source} does not exist")
    try:
        return _of_file(path) if path.suffix == ".py" else _of_name(source)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and not _frames(error):
            raise ProblemError(f"{error}, neither installed nor in the current folder {Path.cwd()}") from None
        raise ProblemError(f"importing {source} raised {_shown(error)}") from error


def _of_name(name: str) -> ModuleType:
    _search_in(Path.cwd())
    return importlib.import_module(name)


def _of_file(path: Path) -> ModuleType:
    path = path.resolve()
    name = f"anycsp hook {path}"  # no name a file can be imported by, so none is shadowed
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        _search_in(path.parent)
        module = sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _search_in(folder: Path) -> None:
    """As `python FILE` and `python -m MODULE` do; the console script has its own folder there instead."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _shown(error: Exception) -> str:
    """Type, text and the innermost line in the file that was entered first: the user's, not a library's below it."""
    frames = _frames(error)
    lines = [frame.lineno for frame in frames if frame.filename == frames[0].filename]
    return f"{type(error).__name__}: {error}" + (f" ({frames[0].filename}:{lines[-1]})" if frames else "")


def _frames(error: Exception) -> list[traceback.FrameSummary]:
    """Without those of this file and of the import system."""
    ours = (__file__, importlib.__file__)
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in ours and not frame.filename.startswith("<frozen")
    ]
