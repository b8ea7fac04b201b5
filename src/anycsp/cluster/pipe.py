"""Messages between a process and its workers: pickles, each after its length."""

from __future__ import annotations

import pickle
import struct
import threading
from typing import IO, Any

_LENGTH = struct.Struct("<Q")


class Pipe:
    """Both directions; several threads may send, one receives."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = threading.Lock()

    def send(self, message: Any) -> None:
        """OSError or ValueError where nobody listens any more."""
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._outgoing.write(_LENGTH.pack(len(data)))
            self._outgoing.write(data)
            self._outgoing.flush()

    def receive(self) -> Any:
        """EOFError where the other end is gone."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return pickle.loads(self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        data = self._incoming.read(size)
        if len(data) < size:
            raise EOFError
        return data
