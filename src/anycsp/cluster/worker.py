"""A worker process of `on_processes`: `python -m anycsp.cluster.worker`, fed through its standard input.

It does one task after the other, and ends with whoever started it, also when that one was killed meanwhile.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import Any

from anycsp.cluster.board import Post
from anycsp.cluster.pipe import Pipe
from anycsp.cluster.workers import called


class PipeBoard:
    """The board of whoever started this process, asked through the pipe. As an argument of a task it is a mere name,
    which finds the pipe of the process that it arrives in."""

    def exchange(self, key: str, post: Post) -> Post | None:
        assert _station is not None, "a board of worker processes is used in worker processes"
        return _station.exchange(key, post)


class _Station:
    """This end of the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[Post | None] = queue.SimpleQueue()

    def listen(self) -> None:
        """Sort what arrives. The end of the pipe is the end of this process and of all that it has started."""
        try:
            while True:
                kind, content = self._pipe.receive()
                (self._tasks if kind == "task" else self._news).put(content)
        except (EOFError, OSError):
            _end()

    def exchange(self, key: str, post: Post) -> Post | None:
        self._pipe.send(("exchange", (key, post)))
        return self._news.get()

    def serve(self) -> None:
        while True:
            function, arguments = self._tasks.get()
            try:
                self._pipe.send(("done", called(function, arguments)))
            except (OSError, ValueError):
                _end()


_station: _Station | None = None


def _end() -> None:
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def main() -> None:
    global _station
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a task prints is not a message
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    pipe = Pipe(sys.stdin.buffer, outgoing)
    sys.path[:] = pipe.receive()
    _station = _Station(pipe)
    threading.Thread(target=_station.listen, daemon=True).start()
    _station.serve()


if __name__ == "__main__":
    from anycsp.cluster import worker

    worker.main()  # by its own name: `PipeBoard` looks for the station there
