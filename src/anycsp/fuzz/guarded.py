"""Trials in a child process: one that hangs is killed, one that crashes is noticed, and the campaign goes on."""

from __future__ import annotations

import contextlib
import glob
import json
import math
import mmap
import os
import select
import signal
import struct
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anycsp.fuzz.kinds import Case, Kind
from anycsp.fuzz.outcome import template

GRACE = 2.0
"""Seconds between looks at a child that has nothing to say."""
ASLEEP = 10
"""How many times as long a trial may wait as it may work."""
REPORT_EVERY = 256
"""Trials between two tallies of a child."""


@dataclass(frozen=True)
class Failure:
    """What went wrong with a case: `signature` is what two failures of one cause have in common."""

    signature: str
    detail: str


def failure_of(error: BaseException) -> Failure:
    message = str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = "" if type(error).__name__ == "Wrong" else f" in {os.path.basename(where.filename)} {where.name}"
    shown = "".join(traceback.format_exception(error))[-4000:]
    return Failure(f"{type(error).__name__}: {template(message)}{place}", shown)


def tried(kind: Kind, case: Case) -> str | Failure:
    """Check a case in this process."""
    try:
        return kind.check(case)
    except Exception as error:
        return failure_of(error)


class _Board:
    """A page that parent and child share: the trial under way, when it began, and whether to stop. The fields are
    copied there at once: packed in place they would be zero for a moment, and the other may look at any."""

    _FORM = struct.Struct("qddd")
    _STOP = _FORM.size

    def __init__(self, trial: int) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._write(trial, time.monotonic(), 0.0, 0.0)

    def _write(self, *fields: float) -> None:
        self._page[: self._FORM.size] = self._FORM.pack(*fields)

    def begin(self, trial: int) -> bool:
        """The child begins a trial; False where it should not."""
        self._write(trial, time.monotonic(), time.process_time(), queued_of(os.getpid()))
        return not self._page[self._STOP]

    def stop(self) -> None:
        self._page[self._STOP] = 1

    @property
    def trial(self) -> int:
        return int(self._FORM.unpack_from(self._page)[0])

    def overdue(self, pid: int, seconds: float) -> bool:
        """Whether the trial under way has worked for too long, or slept for far too long. Time in which it could not
        work, because others did, is neither: on a busy machine, the clock on the wall says little."""
        _, began, spent, queued = self._FORM.unpack_from(self._page)
        asleep = time.monotonic() - began - max(0.0, queued_of(pid) - queued)
        return bool(_work_of(pid) - spent > seconds or asleep > ASLEEP * seconds)


def _work_of(pid: int) -> float:
    """Seconds of processor time that a process has had; 0 where it is no more."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # the clock of a process, as Linux numbers it
    except OSError:
        return 0.0


def queued_of(pid: int) -> float:
    """Seconds that the threads of a process have waited for a processor."""
    nanoseconds = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            nanoseconds += int(file.read().split()[1])
    return nanoseconds / 1e9


@dataclass(frozen=True)
class Report:
    """What the child says from time to time: how many trials came to what, and what failed."""

    tally: Counter[str]
    failures: list[tuple[int, Failure]]
    died: bool = False
    """Whether it was the child's last word: the trial that failed ended it."""


def campaign(kind: Kind, seed: int, first: int, seconds: float, trials: int | None = None) -> Iterator[Report]:
    """Trials first, first + 1, … of a seed for so long, or so many of them."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and (trials is None or first < trials):
        board = _Board(first)
        pid, reading = _fork(lambda writing, b=board, k=first: _child(kind, seed, k, trials, b, writing))
        died = False
        for report in _listen(kind, board, pid, reading, deadline):
            died = report.died
            yield report
        if not died:
            return
        first = board.trial + 1


def _fork(body: Any) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        code = 1
        try:
            body(writing)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    return pid, reading


def _child(kind: Kind, seed: int, first: int, trials: int | None, board: _Board, writing: int) -> None:
    tally: Counter[str] = Counter()
    failures: list[tuple[int, str, str]] = []
    trial = first
    while (trials is None or trial < trials) and board.begin(trial):
        outcome = tried(kind, kind.case(seed, trial))
        if isinstance(outcome, Failure):
            failures.append((trial, outcome.signature, outcome.detail))
            tally["failed"] += 1
        else:
            tally[outcome] += 1
        if failures or (trial - first) % REPORT_EVERY == REPORT_EVERY - 1:
            _say(writing, tally, failures)
            tally, failures = Counter(), []
        trial += 1
    _say(writing, tally, failures)
    board.stop()


def _say(writing: int, tally: Counter[str], failures: list[tuple[int, str, str]]) -> None:
    line = (json.dumps([tally, failures]) + "\n").encode()
    while line:
        line = line[os.write(writing, line) :]


def _listen(kind: Kind, board: _Board, pid: int, reading: int, deadline: float) -> Iterator[Report]:
    """Until the child ends, hangs, or the time is up and it has finished its trial."""
    pending, hangs = b"", False
    while True:
        ready, _, _ = select.select([reading], [], [], GRACE)
        if time.monotonic() >= deadline:
            board.stop()
        if ready:
            received = os.read(reading, 1 << 16)
            if not received:
                break
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                tally, failures = json.loads(line)
                yield Report(Counter(tally), [(k, Failure(s, d)) for k, s, d in failures])
        if board.overdue(pid, kind.seconds):
            hangs = True
            break
    os.close(reading)
    died = _ended(kind, pid, hangs=hangs)
    if died is not None:
        yield Report(Counter({"failed": 1}), [(board.trial, died)], died=True)


def _ended(kind: Kind, pid: int, *, hangs: bool) -> Failure | None:
    """What ended the child, where that was not its own decision."""
    if hangs:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if hangs:
        return Failure("hangs", f"no end after {kind.seconds:g} s of work")
    if code:
        what = "the process ended within a trial" if code > 0 else "the process died"
        return Failure(f"signal {-code}" if code < 0 else f"exit {code}", what)
    return None


def tried_apart(kind: Kind, case: Case) -> str | Failure:
    """Check one case in a child of its own, which may hang or die."""
    board = _Board(0)

    def body(writing: int) -> None:
        outcome = tried(kind, case)
        failed = [(0, outcome.signature, outcome.detail)] if isinstance(outcome, Failure) else []
        _say(writing, Counter() if isinstance(outcome, Failure) else Counter([outcome]), failed)

    pid, reading = _fork(body)
    reports = list(_listen(kind, board, pid, reading, math.inf))
    for report in reports:
        for _, failure in report.failures:
            return failure
    return next((word for report in reports for word in report.tally), "nothing")
