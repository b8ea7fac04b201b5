"""Run a command on a case in this process, as `anycsp` would, and hold it to its contract."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from anycsp.cli import run
from anycsp.errors import AnyCSPError
from anycsp.formats import read
from anycsp.fuzz.files.draw import SEARCH, TRACE
from anycsp.fuzz.files.seeds import FILES
from anycsp.fuzz.outcome import expect, expect_one_line, template

CPU_SECONDS = 8.0
"""A command on a few hundred bytes, its search limited to half a second, takes far less, on a slow machine too."""
MEMORY = 6 << 30
"""Address space: what asks for more would be killed, or kill others, on many machines."""
CODES = {"solve": (0, 10, 20, 30, 2), "hint": (0, 10, 20, 30, 2), "check": (0, 1, 2), "info": (0, 2), "convert": (0, 2)}


@cache
def _prepare_this_process() -> None:
    """Every format is read once, for what readers import: an import that a limit of time cuts off leaves a package in
    pieces. A command ends then; this process goes on."""
    with tempfile.TemporaryDirectory(prefix="anycsp-fuzz-") as folder:
        for name, (seed, *_) in FILES.items():
            file = Path(folder) / name
            file.write_bytes(seed)
            with contextlib.suppress(AnyCSPError):  # an extra that is not installed
                read(file, colors=2 if name.endswith(".col") else None)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["ANYCSP_DEBUG"] = "1"  # an internal error shows where it comes from


def check(case: Any) -> str:
    _prepare_this_process()
    began = time.process_time()
    with tempfile.TemporaryDirectory(prefix="anycsp-fuzz-") as folder:
        file, answer = Path(folder) / case["name"], Path(folder) / "answer"
        file.write_bytes(case["data"].encode("latin-1"))
        answer.write_bytes(case.get("answer", "v 1\n").encode("latin-1"))
        tally = _checked(case, file, answer)
    took = time.process_time() - began
    expect(took <= CPU_SECONDS, f"slow: {case['command']} on {len(case['data'])} bytes takes {took:.0f} s")
    return tally


def _checked(case: Any, file: Path, answer: Path) -> str:
    command, options, trace = case["command"], case["options"], file.parent / "trace.jsonl"
    search = [str(trace) if option == TRACE else option for option in case.get("search", SEARCH)]
    arguments = {
        "solve": ["solve", str(file), *search, *options],
        "hint": ["solve", str(file), *search, *options, "--hint", str(answer)],
        "check": ["check", str(file), str(answer), *options],
        "info": ["info", str(file), *options],
        "convert": ["convert", str(file), str(file.parent / "out.json"), *options[: 0 if "--colors" in options else 2]],
    }[command]
    code, out, err = ran(arguments)
    expect(code in CODES[command], f"{command} ends with code {code}: {template(err)}")
    judge_errors(code, err)
    for line in trace.read_text().splitlines() if trace.exists() else ():
        json.loads(line)
    if command in ("solve", "hint") and code != 2:
        answer.write_text(out, encoding="utf-8")
        code, told, err = ran(["check", str(file), str(answer), *options])
        expect(code == 0, f"the answer to {_format(file)} is refuted: {template(told + err)}")
        return f"{command}: answered"
    return f"{command}: code {code}" if code != 2 else f"{command}: refused"


def ran(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


def judge_errors(code: int, err: str) -> None:
    """At most one line of error, and one where something is refused."""
    lines = err.splitlines()
    errors = [line for line in lines if line.startswith("error")]
    expect(len(errors) == (1 if code == 2 else 0), f"{len(errors)} lines of error with code {code}: {template(err)}")
    for line in lines:
        expect_one_line(line)


def _format(file: Path) -> str:
    return file.name.removeprefix("x.")
