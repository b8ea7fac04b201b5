"""One queue of jobs, each a process of its own: started when its turn comes, relayed, watched, ended."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anycsp.web.settings import Settings

LINE_LIMIT = 4 << 20
"""Bytes of one event: that of a picture with the most nodes and links is well below."""
EVENTS_LIMIT = 16 << 20
"""Bytes of all events of a job; pictures beyond are left out."""
STOP_SECONDS = 3.0
"""What a search that is told to stop has to write its answer."""
GRACE_SECONDS = 15.0
"""What a search may take beyond its limit for presolve, counting and writing."""
WATCH_SECONDS = 0.25
WORKER = ("-m", "anycsp.web.worker")
INSPECTIONS = 2
"""Uploads read at a time, beside the queue: a visitor waits for these."""

WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"


class QueueFull(Exception):
    pass


@dataclass(eq=False)
class Job:
    request: dict[str, Any]
    """What the worker is told."""
    folder: Path
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: str = WAITING
    events: list[bytes] = field(default_factory=list)
    size: int = 0
    """Bytes of the events."""
    message: str = ""
    """Why it failed."""
    process: asyncio.subprocess.Process | None = None
    stopping: bool = False
    is_read: bool = False
    """Whether the worker has read the problem."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        return self.state in (DONE, STOPPED, FAILED)

    def tell(self, event: dict[str, Any]) -> None:
        self.tell_line(json.dumps(event).encode())

    def tell_line(self, line: bytes) -> None:
        if self.size + len(line) > EVENTS_LIMIT and b'"event": "end"' not in line and b'"event": "state"' not in line:
            return
        self.events.append(line)
        self.size += len(line)
        self.wake()

    def wake(self) -> None:
        news, self.news = self.news, asyncio.Event()
        news.set()

    def become(self, state: str, message: str = "") -> None:
        self.state, self.message = state, message
        self.tell({"event": "state", "state": state, "message": message})

    async def follow(self, first: int) -> AsyncIterator[tuple[int, bytes] | None]:
        """Every event from the given one on, as they come; None now and then, where nothing does."""
        at = first
        while True:
            news = self.news
            while at < len(self.events):
                yield at, self.events[at]
                at += 1
            if self.over:
                return
            try:
                await asyncio.wait_for(news.wait(), 15.0)
            except asyncio.TimeoutError:
                yield None


class Queue:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.jobs: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._turn = asyncio.Condition()
        self._runners: list[asyncio.Task[None]] = []
        self._inspections = asyncio.Semaphore(INSPECTIONS)
        self._inspecting = 0

    def start(self) -> None:
        self._runners = [asyncio.create_task(self._run()) for _ in range(self._settings.jobs)]

    async def close(self) -> None:
        for runner in self._runners:
            runner.cancel()
        await asyncio.gather(*self._runners, return_exceptions=True)
        for job in self.jobs.values():
            if job.process is not None:
                _kill(job.process)
            if not job.over:
                job.become(STOPPED)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> int:
        return sum(job.state == RUNNING for job in self.jobs.values())

    async def submit(self, request: dict[str, Any], folder: Path) -> Job:
        if len(self._waiting) >= self._settings.longest_queue:
            raise QueueFull
        job = Job(request, folder)
        job.become(WAITING)
        self.jobs[job.id] = job
        self._waiting.append(job)
        self._tell_places()
        async with self._turn:
            self._turn.notify()
        return job

    def stop(self, job: Job) -> None:
        """A job that waits is taken out of the queue; one that runs ends with the best it has, or is ended."""
        if job.state == WAITING:
            with suppress(ValueError):
                self._waiting.remove(job)
            job.become(STOPPED)
            self._tell_places()
        elif job.state == RUNNING and not job.stopping:
            job.stopping = True
            job.wake()
            if job.process is not None:
                _stop(job.process)
                asyncio.get_running_loop().call_later(STOP_SECONDS, _kill, job.process)

    async def inspect(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a worker says of a problem: `facts`, or an `error`."""
        if self._inspecting >= self._settings.longest_queue:
            raise QueueFull
        self._inspecting += 1
        try:
            async with self._inspections:
                watched = Job(request, Path())
                await self._work(watched)
                said = [json.loads(line) for line in watched.events]
        finally:
            self._inspecting -= 1
        facts = [event for event in said if event["event"] in ("facts", "error")]
        return facts[-1] if facts else {"event": "error", "message": watched.message}

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────

    def _tell_places(self) -> None:
        for place, job in enumerate(self._waiting):
            job.tell({"event": "place", "place": place})

    async def _run(self) -> None:
        while True:
            async with self._turn:
                await self._turn.wait_for(lambda: self._waiting)
                job = self._waiting.popleft()
            self._tell_places()
            job.become(RUNNING)
            try:
                await self._work(job)
            except Exception as error:  # whatever became of one job, the next has its turn
                job.become(FAILED, f"the server failed to follow the search: {type(error).__name__}")
            self._forget()

    async def _work(self, job: Job) -> None:
        """A worker from its start to its end, however it ends."""
        environment = {**os.environ, "OMP_NUM_THREADS": str(self._settings.threads), "MALLOC_ARENA_MAX": "2"}
        try:
            job.process = await asyncio.create_subprocess_exec(
                sys.executable, *WORKER,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                limit=LINE_LIMIT, start_new_session=True, env=environment,
            )  # fmt: skip
        except OSError as error:
            job.become(FAILED, f"no process for the search: {error.strerror}")
            return
        process = job.process
        if job.stopping:  # while it was being started
            _kill(process)
        try:
            assert process.stdin is not None
            with suppress(ConnectionError):
                process.stdin.write(json.dumps(job.request).encode() + b"\n")
                await process.stdin.drain()
            watch = asyncio.create_task(self._watch(job, process))
            try:
                last = await self._relay(job, process)
            finally:
                watch.cancel()
            await process.wait()
            self._conclude(job, last, process.returncode)
        finally:
            _kill(process)
            job.process = None

    async def _relay(self, job: Job, process: asyncio.subprocess.Process) -> str:
        """The kind of the last event."""
        assert process.stdout is not None
        kind = ""
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # a line beyond the limit: something is wrong with the worker
                job.message = "the picture of this problem is too large"
                _kill(process)
                return ""
            if not line.endswith(b"\n"):  # the end, perhaps in the middle of a line
                return kind
            event = json.loads(line)
            kind = event["event"]
            job.is_read = job.is_read or kind in ("read", "facts")
            if kind == "error":
                job.message = event["message"]
            job.tell_line(line.strip())

    async def _watch(self, job: Job, process: asyncio.subprocess.Process) -> None:
        """End a worker that takes more memory or time than it may."""
        began = time.monotonic()
        allowed = job.request["seconds"] + GRACE_SECONDS
        read_by = self._settings.read_seconds
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            spent = time.monotonic() - began
            if _resident_bytes(process.pid) > self._settings.memory:
                job.message = f"ended: more than the {self._settings.memory >> 20} MB of memory that a job may use"
            elif not job.is_read and spent > read_by:
                job.message = f"ended: not read in {read_by:g} seconds"
            elif spent > read_by + allowed:
                job.message = "ended: went on long after its limit of time"
            else:
                continue
            _kill(process)
            return

    def _conclude(self, job: Job, last: str, code: int | None) -> None:
        if last == "end":
            job.become(STOPPED if job.stopping else DONE)
        elif job.stopping and not job.message:
            job.become(STOPPED, "stopped before there was an assignment")
        else:
            what = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            job.become(FAILED, job.message or f"the search ended by itself ({what}), most likely for lack of memory")

    def _forget(self) -> None:
        """The oldest jobs that are over go, where there are too many or too large ones."""
        over = [job for job in self.jobs.values() if job.over]
        size = sum(job.size for job in over)
        while over and (len(over) > self._settings.kept_jobs or size > self._settings.kept_bytes):
            oldest = over.pop(0)
            size -= oldest.size
            del self.jobs[oldest.id]
            for name in ("solution.json", "trace.jsonl"):
                (oldest.folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                oldest.folder.rmdir()


def _stop(process: asyncio.subprocess.Process) -> None:
    """Ask for an end."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a worker and whatever it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _resident_bytes(pid: int) -> int:
    """0 where the system does not say; the worker's own limit then has to do."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
