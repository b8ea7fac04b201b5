"""The compiled module, where it was built; `available()` says whether it was.

What the neural search and its training do in it, PyTorch can do too: the package works without a compiler, only slower.
ANYCSP_NATIVE=0 in the environment hides the module, for tests and comparisons; a path there loads another build of it.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

_module: ModuleType | None = None
_reason = ""
_wanted = os.environ.get("ANYCSP_NATIVE", "1")
if _wanted == "0":
    _reason = "switched off by ANYCSP_NATIVE=0"
elif _wanted != "1":
    _spec = spec_from_file_location("anycsp._native", _wanted)
    assert _spec is not None
    assert _spec.loader is not None
    _module = module_from_spec(_spec)
    _spec.loader.exec_module(_module)
else:
    try:
        _module = import_module("anycsp._native")
    except ModuleNotFoundError:
        _reason = "not built"
    except ImportError as error:
        _reason = f"not loadable ({error})"


def available() -> bool:
    return _module is not None


def why_not() -> str:
    """Why the native module is not in use; empty when it is."""
    return _reason


@cache
def warn_if_missing() -> None:
    """One line, once, where nobody asked for the module to be left out."""
    if _reason.startswith("not"):
        logging.getLogger("anycsp").warning("anycsp: the native module is %s; searching with PyTorch, slower", _reason)


def module() -> Any:
    if _module is None:
        raise ImportError(f"the native module of anycsp is {_reason}")
    return _module
