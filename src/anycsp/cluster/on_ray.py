"""Workers of a Ray cluster (https://docs.ray.io), which must have the same version of anycsp installed.

Ray itself begins a task anew when its worker or its whole node dies, and makes a result again that was lost with the
node that held it. The driver takes each result once, so nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from anycsp.cluster.board import Board, Exchange, Post
from anycsp.cluster.workers import DIED, ERROR, RETRIES, Done, Task, Workers, called
from anycsp.errors import AnyCSPError
from anycsp.threads import available_threads

QUEUED_PER_CORE = 4
"""Tasks that Ray is given ahead: enough that no core waits for the driver, few enough to be held in memory."""
LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 10.0
"""How long the head of a cluster may take to answer."""
BOARD_SECONDS = 10.0
"""How long a search waits for the board: where its node is gone, the search goes on alone."""


class RayBoard:
    """The board of an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def exchange(self, key: str, post: Post) -> Post | None:
        import ray

        try:
            news: Post | None = ray.get(self._actor.exchange.remote(key, post), timeout=BOARD_SECONDS)
            return news
        except ray.exceptions.RayError:
            return None


def _listening(address: str) -> None:
    """Ray itself waits for minutes where nobody listens. Names (`auto`) and clients (`ray://`) are left to it."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or "//" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise AnyCSPError(f"no Ray cluster at {address}: {error}") from None


class RayWorkers(Workers):
    def __init__(self, address: str = "") -> None:
        """Those of the cluster at `address`, else of RAY_ADDRESS, else of one that is started here, which listens to
        this machine only and ends with this object."""
        address = address or os.environ.get("RAY_ADDRESS", "")
        self._ray = _ray(stays_here=not address or address.startswith(LOOPBACK))
        self._own = not self._ray.is_initialized()
        if self._own:
            self._connect(address)
        self._boards: list[Any] = []

    def _connect(self, address: str) -> None:
        _listening(address)
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if not address:
            options |= {"num_cpus": available_threads(), "include_dashboard": False}
        if not address or address.startswith(LOOPBACK):
            options["_node_ip_address"] = LOOPBACK
        try:
            self._ray.init(address=address or "local", **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise AnyCSPError(f"no Ray cluster at {address or '127.0.0.1'}: {error}") from None

    @property
    def cores(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map_unordered(
        self, function: Callable[..., Any], tasks: Iterable[Task], retries: int = RETRIES
    ) -> Iterator[Done]:
        ray, waiting = self._ray, iter(tasks)
        remote = ray.remote(_call)
        running: dict[Any, Task] = {}
        try:
            while True:
                while len(running) < QUEUED_PER_CORE * self.cores and (task := next(waiting, None)) is not None:
                    begun = remote.options(max_retries=retries, retry_exceptions=False, **self._needs(task))
                    running[begun.remote(function, task.arguments, task.seconds)] = task
                if not running:
                    return
                ended, _ = ray.wait(list(running), num_returns=1)
                for reference in ended:
                    yield self._outcome(running.pop(reference), reference)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _needs(self, task: Task) -> dict[str, float]:
        """What Ray reserves: no more than the largest node has, or it would wait for ever."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        cores = max((node.get("CPU", 0) for node in nodes), default=1)
        memory = max((node.get("memory", 0) for node in nodes), default=0)
        return {"num_cpus": min(task.cores, cores), "memory": min(task.memory, int(memory))}

    def _outcome(self, task: Task, reference: Any) -> Done:
        try:
            value, message = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            return Done(task, failure=DIED, message=f"the process died ({reason})")
        return Done(task, value, ERROR if message else "", message)

    def board(self) -> Exchange:
        """Near the driver, without which there is nothing to tell anyway."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=True)
        actor = self._ray.remote(Board).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()
        self._boards.append(actor)
        return RayBoard(actor)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()
        else:
            for actor in self._boards:
                self._ray.kill(actor)
        self._boards = []


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> tuple[Any, str]:
    """In a worker. One that takes too long ends its process, as nothing else would end what hangs in compiled code."""
    watch = threading.Timer(seconds, os._exit, (1,)) if math.isfinite(seconds) else None
    if watch is not None:
        watch.daemon = True
        watch.start()
    try:
        return called(function, arguments)
    finally:
        if watch is not None:
            watch.cancel()


def _ray(stays_here: bool) -> Any:
    """`stays_here`: the cluster is one of the loopback interface, and nothing is to leave that."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    if stays_here:  # Ray replaces 127.0.0.1 by this host's address elsewhere, unless told that it is not in a cluster
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError:
        raise AnyCSPError("a Ray cluster needs Ray: pip install 'anycsp[ray]'") from None
    return ray
