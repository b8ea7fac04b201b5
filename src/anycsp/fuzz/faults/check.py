"""Run a command in a process of its own, let the fault happen, and look at what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import anycsp
from anycsp.__main__ import main
from anycsp.errors import AnyCSPError
from anycsp.formats import read
from anycsp.fuzz.files.check import judge_errors
from anycsp.fuzz.guarded import queued_of
from anycsp.fuzz.models.draw import CONFIG
from anycsp.fuzz.outcome import expect, expect_one_line, template
from anycsp.interrupts import end_at_once

SEARCH_SECONDS = 0.4
"""The limit of a search: most faults are to fall into it, or into what comes before."""
LONGEST = 60.0
"""Seconds of a process from a signal to its end; far more than is promised."""
LOOK = 2.0
"""Seconds between two looks at a process that has nothing to say."""
PACKAGE = Path(anycsp.__file__).parent
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = {"SIGINT": 130, "SIGTERM": 143}
"""What a shell is told of a program that a signal ended."""


def check(case: Any) -> str:
    with tempfile.TemporaryDirectory(prefix="anycsp-fuzz-") as name:
        folder = Path(name)
        arguments, written = _prepared(case, folder)
        code, out, err = _run(case, arguments, folder)
        _judge(case, code, out, err)
        _judge_files(folder, written)
        if case["command"] == "train" and case["fault"] != "full disk":
            _resumes(folder)
    return f"{case['fault']}: {case['command']}"


def _prepared(case: Any, folder: Path) -> tuple[list[str], list[Path]]:
    """The command's arguments, and what it writes."""
    rng, count = Random(case["seed"]), case["variables"]
    clauses = [
        " ".join(str(rng.choice([-1, 1]) * x) for x in rng.sample(range(1, count + 1), 3)) + " 0"
        for _ in range(4 * count)
    ]
    (folder / "x.cnf").write_text(f"p cnf {count} {len(clauses)}\n" + "\n".join(clauses) + "\n")
    (folder / "c.toml").write_text(CONFIG.replace("updates = 1", "updates = 30").replace("0.01", "1"))
    trace, converted = folder / "trace.jsonl", folder / "out.json"
    for old in (trace, converted):
        old.write_text('{"old": true}\n')
    limits = ["--time-limit", str(SEARCH_SECONDS), "--threads", "1", "--seed", str(case["seed"])]
    commands: dict[str, tuple[list[str], list[Path]]] = {
        "solve": (["solve", "x.cnf", "--trace", trace.name, *limits], [trace]),
        "convert": (["convert", "x.cnf", converted.name], [converted]),
        "generate": (["generate", "sat", "--count", "3", "--out", "drawn"], []),
        "train": (["train", "c.toml", "--out", "run", "--threads", "1", "--quiet"], []),
    }
    return commands[case["command"]]


@cache
def _undisturbed(command: str, variables: int, start: str) -> float:
    """Roughly how many seconds a command takes on this machine: it is measured once, without a fault."""
    case = {
        "command": command,
        "start": start,
        "fault": "none",
        "moment": 1.0,
        "variables": variables,
        "seed": 0,
        "bytes": 0,
    }
    with tempfile.TemporaryDirectory(prefix="anycsp-fuzz-") as folder:
        began = time.monotonic()
        _run(case, _prepared(case, Path(folder))[0], Path(folder))
        return time.monotonic() - began


def _run(case: Any, arguments: list[str], folder: Path) -> tuple[int, str, str]:
    fault = case["fault"]
    start = case.get("start", "fresh")
    moment = case["moment"] * _undisturbed(case["command"], case["variables"], start) if fault[:3] == "SIG" else 0.0

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case["bytes"], case["bytes"]))

    process = (_forked if start == "forked" else _fresh)(arguments, folder, fault, small_disk)
    if fault.startswith("SIG"):
        time.sleep(moment)
        process.send_signal(signal.Signals[fault])
    out, err = _to_the_end(process)
    return process.returncode, (out or b"").decode(), err.decode()


def _fresh(arguments: list[str], folder: Path, fault: str, small_disk: Callable[[], None]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "anycsp", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=small_disk if fault == "full disk" else None,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    if fault == "closed pipe":
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
    return process


class _Forked:
    """As much of `subprocess.Popen` as is used here, for a child that is a copy of this process."""

    def __init__(self, body: Callable[[], None], *, heard: bool) -> None:
        pipes = [os.pipe(), os.pipe()]
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # none may strike the child before it is a program
        self.pid = os.fork()
        if self.pid == 0:
            for (reading, writing), stream in zip(pipes, (1, 2), strict=True):
                os.close(reading)
                os.dup2(writing, stream)
            _as_a_program(body)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        for _, writing in pipes:
            os.close(writing)
        self._streams = {reading: b"" for reading, _ in pipes}
        self._out, self._err = self._streams
        self._open = [self._out, self._err]
        if not heard:
            self._leave(self._out)
        self.returncode = 0

    def _leave(self, stream: int) -> None:
        self._open.remove(stream)
        os.close(stream)

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        while self._open:
            ready = select.select(self._open, [], [], timeout)[0]
            if not ready:
                raise subprocess.TimeoutExpired("a forked command", timeout or 0.0)
            for stream in ready:
                received = os.read(stream, 1 << 16)
                self._streams[stream] += received
                if not received:
                    self._leave(stream)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._streams[self._out], self._streams[self._err]


def _forked(arguments: list[str], folder: Path, fault: str, small_disk: Callable[[], None]) -> _Forked:
    from anycsp.cli import convert, generate, solve  # noqa: F401 — all that a child would import
    from anycsp.search import solve as search  # noqa: F401

    def body() -> None:
        os.chdir(folder)
        if fault == "full disk":
            small_disk()
        sys.argv = ["anycsp", *arguments]
        main()

    return _Forked(body, heard=fault != "closed pipe")


def _as_a_program(body: Callable[[], None]) -> NoReturn:
    """Run it as Python runs a program: the code of its `sys.exit`, and its output written out, at the end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code = 1
    try:
        sys.stdout, sys.stderr = (open(stream, "w", 1, closefd=False) for stream in (1, 2))  # noqa: SIM115
        end_at_once()  # as `main` does first: what is unblocked before strikes this harness, not the program
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        body()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
        try:
            sys.stdout.flush()
        except OSError:
            code = 120  # as Python has it
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _to_the_end(process: subprocess.Popen[bytes] | _Forked) -> tuple[bytes, bytes]:
    """What it says until it ends. Time in which it waited for a processor does not count: that is the machine's."""
    began, queued = time.monotonic(), queued_of(process.pid)
    while True:
        try:
            return process.communicate(timeout=LOOK)
        except subprocess.TimeoutExpired:
            waited = max(0.0, queued_of(process.pid) - queued)
            if time.monotonic() - began - waited > LONGEST:
                process.kill()
                process.communicate()
                raise


def _judge(case: Any, code: int, out: str, err: str) -> None:
    """An end by the contract: an answer, one line, or what a shell is told of a signal."""
    fault, command = case["fault"], case["command"]
    if fault == "SIGKILL":
        return
    if "Traceback" in err:
        expect(_at_the_start(err), f"{fault} in {command}: a traceback\n{err[-1500:]}")
        return
    answered = any(line.startswith("v ") for line in out.splitlines())
    if code in (-signal.SIGINT, -signal.SIGTERM):  # before Python listens to signals, or after it has ceased to
        expect(out == "" or command != "solve" or answered, f"{fault} in {command}: ended without its answer")
        return
    if code == INTERRUPTED.get(fault):
        expect(err.startswith("error: interrupted"), f"{fault} in {command}: code {code}, {template(err)!r}")
        return
    allowed = {"solve": (0, 10, 20, 2)}.get(command, (0, 2))
    expect(code in allowed, f"{fault} in {command}: code {code}, {template(err)!r}")
    judge_errors(code, err)
    if command == "solve" and code != 2 and fault != "closed pipe":
        expect(answered, f"{fault} in solve: code {code}, no answer")
    expect(fault == "full disk" or code != 2, f"{fault} in {command}: {template(err)}")


def _at_the_start(trace: str) -> bool:
    """Whether Ctrl-C struck while Python itself was starting, before the program had a say."""
    own = re.findall(rf'File "{re.escape(str(PACKAGE))}/(.*)\.py"', trace)
    return "KeyboardInterrupt" in trace and set(own) <= {"__init__", "__main__", "interrupts"}


def _judge_files(folder: Path, written: list[Path]) -> None:
    """What is written is there whole, or still what it was."""
    for path in written:
        for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
            json.loads(line)
    for path in (folder / "drawn").glob("*"):
        if not path.name.startswith("."):  # a temporary file that SIGKILL left behind
            read(path)


def _resumes(folder: Path) -> None:
    """A run that was ended goes on, where it had begun to keep anything."""
    if not (folder / "run" / "checkpoint.safetensors").exists():
        return
    from anycsp.training.trainer import Trainer

    try:
        Trainer.resume(folder / "run", [])
    except AnyCSPError as error:
        expect_one_line(str(error))
        expect(False, f"a run that was ended cannot be resumed: {template(str(error))}")
